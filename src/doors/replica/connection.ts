import { randomUUID } from "node:crypto";
import type { RawData, WebSocket } from "ws";
import { KeyedQueue, KumikoError, type Timers } from "../../base/index.ts";
import { endOf } from "../../blocks/index.ts";
import type { Kernel, OpenedReplica, ReplicaFrame } from "../../kernel/index.ts";
import {
  type ClientFrame,
  closeCodes,
  type CloseReason,
  decodeClientFrame,
  encodeServerFrame,
  presence,
  type Remedy,
  REPLICA_VERSION,
  replicaLimits,
  type ServerFrame,
} from "../../protocol/index.ts";
import type { Hall } from "../hall.ts";
import type { Visitor } from "../http/door.ts";
import { Outflow, type OutflowLimits } from "../http/outflow.ts";
import { checkScope, invocationOf } from "../principal.ts";
import type { Grant, Peers } from "./peers.ts";
import type { PresenceBoard } from "./presence-board.ts";
import { updateFrame, type WatchedBlock } from "./watched-block.ts";

export interface ConnectionLimits {
  /** Replicas that are open. */
  readonly replicas: number;
  /** Frames that came in and were not answered yet. */
  readonly waiting: number;
  /** Updates that ended a vetting worker before the connection is ended. */
  readonly traps: number;
  /** What may be said of oneself in a second. */
  readonly presences: number;
  /** Milliseconds without room for anything more before the peer is given up. */
  readonly stalled: number;
  /** Bytes of an update; of a larger one the block is read again, in parts that wait for the peer to read. */
  readonly update: number;
}

export const connectionLimits: ConnectionLimits = {
  replicas: 256,
  waiting: 256,
  traps: 8,
  presences: 100,
  stalled: 10_000,
  update: 1024 * 1024,
};

export interface ConnectionPorts {
  readonly hall: Hall;
  readonly timers: Timers;
  readonly peers: Peers;
  readonly board: PresenceBoard;
  readonly limits: ConnectionLimits;
  readonly outflow?: OutflowLimits | undefined;
  /** The shadow of a block, until what this gives is disposed of. */
  watch(kernel: Kernel, block: string): { readonly watched: WatchedBlock } & Disposable;
}

interface OpenReplica {
  readonly opened: OpenedReplica;
  readonly watching: { readonly watched: WatchedBlock } & Disposable;
  /** The number that the next operation of this connection's peer has. */
  next: number;
  /** The client was told to open it again: it hears of nothing else, and what it has pushed is taken as ever. */
  resynced: boolean;
}

/** Who the connection is, once it has said so. */
interface Seat {
  readonly kernel: Kernel;
  readonly peer: string;
  readonly holding: Disposable;
  readonly watching: Disposable;
}

const LINGER = 1_000;

