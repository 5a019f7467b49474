import type { Content } from "./content.ts";
import type { StagedFile } from "./replacing.ts";
import type { Synced } from "./ledger.ts";
import type { TextForm } from "./text-form.ts";

/** One version of a block as it will be in its file, if what the two had in common stays the same until then. */
export interface StagedSave {
  readonly version: number;
  readonly synced: Synced;
  readonly form: TextForm;
  readonly bytes: Uint8Array;
  readonly content: Content;
  readonly file: StagedFile;
}

/** What is made ready for one Edit, by block. What was not saved is gone when its owner is done. */
export class StagedSaves implements Disposable {
  readonly #byBlock = new Map<string, StagedSave>();

  add(block: string, save: StagedSave): void {
    this.#byBlock.set(block, save);
  }

  of(block: string): StagedSave | undefined {
    return this.#byBlock.get(block);
  }

  get size(): number {
    return this.#byBlock.size;
  }

  [Symbol.dispose](): void {
    for (const { file } of this.#byBlock.values()) file[Symbol.dispose]();
  }
}
