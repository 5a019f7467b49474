import type { Clock } from "../base/index.ts";
import type { Invocation } from "../kernel/index.ts";

/** Milliseconds for which it is believed that a change is made by who announced it. */
const BELIEVED = 30_000;

interface Claim {
  readonly cause: Invocation;
  readonly until: number;
}

/** Who said that it is about to write a file with tools of its own. Of several the last one is believed. */
export class Claims {
  readonly #clock: Clock;
  readonly #byPath = new Map<string, Claim>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whoever calls may be gone when the change arrives: its signal must not give the change up. */
  begin(path: string, { signal: _signal, ...cause }: Invocation): void {
    const now = this.#clock.now();
    for (const [each, { until }] of this.#byPath) if (until <= now) this.#byPath.delete(each);
    this.#byPath.set(path, { cause, until: now + BELIEVED });
  }

  /** What it announced is done; what others announced stands. */
  end(path: string, { actor }: Invocation): void {
    if (this.#byPath.get(path)?.cause.actor === actor) this.#byPath.delete(path);
  }

  of(path: string): Invocation | undefined {
    const claim = this.#byPath.get(path);
    return claim !== undefined && claim.until > this.#clock.now() ? claim.cause : undefined;
  }
}
