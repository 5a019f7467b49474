import { KeyedQueue, KumikoError } from "../base/index.ts";
import type { CommitDoor } from "./commit/door.ts";
import { doneInPart } from "./done-in-part.ts";
import { type EditParts, type FilePart, partsOf } from "./edit-parts.ts";
import type { EditsUnderWay } from "./edits-under-way.ts";
import type { FileFlip } from "./file-edit.ts";
import type { PlannedFlip } from "./files-port.ts";
import { bySystem, type Invocation } from "./invocation.ts";
import type { EditRow, Store } from "./ports.ts";
import type { Flipped, FlippedBlock } from "./undo.ts";

export interface WholeFlipsPorts {
  readonly store: Store;
  readonly door: CommitDoor;
  readonly underWay: EditsUnderWay;
  /** The id of a flip. */
  newFlip(edit: string, active: boolean): string;
  /** Text was flipped back: an autosave may have written what it said meanwhile, or removed a file whose making was undone. */
  takenBack(blocks: readonly string[], wasRedo: boolean): Promise<void>;
  /** Looks whether it can be and the caller may. */
  plan(invocation: Invocation, flip: FileFlip): Promise<PlannedFlip>;
}

/** Flips the text of some of an Edit's blocks. */
export type FlipText = (
  invocation: Invocation,
  flip: { readonly edit: string; readonly active: boolean; readonly blocks: readonly string[] },
) => Promise<readonly FlippedBlock[]>;

/** An Edit of whole files and what it is to become. */
interface Wanted {
  readonly row: EditRow;
  readonly active: boolean;
  /** The Edit that does it. */
  readonly edit: string;
  readonly flipText: FlipText;
}

type Flip = Pick<Wanted, "edit" | "active"> & { readonly parts: EditParts };

/** What was done so far. */
interface Done {
  texts: readonly string[];
  readonly files: FilePart[];
}

/**
 * Undo and redo of Edits that did something to whole files: their text is flipped in the journal, and each file goes or
 * comes by itself. Whether all of that can be is looked at first; what fails all the same is taken back.
 */
export class WholeFlips {
  readonly #ports: WholeFlipsPorts;
  /** Two who want the same do so one after the other. */
  readonly #flipping = new KeyedQueue();

  constructor(ports: WholeFlipsPorts) {
    this.#ports = ports;
  }

  async flip(
    invocation: Invocation,
    wanted: Wanted,
    fingerprint: string | undefined,
  ): Promise<Flipped> {
    const { store, door, underWay } = this.#ports;
    const { row, active, edit } = wanted;
    // What it has not done yet would be done under an Edit that is undone.
    if (underWay.has(row.edit) && invocation.kind !== "system") throw stillUnderWay(row.edit);
    return this.#flipping.run([row.edit], async () => {
      const earlier = await door.answered<Flipped>(invocation, fingerprint);
      if (earlier !== undefined) return earlier;
      if ((await store.edit(row.edit))?.active === active) throw already(row.edit, active);
      const parts = await partsOf(store, row);
      const done: Done = { texts: [], files: [] };
      let blocks: FlippedBlock[];
      try {
        blocks = await this.#carryOut(invocation, wanted, { edit, active, parts }, done);
      } catch (error) {
        await this.#takeBack(wanted, done, error);
        throw error;
      }
      const answer = { edit, flipped: row.edit, active, actor: row.actor, blocks };
      if (fingerprint !== undefined && invocation.call !== undefined)
        await door.remember(invocation, fingerprint, answer);
      return answer;
    });
  }

  async #carryOut(
    invocation: Invocation,
    { row, flipText }: Wanted,
    { edit, active, parts }: Flip,
    done: Done,
  ): Promise<FlippedBlock[]> {
    const planned: (readonly [FilePart, PlannedFlip])[] = [];
    for (const part of parts.files) {
      const flip = { ...part, flips: row.edit, active, edit };
      planned.push([part, await this.#ports.plan(invocation, flip)]);
    }
    const steps = planned.map(([{ block }, { to }]) => ({ block, to }));
    const run = async (): Promise<FlippedBlock[]> => {
      const flipped = new Map<string, FlippedBlock>();
      if (parts.texts.length > 0) {
        const blocks = await flipText(invocation, { edit, active, blocks: parts.texts });
        for (const each of blocks) flipped.set(each.block, each);
        done.texts = parts.texts;
      }
      for (const [part, plan] of planned) {
        const { block } = part;
        const version = await plan.carryOut();
        done.files.push(part);
        const told = flipped.get(block) ?? { block, diff: "", stayed: 0 };
        flipped.set(block, { ...told, version, file: plan.change });
      }
      return [...flipped.values()];
    };
    // One alone is done or not.
    const isOne = parts.texts.length + steps.length === 1;
    return isOne ? run() : this.#ports.underWay.during(edit, steps, run);
  }

  async #takeBack(wanted: Wanted, done: Done, why: unknown): Promise<void> {
    if (done.texts.length === 0 && done.files.length === 0) return;
    const { edit: flips } = wanted.row;
    const active = !wanted.active;
    const edit = this.#ports.newFlip(flips, active);
    const parts = { texts: done.texts, files: done.files.toReversed() };
    try {
      await this.#carryOut(
        bySystem(why),
        wanted,
        { edit, active, parts },
        { texts: [], files: [] },
      );
      await this.#ports.takenBack(done.texts, wanted.active);
    } catch (error) {
      throw doneInPart(wanted.edit, why, error);
    }
  }
}

function stillUnderWay(edit: string): KumikoError {
  return new KumikoError(
    "being_written",
    `Edit ${edit} is still being carried out: take it back when its call was answered.`,
    { edit },
  );
}

function already(edit: string, active: boolean): KumikoError {
  return new KumikoError(
    "nothing_to_undo",
    `Nothing to ${active ? "redo" : "undo"}: Edit ${edit} is ${active ? "not undone" : "already undone"}.`,
    { edit },
  );
}
