import type { Clock } from "../base/index.ts";
import type { Principal } from "./principal.ts";

/** A program that calls tools without holding a connection open: what is known of it. */
export interface Client {
  readonly principal: Principal;
  /** What it calls itself. */
  readonly name: string | null;
  readonly actor: string;
  readonly since: number;
  readonly lastCall: number | null;
  /** Whether it says when it goes; of all others it is only known that they were just here. */
  readonly session: boolean;
}

/** A client that stays until this is disposed of. */
interface Stay extends Disposable {
  named(name: string | undefined): void;
  called(actor: string): void;
}

/** How long somebody who only calls counts as being here. */
const RECENT = 60_000;
/** Of those who only call; the ones that called longest ago give way. */
const CALLERS = 256;
const LONGEST_NAME = 64;

/** Who uses tools by protocols in which nobody stays connected. */
export class Clients {
  readonly #clock: Clock;
  readonly #staying = new Set<Client>();
  /** The one that called longest ago first. */
  readonly #callers = new Map<string, Client>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many of them there are is bounded by whoever lets them in. */
  begin(principal: Principal, actor: string, name?: string): Stay {
    const now = this.#clock.now();
    const client = {
      principal,
      name: shortened(name),
      actor: actorOf(principal, actor),
      since: now,
      lastCall: null as number | null,
      session: true,
    };
    this.#staying.add(client);
    let said = name;
    return {
      named: (given) => {
        if (given === said) return;
        said = given;
        client.name = shortened(given) ?? client.name;
      },
      called: (as) => {
        client.actor = actorOf(principal, as);
        client.lastCall = this.#clock.now();
      },
      [Symbol.dispose]: () => void this.#staying.delete(client),
    };
  }

  /** Somebody who stands alone with each call. */
  called(principal: Principal, actor: string): void {
    const now = this.#clock.now();
    const as = actorOf(principal, actor);
    const key = `${principal.token} ${as}`;
    const before = this.#callers.get(key);
    const since = before !== undefined && isRecent(before, now) ? before.since : now;
    this.#callers.delete(key);
    this.#callers.set(key, {
      principal,
      name: null,
      actor: as,
      since,
      lastCall: now,
      session: false,
    });
    if (this.#callers.size > CALLERS) this.#callers.delete(this.#callers.keys().next().value!);
  }

  list(): Client[] {
    const now = this.#clock.now();
    const recent = [...this.#callers.values()].filter((each) => isRecent(each, now));
    return [...this.#staying, ...recent].filter(({ principal }) => !principal.signal.aborted);
  }
}

function isRecent({ lastCall }: Client, now: number): boolean {
  return lastCall !== null && now - lastCall < RECENT;
}

/** Who may not act as another is not shown as one, whatever it says. */
function actorOf(principal: Principal, actor: string): string {
  const may = principal.scopes.has("act_as") && /^[a-z0-9-]{1,32}$/.test(actor);
  return may ? actor : principal.actor;
}

/** A client may call itself anything: only what is one short line of text is shown. */
function shortened(name: string | undefined): string | null {
  const plain = name?.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim() ?? "";
  return plain === "" ? null : plain.slice(0, LONGEST_NAME).toWellFormed();
}
