import {
  type ActorKind,
  askedOf,
  decisionOf,
  type FileOperation,
  type Level,
  type Verdict,
} from "./levels.ts";

export interface Decision {
  readonly decision: Verdict;
  readonly level: Level;
  /** The rule that decided and where it stands: `kumiko.toml line 7`, `built in`, `flag`. */
  readonly rule: RuleName;
  /** For a person or a model: what was asked, which rule, what to try. */
  readonly reason: string;
  /** Whom an ask is for. */
  readonly whom?: "partner" | "human";
  /** A person's own action answered its own ask. */
  readonly answered?: true;
}

export interface RuleName {
  readonly pattern: string;
  readonly from: string;
}

/** What rules can make an ask of; creating counts as appending. */
export const escalations = ["read", "append", "change", "delete"] as const;
export type Escalation = (typeof escalations)[number];

/** What a rule that matched says. */
export interface Ruling {
  readonly level: Level;
  readonly escalate: readonly Escalation[];
  readonly rule: RuleName;
}

const doing: { readonly [operation in FileOperation]: string } = {
  read: "Reading",
  append: "Appending to",
  create: "Creating",
  change: "Changing",
  delete: "Deleting",
};

/** `target` is what the sentence names: a path in quotes, or whose block it is. */
export function decided(
  { level, escalate, rule }: Ruling,
  operation: FileOperation,
  kind: ActorKind,
  target: string,
): Decision {
  const what = `${doing[operation]} ${target}`;
  const found = { level, rule };
  if (kind === "disk") {
    return { decision: "allow", ...found, reason: `${what} has happened on disk already.` };
  }
  if (kind === "system") {
    return { decision: "allow", ...found, reason: `${what} is the kernel's own upkeep.` };
  }
  const escalated = escalate.includes(operation === "create" ? "append" : operation);
  const decision = escalated ? "ask" : decisionOf(level, operation);
  const because =
    `${JSON.stringify(rule.pattern)} is ${level}` +
    (escalated ? " and escalates it" : "") +
    ` (${rule.from})`;
  if (decision === "allow") {
    return { decision, ...found, reason: `${what} is allowed: ${because}.` };
  }
  if (decision === "deny") {
    const hint = "Only a rule before it in kumiko.toml, which a person may write, changes that.";
    return { decision, ...found, reason: `${what} is denied: ${because}. ${hint}` };
  }
  if (kind === "person") {
    const reason = `${what} would be asked about: ${because}; a person's own action answers it.`;
    return { decision: "allow", ...found, reason, answered: true };
  }
  const whom = askedOf(level);
  const asked = whom === "partner" ? "the person whose agent this is" : "a person";
  const hint = `Let ${asked} do it, or write a rule before it in kumiko.toml.`;
  return {
    decision,
    ...found,
    reason: `${what} needs a yes from ${asked}: ${because}. ${hint}`,
    whom,
  };
}
