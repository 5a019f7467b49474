import { type ErrorCode, errorCodes, KumikoError, realTimers, type Timers } from "../base/index.ts";
import type { ReplicaText } from "../blocks/index.ts";
import { type ClientFrame, REPLICA_VERSION, type ServerFrame } from "../protocol/replica-frame.ts";
import { closeCodes } from "../protocol/rpc-version.ts";
import { Backoff, type BackoffOptions } from "./backoff.ts";
import { disposed } from "./disposed.ts";
import { whyRefused } from "./link.ts";
import { PresenceClient } from "./presence.ts";
import { Replica } from "./replica.ts";
import { ReplicaLink } from "./replica-link.ts";
import { type SocketClass, socketClass } from "./socket.ts";

export interface ReplicasOptions {
  /** Where the server is: `http://127.0.0.1:5864`. */
  readonly url: string;
  /** Without one, a browser is let in by its cookie. */
  readonly token?: string | undefined;
  readonly kernel: string;
  /** By default the global one. */
  readonly WebSocket?: SocketClass | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly timers?: Timers | undefined;
  readonly backoff?: BackoffOptions | undefined;
  /** What this client is called among the actor's others. Two that are open at once are two clients. */
  readonly instance?: string | undefined;
}

interface Granted {
  readonly peer: string;
  readonly secret: string;
}

/** Codes with which coming again makes no sense. */
const final: readonly ErrorCode[] = [
  "unauthorised",
  "forbidden",
  "protocol_mismatch",
  "unknown_kernel",
];

/** Copies of blocks of one kernel, and who is where in it, over one connection that comes back by itself. */
export class Replicas implements Disposable {
  readonly presence: PresenceClient;
  readonly #options: ReplicasOptions & { readonly WebSocket: SocketClass };
  readonly #timers: Timers;
  readonly #backoff: Backoff;
  readonly #instance: string;
  readonly #replicas = new Map<string, Replica>();
  #link: ReplicaLink | undefined;
  #granted: Granted | undefined;
  #connected = false;
  #again: { cancel(): void } | undefined;
  #refusal: KumikoError | undefined;
  readonly #closing = new AbortController();

  constructor(options: ReplicasOptions) {
    this.#options = { ...options, WebSocket: socketClass(options.WebSocket) };
    this.#timers = options.timers ?? realTimers;
    this.#backoff = new Backoff(options.backoff);
    this.#instance = options.instance ?? crypto.randomUUID();
    this.presence = new PresenceClient((json) => {
      if (this.#connected) this.#send({ kind: "presence", json });
    });
    this.#connect();
  }

  /** A copy of a block; one to a block, however often it is asked for. Whoever is done disposes of it. */
  replica(block: string): Replica {
    if (this.#closing.signal.aborted) throw disposed();
    const known = this.#replicas.get(block);
    if (known !== undefined) return known;
    const replica = new Replica(block, {
      send: (frame) => this.#send(frame),
      copy: (snapshot) => this.#copy(snapshot),
      after: (milliseconds, run) => this.#timers.after(milliseconds, run),
      closed: () => void this.#replicas.delete(block),
    });
    this.#replicas.set(block, replica);
    if (this.#refusal !== undefined) replica.refusedForGood(this.#refusal);
    else if (this.#connected) replica.connected();
    return replica;
  }

  [Symbol.dispose](): void {
    this.#closing.abort(disposed());
    for (const replica of this.#replicas.values()) replica[Symbol.dispose]();
    this.#again?.cancel();
    this.#link?.close();
  }

  #connect(): void {
    if (this.#closing.signal.aborted) return;
    const { url, token, WebSocket } = this.#options;
    const link = new ReplicaLink(
      { url, token, WebSocket },
      {
        opened: () => {
          const { kernel } = this.#options;
          const instance = this.#instance;
          const resume = this.#granted;
          link.send({ kind: "hello", version: REPLICA_VERSION, kernel, instance, resume });
        },
        received: (frame) => {
          if (this.#link === link) this.#received(frame);
        },
        closed: (code) => {
          if (this.#link === link) this.#lost(code);
        },
      },
    );
    this.#link = link;
  }

  #received(frame: ServerFrame): void {
    if (frame.kind === "grant") this.#grant(frame);
    else if (frame.kind === "presence") this.presence.received(frame.json);
    else if (frame.block !== undefined) void this.#replicas.get(frame.block)?.receive(frame);
    else if (frame.kind === "refused") {
      const code = frame.code in errorCodes ? frame.code : "internal";
      this.#refused(new KumikoError(code, frame.message, frame.facts));
    }
  }

  #grant({ peer, secret, presence }: Extract<ServerFrame, { kind: "grant" }>): void {
    this.#granted = { peer, secret };
    this.#connected = true;
    this.#backoff.reset();
    this.presence.connected(presence);
    for (const replica of this.#replicas.values()) replica.connected();
  }

  #refused(error: KumikoError): void {
    if (error.facts["peer"] !== undefined && error.facts["peer"] === this.#granted?.peer) {
      // The next connection is granted another; what was typed as this one cannot be sent as that.
      this.#granted = undefined;
      for (const replica of this.#replicas.values()) replica.peerLost(error);
    } else if (final.includes(error.code)) this.#refuse(error);
  }

  #refuse(error: KumikoError): void {
    this.#refusal = error;
    for (const replica of this.#replicas.values()) replica.refusedForGood(error);
  }

  #lost(code: number): void {
    const letIn = this.#connected;
    this.#link = undefined;
    this.#connected = false;
    this.presence.disconnected();
    if (code === closeCodes.unauthorised && this.#refusal === undefined) {
      this.#refuse(new KumikoError("unauthorised", "The token was revoked or has expired."));
    }
    for (const replica of this.#replicas.values()) replica.disconnected();
    if (letIn) this.#comeAgain();
    else void this.#notLetIn();
  }

  async #notLetIn(): Promise<void> {
    const { url, token, fetch: ask = fetch } = this.#options;
    const why = await whyRefused({ url, token, fetch: ask }, this.#closing.signal);
    if (why.code !== "offline") this.#refuse(why);
    this.#comeAgain();
  }

  #comeAgain(): void {
    if (this.#refusal !== undefined || this.#closing.signal.aborted) return;
    this.#again = this.#timers.after(this.#backoff.next(), () => this.#connect());
  }

  async #copy(snapshot: Uint8Array): Promise<ReplicaText> {
    // Loro is large: whoever keeps no replica does not load it.
    const { loadLoro, ReplicaText: Copy } = await import("../blocks/index.ts");
    await loadLoro();
    return new Copy(snapshot, this.#granted!.peer);
  }

  #send(frame: ClientFrame): void {
    this.#link?.send(frame);
  }
}
