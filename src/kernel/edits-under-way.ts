import type { Store } from "./ports.ts";

const SPACE = "edits-under-way";

/** What is to become of a whole file. */
export interface FileStep {
  readonly block: string;
  /** What tools take for where it is to be; undefined when it is to be gone. */
  readonly to: string | undefined;
}

/**
 * Edits that move and delete files, as long as they do: the disk is changed file by file, so what is still written down here
 * when a process begins was cut off with an earlier one.
 */
export class EditsUnderWay {
  readonly #store: Pick<Store, "put" | "list">;
  readonly #own = new Set<string>();

  constructor(store: Pick<Store, "put" | "list">) {
    this.#store = store;
  }

  async during<Result>(
    edit: string,
    steps: readonly FileStep[],
    run: () => Promise<Result>,
  ): Promise<Result> {
    this.#own.add(edit);
    await this.#store.put(
      SPACE,
      edit,
      JSON.stringify(steps.map(({ block, to }) => ({ block, to }))),
    );
    try {
      return await run();
    } finally {
      // Done, or taken back, or somebody was told that neither could be.
      await this.forget(edit);
    }
  }

  /** Whether it is just being carried out here. */
  has(edit: string): boolean {
    return this.#own.has(edit);
  }

  /** What earlier processes left. */
  async cutOff(): Promise<{ readonly edit: string; readonly steps: readonly FileStep[] }[]> {
    const all = await this.#store.list(SPACE);
    return all
      .filter(({ key }) => !this.#own.has(key))
      .map(({ key, value }) => ({ edit: key, steps: JSON.parse(value) as FileStep[] }));
  }

  async forget(edit: string): Promise<void> {
    await this.#store.put(SPACE, edit, undefined);
    this.#own.delete(edit);
  }
}
