import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Where it stops: enough for thousands of calls between two collections. */
const ENOUGH = 16 * 1024 * 1024;
const EVERY = 100;

/**
 * Under load V8 lets the space for new objects grow to more than a hundred megabytes and keeps it: a server that
 * was busy once would look like one that leaks. How far it may grow can be said only before a process starts,
 * which is not in our hands; whether it may grow can be said at any time. For all of the process.
 *
 * An idle process gives nearly all of it back, and has to be let grow again: in one megabyte, what a call makes
 * outlives its collections and fills the space for old objects.
 */
export function boundYoungGeneration(): Disposable {
  let mayGrow = true;
  const letGrow = (grow: boolean): void => {
    if (grow !== mayGrow) setFlagsFromString(`--semi-space-growth-factor=${grow ? 2 : 1}`);
    mayGrow = grow;
  };
  const look = (): void => letGrow(sizeOfYoungGeneration() < ENOUGH);
  look();
  const watch = setInterval(look, EVERY).unref();
  return {
    [Symbol.dispose]() {
      clearInterval(watch);
      letGrow(true);
    },
  };
}

function sizeOfYoungGeneration(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")!.space_size;
}
