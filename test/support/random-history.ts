import fc from "fast-check";
import { expect } from "vitest";
import type { BlockDocument, Splice, Stamp } from "../../src/blocks/index.ts";
import {
  anyText,
  boundaryBefore,
  boundaryBehind,
  fittingSplice,
  someText,
} from "./arbitrary-text.ts";
import { UnitOracle } from "./unit-oracle.ts";

/**
 * Histories as lists of wishes: plain numbers that are made to fit when their turn comes, so that
 * any part of a history is a history too and a failing one shrinks.
 */
export type Step =
  | {
      readonly kind: "type" | "erase";
      readonly actor: string;
      readonly place: Place;
      readonly text: string;
      readonly backwards: boolean;
      /** One commit for each key, or one for all. */
      readonly byKey: boolean;
      readonly edit: number;
    }
  | {
      readonly kind: "splices";
      readonly actor: string;
      readonly wishes: readonly Splice[];
      /** It counts also when it changes nothing. */
      readonly makes: boolean;
      readonly edit: number;
    }
  | {
      readonly kind: "undo" | "redo";
      readonly actor: string;
      /** Any Edit or flip, or undefined for the caller's own newest. */
      readonly named: number | undefined;
    }
  | { readonly kind: "touch"; readonly actor: string; readonly edit: number }
  | { readonly kind: "rollback"; readonly actor: string; readonly version: number };

/** Where a burst begins: at one's own cursor, where anybody wrote last, or anywhere. */
type Place = "own" | "last" | number;

export const actors = ["amy", "bob", "claude"] as const;

const actor = fc.constantFrom(...actors);
const place: fc.Arbitrary<Place> = fc.oneof(
  { weight: 2, arbitrary: fc.constant("own" as const) },
  { weight: 2, arbitrary: fc.constant("last" as const) },
  { weight: 3, arbitrary: fc.nat(300) },
);
const keys = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("a", "ab", "abcd", "words and", "x\n") },
  { weight: 1, arbitrary: someText(5) },
);
const burst = fc.record({
  kind: fc.constantFrom("type" as const, "type" as const, "erase" as const),
  actor,
  place,
  text: keys,
  backwards: fc.boolean(),
  byKey: fc.boolean(),
  edit: fc.nat(5),
});
const splices = fc.record({
  kind: fc.constant("splices" as const),
  actor,
  wishes: fc.array(fc.record({ at: fc.nat(300), remove: fc.nat(9), insert: anyText(3) }), {
    maxLength: 4,
  }),
  makes: fc.boolean(),
  edit: fc.nat(5),
});
const flip = fc.record({
  kind: fc.constantFrom("undo" as const, "undo" as const, "redo" as const),
  actor,
  named: fc.option(fc.nat(50), { nil: undefined }),
});
const touch = fc.record({ kind: fc.constant("touch" as const), actor, edit: fc.nat(5) });
const rollback = fc.record({ kind: fc.constant("rollback" as const), actor, version: fc.nat(100) });

export const editStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: burst },
  { weight: 3, arbitrary: splices },
);
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: burst },
  { weight: 4, arbitrary: splices },
  { weight: 5, arbitrary: flip },
  { weight: 1, arbitrary: rollback },
  { weight: 1, arbitrary: touch },
);

export function historyOf(maxLength: number, step = anyStep): fc.Arbitrary<Step[]> {
  return fc.array(step, { maxLength, size: "max" });
}

/** Makes the same history in a document and in the oracle, and compares their texts at each step. */
export class History {
  readonly oracle: UnitOracle;
  document: BlockDocument;
  /** Begins every Edit id: replicas may not give the same one twice. */
  readonly #prefix: string;
  readonly #cursors = new Map<string, number>();
  #last = 0;
  #edits = 0;
  #time = 1_700_000_000_000;

  constructor(document: BlockDocument, oracle = new UnitOracle(), prefix = "e") {
    this.document = document;
    this.oracle = oracle;
    this.#prefix = prefix;
  }

  run(steps: readonly Step[]): this {
    for (const step of steps) this.#run(step);
    return this;
  }

