import type { Splice, Stamp } from "../../src/blocks/index.ts";
import { LastShown, placeAmongAll } from "./hidden-place.ts";

/** One UTF-16 unit that was once inserted. It is kept for ever, visible or not. */
export interface OracleUnit {
  readonly text: string;
  readonly edit: string;
  readonly version: number;
  readonly deletions: OracleDeletion[];
}

/** What one splice removed, and what it put there instead. */
interface OracleDeletion {
  readonly edit: string;
  readonly inserted: readonly OracleUnit[];
}

interface OracleEdit {
  readonly id: string;
  readonly actor: string;
  active: boolean;
  /** The last version it committed text in. */
  last: number;
  /** Of a flip: what it flipped, and to what. */
  readonly flips?: { readonly target: string; readonly active: boolean };
  /** Whether it is a baseline, a birth or without text, which nobody can undo. */
  readonly fixed: boolean;
}

/** What an undo or redo comes to: an Edit and its new state, or undefined if there is nothing to do. */
type Flip = { readonly edit: string; readonly active: boolean } | undefined;

/**
 * UNDO-1 taken at its word, without any cleverness: a unit is an object that knows the Edit that
 * inserted it and the deletions of it; it is visible iff the first is active and none of the others
 * holds. A deletion holds while its Edit is active, or while each unit that was put in its place is
 * gone by one that holds. Where among the hidden units new text goes, `placeAmongAll` says.
 */
export class UnitOracle {
  readonly #units: OracleUnit[] = [];
  readonly #edits = new Map<string, OracleEdit>();
  readonly #redoLists = new Map<string, string[]>();
  readonly #visible: (readonly OracleUnit[])[] = [[]];
  readonly #splices: (readonly Splice[])[] = [[]];
  readonly #lastShown = new LastShown<OracleUnit>();

  get version(): number {
    return this.#visible.length - 1;
  }

