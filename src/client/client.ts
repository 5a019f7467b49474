import { KumikoError, realTimers, type Timers } from "../base/index.ts";
import type { RpcAnswers, RpcInputs } from "../protocol/index.ts";
import { AtOnce } from "./at-once.ts";
import { Backoff, type BackoffOptions } from "./backoff.ts";
import { disposed } from "./disposed.ts";
import { KernelClient } from "./kernel.ts";
import { closedError, type Identity, Link } from "./link.ts";
import { Replicas } from "./replicas.ts";
import { type SocketClass, socketClass } from "./socket.ts";
import { fromWire } from "./wire-error.ts";

export interface ConnectOptions {
  /** Where the server is: `http://127.0.0.1:5864`. */
  readonly url: string;
  /** Without one, a browser is let in by its cookie. */
  readonly token?: string | undefined;
  /** By default the global one. */
  readonly WebSocket?: SocketClass | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly backoff?: BackoffOptions | undefined;
  readonly timers?: Timers | undefined;
  /** Milliseconds that a call waits for a connection before it fails with `offline`; 30,000 by default. */
  readonly patience?: number | undefined;
  /** Milliseconds without a word from the server after which it is asked, and then given up; 20,000 by default. */
  readonly silence?: number | undefined;
  /** The line of sight of this client's calls; by default one of its own that survives reconnecting. */
  readonly reader?: string | undefined;
}

/**
 * - `connecting`: not connected yet, and trying;
 * - `live`: connected, and everything that is followed is up to date;
 * - `behind`: connected, and something that is followed is still catching up;
 * - `offline`: the connection was lost, or there is no server; trying again;
 * - `refused`: let in no more; `client.error` says why, and nothing is tried again;
 * - `closed`: disposed of.
 */
export type ClientState = "connecting" | "live" | "behind" | "offline" | "refused" | "closed";

export interface CallOptions {
  /** Gives the call up. */
  readonly signal?: AbortSignal | undefined;
}

interface Calling extends CallOptions {
  /** Whether it may be sent a second time when nobody knows what became of the first. */
  readonly retry: boolean;
}

/** Calls that one connection has under way. */
const AT_ONCE = 512;

/** A connection to a server that comes back by itself. Capabilities stay good; the owner disposes of it. */
export class KumikoClient implements AsyncDisposable {
  readonly reader: string;
  readonly timers: Timers;
  readonly world: WorldClient;
  readonly #options: ConnectOptions & { readonly WebSocket: SocketClass };
  readonly #patience: number;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<(state: ClientState) => void>();
  readonly #waiting = new Set<() => void>();
  readonly #behind = new Set<object>();
  readonly #following = new Set<AsyncDisposable>();
  readonly #replicas = new Map<string, Replicas>();
  readonly #atOnce = new AtOnce(AT_ONCE);
  readonly #running: Promise<void>;
  #link: Link | undefined;
  #identity: Identity | undefined;
  #connection: Exclude<ClientState, "behind"> = "connecting";
  #told: ClientState = "connecting";
  #error: KumikoError | undefined;

  constructor(options: ConnectOptions) {
    this.#options = { ...options, WebSocket: socketClass(options.WebSocket) };
    this.timers = options.timers ?? realTimers;
    this.reader = options.reader ?? `client-${crypto.randomUUID().slice(0, 8)}`;
    this.#patience = options.patience ?? 30_000;
    this.#backoff = new Backoff(options.backoff);
    this.world = new WorldClient(this);
    this.#running = this.#run();
  }

  get state(): ClientState {
    return this.#connection === "live" && this.#behind.size > 0 ? "behind" : this.#connection;
  }

  /** Why it is `refused`, or what the last attempt failed with. */
  get error(): KumikoError | undefined {
    return this.#error;
  }

  /** Who the server says we are, since the first connection. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  /** Told of every change of state until it is disposed of. */
  onState(listener: (state: ClientState) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** A kernel; nothing is asked before the first call. */
  kernel(id: string): KernelClient {
    return new KernelClient(this, id);
  }

  /** Copies of a kernel's blocks and who is in it, over a connection of their own that is made now. */
  replicas(kernel: string): Replicas {
    const known = this.#replicas.get(kernel);
    if (known !== undefined) return known;
    if (this.#connection === "closed") throw disposed();
    const { url, token, WebSocket, fetch: ask, timers, backoff } = this.#options;
    const made = new Replicas({ url, token, kernel, WebSocket, fetch: ask, timers, backoff });
    this.#replicas.set(kernel, made);
    return made;
  }

  /** Resolves when there is a connection; rejects when there will be none, or not in time. */
  async connected(): Promise<void> {
    await this.link(this.#patience);
  }

  /** Makes a call on whatever connection there is. */
  call<Result>(run: (link: Link) => Promise<Result>, { retry, signal }: Calling): Promise<Result> {
    return this.#atOnce.run(async () => {
      let sent = false;
      for (;;) {
        signal?.throwIfAborted();
        const link = await this.link(this.#patience, signal).catch((error: unknown) => {
          throw sent && isOffline(error) ? unknownOutcome() : error;
        });
        try {
          return await run(link);
        } catch (error) {
          if (link.isBroken(error)) {
            if (!retry) throw unknownOutcome();
            sent = true;
            await link.closed;
            continue;
          }
          const told = fromWire(error);
          // Refused before anything was done: whatever the call is, another server may take it.
          if (told.code !== "closing") throw told;
          await link.closed;
        }
      }
    });
  }

