import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { KumikoError } from "../../base/index.ts";
import type { Hall } from "../hall.ts";
import { refusalOf, securityHeaders } from "./answer.ts";
import { checkCameFrom } from "./came-from.ts";
import { Connections } from "./connections.ts";
import { credentialsOf, SUBPROTOCOL } from "./credentials.ts";
import type { RequestDoor, SocketDoor, Visitor } from "./door.ts";
import { Heartbeat } from "./heartbeat.ts";
import { httpLimits, type HttpLimits } from "./limits.ts";
import { serveHealth, servePage } from "./public-paths.ts";
import { endSocket, malformed, refuseSocket } from "./raw-socket.ts";
import { serveSession } from "./session.ts";
import { unlistenable } from "./unlistenable.ts";

/** A door that is opened when its first visitor comes: what it imports takes time. What is opened is disposed of. */
export interface DoorOpener {
  readonly path: string;
  open(): Promise<SocketDoor | RequestDoor>;
}

export interface FrontOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Further names that the server may be called by. */
  readonly allowHosts?: readonly string[] | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
}

const TRACE = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * The one HTTP server. It looks at where a request comes from, then at its token, and only then at anything else of
 * it; what is then left is a door's.
 */
export class HttpFront implements AsyncDisposable {
  readonly connections: Connections;
  readonly #hall: Hall;
  readonly #limits: HttpLimits;
  readonly #names: Set<string>;
  readonly #server: Server;
  readonly #heartbeat: Heartbeat;
  readonly #doors = new Map<string, DoorOpener>();
  readonly #opened = new Map<string, Promise<SocketDoor | RequestDoor>>();
  /** Sockets with an answer that has not left yet. */
  readonly #answering = new WeakSet<Duplex>();
  #sockets: Promise<WebSocketServer> | undefined;

