import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type InitializeRequest, isInitializeRequest } from "@modelcontextprotocol/server";
import { KumikoError, type Timers } from "../../base/index.ts";
import type { Hall } from "../hall.ts";
import type { Visitor } from "../http/door.ts";
import type { Connection } from "./server.ts";
import { Session } from "./session.ts";
import type { Sight } from "./sight.ts";

/** Clients that go away without a word leave theirs behind: of one token's, the one used longest ago gives way. */
const PER_TOKEN = 64;
const IN_ALL = 1_024;
const IDLE = 60 * 60_000;

interface Arrival {
  readonly visitor: Visitor;
  /** What the client is given, once it has a session: `called` is told who calls. */
  readonly connect: (called: (actor: string) => void) => Connection;
  readonly sight: Sight;
}

/** The sessions of 2025-11-25: each belongs to one token, and none lives for ever. */
export class Sessions implements Disposable {
  /** The one used longest ago first. */
  readonly #sessions = new Map<string, Session>();
  readonly #hall: Pick<Hall, "log" | "clients">;
  readonly #timers: Timers;
  readonly #inAll: number;

  constructor(hall: Pick<Hall, "log" | "clients">, timers: Timers, inAll: number = IN_ALL) {
    this.#hall = hall;
    this.#timers = timers;
    this.#inAll = inAll;
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

  /** What is under way goes on; nobody is told anything unasked any more. */
  endStreams(): void {
    for (const session of this.#sessions.values()) session.endStream();
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) session[Symbol.dispose]();
  }

  async #begin(
    request: IncomingMessage,
    response: ServerResponse,
    body: InitializeRequest,
    { visitor: { principal }, connect, sight }: Arrival,
  ): Promise<void> {
    const { token, signal } = principal;
    const own = [...this.#sessions.values()].filter((session) => session.token === token);
    if (own.length >= PER_TOKEN) own[0]![Symbol.dispose]();
    else if (this.#sessions.size >= this.#inAll) throw tooManySessions(this.#inAll);
    const { name } = body.params.clientInfo;
    using beginning = new DisposableStack();
    const stay = beginning.use(
      this.#hall.clients.begin(principal, sight.actor ?? principal.actor, name),
    );
    const session = await Session.open({
      id: randomUUID(),
      token,
      connection: connect((actor) => stay.called(actor)),
      sight,
      closed: () => {
        stay[Symbol.dispose]();
        this.#sessions.delete(session.id);
        signal.removeEventListener("abort", end);
      },
      failed: (error) => this.#hall.log.debug({ err: error, door: "mcp" }, "a session was told"),
    });
    beginning.move();
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

function tooManySessions(limit: number): KumikoError {
  return new KumikoError(
    "too_many",
    `There are ${limit} sessions, which is the limit; each ends when its client does, or after an hour without use. ` +
      "Requests of 2026-07-28 need none.",
    { limit, retry_after: 60 },
  );
}
