/** Milliseconds. Injected wherever time decides anything, so that tests are deterministic. */
export interface Clock {
  now(): number;
}

/** Monotonic: for deadlines and durations. */
export const monotonicClock: Clock = { now: () => performance.now() };

/** Runs something later, unless it is called off before. Injected like the clock. */
export interface Timers {
  after(milliseconds: number, run: () => void): { cancel(): void };
}