  private constructor(hall: Hall, options: FrontOptions) {
    this.#hall = hall;
    this.#limits = { ...httpLimits, ...options.limits };
    this.#names = namesOf(options);
    this.connections = new Connections(hall.clock, hall.metrics, this.#limits.perToken);
    this.#heartbeat = new Heartbeat(this.#limits.heartbeat);
    this.#server = createServer({
      maxHeaderSize: this.#limits.headers,
      headersTimeout: this.#limits.headersTimeout,
      requestTimeout: this.#limits.requestTimeout,
      connectionsCheckingInterval: this.#limits.checkEvery,
      // Some clients offer HTTP/2 with every request: what is no WebSocket is an ordinary request.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    });
    this.#server.maxConnections = this.#limits.sockets;
    this.#server.maxHeadersCount = 100;
    this.#server.on("request", (request, response) => void this.#serve(request, response));
    this.#server.on(
      "upgrade",
      (request, socket, head) => void this.#upgrade(request, socket, head),
    );
    this.#server.on("clientError", (error, socket) =>
      refuseSocket(socket, malformed(error), hall.log),
    );
  }

  static async listen(hall: Hall, options: FrontOptions): Promise<HttpFront> {
    const front = new HttpFront(hall, options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    front.#server.once("error", reject);
    front.#server.listen(options.port, options.host, resolve);
    try {
      await promise;
    } catch (error) {
      throw unlistenable(error, options);
    }
    front.#server.off("error", reject);
    return front;
  }

  get port(): number {
    const address = this.#server.address();
    return address !== null && typeof address === "object" ? address.port : 0;
  }

  add(...doors: readonly DoorOpener[]): void {
    for (const door of doors) this.#doors.set(door.path, door);
  }

  /** Takes no new connections; what is under way goes on. */
  stop(): void {
    if (this.#server.listening) this.#server.close();
    this.#server.closeIdleConnections();
  }

  /** Ends whatever is still open, and disposes of the doors. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    this.#heartbeat[Symbol.dispose]();
    for (const connection of this.connections.list()) connection.end(goodbye());
    this.#server.closeAllConnections();
    await using closing = new AsyncDisposableStack();
    for (const opened of await Promise.allSettled(this.#opened.values())) {
      if (opened.status !== "fulfilled") continue;
      if (Symbol.asyncDispose in opened.value) closing.use(opened.value as AsyncDisposable);
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let door = "none";
    const began = performance.now();
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    const { socket } = request;
    // Answers to requests that were sent ahead would pile up behind the one that is not read.
    if (this.#answering.has(socket)) {
      socket.destroy();
      return;
    }
    this.#answering.add(socket);
    response.once("close", () => this.#answering.delete(socket));
    // It also passes while an answer is made, or a stream has nothing to tell.
    response.setTimeout(this.#limits.unread, () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    // Whoever was answered without being heard out is not listened to any longer.
    response.once("finish", () => {
      if (!request.complete) socket.destroySoon();
    });
    try {
      checkCameFrom(request.headers, this.#names);
      const path = pathOf(request);
      if (serveHealth(this.#hall, path, request, response) || servePage(path, request, response)) {
        door = "public";
      } else if (path === "/session") {
        door = "session";
        this.#hall.checkOpen();
        await serveSession(this.#hall, request, response);
      } else {
        const visitor = await this.#admit(request);
        const opened = await this.#door(path, "serve", request.method);
        door = opened.path;
        await this.#visit(opened, request, response, visitor);
      }
    } catch (error) {
      this.#refuse(request, response, error);
    } finally {
      const status = response.statusCode;
      const { metrics, log } = this.#hall;
      metrics.counter("kumiko_http_requests_total", { door, status: String(status) }).add();
      const milliseconds = Math.round(performance.now() - began);
      // Not its path: that is the caller's, and may hold anything.
      log.debug({ door, method: request.method, status, milliseconds }, "request");
    }
  }

  async #visit(
    door: RequestDoor,
    request: IncomingMessage,
    response: ServerResponse,
    visitor: Visitor,
  ): Promise<void> {
    const end = (reason: unknown): void => {
      if (response.headersSent) response.destroy();
      else this.#refuse(request, response, reason);
    };
    const entry = this.connections.enter({ door: door.path, visitor, kind: "request", end });
    try {
      await door.serve(request, response, visitor);
      await ended(response);
    } finally {
      entry.leave();
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // It may break while its token is looked at.
    const broken = (): void => void socket.destroy();
    socket.on("error", broken);
    if (this.#answering.has(socket)) return broken();
    try {
      checkCameFrom(request.headers, this.#names);
      const path = pathOf(request);
      const visitor = await this.#admit(request);
      const door = await this.#door(path, "accept", request.method);
      const server = await (this.#sockets ??= socketServer(this.#limits.body));
      if (socket.destroyed) return;
      const open = Promise.withResolvers<WebSocket>();
      // Whatever fails from here on is answered by ws, which ends the socket.
      const entry = this.connections.enter({
        door: door.path,
        visitor,
        kind: "socket",
        end: (reason) => void open.promise.then((it) => endSocket(it, reason)),
      });
      socket.once("close", () => entry.leave());
      socket.off("error", broken);
      server.handleUpgrade(request, socket, head, (accepted) => {
        accepted.on("error", (error) => this.#hall.log.debug({ err: error, door: path }, "socket"));
        this.#heartbeat.watch(accepted);
        open.resolve(accepted);
        this.#hall.log.debug({ door: path, by: visitor.principal.token }, "connected");
        try {
          door.accept(accepted, visitor, socket);
        } catch (error) {
          this.#hall.log.error({ err: error, door: path }, "a door failed");
          endSocket(accepted, error);
        }
      });
    } catch (error) {
      this.#count(error);
      refuseSocket(socket, error, this.#hall.log);
    }
  }

  /** The token, before anything of the request but its headers is looked at. */
  async #admit(request: IncomingMessage): Promise<Visitor> {
    const credentials = credentialsOf(request);
    const principal = await this.#hall.tokens.authenticate(credentials?.token ?? "");
    this.#hall.checkOpen();
    this.#hall.rates.take(principal);
    const trace = request.headers["traceparent"];
    const address = request.socket.remoteAddress ?? "";
    const known = typeof trace === "string" && TRACE.test(trace);
    return { principal, address, ...(known && { trace }) };
  }

  async #door(path: string, kind: "serve", method?: string): Promise<RequestDoor>;
  async #door(path: string, kind: "accept", method?: string): Promise<SocketDoor>;
  async #door(
    path: string,
    kind: "serve" | "accept",
    method = "",
  ): Promise<RequestDoor | SocketDoor> {
    const opener = this.#doors.get(path);
    if (opener === undefined) throw unknownPath(path);
    let opening = this.#opened.get(path);
    if (opening === undefined) {
      opening = opener.open();
      this.#opened.set(path, opening);
      // Whoever comes next tries again.
      opening.catch(() => this.#opened.delete(path));
    }
    const door = await opening;
    if (kind in door) return door;
    throw new KumikoError(
      "invalid_argument",
      kind === "serve"
        ? `${path} is for WebSockets: this ${method} asks for no upgrade.`
        : `${path} is for requests, not for WebSockets.`,
      { path },
    );
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    this.#count(error);
    const { status, headers, body } = refusalOf(error, this.#hall.log);
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    // What was not read of the request is not waited for.
    if (!request.complete || this.#hall.closing.aborted) response.setHeader("connection", "close");
    response.writeHead(status, headers).end(body);
  }

  #count(error: unknown): void {
    const reason = error instanceof KumikoError ? error.code : "internal";
    this.#hall.log.debug({ reason, why: error instanceof Error ? error.message : "" }, "refused");
    this.#hall.metrics.counter("kumiko_refused_total", { reason }).add();
  }
}

/** Without the query, which no path here has a use for. */
function pathOf({ url = "" }: IncomingMessage): string {
  const path = url.split("?", 1)[0]!;
  if (path.startsWith("/") && !path.startsWith("//")) return path;
  throw unknownPath(path);
}

function unknownPath(path: string): KumikoError {
  const shown = path.slice(0, 200);
  return new KumikoError("unknown_path", `There is nothing at ${shown}.`, { path: shown });
}

/** All names of the loopback are one machine; of other addresses only the one that was asked for. */
function namesOf({ host, allowHosts = [] }: FrontOptions): Set<string> {
  const named = host.includes(":") ? `[${host}]` : host;
  return new Set(
    ["localhost", "127.0.0.1", "[::1]", named, ...allowHosts].map((name) => name.toLowerCase()),
  );
}

async function socketServer(maxPayload: number): Promise<WebSocketServer> {
  const { WebSocketServer: Sockets } = await import("ws");
  return new Sockets({
    noServer: true,
    maxPayload,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
}

function goodbye(): KumikoError {
  return new KumikoError("closing", "The server has stopped.", {});
}

/** When all of it has left, or its socket is gone: until then it is the visitor's. */
async function ended(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("close", resolve);
  if (!response.destroyed) await promise;
}
