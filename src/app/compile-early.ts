import { setFlagsFromString } from "node:v8";

/**
 * After so many calls a function is compiled, as V8 has it and as a server has it; one that loops gets there by what it does.
 *
 * - V8's quick compiler takes a fraction of a millisecond for each, and makes the most of the difference.
 * - Its thorough one takes many times that, for a tenth less. A call to a server runs hundreds of functions once
 *   each: all of them reach the three thousand in the same minute, and for as long as they are compiled beside it every call
 *   takes up to twice as long. So it is for what is run a hundred thousand times, and for loops (decision 21).
 */
const COUNTS = [
  { flag: "--invocation-count-for-maglev", usual: 400, ours: 50 },
  { flag: "--minimum-invocations-after-ic-update", usual: 500, ours: 50 },
  { flag: "--invocation-count-for-turbofan", usual: 3000, ours: 100_000 },
] as const;

/** Has V8 compile what a server runs quickly and soon. For all of the process, until it is disposed of. */
export function compileEarly(): Disposable {
  for (const { flag, ours } of COUNTS) setFlagsFromString(`${flag}=${ours}`);
  return {
    [Symbol.dispose]() {
      for (const { flag, usual } of COUNTS) setFlagsFromString(`${flag}=${usual}`);
    },
  };
}
