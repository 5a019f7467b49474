import type { FeedEvent } from "../../../src/protocol/index.ts";

/** Milliseconds after which what was not delivered is missing. */
export const LATE = 30_000;

const LINE = /^(\d+) called at (\d+\.\d+)/;

/** A clock that all processes of a machine share, in milliseconds. */
function sharedClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** What an edit inserts: which it is, and when it was called. */
export function calledNow(number: number): string {
  return `${number} called at ${sharedClock().toFixed(6)}`;
}

/** What one subscriber got: every edit, once and in order, and how long each took. */
export class Arrivals {
  latencies: number[] = [];
  last = 0;
  #wanted = Infinity;
  readonly #all = Promise.withResolvers<void>();

  take(events: readonly FeedEvent[]): void {
    const now = sharedClock();
    for (const { change } of events) {
      if (change.kind !== "text") continue;
      const [, number, called] = LINE.exec(change.splices[0]!.insert)!;
      if (Number(number) !== this.last + 1)
        throw new Error(`edit ${number} came behind edit ${this.last}`);
      this.last++;
      this.latencies.push(now - Number(called));
    }
    if (this.last === this.#wanted) this.#all.resolve();
  }

  forget(): void {
    this.latencies = [];
  }

  /** Resolves when the last edit has come. */
  all(last: number): Promise<void> {
    this.#wanted = last;
    if (this.last === last) this.#all.resolve();
    return this.#all.promise;
  }
}
