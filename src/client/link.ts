import { RpcSession } from "capnweb";
import { KumikoError, type Timers } from "../base/index.ts";
import type { RpcAnswers, RpcKernel, RpcWorld } from "../protocol/index.ts";
import { closeCodes, PROTOCOL_VERSION } from "../protocol/rpc-version.ts";
import type { Channels } from "./channels.ts";
import type { SocketClass, SocketLike } from "./socket.ts";
import { type Closed, Transport } from "./transport.ts";
import { fromWire } from "./wire-error.ts";

export type Identity = RpcAnswers["World"]["whoami"];

export interface LinkOptions {
  /** Of the server, `http` or `ws`. */
  readonly url: string;
  /** Without one the browser's cookie is what lets us in. */
  readonly token: string | undefined;
  readonly WebSocket: SocketClass;
  readonly fetch: typeof fetch;
  readonly timers: Timers;
  /** Milliseconds without a word after which the server is asked whether it is there, and then given up. */
  readonly silence: number;
}

/** One connection, from the moment the server has said who we are to its end. */
export class Link {
  readonly identity: Identity;
  readonly world: RpcWorld;
  readonly #transport: Transport;
  readonly #kernels = new Map<string, RpcKernel>();

  private constructor(
    transport: Transport,
    world: RpcWorld,
    identity: Identity,
    options: LinkOptions,
  ) {
    this.#transport = transport;
    this.world = world;
    this.identity = identity;
    this.#listen(options);
  }

  /** Throws `offline` when there is no server, and anything else when there is no use in trying again. */
  static async open(options: LinkOptions, signal: AbortSignal): Promise<Link> {
    const protocols = ["kumiko"];
    if (options.token !== undefined) protocols.push(`bearer.${options.token}`);
    const socket = new options.WebSocket(socketUrl(options.url), protocols);
    const stop = (): void => socket.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (!(await opened(socket))) throw await whyRefused(options, signal);
      const transport = new Transport(socket);
      const session = new RpcSession(transport);
      const world = session.getRemoteMain() as unknown as RpcWorld;
      const identity = await greeted(transport, world);
      if (identity.protocol === PROTOCOL_VERSION)
        return new Link(transport, world, identity, options);
      transport.close();
      throw otherProtocol(identity);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  get channels(): Channels {
    return this.#transport.channels;
  }

  /** The same until the connection ends; calls may be made before the server has answered. */
  kernel(id: string): RpcKernel {
    let kernel = this.#kernels.get(id);
    if (kernel === undefined) {
      const attaching = this.world.attachKernel({ kernel: id });
      kernel = attaching as unknown as RpcKernel;
      this.#kernels.set(id, kernel);
      const made = kernel;
      // Whoever called it is told why; the next call tries again.
      attaching.catch(() => {
        if (this.#kernels.get(id) === made) this.forget(id);
      });
    }
    return kernel;
  }

  /** Forgets a kernel that could not be attached, so that the next call tries again. */
  forget(id: string): void {
    this.#kernels.get(id)?.[Symbol.dispose]();
    this.#kernels.delete(id);
  }

  get closed(): Promise<Closed> {
    return this.#transport.closed;
  }

  /** Whether an error is nothing but the end of this connection. */
  isBroken(error: unknown): boolean {
    return error === this.#transport.broken || this.#transport.isClosed;
  }

  /**
   * Ends the session, which closes the transport. The other way round the library would first write down why, for a server
   * that is not told any more; in Node that loads all of `fetch`.
   */
  close(): void {
    this.world[Symbol.dispose]();
  }

  #listen({ timers, silence }: LinkOptions): void {
    let heard = this.#transport.frames;
    let asked = false;
    const look = (): void => {
      if (this.#transport.isClosed) return;
      const silent = this.#transport.frames === heard;
      if (silent && asked) {
        this.#transport.close();
        return;
      }
      heard = this.#transport.frames;
      asked = silent;
      // Only whether it answers counts, not what.
      if (silent) this.world.whoami().catch(() => undefined);
      timer = timers.after(silence, look);
    };
    let timer = timers.after(silence, look);
    void this.closed.then(() => timer.cancel());
  }
}

function socketUrl(url: string): string {
  const target = new URL("/rpc", url);
  target.protocol = target.protocol.replace("http", "ws");
  return target.href;
}

function opened(socket: SocketLike): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.addEventListener("open", () => resolve(true));
  // What there is to say about an error is said by the close that follows it.
  socket.addEventListener("error", () => undefined);
  socket.addEventListener("close", () => resolve(false));
  return promise;
}

async function greeted(transport: Transport, world: RpcWorld): Promise<Identity> {
  try {
    return await world.whoami();
  } catch (error) {
    if (error !== transport.broken) throw fromWire(error);
    throw closedError(await transport.closed);
  }
}

export function closedError({ code, reason }: Closed): KumikoError {
  const facts = { close_code: code, reason };
  return code === closeCodes.unauthorised
    ? new KumikoError("unauthorised", "The token was revoked or has expired.", facts)
    : new KumikoError("offline", "The connection was lost.", facts);
}

/** A WebSocket does not say why it was not let in; a request with the same token does. */
export async function whyRefused(
  { url, token, fetch: ask }: Pick<LinkOptions, "url" | "token" | "fetch">,
  signal: AbortSignal,
): Promise<KumikoError> {
  const offline = new KumikoError("offline", `There is no server at ${url}.`, { url });
  try {
    const response = await ask(new URL("/status.json", url.replace(/^ws/, "http")), {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal,
    });
    if (response.status !== 401 && response.status !== 403) return offline;
    const { error } = (await response.json()) as { error?: unknown };
    return fromWire(error);
  } catch {
    // Whoever cannot ask cannot be told.
    return offline;
  }
}

function otherProtocol({ protocol, server }: Identity): KumikoError {
  return new KumikoError(
    "protocol_mismatch",
    `The server (${server}) speaks version ${protocol} of the protocol and this client version ${PROTOCOL_VERSION}. ` +
      `Update the ${protocol < PROTOCOL_VERSION ? "server" : "client"}.`,
    { server: protocol, client: PROTOCOL_VERSION },
  );
}
