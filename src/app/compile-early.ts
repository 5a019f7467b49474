import { setFlagsFromString } from "node:v8";

/** After so many calls a function is compiled well: as V8 has it, and as a server has it. */
const COUNTS = [
  { flag: "--invocation-count-for-maglev", usual: 400, early: 50 },
  { flag: "--invocation-count-for-turbofan", usual: 3000, early: 100 },
  { flag: "--minimum-invocations-after-ic-update", usual: 500, early: 50 },
] as const;

/**
 * Has V8 compile early what a server runs. An edit runs hundreds of functions once each, so none of them would be worth it
 * before the three thousandth edit; then an edit takes an eighth less. For all of the process, until it is disposed of. Not
 * for what ends soon: there it costs more than it gives.
 */
export function compileEarly(): Disposable {
  for (const { flag, early } of COUNTS) setFlagsFromString(`${flag}=${early}`);
  return {
    [Symbol.dispose]() {
      for (const { flag, usual } of COUNTS) setFlagsFromString(`${flag}=${usual}`);
    },
  };
}
