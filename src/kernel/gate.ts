import { isBlockId, KumikoError, parseBlockId } from "../base/index.ts";
import { decideBlock, type FileOperation, type Rules } from "../permission/index.ts";

/** What the gate is asked for. Only files have rules about reading. */
export type Operation =
  | "read"
  | "append"
  | "change"
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
) => Promise<Decision>;

/** The operations that rules know; all others are for whoever's token has the scope. */
export const ruled: { readonly [operation in Operation]?: FileOperation } = {
  read: "read",
  append: "append",
  create: "create",
  change: "change",
  delete: "delete",
};

const ALLOWED: Decision = { decision: "allow", reason: "no rule is about it" };

export type ConversationRules = Pick<Rules, "conversations">;

/** What rules say of a block of a conversation: an agent may write its own, and asks about others'. */
export function decideConversation(
  rules: ConversationRules | undefined,
  { actor, kind = "person" }: { readonly actor: string; readonly kind?: CallerKind | undefined },
  operation: Operation,
  target: string,
): Decision {
  const asked = ruled[operation];
  // Without a folder there is no file to write rules in.
  if (rules === undefined || asked === undefined || !isBlockId(target)) return ALLOWED;
  const { context, actor: owner } = parseBlockId(target);
  return decideBlock(rules, { context, owner }, asked, { actor, kind });
}

/** Asks the gate for several targets; the first that is not allowed is told. */
export async function checkAllowed(
  authorise: Authorise,
  actor: string,
  operation: Operation,
  targets: readonly string[],
  kind?: CallerKind,
): Promise<void> {
  for (const target of targets) {
    const { decision, reason } = await authorise(actor, operation, target, kind);
    if (decision === "allow") continue;
    throw new KumikoError(
      "denied",
      `${actor} may not ${operation.replaceAll("_", " ")} ${target}: ${reason}`,
      { actor, operation, target, decision },
    );
  }
}
