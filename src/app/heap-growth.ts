import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Where the space for new objects stops: enough for thousands of calls between two collections. */
const ENOUGH = 16 * 1024 * 1024;
const EVERY = 100;
/** Per cent of what is alive by which old objects may grow until all are looked through. */
const ROOM = 100;

/**
 * How the heap of a process that serves grows. Most of it can be said only before a process starts, which is not in our
 * hands; these two can be said at any time. For all of the process.
 *
 * - Under load V8 lets the space for new objects grow to more than a hundred megabytes and keeps it: a server that was
 *   busy once would look like one that leaks. An idle process gives nearly all of it back, and has to be let grow again:
 *   in one megabyte, what a call makes outlives its collections and fills the space for old objects.
 * - V8 begins to look through all objects as soon as less room is left for old ones than the space for new ones has.
 *   A heap as small as ours is given hardly more than that, so it would do so without end: ten times a second, and
 *   calls wait for up to 20 ms.
 */
export function boundHeapGrowth(): Disposable {
  let mayGrow = true;
  const letGrow = (grow: boolean): void => {
    if (grow !== mayGrow) setFlagsFromString(`--semi-space-growth-factor=${grow ? 2 : 1}`);
    mayGrow = grow;
  };
  const look = (): void => letGrow(sizeOfNewSpace() < ENOUGH);
  setFlagsFromString(`--heap-growing-percent=${ROOM}`);
  look();
  const watch = setInterval(look, EVERY).unref();
  return {
    [Symbol.dispose]() {
      clearInterval(watch);
      letGrow(true);
      // V8's own way.
      setFlagsFromString("--heap-growing-percent=0");
    },
  };
}

function sizeOfNewSpace(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")!.space_size;
}
