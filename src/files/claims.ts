import type { Clock } from "../base/index.ts";
import type { Invocation } from "../kernel/index.ts";
import { type Announced, announcedPart, holdsAnnounced } from "./announced.ts";

/** Milliseconds for which an announced change is waited for: a person may be asked about it first. */
const AWAITED = 3_600_000;

interface Claim {
  readonly cause: Invocation;
  readonly announced: Announced;
  readonly until: number;
}

/** What a file said and says now. */
interface Change {
  /** Undefined where there was none. */
  readonly before: string | undefined;
  readonly after: string;
}

/** By whom a change is. */
export interface Announcement {
  readonly cause: Invocation;
  /** The text with only their part in it, where others changed it in the same moment. */
  readonly part?: string | undefined;
}

/**
 * Who said what it is about to write to a file with tools of its own. Each claim is one call's; of several that a change
 * may be of, the last one is believed.
 */
export class Claims {
  readonly #clock: Clock;
  readonly #byPath = new Map<string, readonly Claim[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whoever calls may be gone when the change arrives: nothing of the call itself is kept. */
  begin(
    path: string,
    { signal: _signal, onUnsaved: _told, ...cause }: Invocation,
    announced: Announced,
  ): void {
    const now = this.#clock.now();
    this.#keep(({ until }) => until > now);
    const others = this.#at(path).filter((each) => !isOf(each, cause));
    this.#byPath.set(path, [...others, { cause, announced, until: now + AWAITED }]);
  }

  /** What this call announced is done; what other calls did stands. */
  end(path: string, cause: Invocation): void {
    this.#keep((each, at) => at !== path || !isOf(each, cause));
  }

  /** Nothing that somebody announced in a turn and has not done is coming any more. */
  withdraw({ actor, turn }: Invocation): void {
    this.#keep(({ cause }) => cause.actor !== actor || cause.turn !== turn);
  }

  isAnnounced(path: string): boolean {
    return this.#at(path).length > 0;
  }

  /** Who announced what has happened there; with `own`, what of it that call did. */
  of(path: string, { before, after }: Change, own?: Invocation): Announcement | undefined {
    const claims = this.#at(path).filter((each) => own === undefined || isOf(each, own));
    const found = claims.findLast(({ announced }) => holdsAnnounced(announced, before, after));
    if (found === undefined) return undefined;
    const part = before === undefined ? undefined : announcedPart(found.announced, before, after);
    return { cause: own ?? found.cause, part };
  }

  #at(path: string): Claim[] {
    const now = this.#clock.now();
    return (this.#byPath.get(path) ?? []).filter(({ until }) => until > now);
  }

  #keep(stays: (claim: Claim, path: string) => boolean): void {
    for (const [path, claims] of this.#byPath) {
      const left = claims.filter((each) => stays(each, path));
      if (left.length === 0) this.#byPath.delete(path);
      else this.#byPath.set(path, left);
    }
  }
}

/** Of this call; who names none means all of theirs. */
function isOf({ cause }: Claim, { actor, call }: Invocation): boolean {
  return cause.actor === actor && (call === undefined || (cause.call ?? call) === call);
}
