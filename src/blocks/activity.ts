import type { SpliceRecord } from "./splice-record.ts";

/**
 * Which Edits are active, now and at any version, and what each actor may redo. A function of the
 * flips in version order.
 */
export class Activity {
  /** Versions at which an Edit was flipped: undone by the first, redone by the second, and so on. */
  readonly #flips = new Map<number, number[]>();
  /** Edits each actor has undone and not redone, latest last. */
  readonly #redoLists = new Map<string, number[]>();

  isActive(edit: number): boolean {
    return ((this.#flips.get(edit)?.length ?? 0) & 1) === 0;
  }

  activeAt(edit: number, version: number): boolean {
    const flips = this.#flips.get(edit);
    if (flips === undefined) return true;
    let count = 0;
    while (count < flips.length && flips[count]! <= version) count++;
    return (count & 1) === 0;
  }

  /** The last version up to now that flipped an Edit; 0 if none. */
  lastFlip(edit: number): number {
    return this.#flips.get(edit)?.at(-1) ?? 0;
  }

  flip(edit: number, active: boolean, actor: string, version: number): void {
    const flips = this.#flips.get(edit);
    if (flips === undefined) this.#flips.set(edit, [version]);
    else flips.push(version);
    if (active) {
      for (const list of this.#redoLists.values()) {
        const at = list.indexOf(edit);
        if (at !== -1) list.splice(at, 1);
      }
    } else {
      const list = this.#redoLists.get(actor);
      if (list === undefined) this.#redoLists.set(actor, [edit]);
      else list.push(edit);
    }
  }

  /** A new Edit ends what its author, and nobody else, could redo. */
  editBegun(actor: string): void {
    if (this.#redoLists.size > 0) this.#redoLists.delete(actor);
  }

  newestRedo(actor: string): number | undefined {
    return this.#redoLists.get(actor)?.at(-1);
  }
}

/** Whether an Edit has text: what is only structure, a flip, a birth or the baseline cannot be undone here. */
export function isContentEdit(record: SpliceRecord, edit: number): boolean {
  const [first, last] = record.editSpan(edit);
  for (let version = first; version <= last; version++) {
    if (record.editOf(version) !== edit) continue;
    const kind = record.specials.get(version)?.kind;
    if (kind === undefined || kind === "import") return true;
  }
  return false;
}

/** The caller's newest active Edit, by its last commit. */
export function newestUndo(
  record: SpliceRecord,
  activity: Activity,
  actor: string,
): number | undefined {
  for (let version = record.version; version > 0; version--) {
    const edit = record.editOf(version);
    if (record.editActors[edit] !== actor) continue;
    if (activity.isActive(edit) && isContentEdit(record, edit)) return edit;
  }
  return undefined;
}
