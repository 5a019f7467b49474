import type { Kernel } from "../kernel/index.ts";
import type { Synced } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";

/** What was taken in of one epoch so far: one that takes long is told in parts, and all of them are one Edit. */
export class TakenEpoch {
  readonly #kernel: Kernel;
  readonly #number: number | undefined;
  #edit: string | undefined;
  /** Files that went, as they were: they may come by other names. */
  readonly went = new Map<MountedFile, Synced>();

  /** Without a number it has no further parts. */
  constructor(kernel: Kernel, number?: number) {
    this.#kernel = kernel;
    this.#number = number;
  }

  /** Something of it is an Edit. */
  get isBegun(): boolean {
    return this.#edit !== undefined;
  }

  is(number: number | undefined): boolean {
    return number !== undefined && number === this.#number;
  }

  /** Goes on with its Edit; with a new one when that was undone meanwhile. */
  async within<Answer extends { readonly edit: string }>(
    commit: (edit: string | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const isActive = this.#edit !== undefined && (await this.#kernel.isActive(this.#edit));
    const answer = await commit(isActive ? this.#edit : undefined);
    this.#edit = answer.edit;
    return answer;
  }
}
