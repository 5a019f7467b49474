import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

const MEGABYTE = 1024 * 1024;
/** Where the space for new objects stops: enough for thousands of calls between two collections. */
const ENOUGH = 16 * MEGABYTE;
/**
 * What old objects may grow by until all are looked through: well above the space for new ones, and above what the bytes of
 * files take that lie outside of it meanwhile and count as well.
 */
const ROOM = 48 * MEGABYTE;
const EVERY = 100;

/**
 * How the heap of a process that serves grows. Most of it can be said only before a process starts, which is not in our
 * hands; these two can be said at any time. For all of the process.
 *
 * - Under load V8 lets the space for new objects grow to more than a hundred megabytes and keeps it: a server that was
 *   busy once would look like one that leaks. An idle process gives nearly all of it back, and has to be let grow again:
 *   in one megabyte, what a call makes outlives its collections and fills the space for old objects.
 * - V8 begins to look through all objects as soon as less room is left for old ones than the space for new ones has.
 *   A heap as small as ours is given hardly more than that, so it would do so without end: ten times a second, and
 *   calls wait for up to 20 ms. It is said in per cent of what is alive, of which a larger heap needs fewer. Only for who
 *   has the process to itself: where many are connected, memory grows with each of them, and by this once more.
 */
export function boundHeapGrowth(hasCompany: () => boolean = () => false): Disposable {
  const growth = new Flag("--semi-space-growth-factor", 2);
  const room = new Flag("--heap-growing-percent", 0);
  const look = (): void => {
    const spaces = getHeapSpaceStatistics();
    const young = spaces.find(({ space_name }) => space_name === "new_space")!;
    growth.set(young.space_size < ENOUGH ? 2 : 1);
    const used = spaces.reduce((sum, each) => sum + each.space_used_size, 0);
    if (hasCompany()) room.reset();
    else room.set(percent(used - young.space_used_size));
  };
  look();
  const watch = setInterval(look, EVERY).unref();
  return {
    [Symbol.dispose]() {
      clearInterval(watch);
      growth.reset();
      room.reset();
    },
  };
}

/** In tens: each change is told to V8, which itself gives no more than this much. */
function percent(old: number): number {
  return Math.min(300, Math.max(10, Math.round((ROOM / old) * 10) * 10));
}

/** What V8 is told, when it is something else than before. */
class Flag {
  readonly #name: string;
  readonly #usual: number;
  #value: number;

  constructor(name: string, usual: number) {
    this.#name = name;
    this.#usual = usual;
    this.#value = usual;
  }

  set(value: number): void {
    if (value !== this.#value) setFlagsFromString(`${this.#name}=${value}`);
    this.#value = value;
  }

  reset(): void {
    this.set(this.#usual);
  }
}
