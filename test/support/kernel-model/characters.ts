import { LastShown, placeAmongAll } from "../hidden-place.ts";

/** One UTF-16 unit that was once inserted. It is kept for ever, visible or not. */
export interface Character {
  readonly text: string;
  readonly edit: string;
  readonly version: number;
  readonly deletions: Deletion[];
}

/** What one change removed, and what it put there instead. */
interface Deletion {
  readonly edit: string;
  readonly inserted: readonly Character[];
}

/** A replacement in a text, in UTF-16 units. */
export interface Change {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

/** What a text is to become: characters that stay, and new ones. */
export type Wanted = readonly (Character | string)[];

/** A block's text as characters with identities, and the characters that each version showed. */
export class ModelText {
  readonly #all: Character[] = [];
  readonly #versions: (readonly Character[])[] = [[]];
  readonly #lastShown = new LastShown<Character>();
  readonly #isActive: (edit: string) => boolean;

  constructor(isActive: (edit: string) => boolean) {
    this.#isActive = isActive;
  }

  get version(): number {
    return this.#versions.length - 1;
  }

  visible(version = this.version): readonly Character[] {
    return this.#versions[version]!;
  }

  read(version = this.version): string {
    return textOf(this.visible(version));
  }

  /** The next version: changes one after the other. */
  commit(changes: readonly Change[], edit: string): void {
    const version = this.version + 1;
    const visible = [...this.visible()];
    for (const { at, remove, insert } of changes) {
      const added = insert
        .split("")
        .map((text): Character => ({ text, edit, version, deletions: [] }));
      const deletion = { edit, inserted: added };
      for (const character of visible.slice(at, at + remove)) character.deletions.push(deletion);
      const place = placeAmongAll(this.#all, visible, { at, remove }, this.#lastShown);
      this.#all.splice(place, 0, ...added);
      visible.splice(at, remove, ...added);
    }
    this.#next(visible);
  }

  /** The next version, after some Edit was switched off or on. */
  flip(): void {
    this.#next(this.#shown(this.#isActive));
  }

  #next(visible: readonly Character[]): void {
    this.#versions.push(visible);
    this.#lastShown.show(visible, this.version);
  }

  /** What an Edit's being switched comes to, and how many of its characters it would not change. */
  ifFlipped(edit: string, active: boolean): { wanted: Wanted; stayed: number } {
    const wanted = this.#shown((other) => (other === edit ? active : this.#isActive(other)));
    const [before, behind] = [new Set(this.visible()), new Set(wanted)];
    const stayed = this.#all
      .filter((one) => one.edit === edit || one.deletions.some((each) => each.edit === edit))
      .filter((one) => before.has(one) === behind.has(one)).length;
    return { wanted, stayed };
  }

  /** What a version showed: what is still there stays, what is not is written anew; all of it stays where it says the same. */
  ifRolledBack(version: number): Wanted {
    if (this.read(version) === this.read()) return this.visible();
    const [now, then] = [new Set(this.visible()), new Set(this.visible(version))];
    return this.#all.filter((one) => then.has(one)).map((one) => (now.has(one) ? one : one.text));
  }

  #shown(isActive: (edit: string) => boolean): Character[] {
    const known = new Map<Deletion, boolean>();
    const isGone = ({ deletions }: Character): boolean => deletions.some(holds);
    // Also of an Edit that is undone, when others have removed all that it put there.
    const holds = (deletion: Deletion): boolean => {
      const { edit, inserted } = deletion;
      if (!known.has(deletion))
        known.set(deletion, isActive(edit) || (inserted.length > 0 && inserted.every(isGone)));
      return known.get(deletion)!;
    };
    return this.#all.filter((one) => isActive(one.edit) && !isGone(one));
  }
}

export function textOf(characters: Wanted): string {
  return characters.map((each) => (typeof each === "string" ? each : each.text)).join("");
}

/** What changes of one text, none touching another, make of it. */
export function changed(before: readonly Character[], changes: readonly Change[]): Wanted {
  const wanted: (Character | string)[] = [...before];
  for (const { at, remove, insert } of changes.toReversed()) {
    wanted.splice(at, remove, ...insert.split(""));
  }
  return wanted;
}
