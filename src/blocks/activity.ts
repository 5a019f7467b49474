import { Holds } from "./holds.ts";
import type { SpliceRecord } from "./splice-record.ts";

/**
 * Which Edits are active and which of their deletions hold when they are not, now and at any version, and what each
 * actor may redo. A function of the flips in version order.
 */
export class Activity {
  /** Versions at which an Edit was flipped: undone by the first, redone by the second, and so on. */
  readonly #flips = new Map<number, number[]>();
  /** Edits each actor has undone and not redone, latest last. */
  readonly #redoLists = new Map<string, number[]>();
  readonly #undone = new Set<number>();
  #holds = Holds.none;

  get holds(): Holds {
    return this.#holds;
  }

  /** The Edits that are undone, but for those that were undone when no deletion ever held. */
  get undone(): ReadonlySet<number> {
    return this.#undone;
  }

  /** Whether nothing was ever undone. */
  get untouched(): boolean {
    return this.#flips.size === 0;
  }

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

  /** The versions that flipped an Edit. */
  flipsOf(edit: number): readonly number[] {
    return this.#flips.get(edit) ?? [];
  }

  /** Takes a recorded flip into account. */
  flipped(record: SpliceRecord, version: number): void {
    const special = record.specials.get(version);
    if (special?.kind !== "flip") return;
    const { target: edit, active, held } = special;
    const { actor } = record.stampOf(version);
    if (active || held === undefined) this.#undone.delete(edit);
    else this.#undone.add(edit);
    const deletions = (held ?? []).map((death) => record.deletionOf(death));
    this.#holds = this.#holds.toggled(deletions, version);
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

  /** The first text of a new Edit ends what its author, and nobody else, could redo. */
  textCommitted(record: SpliceRecord, version: number): void {
    if (this.#redoLists.size === 0) return;
    const edit = record.editOf(version);
    if (firstTextOf(record, edit) === version) this.#redoLists.delete(record.editActors[edit]!);
  }

  newestRedo(actor: string): number | undefined {
    return this.#redoLists.get(actor)?.at(-1);
  }
}

/** Whether an Edit has text: what is only structure, a flip, a birth or the baseline cannot be undone here. */
export function isContentEdit(record: SpliceRecord, edit: number): boolean {
  return firstTextOf(record, edit) !== undefined;
}

function firstTextOf(record: SpliceRecord, edit: number): number | undefined {
  const [first, last] = record.editSpan(edit);
  for (let version = first; version <= last; version++) {
    if (record.editOf(version) === edit && isText(record, version)) return version;
  }
  return undefined;
}

export function isText(record: SpliceRecord, version: number): boolean {
  const kind = record.specials.get(version)?.kind;
  return kind === undefined || kind === "import";
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
