import { KumikoError } from "../base/errors.ts";
import type { EditRow, NewCommit } from "../kernel/ports.ts";
import { compareNames } from "./contract.ts";

/** An Edit while the commits of a batch are gone through. */
interface Changing extends Omit<EditRow, "blocks"> {
  readonly blocks: Set<string>;
}

/**
 * What the commits of a batch make of the Edits they belong to or flip: only those that change. Throws
 * `unknown_edit` for the flip of an Edit that changed no text here.
 */
export function editsAfter(
  commits: readonly NewCommit[],
  firstPosition: number,
  find: (edit: string) => EditRow | undefined,
): EditRow[] {
  const changing = new Map<string, Changing>();
  for (const [index, commit] of commits.entries()) {
    const { undo } = commit;
    if (undo === undefined) continue;
    const position = firstPosition + index;
    const name = undo.kind === "text" ? commit.edit : undo.edit;
    const before = changing.get(name) ?? begun(find(name));
    if (undo.kind === "text") {
      changing.set(name, extended(before, commit, position));
    } else if (before !== undefined) {
      const flipped = { actor: commit.actor, position };
      changing.set(name, { ...before, active: undo.active, flipped });
    } else throw unknownEdit(name, commit.block);
  }
  return [...changing.values()].map((edit) => ({
    ...edit,
    blocks: [...edit.blocks].toSorted(compareNames),
  }));
}

function begun(edit: EditRow | undefined): Changing | undefined {
  return edit && { ...edit, blocks: new Set(edit.blocks) };
}

function extended(before: Changing | undefined, commit: NewCommit, position: number): Changing {
  const { edit, actor, block } = commit;
  if (before !== undefined) return { ...before, blocks: before.blocks.add(block), last: position };
  return { edit, actor, blocks: new Set([block]), first: position, last: position, active: true };
}

function unknownEdit(edit: string, block: string): KumikoError {
  return new KumikoError(
    "unknown_edit",
    `The commit of ${block} undoes or redoes ${edit}, but no Edit of that name changed any text here: ask for it by \`edit\` first.`,
    { edit, block },
  );
}
