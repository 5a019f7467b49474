import { setFlagsFromString } from "node:v8";

/** After so many calls a function is compiled well: as V8 has it, and as a server has it that is busy. */
const COUNTS = [
  { flag: "--invocation-count-for-maglev", usual: 400, early: 50 },
  { flag: "--invocation-count-for-turbofan", usual: 3000, early: 100 },
  { flag: "--minimum-invocations-after-ic-update", usual: 500, early: 50 },
] as const;
/**
 * Who made so many calls will make more. Below the four hundred after which V8 compiles for the first time: what was compiled
 * then waits for three thousand whatever it is told later.
 */
const MANY = 200;
const EVERY = 100;

/**
 * Has V8 compile early what a busy server runs. A call runs hundreds of functions once each, so none of them would be worth
 * it before the three thousandth; then an edit takes a tenth less. For all of the process, until it is disposed of. Not from
 * the start: to compile takes as long as some hundred calls, which a server that is asked little never gets back.
 */
export function compileEarly(calls: () => number): Disposable {
  let isEarly = false;
  const watch = setInterval(() => {
    if (calls() < MANY) return;
    clearInterval(watch);
    isEarly = true;
    for (const { flag, early } of COUNTS) setFlagsFromString(`${flag}=${early}`);
  }, EVERY).unref();
  return {
    [Symbol.dispose]() {
      clearInterval(watch);
      if (isEarly) for (const { flag, usual } of COUNTS) setFlagsFromString(`${flag}=${usual}`);
    },
  };
}
