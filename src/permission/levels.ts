/** The strictest first. */
export const levels = [
  "secret",
  "read_only",
  "partner",
  "human",
  "append",
  "read_write",
  "admin",
] as const;
export type Level = (typeof levels)[number];

export const fileOperations = ["read", "append", "create", "change", "delete"] as const;
export type FileOperation = (typeof fileOperations)[number];

/** Who acts. A service is held to the rules as an agent is. */
export type ActorKind = "person" | "agent" | "service" | "disk" | "system";

export type Verdict = "allow" | "ask" | "deny";

const byStrictness: readonly Verdict[] = ["deny", "ask", "allow"];

export function isStricter(one: Verdict, other: Verdict): boolean {
  return byStrictness.indexOf(one) < byStrictness.indexOf(other);
}

/** To create is to append to nothing. */
const table: { readonly [level in Level]: { readonly [operation in FileOperation]: Verdict } } = {
  secret: { read: "ask", append: "ask", create: "ask", change: "ask", delete: "deny" },
  read_only: { read: "allow", append: "deny", create: "deny", change: "deny", delete: "deny" },
  partner: { read: "allow", append: "ask", create: "ask", change: "ask", delete: "deny" },
  human: { read: "allow", append: "ask", create: "ask", change: "ask", delete: "ask" },
  append: { read: "allow", append: "allow", create: "allow", change: "deny", delete: "deny" },
  read_write: { read: "allow", append: "allow", create: "allow", change: "allow", delete: "ask" },
  admin: { read: "allow", append: "allow", create: "allow", change: "allow", delete: "allow" },
};

/** What a level says to an agent. */
export function decisionOf(level: Level, operation: FileOperation): Verdict {
  return table[level][operation];
}

/** Who may answer an ask: the person who issued the agent's token, or any person. */
export function askedOf(level: Level): "partner" | "human" {
  return level === "partner" ? "partner" : "human";
}

export interface BothChanged {
  /** Whose lines stand at once; with `nobody` both are shown and a decision is waited for. */
  readonly stands: "disk" | "memory" | "nobody";
  /** Whether text that memory only added at the end is kept although disk stands. */
  readonly keepsAppended: boolean;
}

/** Who wins when disk and memory changed the same lines. The losing lines are kept as a conflict. */
export function whenBothChanged(level: Level): BothChanged {
  if (level === "admin") return { stands: "memory", keepsAppended: false };
  if (level === "partner" || level === "human") return { stands: "nobody", keepsAppended: false };
  return { stands: "disk", keepsAppended: level === "append" };
}