  /** A stamp for something new. */
  stamp(by: string, edit = `${this.#prefix}${++this.#edits}`): Stamp {
    this.#time += 1000;
    return { actor: by, edit, time: this.#time };
  }

  commit(made: readonly Splice[], stamp: Stamp, makes = false): void {
    this.document.commit(made, stamp, { makes });
    this.oracle.commit(made, stamp, makes);
    this.#compare();
  }

  /** Undoes or redoes, or proves that there is nothing to. Says whether it did. */
  flip(what: "undo" | "redo", by: string, named?: string): boolean {
    const request = { actor: by, edit: named };
    const wanted = what === "undo" ? this.oracle.undoOf(by, named) : this.oracle.redoOf(by, named);
    const plan = (): ReturnType<BlockDocument["planUndo"]> =>
      what === "undo" ? this.document.planUndo(request) : this.document.planRedo(request);
    if (wanted === undefined) {
      expect(plan).toThrow(expect.objectContaining({ code: "nothing_to_undo" }));
      return false;
    }
    const planned = plan();
    const stamp = this.stamp(by);
    const { splices: made } = this.document.flip(planned, stamp);
    expect({ edit: planned.edit, active: planned.active }).toEqual(wanted);
    expect(made).toEqual(planned.splices);
    this.oracle.flip(wanted, stamp, made);
    this.#compare();
    return true;
  }

  #compare(): void {
    expect(this.document.version).toBe(this.oracle.version);
    expect(this.document.read()).toBe(this.oracle.text());
  }

  #run(step: Step): void {
    switch (step.kind) {
      case "type":
      case "erase":
        this.#burst(step);
        break;
      case "splices":
        this.#splices(step);
        break;
      case "touch": {
        const stamp = this.stamp(step.actor, this.#editFor(step.actor, step.edit));
        this.document.touch(stamp);
        this.oracle.touch(stamp);
        this.#compare();
        break;
      }
      case "rollback": {
        const version = step.version % (this.document.version + 1);
        this.commit(this.document.translateRollback(version), this.stamp(step.actor));
        expect(this.document.read()).toBe(this.oracle.text(version));
        break;
      }
      default: {
        const ids = this.oracle.editIds;
        const named = step.named === undefined ? undefined : ids[step.named % ids.length];
        this.flip(step.kind, step.actor, named);
      }
    }
  }

  #burst(step: Extract<Step, { kind: "type" | "erase" }>): void {
    const stamp = this.stamp(step.actor, this.#editFor(step.actor, step.edit));
    let cursor = this.#cursorFor(step.actor, step.place);
    const typed = step.byKey ? [...step.text] : [step.text];
    for (const key of typed) {
      const text = this.document.read();
      let made: Splice;
      if (step.kind === "type") {
        made = { at: cursor, remove: 0, insert: key };
        cursor += key.length;
      } else if (step.backwards) {
        const at = boundaryBefore(text, Math.max(0, cursor - key.length));
        made = { at, remove: cursor - at, insert: "" };
        cursor = at;
      } else {
        const end = boundaryBehind(text, Math.min(text.length, cursor + key.length));
        made = { at: cursor, remove: end - cursor, insert: "" };
      }
      this.commit([made], stamp);
    }
    this.#cursors.set(step.actor, cursor);
    this.#last = cursor;
  }

  #splices(step: Extract<Step, { kind: "splices" }>): void {
    let text = this.document.read();
    const made = step.wishes.map((wish) => {
      const { at, remove, insert } = fittingSplice(text, wish);
      text = text.slice(0, at) + insert + text.slice(at + remove);
      this.#last = at + insert.length;
      return { at, remove, insert };
    });
    this.#cursors.set(step.actor, this.#last);
    const stamp = this.stamp(step.actor, this.#editFor(step.actor, step.edit));
    this.commit(made, stamp, step.makes);
  }

  /** A new Edit, or one of the actor's own that is active and goes on. */
  #editFor(by: string, wish: number): string | undefined {
    const open = this.oracle.textEdits(by).filter((id) => this.oracle.isActive(id));
    if (wish < 3 || open.length === 0) return undefined;
    return wish === 3 ? open.at(-1)! : open[wish % open.length];
  }

  #cursorFor(by: string, wish: Place): number {
    const text = this.document.read();
    const cursor =
      wish === "own" ? (this.#cursors.get(by) ?? 0) : wish === "last" ? this.#last : wish;
    return boundaryBefore(
      text,
      wish === "own" || wish === "last"
        ? Math.min(cursor, text.length)
        : cursor % (text.length + 1),
    );
  }
}
