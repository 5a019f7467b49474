import { setImmediate } from "node:timers/promises";
import { KumikoError, monotonicClock } from "../base/index.ts";

/** For so long, in milliseconds, the thread may be held at a time. */
const SLICE = 4;

/** Does work in slices, so that a large folder keeps nobody waiting. Between two of them others have their turn. */
export async function inSlices<Result>(
  work: Generator<unknown, Result>,
  signal?: AbortSignal,
): Promise<Result> {
  for (;;) {
    checkNotAborted(signal);
    const result = slice(work, SLICE);
    if (result.done === true) return result.value;
    await setImmediate();
  }
}

/** Goes on with the work for some milliseconds, or to its end. */
export function slice<Step, Result>(
  work: Generator<Step, Result>,
  milliseconds: number,
): IteratorResult<Step, Result> {
  const end = monotonicClock.now() + milliseconds;
  for (;;) {
    const result = work.next();
    if (result.done === true || monotonicClock.now() >= end) return result;
  }
}

export function checkNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new KumikoError("aborted", "It was called off before the whole folder was looked at.");
  }
}
