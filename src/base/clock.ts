/** Milliseconds. Injected wherever time decides anything, so that tests are deterministic. */
export interface Clock {
  now(): number;
}

/** Monotonic: for deadlines and durations. */
export const monotonicClock: Clock = { now: () => performance.now() };
