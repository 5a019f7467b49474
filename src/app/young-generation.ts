import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Where it stops: enough for thousands of calls between two collections. */
const ENOUGH = 16 * 1024 * 1024;
const EVERY = 100;

/**
 * Under load V8 lets the space for new objects grow to more than a hundred megabytes and keeps it: a server that
 * was busy once would look like one that leaks. How far it may grow can be said only before a process starts,
 * which is not in our hands; that it grows no further can be said at any time. For all of the process.
 */
export function boundYoungGeneration(): Disposable {
  const watch = setInterval(() => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if (space !== undefined && space.space_size < ENOUGH) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    clearInterval(watch);
  }, EVERY).unref();
  return { [Symbol.dispose]: () => clearInterval(watch) };
}