  /** The connection, when there is one. Without patience it is waited for as long as it may still come. */
  async link(patience?: number, signal?: AbortSignal): Promise<Link> {
    if (this.#link === undefined) await this.#wait(patience, signal);
    if (this.#link !== undefined) return this.#link;
    if (this.#connection === "closed") throw disposed();
    if (this.#connection === "refused" && this.#error !== undefined) throw this.#error;
    throw offline(this.#options.url, this.#error);
  }

  /** Something is followed until it is disposed of, with the client or before. */
  follow(feed: AsyncDisposable): void {
    this.#following.add(feed);
  }

  unfollow(feed: AsyncDisposable): void {
    this.#following.delete(feed);
    this.catchingUp(feed, false);
  }

  catchingUp(feed: object, behind: boolean): void {
    if (behind) this.#behind.add(feed);
    else if (!this.#behind.delete(feed)) return;
    this.#tell();
  }

  /** Until then, or until it is given up. */
  pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.timers.after(milliseconds, resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    return promise.finally(() => timer.cancel());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(disposed());
    this.#enter("closed");
    this.#link?.close();
    for (const replicas of this.#replicas.values()) replicas[Symbol.dispose]();
    await Promise.all([...this.#following].map((each) => each[Symbol.asyncDispose]()));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      let ended: KumikoError;
      try {
        ended = await this.#connectOnce(signal);
      } catch (error) {
        ended = fromWire(error);
      }
      if (signal.aborted) return;
      this.#error = ended;
      if (!isPassing(ended)) {
        this.#enter("refused");
        return;
      }
      this.#enter("offline");
      await this.pause(this.#backoff.next(), signal);
    }
  }

  /** Says why the connection ended. */
  async #connectOnce(signal: AbortSignal): Promise<KumikoError> {
    const link = await Link.open(
      {
        url: this.#options.url,
        token: this.#options.token,
        WebSocket: this.#options.WebSocket,
        fetch: this.#options.fetch ?? fetch,
        timers: this.timers,
        silence: this.#options.silence ?? 20_000,
      },
      signal,
    );
    if (signal.aborted) {
      link.close();
      return disposed();
    }
    this.#backoff.reset();
    this.#link = link;
    this.#identity = link.identity;
    this.#error = undefined;
    this.#enter("live");
    const closed = await link.closed;
    this.#link = undefined;
    return closedError(closed);
  }

  #enter(state: Exclude<ClientState, "behind">): void {
    if (this.#connection === "closed") return;
    this.#connection = state;
    this.#tell();
    for (const look of this.#waiting) look();
  }

  #tell(): void {
    const { state } = this;
    if (state === this.#told) return;
    this.#told = state;
    for (const listener of this.#listeners) listener(state);
  }

  /** Until there is a connection, or will be none, or time is up. */
  #wait(patience: number | undefined, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#link !== undefined || this.#isOver) resolve();
    };
    this.#waiting.add(look);
    const timer = patience === undefined ? undefined : this.timers.after(patience, resolve);
    const stop = (): void => reject(signal?.reason as Error);
    signal?.addEventListener("abort", stop, { once: true });
    look();
    return promise.finally(() => {
      this.#waiting.delete(look);
      timer?.cancel();
      signal?.removeEventListener("abort", stop);
    });
  }

  get #isOver(): boolean {
    return this.#connection === "closed" || this.#connection === "refused";
  }
}

/** The world of the server, whichever connection there is. */
class WorldClient {
  readonly #client: KumikoClient;

  constructor(client: KumikoClient) {
    this.#client = client;
  }

  whoami(options: CallOptions = {}): Promise<Identity> {
    return this.#client.call(({ world }) => world.whoami(), { ...options, retry: true });
  }

  listKernels(options: CallOptions = {}): Promise<RpcAnswers["World"]["listKernels"]> {
    return this.#client.call(({ world }) => world.listKernels(), { ...options, retry: true });
  }

  /** Refused with `unknown_kernel` or `forbidden` now, and not by the first call. */
  async attachKernel(id: string, options: CallOptions = {}): Promise<KernelClient> {
    const kernel = this.#client.kernel(id);
    await kernel.position(options);
    return kernel;
  }

  async createKernel(
    input: RpcInputs["World"]["createKernel"] & { readonly kernel: string },
    options: CallOptions = {},
  ): Promise<KernelClient> {
    await this.#client.call(
      async ({ world }) => {
        using made = await world.createKernel(input);
        return made === undefined;
      },
      { ...options, retry: false },
    );
    return this.#client.kernel(input.kernel);
  }
}

/** Whether another try may go better. */
function isPassing({ code }: KumikoError): boolean {
  return code === "offline" || code === "closing" || code === "too_many" || code === "internal";
}

function offline(url: string, cause: KumikoError | undefined): KumikoError {
  return new KumikoError(
    "offline",
    `There is no connection to ${url}. Nothing was sent.`,
    { url, sent: false },
    { cause },
  );
}

function isOffline(error: unknown): boolean {
  return error instanceof KumikoError && error.code === "offline";
}

function unknownOutcome(): KumikoError {
  return new KumikoError(
    "offline",
    "The connection was lost while the call was under way: look whether it was carried out before you make it again.",
    { sent: true },
  );
}
