import { isBlockId, KumikoError, parseBlockId } from "../base/index.ts";
import { decideBlock, type FileOperation, type Rules } from "../permission/index.ts";

/** What the gate is asked for. */
export type Operation =
  | "read"
  | "append"
  | "change"
  /** To change it to what it was once, also when its file is gone. */
  | "restore"
  | "create"
  | "delete"
  /** Of a text, wherever it stands; asked for the kernel, and then `delete` for each block. */
  | "purge"
  | "preview_purge"
  | "create_context"
  | "join_context"
  | "leave_context"
  | "configure";

export interface Decision {
  readonly decision: "allow" | "ask" | "deny";
  readonly reason: string;
}

/**
 * What a caller is, as its token says; without one it is whoever runs the process: a person. No token says `disk`
 * (what is on disk has happened already) or `system` (the kernel's own upkeep): a name alone gives nobody a right.
 */
export type CallerKind = "person" | "agent" | "service" | "disk" | "system";

/** The one gate. */
export type Authorise = (
  actor: string,
  operation: Operation,
  target: string,
  kind?: CallerKind,
) => Decision | Promise<Decision>;

/** The operations that rules know; all others are for whoever's token has the scope. */
export const ruled: { readonly [operation in Operation]?: FileOperation } = {
  read: "read",
  append: "append",
  create: "create",
  change: "change",
  restore: "change",
  delete: "delete",
};

const ALLOWED: Decision = { decision: "allow", reason: "no rule is about it" };

export type ConversationRules = Pick<Rules, "conversations">;

/** Whether anybody wrote a rule for conversations. */
export function areWritten(rules: readonly ConversationRules[] = []): boolean {
  return rules.some(({ conversations }) => conversations.length > 0);
}

/** What the gate knows of files: they have rules of their own. */
interface GateFiles {
  rules(): readonly ConversationRules[] | undefined;
  authorise(caller: Caller, operation: Operation, target: string): Decision | undefined;
}

interface Caller {
  readonly actor: string;
  readonly kind?: CallerKind | undefined;
}

/**
 * The one gate: a file is decided by the rules of its folder, a block of a conversation by those for conversations.
 * Whatever shows or changes text asks here, by whichever door it came in.
 */
export class Gate {
  readonly #files: () => GateFiles | undefined;
  readonly #own: Authorise | undefined;

  /** `own` decides about what is no file in place of the rules. */
  constructor(files: () => GateFiles | undefined, own?: Authorise) {
    this.#files = files;
    this.#own = own;
  }

  readonly authorise: Authorise = (actor, operation, target, kind) =>
    this.#files()?.authorise({ actor, kind }, operation, target) ??
    this.#own?.(actor, operation, target, kind) ??
    this.#decide({ actor, kind }, operation, target);

  /** Whether a caller may see a block's text, now: for whoever is told of events as they come. */
  mayRead(caller: Caller, block: string): boolean {
    const files = this.#files();
    // Only a rule that somebody wrote keeps a conversation from being read.
    if (files === undefined) return true;
    if (!block.startsWith("@") && !areWritten(files.rules())) return true;
    const decided = files.authorise(caller, "read", block) ?? this.#decide(caller, "read", block);
    return decided.decision === "allow";
  }

  /** Throws what the rules say of the first target that is not allowed. */
  async check(caller: Caller, operation: Operation, targets: readonly string[]): Promise<void> {
    await checkAllowed(this.authorise, caller.actor, operation, targets, caller.kind);
  }

  /** The same for one target; undefined when it is allowed and nobody has to wait for that: a token is asked for each time. */
  checkOne(caller: Caller, operation: Operation, target: string): Promise<void> | undefined {
    const answer = this.authorise(caller.actor, operation, target, caller.kind);
    const isAllowed = !(answer instanceof Promise) && answer.decision === "allow";
    return isAllowed ? undefined : this.check(caller, operation, [target]);
  }

  #decide({ actor, kind = "person" }: Caller, operation: Operation, target: string): Decision {
    const isHeld = kind === "agent" || kind === "service";
    if (isHeld && EVERYWHERE.includes(operation) && !isBlockId(target)) return FOR_A_PERSON;
    const asked = ruled[operation];
    const rules = this.#files()?.rules();
    // Without a folder there is no file to write rules in.
    if (rules === undefined || asked === undefined || !isBlockId(target)) return ALLOWED;
    const { context, actor: owner } = parseBlockId(target);
    return decideBlock(rules, { context, owner }, asked, { actor, kind });
  }
}

/** Who is told where a text stands can guess one letter by letter, secrets too. */
const EVERYWHERE: readonly Operation[] = ["purge", "preview_purge"];
const FOR_A_PERSON: Decision = {
  decision: "ask",
  reason: "it looks for a text in everything, also in what is secret. Let a person do it.",
};

/** Asks the gate for several targets; the first that is not allowed is told. */
export async function checkAllowed(
  authorise: Authorise,
  actor: string,
  operation: Operation,
  targets: readonly string[],
  kind?: CallerKind,
): Promise<void> {
  for (const target of targets) {
    const answer = await authorise(actor, operation, target, kind);
    const { decision } = answer;
    if (decision === "allow") continue;
    throw new KumikoError(
      "denied",
      `${actor} may not ${operation.replaceAll("_", " ")} ${target}: ${answer.reason}`,
      { actor, operation, target, decision },
    );
  }
}
