/**
 * What the machine's host takes. On a machine that shares its processors with others, each time one of them goes to sleep it
 * may be given away, and whoever wakes waits: what is measured then says more about the neighbours than about us.
 */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

const TICK = 10;

/** Milliseconds of all processors that were wanted here and used elsewhere, since the start; always 0 where nobody counts. */
function stolenTime(): number {
  try {
    return Number(readFileSync("/proc/stat", "utf8").split(/\s+/, 9)[8]) * TICK;
  } catch {
    // Not Linux: nobody counts.
    return 0;
  }
}

/** Gives, when it is called, the share of all processors' time that was taken since it was made. */
export function watchSteal(): () => number {
  const begun = performance.now();
  const before = stolenTime();
  // Of all processors, also of those that this process may not use: that is what is counted.
  const { length: processors } = cpus();
  return () => (stolenTime() - before) / ((performance.now() - begun) * processors || 1);
}