  get editIds(): string[] {
    return [...this.#edits.keys()];
  }

  /** The visible units of a version, in order; those of two versions are the same objects. */
  visible(version = this.version): readonly OracleUnit[] {
    return this.#visible[version]!;
  }

  text(version = this.version): string {
    return textOf(this.visible(version));
  }

  /** Every unit there ever was, in order. */
  get units(): readonly OracleUnit[] {
    return this.#units;
  }

  /** The units that a version showed or hid. */
  toggled(version: number): Set<OracleUnit> {
    const [before, behind] = [new Set(this.visible(version - 1)), new Set(this.visible(version))];
    return before.symmetricDifference(behind);
  }

  /** The splices a version made. */
  splices(version: number): readonly Splice[] {
    return this.#splices[version]!;
  }

  /** With `makes` it counts also when it changes nothing. */
  commit(splices: readonly Splice[], stamp: Stamp, makes = false): void {
    const made = splices.filter(({ remove, insert }) => remove > 0 || insert !== "");
    if (made.length > 0 || makes) this.#record(made, stamp, false);
  }

  /** A commit that nobody can undo, with or without text. */
  commitFixed(splices: readonly Splice[], stamp: Stamp): void {
    this.#record(splices, stamp, true);
  }

  /** A commit without text, which is nobody's to undo unless its Edit has text as well. */
  touch({ edit, actor }: Stamp): void {
    const known = this.#edits.get(edit);
    if (known === undefined) {
      this.#edits.set(edit, { id: edit, actor, active: true, last: 0, fixed: true });
    } else known.last = this.version + 1;
    this.#nextVersion([]);
  }

  flip({ edit, active }: NonNullable<Flip>, stamp: Stamp, splices: readonly Splice[]): void {
    this.#edits.get(edit)!.active = active;
    this.#edits.set(stamp.edit, {
      id: stamp.edit,
      actor: stamp.actor,
      active: true,
      last: 0,
      flips: { target: edit, active },
      fixed: false,
    });
    for (const [actor, list] of this.#redoLists) {
      this.#redoLists.set(
        actor,
        list.filter((each) => each !== edit),
      );
    }
    if (!active) {
      this.#redoLists.set(stamp.actor, [...(this.#redoLists.get(stamp.actor) ?? []), edit]);
    }
    this.#nextVersion(splices);
  }

  isActive(edit: string): boolean {
    return this.#edits.get(edit)!.active;
  }

  actorOf(edit: string): string {
    return this.#edits.get(edit)!.actor;
  }

  /** Edits of text, in the order in which they began. */
  textEdits(actor?: string): string[] {
    return [...this.#edits.values()]
      .filter((each) => each.flips === undefined && !each.fixed)
      .filter((each) => actor === undefined || each.actor === actor)
      .map(({ id }) => id);
  }

  undoOf(actor: string, named?: string): Flip {
    if (named !== undefined) return this.#named(named, "undo");
    const candidates = this.textEdits(actor).filter((id) => this.isActive(id));
    const newest = candidates.toSorted(
      (a, b) => this.#edits.get(b)!.last - this.#edits.get(a)!.last,
    )[0];
    return newest === undefined ? undefined : { edit: newest, active: false };
  }

  redoOf(actor: string, named?: string): Flip {
    if (named !== undefined) return this.#named(named, "redo");
    const edit = this.#redoLists.get(actor)?.at(-1);
    return edit === undefined ? undefined : { edit, active: true };
  }

  /** The text if one Edit's state were another, and how many of its units would not change. */
  ifFlipped({ edit, active }: NonNullable<Flip>): { text: string; stayed: number } {
    const was = this.isActive(edit);
    const before = new Set(this.#shown());
    this.#edits.get(edit)!.active = active;
    const behind = this.#shown();
    this.#edits.get(edit)!.active = was;
    const shown = new Set(behind);
    const concerned = this.#units.filter(
      (unit) => unit.edit === edit || unit.deletions.some((deletion) => deletion.edit === edit),
    );
    const stayed = concerned.filter((unit) => before.has(unit) === shown.has(unit)).length;
    return { text: textOf(behind), stayed };
  }

  /** The text if only these Edits had ever been made (and the fixed ones). */
  textOfOnly(edits: ReadonlySet<string>): string {
    const counts = (id: string): boolean => this.#edits.get(id)!.fixed || edits.has(id);
    return textOf(this.#shown(counts));
  }

  #named(id: string, what: "undo" | "redo"): Flip {
    const { flips, fixed } = this.#edits.get(id)!;
    const edit = flips?.target ?? id;
    const active = flips === undefined ? what === "redo" : (what === "redo") === flips.active;
    return fixed || this.isActive(edit) === active ? undefined : { edit, active };
  }

  #record(splices: readonly Splice[], { edit, actor }: Stamp, fixed: boolean): void {
    const known = this.#edits.get(edit);
    const version = this.version + 1;
    if (known === undefined) {
      this.#edits.set(edit, { id: edit, actor, active: true, last: version, fixed });
      this.#redoLists.delete(actor);
    } else known.last = version;
    for (const splice of splices) this.#splice(splice, edit);
    this.#nextVersion(splices);
  }

  #splice({ at, remove, insert }: Splice, edit: string): void {
    const visible = this.#shown();
    const place = placeAmongAll(this.#units, visible, { at, remove }, this.#lastShown);
    const version = this.version + 1;
    const added = insert.split("").map((text) => ({ text, edit, version, deletions: [] }));
    const deletion = { edit, inserted: added };
    for (const unit of visible.slice(at, at + remove)) unit.deletions.push(deletion);
    this.#units.splice(place, 0, ...added);
  }

  #nextVersion(splices: readonly Splice[]): void {
    this.#visible.push(this.#shown());
    this.#lastShown.show(this.visible(), this.version);
    this.#splices.push(splices);
  }

  #shown(isActive = (edit: string): boolean => this.isActive(edit)): OracleUnit[] {
    const known = new Map<OracleDeletion, boolean>();
    const isGone = (unit: OracleUnit): boolean => unit.deletions.some(holds);
    const holds = (deletion: OracleDeletion): boolean => {
      const { edit, inserted } = deletion;
      if (!known.has(deletion))
        known.set(deletion, isActive(edit) || (inserted.length > 0 && inserted.every(isGone)));
      return known.get(deletion)!;
    };
    return this.#units.filter((unit) => isActive(unit.edit) && !isGone(unit));
  }
}

export function textOf(units: readonly OracleUnit[]): string {
  return units.map((unit) => unit.text).join("");
}
