import { type Decision, decided, type Ruling } from "./decision.ts";
import type { ActorKind, FileOperation } from "./levels.ts";
import type { Rules } from "./rules.ts";

export interface BlockTarget {
  readonly context: string;
  /** The actor who made the block; of one that is being created, the actor itself. */
  readonly owner: string;
}

/**
 * Which rule holds for a block of a conversation, and what it says. Of each folder's rules the first that matches counts,
 * and of these the strictest decides: so no folder opens what another one keeps.
 */
export function decideBlock(
  folders: readonly Pick<Rules, "conversations">[],
  { context, owner }: BlockTarget,
  operation: FileOperation,
  { actor, kind }: { readonly actor: string; readonly kind: ActorKind },
): Decision {
  const whose = owner === actor ? "own" : "others";
  const rulings = folders.flatMap(({ conversations }): Ruling[] => {
    const written = conversations.find(
      (rule) => (rule.whose === "any" || rule.whose === whose) && rule.context.matches(context),
    );
    if (written === undefined) return [];
    const { level, from } = written;
    return [{ level, escalate: [], rule: { pattern: written.context.pattern, from } }];
  });
  const [first = builtIn[whose], ...others] = rulings;
  const target =
    whose === "own" ? `a block of its own in ${context}` : `a block of ${owner} in ${context}`;
  return decided([first, ...others], operation, kind, target);
}

/** An agent may append to its own blocks and change them; others' blocks it asks about. */
const builtIn: { readonly [whose in "own" | "others"]: Ruling } = {
  own: { level: "read_write", escalate: [], rule: { pattern: "own blocks", from: "built in" } },
  others: { level: "human", escalate: [], rule: { pattern: "others' blocks", from: "built in" } },
};
