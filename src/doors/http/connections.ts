import type { Clock } from "../../base/index.ts";
import { KumikoError } from "../../base/index.ts";
import type { Metrics } from "../metrics.ts";
import type { Principal } from "../principal.ts";
import type { Visitor } from "./door.ts";

/** One open WebSocket, or one request under way. */
interface Connection {
  readonly door: string;
  readonly visitor: Visitor;
  readonly kind: "socket" | "request";
  readonly since: number;
  /** Ends it because of this. */
  end(reason: unknown): void;
}

/** Who is in. Each token has only so many at once, and none when it is revoked or has expired. */
export class Connections {
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #perToken: number;
  readonly #of = new Map<Principal, Set<Connection>>();
  #whenNone: (() => void)[] = [];

  constructor(clock: Clock, metrics: Metrics, perToken: number) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#perToken = perToken;
  }

  /** Throws `too_many`. Whoever enters leaves by what this gives. */
  enter(entry: Omit<Connection, "since">): { leave(): void } {
    const { principal } = entry.visitor;
    principal.signal.throwIfAborted();
    const own = this.#of.get(principal) ?? this.#begin(principal);
    if (own.size >= this.#perToken) {
      throw new KumikoError(
        "too_many",
        `The token ${principal.token} has ${own.size} connections, which is the limit; close some first.`,
        { token: principal.token, limit: this.#perToken, retry_after: 1 },
      );
    }
    const connection: Connection = { ...entry, since: this.#clock.now() };
    own.add(connection);
    this.#count(connection, 1);
    return { leave: () => this.#leave(own, connection) };
  }

  get isEmpty(): boolean {
    for (const own of this.#of.values()) if (own.size > 0) return false;
    return true;
  }

  list(): Connection[] {
    return [...this.#of.values()].flatMap((own) => [...own]);
  }

  /** Ends all of one kind, and waits until they are gone. */
  async end(kind: Connection["kind"], reason: unknown): Promise<void> {
    for (const connection of this.#ofKind(kind)) connection.end(reason);
    await this.none(kind);
  }

  async none(kind: Connection["kind"]): Promise<void> {
    while (this.#ofKind(kind).length > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#whenNone.push(resolve);
      await promise;
    }
  }

  #ofKind(kind: Connection["kind"]): Connection[] {
    return this.list().filter((each) => each.kind === kind);
  }

  #begin(principal: Principal): Set<Connection> {
    const own = new Set<Connection>();
    this.#of.set(principal, own);
    const { signal } = principal;
    const endAll = (): void => {
      this.#of.delete(principal);
      for (const connection of own) connection.end(signal.reason);
    };
    signal.addEventListener("abort", endAll, { once: true });
    return own;
  }

  #leave(own: Set<Connection>, connection: Connection): void {
    if (!own.delete(connection)) return;
    this.#count(connection, -1);
    const waiting = this.#whenNone;
    this.#whenNone = [];
    for (const tell of waiting) tell();
  }

  #count({ kind, door }: Connection, by: number): void {
    if (kind === "socket") this.#metrics.gauge("kumiko_connections", { door }).add(by);
  }
}
