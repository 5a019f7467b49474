/** Nanoseconds by which times of one moment may differ. */
const TICK = 10_000_000n;
/** For so long it is remembered when git had its lock: longer than a file takes to come to rest. */
const KEPT_FOR = 10_000_000_000n;
/** From one lock of a command to its next, at most: a merge looks under its first, and writes under its third. */
const BETWEEN = 50_000_000n;
/** From a command's look to when it takes the lock under which it writes, at most. */
const LOOKING = 1_000_000_000n;

const STASH = "index.stash.";

/** When something in git's folder was made and last written, or that folder itself; undefined when it is not there. */
export type TimesOf = (
  name: "" | "index" | "index.lock" | `${typeof STASH}${string}`,
) => { readonly born: bigint; readonly written: bigint } | undefined;

interface Held {
  /** When it looked at the earliest. */
  readonly looked: bigint;
  /** Undefined as long as it has it. */
  readonly until: bigint | undefined;
}

/**
 * When git had its lock on the files of one repository, in nanoseconds of the file system: it looks at all files first and
 * writes them under it, later. The index is the lock under another name, so it was made when that was; but the next command
 * may have made it anew before anybody asks (`git status` does), so it must be looked at while git works. It knows no disk:
 * it is told what was heard, and asks for times.
 */
export class LockTimes {
  readonly #timesOf: TimesOf;
  /** By when the lock was made, the newest last. */
  readonly #held = new Map<bigint, Held>();
  #stashing: { readonly since: bigint; readonly last: bigint } | undefined;

  constructor(timesOf: TimesOf) {
    this.#timesOf = timesOf;
  }

  /** A name came or went in git's folder. */
  heard(name: string): void {
    if (isOfStash(name)) this.#heardOfStash(name);
    else if (name === "index.lock" || name === "index") this.look();
  }

  look(): void {
    const index = this.#timesOf("index");
    const lock = this.#timesOf("index.lock");
    for (const [taken, held] of this.#held)
      if (held.until === undefined && taken !== lock?.born)
        this.#held.set(taken, { ...held, until: this.#timesOf("")?.written ?? taken });
    if (index !== undefined) this.#note(index.born, index.written);
    if (lock !== undefined) this.#note(lock.born, undefined);
  }

  /** The lock that it had when this was written. */
  over(written: bigint): { readonly taken: bigint; readonly looked: bigint } | undefined {
    const under = [...this.#held].filter(
      ([taken, { until }]) => taken <= written && (until === undefined || written <= until + TICK),
    );
    // In the tick in which the next lock was made, it was the one before.
    const [taken, held] = under.findLast(([each]) => each < written) ?? under.at(-1) ?? [];
    return taken === undefined || held === undefined ? undefined : { taken, looked: held.looked };
  }

  #note(taken: bigint, until: bigint | undefined): void {
    // The file system does not tell when a file was made.
    if (taken === 0n) return;
    for (const [earlier, held] of this.#held)
      if (held.until !== undefined && held.until + KEPT_FOR < taken) this.#held.delete(earlier);
    const looked = this.#held.get(taken)?.looked ?? this.#lookOf(taken);
    this.#held.set(taken, { looked, until });
  }

  /** Where it looked before it took its lock, that is when. */
  #lookOf(taken: bigint): bigint {
    const stashing = this.#stashing;
    this.#stashing = undefined;
    if (stashing !== undefined && taken - stashing.last < LOOKING) return stashing.since;
    const [, held] = [...this.#held].at(-1) ?? [];
    const isNext = held?.until !== undefined && taken - held.until < BETWEEN;
    return isNext && taken - held.looked < LOOKING ? held.looked : taken;
  }

  /** It puts what it sees into an index of its own, which is there for a moment. */
  #heardOfStash(name: `${typeof STASH}${string}`): void {
    const last = this.#timesOf(name)?.born;
    if (last === undefined) return;
    const known = this.#stashing;
    const goesOn = known !== undefined && last - known.last < LOOKING;
    this.#stashing = { since: goesOn ? known.since : last, last };
  }
}

function isOfStash(name: string): name is `${typeof STASH}${string}` {
  return name.startsWith(STASH);
}
