import type { Timers } from "../base/index.ts";

/** Waits for one thing after the other, but for no longer than so much in all; remembers what it gave up on. */
export class Deadline implements Disposable {
  readonly gaveUp: string[] = [];
  readonly #over = Promise.withResolvers<"over">();
  readonly #timer: { cancel(): void };

  constructor(milliseconds: number, timers: Timers) {
    this.#timer = timers.after(milliseconds, () => this.#over.resolve("over"));
  }

  /** `what` is asked only when there was no time for it. */
  async wait(waiting: Promise<unknown>, what: () => string): Promise<void> {
    const ended = waiting.then(() => "done" as const);
    if ((await Promise.race([ended, this.#over.promise])) === "done") return;
    this.gaveUp.push(what());
    // Nobody waits for it any more.
    ended.catch(() => undefined);
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
  }
}
