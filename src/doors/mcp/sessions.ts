import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isInitializeRequest } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { KumikoError, type Timers } from "../../base/index.ts";
import type { Visitor } from "../http/door.ts";
import type { Connection } from "./server.ts";
import { Session } from "./session.ts";
import type { Sight } from "./sight.ts";

/** Clients that go away without a word leave theirs behind: the one that was used longest ago gives way. */
const PER_TOKEN = 64;
const IN_ALL = 1_024;
const IDLE = 60 * 60_000;

interface Arrival {
  readonly visitor: Visitor;
  readonly connection: Connection;
  readonly sight: Sight;
}

/** The sessions of 2025-11-25: each belongs to one token, and none lives for ever. */
export class Sessions implements Disposable {
  /** The one used longest ago first. */
  readonly #sessions = new Map<string, Session>();
  readonly #log: Logger;
  readonly #timers: Timers;

  constructor(log: Logger, timers: Timers) {
    this.#log = log;
    this.#timers = timers;
  }

  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    arrival: Arrival,
  ): Promise<void> {
    const id = request.headers["mcp-session-id"];
    if (id === undefined && isInitializeRequest(body)) {
      await this.#begin(request, response, body, arrival);
      return;
    }
    const session = this.#find(id, arrival.visitor);
    this.#touch(session);
    await session.serve(request, response, body, arrival.sight);
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) session[Symbol.dispose]();
  }

  async #begin(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    { visitor, connection, sight }: Arrival,
  ): Promise<void> {
    const { token, signal } = visitor.principal;
    const own = [...this.#sessions.values()].filter((session) => session.token === token);
    if (own.length >= PER_TOKEN) own[0]![Symbol.dispose]();
    else if (this.#sessions.size >= IN_ALL) [...this.#sessions.values()][0]![Symbol.dispose]();
    const session = await Session.open({
      id: randomUUID(),
      token,
      connection,
      sight,
      closed: () => {
        this.#sessions.delete(session.id);
        signal.removeEventListener("abort", end);
      },
      failed: (error) => this.#log.debug({ err: error, door: "mcp" }, "a session was told"),
    });
    const end = (): void => session[Symbol.dispose]();
    signal.addEventListener("abort", end, { once: true });
    this.#touch(session);
    await session.serve(request, response, body, sight);
  }

  #find(id: string | string[] | undefined, { principal }: Visitor): Session {
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    // Another's session is as good as none.
    if (session !== undefined && session.token === principal.token) return session;
    throw typeof id === "string"
      ? new KumikoError("unknown_path", "There is no such session any more: initialize again.", {
          status: 404,
        })
      : new KumikoError(
          "invalid_argument",
          "A session begins with initialize; later requests carry its Mcp-Session-Id.",
          { status: 400 },
        );
  }

  #touch(session: Session): void {
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
    session.expireAfter(this.#timers, IDLE);
  }
}
