import { MemoryDisk } from "../../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../../src/store/memory/memory-store.ts";

type Ending = "pass" | "fail";

/** A store whose commits can be held back, and then let pass or made to fail. */
export class GatedStore {
  readonly store: MemoryStore;
  #gate: { readonly opened: Promise<Ending>; open(ending: Ending): void } | undefined;

  constructor(disk = new MemoryDisk()) {
    this.store = new MemoryStore({
      disk,
      faults: async ({ what }) =>
        what === "commit" && this.#gate !== undefined ? this.#gate.opened : "pass",
    });
  }

  /** Commits wait from now on. */
  shut(): void {
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.#gate = { opened: promise, open: resolve };
  }

  /** Those that wait end like this; later ones pass. */
  open(ending: Ending): void {
    const gate = this.#gate;
    this.#gate = undefined;
    gate?.open(ending);
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function turns(): Promise<void> {
  for (let count = 0; count < 500; count++) await Promise.resolve();
}

/** Whether a promise is still open when everything else has happened. */
export async function waits(promise: Promise<unknown>): Promise<boolean> {
  let open = true;
  const close = (): void => void (open = false);
  promise.then(close, close);
  await turns();
  return open;
}
