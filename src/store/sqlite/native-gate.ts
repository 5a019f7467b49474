import { setTimeout as sleep } from "node:timers/promises";

/** Cells of the shared memory. */
const STOPPED = 0;
const INSIDE = 1;

/**
 * Lets a thread be ended, but never inside SQLite: ended there, it takes the whole process with it. The
 * thread makes its calls through `run`; whoever wants to end it awaits `stop` first.
 */
export class NativeGate {
  readonly shared: SharedArrayBuffer;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  #depth = 0;

  constructor(shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.shared = shared;
    this.#cells = new Int32Array(shared);
  }

  /** In the thread. A thread that is to be ended does not come in any more: it waits here for its end. */
  run<Result>(task: () => Result): Result {
    if (this.#depth > 0) return task();
    Atomics.store(this.#cells, INSIDE, 1);
    if (Atomics.load(this.#cells, STOPPED) === 1) {
      this.#leave();
      Atomics.wait(this.#cells, STOPPED, 1);
    }
    this.#depth = 1;
    try {
      return task();
    } finally {
      this.#depth = 0;
      this.#leave();
    }
  }

  /** On the other side. Resolves when the thread is not inside and will not be again. */
  async stop(): Promise<void> {
    Atomics.store(this.#cells, STOPPED, 1);
    // Looked at again and again: Node does not always wake up for `Atomics.waitAsync`.
    while (Atomics.load(this.#cells, INSIDE) === 1) await sleep(1);
  }

  #leave(): void {
    Atomics.store(this.#cells, INSIDE, 0);
  }
}
