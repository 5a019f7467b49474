import {
  type ActorKind,
  askedOf,
  decisionOf,
  type FileOperation,
  isStricter,
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
  /** Of what is protected: the word that a rule needs to open it, and the rule that matched without it. */
  readonly word?: string | undefined;
  readonly unnamedBy?: RuleName | undefined;
}

const doing: { readonly [operation in FileOperation]: string } = {
  read: "Reading",
  append: "Appending to",
  create: "Creating",
  change: "Changing",
  delete: "Deleting",
};

/** Of several rulings that hold together the strictest decides. `target` is what the sentence names: a path in quotes, or whose block it is. */
export function decided(
  [first, ...others]: readonly [Ruling, ...Ruling[]],
  operation: FileOperation,
  kind: ActorKind,
  target: string,
): Decision {
  const ruling = others.reduce(
    (one, other) =>
      isStricter(said(other, operation).verdict, said(one, operation).verdict) ? other : one,
    first,
  );
  const { level, rule } = ruling;
  const what = `${doing[operation]} ${target}`;
  const found = { level, rule };
  if (kind === "disk") {
    return { decision: "allow", ...found, reason: `${what} has happened on disk already.` };
  }
  if (kind === "system") {
    return { decision: "allow", ...found, reason: `${what} is the kernel's own upkeep.` };
  }
  const { verdict: decision } = said(ruling, operation);
  if (decision === "allow") {
    return {
      decision,
      ...found,
      // Hardly anybody asks why something is allowed, and everybody waits for it.
      get reason() {
        return `${what} is allowed: ${becauseOf(ruling, operation)}.`;
      },
    };
  }
  const because = becauseOf(ruling, operation);
  if (decision === "deny") {
    const hint = `Only ${otherRule(ruling)}, which a person may write, changes that.`;
    return { decision, ...found, reason: `${what} is denied: ${because}. ${hint}` };
  }
  if (kind === "person") {
    const reason = `${what} would be asked about: ${because}; a person's own action answers it.`;
    return { decision: "allow", ...found, reason, answered: true };
  }
  const whom = askedOf(level);
  const asked = whom === "partner" ? "the person whose agent this is" : "a person";
  const hint = `Let ${asked} do it, or write ${otherRule(ruling)} (level = "${enough(operation)}").`;
  return {
    decision,
    ...found,
    reason: `${what} needs a yes from ${asked}: ${because}. ${hint}`,
    whom,
  };
}

/** Whether a ruling gives an agent anything that another does not. */
export function givesMore(one: Ruling, other: Ruling, operation: FileOperation): boolean {
  return isStricter(said(other, operation).verdict, said(one, operation).verdict);
}

interface Said {
  readonly verdict: Verdict;
  readonly escalated?: Escalation;
}

/** To an agent. Whoever changes a text is shown what stands there, by diffs and conflicts: so changing needs reading. */
function said(ruling: Ruling, operation: FileOperation): Said {
  const own = saidOf(ruling, operation);
  if (operation !== "change") return own;
  const reading = saidOf(ruling, "read");
  return isStricter(reading.verdict, own.verdict) ? reading : own;
}

function saidOf({ level, escalate }: Ruling, operation: FileOperation): Said {
  const escalated = operation === "create" ? "append" : operation;
  return escalate.includes(escalated)
    ? { verdict: "ask", escalated }
    : { verdict: decisionOf(level, operation) };
}

function becauseOf(ruling: Ruling, operation: FileOperation): string {
  const { rule, level, unnamedBy } = ruling;
  const { escalated } = said(ruling, operation);
  const shown = escalated === "read" && operation === "change";
  return (
    `${JSON.stringify(rule.pattern)} is ${level}` +
    (shown ? " and escalates reading, and whoever changes a text is shown it" : "") +
    (escalated !== undefined && !shown ? " and escalates it" : "") +
    ` (${rule.from})` +
    (unnamedBy === undefined
      ? ""
      : `, and ${JSON.stringify(unnamedBy.pattern)} (${unnamedBy.from}) does not name it`)
  );
}

/** The least that lets an agent do it, of what lets it go on there. */
function enough(operation: FileOperation): Level {
  const wanted = ["read_only", "read_write"] as const;
  return wanted.find((level) => decisionOf(level, operation) === "allow") ?? "admin";
}

/** What would decide otherwise. */
function otherRule({ rule, word, unnamedBy }: Ruling): string {
  if (word === undefined && rule.from === "flag")
    return "a --rule before it, given with `kumiko mount`";
  if (word === undefined) return "a rule before it in kumiko.toml";
  const naming = `a rule with ${word} in its path`;
  return unnamedBy === undefined ? `${naming} in kumiko.toml` : `${naming} before that one`;
}