/** One connection of replicas. Whatever it holds goes with it: open blocks, its peer, its presence. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #visitor: Visitor;
  readonly #ports: ConnectionPorts;
  readonly #outflow: Outflow;
  readonly #queue = new KeyedQueue();
  /** One copy at a time is made and sent: whoever does not read keeps no others in memory. */
  readonly #openings = new KeyedQueue();
  readonly #replicas = new Map<string, OpenReplica>();
  readonly #presence = randomUUID();
  #seat: Promise<Seat> | undefined;
  #waiting = 0;
  #traps = 0;
  #presences = { since: 0, count: 0 };
  #closed = false;
  #idle: (() => void)[] = [];
  #room: (() => void)[] = [];
  #stalled: { cancel(): void } | undefined;

  constructor(socket: WebSocket, visitor: Visitor, ports: ConnectionPorts) {
    this.#socket = socket;
    this.#visitor = visitor;
    this.#ports = ports;
    this.#outflow = new Outflow(
      socket,
      {
        paused: () => {
          socket.pause();
          // It may be paused again without having been resumed: what it took meanwhile counts.
          this.#stalled?.cancel();
          this.#stalled = ports.timers.after(ports.limits.stalled, () => this.#giveUp());
        },
        resumed: () => {
          this.#stalled?.cancel();
          socket.resume();
          // What came in is read before more goes out: whoever is sent much can be heard meanwhile.
          setImmediate(() => setImmediate(() => this.#goOn()));
        },
        overflowed: () => this.#giveUp(),
      },
      ports.outflow,
    );
    const { principal } = visitor;
    const revoked = (): void => this.#goodbye(principal.signal.reason, "unauthorised");
    const closing = (): void => this.#goodbye(closingError(), "closing");
    principal.signal.addEventListener("abort", revoked, { once: true });
    ports.hall.closing.addEventListener("abort", closing, { once: true });
    socket.on("message", (data, binary) => this.#take(data, binary));
    // What there is to say about an error is said by the close that follows it.
    socket.on("error", () => undefined);
    socket.once("close", () => {
      principal.signal.removeEventListener("abort", revoked);
      ports.hall.closing.removeEventListener("abort", closing);
      this.#gone();
    });
    if (socket.readyState !== socket.OPEN) this.#gone();
    else if (principal.signal.aborted) revoked();
    else if (ports.hall.closing.aborted) closing();
  }

  /** Another connection goes on as its peer; resolves when nothing of this one is under way. */
  async taken(): Promise<void> {
    this.#goodbye(
      new KumikoError("peer_taken", "Another connection goes on as this peer.", {}),
      "resync",
    );
    await this.#nothingUnderWay();
  }

  async #nothingUnderWay(): Promise<void> {
    while (this.#waiting > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#idle.push(resolve);
      await promise;
    }
  }

  #take(data: RawData, binary: boolean): void {
    if (this.#closed) return;
    let frame: ClientFrame;
    try {
      if (!binary) throw new KumikoError("frame_malformed", "A frame of text came.", {});
      frame = decodeClientFrame(data as Buffer);
    } catch (error) {
      this.#goodbye(error, "malformed");
      return;
    }
    if (this.#waiting >= this.#ports.limits.waiting) {
      this.#goodbye(tooMany("frames are waiting", this.#ports.limits.waiting), "too_many");
      return;
    }
    this.#waiting++;
    void this.#handle(frame).finally(() => {
      this.#waiting--;
      if (this.#waiting === 0) for (const tell of this.#idle.splice(0)) tell();
    });
  }

  async #handle(frame: ClientFrame): Promise<void> {
    if (frame.kind === "hello") return this.#hello(frame);
    try {
      const seat = await this.#seat;
      if (seat === undefined) throw new KumikoError("frame_malformed", "The first frame is hello.");
      if (this.#closed) return;
      if (frame.kind === "presence") {
        this.#saidPresence(seat, frame.json);
        return;
      }
      const { block } = frame;
      await this.#queue.run([block], async () => {
        if (this.#closed) return;
        try {
          if (frame.kind === "close") this.#close(block);
          else if (frame.kind === "open") await this.#open(seat, frame);
          else await this.#push(seat, frame);
        } catch (error) {
          this.#refuse(block, error);
        }
      });
    } catch (error) {
      this.#goodbye(error, "malformed");
    }
  }

  async #hello(frame: Extract<ClientFrame, { kind: "hello" }>): Promise<void> {
    try {
      if (this.#seat !== undefined) {
        throw new KumikoError("frame_malformed", "There is one hello to a connection.");
      }
      this.#seat = this.#sit(frame);
      // Whoever sends frames meanwhile is answered when this has failed.
      await this.#seat;
    } catch (error) {
      this.#goodbye(error, "malformed");
    }
  }

  async #sit(frame: Extract<ClientFrame, { kind: "hello" }>): Promise<Seat> {
    const { hall, peers, board } = this.#ports;
    const { principal } = this.#visitor;
    checkScope(principal, "read");
    if (frame.version !== REPLICA_VERSION) {
      throw new KumikoError(
        "protocol_mismatch",
        `The server speaks version ${REPLICA_VERSION} of the replica protocol and this client version ${frame.version}.`,
        { server: REPLICA_VERSION, client: frame.version },
      );
    }
    const kernel = await hall.kernelOf(principal, frame.kernel);
    const { actor } = principal;
    let grant: Grant | undefined = frame.resume;
    if (grant === undefined) grant = await peers.grant(kernel, actor, frame.instance);
    else await peers.check(kernel, grant, actor, frame.instance);
    const holding = await peers.take(kernel, grant.peer, this);
    const { peer, secret } = grant;
    const seat: Seat = {
      kernel,
      peer,
      holding,
      watching: board.watch(kernel.id, { changed: (change) => this.#outflow.send(change) }),
    };
    const version = REPLICA_VERSION;
    this.#send({ kind: "grant", version, peer, secret, presence: this.#presence });
    void this.#tellWhoIsHere(kernel);
    return seat;
  }

  async #tellWhoIsHere(kernel: Kernel): Promise<void> {
    await this.#roomAgain();
    for (const frame of this.#ports.board.everybody(kernel.id)) {
      if (this.#closed) return;
      this.#outflow.send(frame);
      await this.#roomAgain();
    }
  }

  async #open(seat: Seat, frame: Extract<ClientFrame, { kind: "open" }>): Promise<void> {
    const { hall } = this.#ports;
    const { principal } = this.#visitor;
    checkScope(principal, "read");
    hall.checkOpen();
    hall.rates.take(principal);
    this.#close(frame.block);
    await this.#openings.run(["open"], async () => {
      await this.#roomAgain();
      if (!this.#closed) await this.#sendCopy(seat, frame);
    });
  }

  async #sendCopy(
    seat: Seat,
    { block, known }: Extract<ClientFrame, { kind: "open" }>,
  ): Promise<void> {
    const { limits } = this.#ports;
    if (this.#replicas.size >= limits.replicas) {
      throw tooMany("replicas are open", limits.replicas);
    }
    // What comes before the client has heard that it is open is told right after that.
    let early: ReplicaFrame[] | undefined = [];
    const opened = await seat.kernel.replicas.open(
      block,
      {
        frame: (each) => (early === undefined ? this.#frame(seat, each) : early.push(each)),
        ended: (reason) => this.#ended(block, reason),
      },
      known,
      // Who cannot push needs no document that can be merged into.
      { onlyToRead: !this.#visitor.principal.scopes.has("write") },
    );
    if (this.#closed) {
      opened[Symbol.dispose]();
      return;
    }
    const counter = opened.counters.get(seat.peer) ?? 0;
    this.#replicas.set(block, {
      opened,
      watching: this.#ports.watch(seat.kernel, block),
      next: counter,
      resynced: false,
    });
    const { version: blockVersion, generation, whole, bytes } = opened;
    const { length } = bytes;
    this.#send({ kind: "opened", block, blockVersion, generation, whole, counter, length });
    const later = early;
    early = undefined;
    for (const each of later) this.#frame(seat, each);
    for (let at = 0; at < length; at += replicaLimits.part) {
      // What is long waits for the peer to read; updates go past it, and the peer keeps them.
      await this.#roomAgain();
      if (this.#closed) return;
      this.#send({ kind: "part", block, bytes: bytes.subarray(at, at + replicaLimits.part) });
    }
  }

  async #push(seat: Seat, frame: Extract<ClientFrame, { kind: "push" }>): Promise<void> {
    const { hall } = this.#ports;
    const { principal, trace } = this.#visitor;
    const { block, counter, update, live } = frame;
    const replica = this.#replicas.get(block);
    if (replica === undefined) {
      throw new KumikoError("import_rejected", `${block} is not open on this connection.`, {
        block,
      });
    }
    hall.checkOpen();
    checkScope(principal, "write");
    hall.rates.take(principal);
    if (counter !== replica.next) {
      throw new KumikoError(
        "import_rejected",
        `The update begins with operation ${counter}, and ${replica.next} is the next one.`,
        { next: replica.next },
      );
    }
    const { shadow } = replica.watching.watched;
    const operations = await shadow.vet(seat.peer, counter, update);
    try {
      const invocation = invocationOf(principal, { trace });
      const pushed = await seat.kernel.replicas.push(invocation, block, operations, { live });
      replica.next = endOf(operations);
      this.#count("accepted");
      const { next } = replica;
      const blockVersion = pushed.version;
      this.#send({ kind: "accepted", block, peer: seat.peer, counter: next, blockVersion });
    } catch (error) {
      shadow.forget();
      throw error;
    }
  }

  #frame(seat: Seat, frame: ReplicaFrame): void {
    // Whose own it is has it, and hears that it is on disk by another frame.
    if (frame.updates.every(({ from }) => from?.peer === seat.peer)) {
      if (frame.updates.length === frame.changes.length) return;
    }
    const { block } = frame;
    const replica = this.#replicas.get(block);
    if (replica === undefined || replica.resynced) return;
    const bytes = updateFrame(frame);
    if (bytes.length <= this.#ports.limits.update) this.#outflow.send(bytes);
    else {
      replica.resynced = true;
      this.#send({ kind: "resync", block, why: "Much was changed at once: read it again." });
    }
  }

  #ended(block: string, { message }: KumikoError): void {
    this.#close(block);
    this.#send({ kind: "resync", block, why: message });
  }

  #close(block: string): void {
    const replica = this.#replicas.get(block);
    if (replica === undefined) return;
    this.#replicas.delete(block);
    replica.opened[Symbol.dispose]();
    replica.watching[Symbol.dispose]();
  }

  #saidPresence(seat: Seat, json: string): void {
    const { board, limits, hall } = this.#ports;
    const now = hall.clock.now();
    if (now - this.#presences.since >= 1_000) this.#presences = { since: now, count: 0 };
    if (++this.#presences.count > limits.presences) {
      this.#goodbye(tooMany("presences came in a second", limits.presences), "too_many");
      return;
    }
    try {
      hall.rates.take(this.#visitor.principal);
    } catch (error) {
      this.#goodbye(error, "too_many");
      return;
    }
    const said = presence.safeParse(parsed(json));
    if (!said.success) {
      throw new KumikoError("frame_malformed", "What was said of oneself is no presence.", {
        why: said.error.issues[0]?.message ?? "",
      });
    }
    const { actor, kind } = this.#visitor.principal;
    board.put(seat.kernel.id, { key: this.#presence, actor, kind, presence: said.data });
  }

  /** The block is closed for the client; everything else goes on. */
  #refuse(block: string, error: unknown): void {
    this.#close(block);
    const told = this.#told(error);
    this.#count(told.code);
    this.#send(refusal(block, told, remedyOf(told)));
    if (told.facts["trapped"] === true && ++this.#traps >= this.#ports.limits.traps) {
      this.#goodbye(tooMany("updates of it broke what looks at them", this.#traps), "too_many");
    }
  }

  /** Says why, and ends the connection. */
  #goodbye(error: unknown, reason: CloseReason): void {
    if (this.#closed) return;
    this.#send(refusal(undefined, this.#told(error), "stop"));
    this.#end(reason);
  }

  #told(error: unknown): KumikoError {
    if (error instanceof KumikoError) return error;
    const reference = randomUUID();
    this.#ports.hall.log.error({ err: error, reference }, "a replica's frame failed");
    return new KumikoError("internal", `A fault of ours (${reference}).`, { reference });
  }

  #send(frame: ServerFrame): void {
    this.#outflow.send(encodeServerFrame(frame));
  }

  #count(outcome: string): void {
    this.#ports.hall.metrics.counter("kumiko_replica_frames_total", { outcome }).add();
  }

  /** Resolves when there is room, or nobody to send anything to. Of those who wait, the first may take it all. */
  async #roomAgain(): Promise<void> {
    while (this.#outflow.paused && !this.#closed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#room.push(resolve);
      await promise;
    }
  }

  #goOn(): void {
    for (const go of this.#room.splice(0)) go();
  }

  /** The peer does not read. */
  #giveUp(): void {
    this.#ports.hall.metrics.counter("kumiko_resyncs_total", { door: "/replica" }).add();
    this.#end("resync");
  }

  #end(reason: CloseReason): void {
    if (this.#closed) return;
    this.#gone();
    this.#socket.resume();
    this.#socket.close(closeCodes[reason], reason);
    // A peer that does not read will not answer either.
    const giveUp = this.#ports.timers.after(LINGER, () => this.#socket.terminate());
    this.#socket.once("close", () => giveUp.cancel());
  }

  #gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stalled?.cancel();
    for (const block of this.#replicas.keys()) this.#close(block);
    this.#goOn();
    if (this.#seat !== undefined) void this.#leave(this.#seat);
  }

  async #leave(taken: Promise<Seat>): Promise<void> {
    let seat: Seat;
    try {
      seat = await taken;
    } catch {
      // It was told why, and has nothing to give back.
      return;
    }
    seat.watching[Symbol.dispose]();
    this.#ports.board.remove(seat.kernel.id, this.#presence);
    // Who goes on as this peer has to see what is still on its way to disk.
    await this.#nothingUnderWay();
    seat.holding[Symbol.dispose]();
  }
}

/** What helps: the same again later, a new copy, or nothing. */
function remedyOf({ code }: KumikoError): Remedy {
  switch (code) {
    case "too_many":
    case "closing":
    case "closed":
    case "journal_unwritable":
    case "outrun":
    case "internal":
      return "retry";
    case "unknown_block":
    case "quarantined":
    case "forbidden":
    case "denied":
    case "invalid_argument":
      return "stop";
    default:
      return "reload";
  }
}

function refusal(
  block: string | undefined,
  { code, message, facts }: KumikoError,
  remedy: Remedy,
): ServerFrame {
  return { kind: "refused", block, code, message, facts, remedy };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new KumikoError("frame_malformed", "What was said of oneself is no JSON.", {}, { cause });
  }
}

function tooMany(what: string, limit: number): KumikoError {
  return new KumikoError("too_many", `Too many ${what}: ${limit} is the limit.`, {
    limit,
    retry_after: 1,
  });
}

function closingError(): KumikoError {
  return new KumikoError("closing", "The server is stopping.", {});
}
