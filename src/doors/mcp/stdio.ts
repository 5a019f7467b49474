import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, RequestId, Server } from "@modelcontextprotocol/server";
import { serveStdio as serveWire } from "@modelcontextprotocol/server/stdio";
import { realTimers } from "../../base/index.ts";
import type { Hall } from "../hall.ts";
import type { Principal } from "../principal.ts";
import { asRefusal, hallHost, type Host } from "./host.ts";
import { listenedTo } from "./listen-bus.ts";
import { toolProfile } from "./profile.ts";
import { ResourceWatch } from "./resource-watch.ts";
import { createServer } from "./server.ts";
import type { Sight } from "./sight.ts";
import { StdioCalls } from "./stdio-calls.ts";
import { StdioWire } from "./stdio-wire.ts";

interface StdioOptions {
  readonly hall: Hall;
  /** Whoever started the process. */
  readonly principal: Principal;
  /** `core`, `all`, or names. */
  readonly tools: string | undefined;
  readonly sight: Sight;
  /** Who acts when nobody said: made of what the client calls itself. */
  actorOf(client: string): string;
  readonly input: Readable;
  readonly output: Writable;
  /** Ends it before the client does. */
  readonly signal: AbortSignal;
  failed(error: unknown): void;
}

/** Serves one client, in whichever revision it speaks, until it is gone. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { hall, principal, sight, signal } = options;
  const failed = (error: unknown): void => options.failed(error);
  using stay = hall.clients.begin(principal, sight.actor ?? principal.actor);
  const host = hallHost(hall, principal, (actor) => stay.called(actor));
  const profile = toolProfile(hall.registry, options.tools);
  const ended = Promise.withResolvers<void>();
  let server: Server | undefined;
  using watch = new ResourceWatch(host, {
    updated: async (uri) => server?.sendResourceUpdated({ uri }),
    failed,
  });
  const listening = new Listening(host, watch);
  const calls = new StdioCalls(host, profile, sight, (name) => options.actorOf(name));
  const wire = new StdioWire({
    input: options.input,
    output: options.output,
    closed: () => {
      calls.abort();
      ended.resolve();
    },
    heard: (message) => {
      const answer = calls.hear(message) ?? listening.hear(message);
      stay.named(calls.client);
      return answer;
    },
  });
  const handle = serveWire(
    ({ era }) => {
      server = createServer({
        host,
        profile,
        timers: realTimers,
        sight: ({ mcpReq }) => calls.sightOf(mcpReq.envelope),
        watch: era === "legacy" ? watch : undefined,
        // Without an envelope that asks for it, the protocol itself keeps quiet.
        wantsLogs: () => calls.logs || era === "modern",
      });
      return server;
    },
    { transport: wire, onerror: failed },
  );
  const stop = (): void => void handle.close();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  await ended.promise;
  signal.removeEventListener("abort", stop);
}

/** What is listened to by 2026-07-28: the protocol's own router knows who hears of it, and not what there is. */
class Listening {
  readonly #host: Host;
  readonly #watch: ResourceWatch;
  readonly #streams = new Map<RequestId, readonly string[]>();

  constructor(host: Host, watch: ResourceWatch) {
    this.#host = host;
    this.#watch = watch;
  }

  hear(message: JSONRPCMessage): Promise<JSONRPCMessage | undefined> | undefined {
    if (!("method" in message)) return undefined;
    if (message.method === "notifications/cancelled") {
      this.#stop((message.params as { requestId?: RequestId } | undefined)?.requestId);
      return undefined;
    }
    if (message.method !== "subscriptions/listen" || !("id" in message)) return undefined;
    return this.#begin(message.id, listenedTo(message));
  }

  async #begin(id: RequestId, uris: readonly string[]): Promise<JSONRPCMessage | undefined> {
    try {
      for (const uri of uris) await this.#watch.add(uri);
      this.#streams.set(id, uris);
      return undefined;
    } catch (thrown) {
      const { message, ...error } = asRefusal(this.#host, thrown).toJSON();
      const data = { kumiko: { message, ...error } };
      return { jsonrpc: "2.0", id, error: { code: -32_602, message, data } };
    }
  }

  #stop(id: RequestId | undefined): void {
    const uris = id === undefined ? undefined : this.#streams.get(id);
    if (id === undefined || uris === undefined) return;
    this.#streams.delete(id);
    const others = new Set([...this.#streams.values()].flat());
    for (const uri of uris) if (!others.has(uri)) this.#watch.remove(uri);
  }
}
