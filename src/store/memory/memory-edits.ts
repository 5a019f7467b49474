import type { EditRow, NewCommit } from "../../kernel/ports.ts";
import { editsAfter } from "../edits.ts";

/** Every Edit of text. Simulations have few: each question is a pass over all of them. */
export class MemoryEdits {
  readonly #edits = new Map<string, EditRow>();

  get(edit: string): EditRow | undefined {
    return this.#edits.get(edit);
  }

  /** What a batch makes of them. Changes nothing. */
  after(commits: readonly NewCommit[], firstPosition: number): EditRow[] {
    return editsAfter(commits, firstPosition, (edit) => this.#edits.get(edit));
  }

  apply(commits: readonly NewCommit[], firstPosition: number): void {
    for (const row of this.after(commits, firstPosition)) this.#edits.set(row.edit, row);
  }

  newest(actor: string, before?: EditRow): EditRow | undefined {
    const end = before?.last ?? Infinity;
    return this.#highest((edit) =>
      edit.actor === actor && edit.active && edit.last < end ? edit.last : 0,
    );
  }

  newestUndone(actor: string): EditRow | undefined {
    const undone = this.#highest(({ active, flipped }) =>
      !active && flipped?.actor === actor ? flipped.position : 0,
    );
    const written = this.#highest((edit) => (edit.actor === actor ? edit.last : 0))?.last ?? 0;
    return undone !== undefined && written < undone.flipped!.position ? undone : undefined;
  }

  /** The one with the highest rank; those with rank 0 do not count. */
  #highest(rank: (edit: EditRow) => number): EditRow | undefined {
    let highest: EditRow | undefined;
    let above = 0;
    for (const edit of this.#edits.values()) {
      if (rank(edit) <= above) continue;
      highest = edit;
      above = rank(edit);
    }
    return highest;
  }
}
