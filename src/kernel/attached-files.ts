import { KumikoError } from "../base/index.ts";
import type { TextEdit } from "./block-writing.ts";
import type { Applied } from "./commit/door.ts";
import type { FileFlip } from "./file-edit.ts";
import type { FilePort, PlannedFlip, PlannedGoing } from "./files-port.ts";
import type { Invocation } from "./invocation.ts";
import type { Flipped } from "./undo.ts";

export interface FlippedFiles extends Flipped {
  /** Those of its blocks whose files were gone and were made again. */
  readonly back: ReadonlySet<string>;
}

/** The folders of a kernel, once it has some: whoever changes blocks is answered when their files are saved. */
export class AttachedFiles {
  readonly #kernel: string;
  /** Calls that may change files and are not answered yet. */
  readonly #underWay = new Set<Promise<unknown>>();
  #port: FilePort | undefined;

  constructor(kernel: string) {
    this.#kernel = kernel;
  }

  attach(port: FilePort): void {
    if (this.#port !== undefined) throw new Error(`${this.#kernel} has its files already`);
    this.#port = port;
  }

  get port(): FilePort | undefined {
    return this.#port;
  }

  /** Runs a call that may change files: no folder goes before it is answered. It asks the gate in here. */
  async during<Result>(call: () => Promise<Result>): Promise<Result> {
    const answered = call();
    this.#underWay.add(answered);
    try {
      return await answered;
    } finally {
      this.#underWay.delete(answered);
    }
  }

  /** Resolves when the calls that are under way now are answered. */
  async answered(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /** Has text changed, and files made ready meanwhile. */
  async edit<Answer>(
    invocation: Invocation,
    request: TextEdit<Answer>,
    editText: (request: TextEdit<Answer>) => Promise<Answer>,
  ): Promise<Answer> {
    const files = this.#port;
    if (files === undefined) return editText(request);
    let staged: Disposable | undefined;
    const answer = (applied: Applied): Answer => {
      // An earlier plan was outrun.
      staged?.[Symbol.dispose]();
      staged = undefined;
      staged = files.stage(applied.changes);
      return request.answer(applied);
    };
    // To make a file again is an Edit, whatever it says.
    const away = request.restores === true ? files.away(request.blocks) : undefined;
    const makes = away === undefined ? request.makes : (block: string) => away.has(block);
    try {
      const answered = await editText({ ...request, makes, answer });
      if (away !== undefined) await files.restored(invocation, request.blocks, away);
      else await files.saved(request.blocks, staged);
      this.tellUnsaved(invocation, request.blocks);
      return answered;
    } finally {
      staged?.[Symbol.dispose]();
    }
  }

  /** Looks whether a file can be deleted or moved; undefined when what is given is no file. */
  async going(
    invocation: Invocation,
    given: string,
    to: string | undefined,
  ): Promise<PlannedGoing | undefined> {
    const planned = await this.#port?.going(invocation, given, to);
    if (planned === undefined) return undefined;
    return {
      ...planned,
      carryOut: (edit, verify) => this.during(() => planned.carryOut(edit, verify)),
    };
  }

  /** Looks whether what somebody did to a file can be undone or redone. */
  async flip(invocation: Invocation, flip: FileFlip): Promise<PlannedFlip> {
    const planned = await this.#port?.flip(invocation, flip);
    if (planned !== undefined) return planned;
    const { block, flips: edit } = flip;
    throw new KumikoError(
      "not_on_disk",
      `Edit ${edit} is about the file of ${block}, and its folder is not mounted.`,
      { edit, block },
    );
  }

  /** An Edit was undone or redone: saves what its blocks say now. */
  async flipped(invocation: Invocation, flipped: Flipped): Promise<FlippedFiles> {
    const blocks = flipped.blocks.map(({ block }) => block);
    // What was deleted is not to be made again for its text.
    const restored = flipped.blocks.flatMap(({ block, file }) => (file === "deletes" ? [] : block));
    await this.#port?.flipped(flipped.flipped, flipped.active);
    const back = (await this.#port?.restored(invocation, restored)) ?? new Set();
    this.tellUnsaved(invocation, blocks);
    return { ...flipped, back };
  }

  /** An Edit, or its redoing, was taken back that was not done whole: its files are to be what they were, and none is to be made. */
  async takenBack(blocks: readonly string[], edit?: string): Promise<void> {
    if (edit !== undefined) await this.#port?.takenBack(edit, blocks);
    await this.#port?.saved(blocks);
  }

  /** An undo was taken back that was not done whole: of its files, those that it had removed are made again. */
  async broughtBack(blocks: readonly string[]): Promise<void> {
    await this.#port?.restored({ actor: "system", kind: "system" }, blocks);
  }

  /** Makes files on disk whose blocks were made before. */
  async make(invocation: Invocation, blocks: readonly string[]): Promise<void> {
    await this.#port?.make(blocks);
    this.tellUnsaved(invocation, blocks);
  }

  tellUnsaved({ onUnsaved }: Invocation, blocks: readonly string[]): void {
    if (onUnsaved !== undefined) this.#port?.unsaved(blocks).forEach(onUnsaved);
  }
}
