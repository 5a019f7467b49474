import { randomUUID } from "node:crypto";
import type { RawData, WebSocket } from "ws";
import { KeyedQueue, KumikoError, type Timers } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import {
  type ClientFrame,
  type CloseReason,
  decodeClientFrame,
  REPLICA_VERSION,
} from "../../protocol/index.ts";
import type { Visitor } from "../http/door.ts";
import type { OutflowLimits } from "../http/outflow.ts";
import { checkScope } from "../principal.ts";
import { OpenReplicas, type ReplicaPorts } from "./open-replicas.ts";
import { OwnPresence } from "./own-presence.ts";
import type { Grant, Peers } from "./peers.ts";
import type { PresenceBoard } from "./presence-board.ts";
import { refusal, tooMany } from "./refusal.ts";
import { Wire } from "./wire.ts";

export interface ConnectionPorts extends ReplicaPorts {
  readonly timers: Timers;
  readonly peers: Peers;
  readonly board: PresenceBoard;
  readonly outflow?: OutflowLimits | undefined;
}

/** Who the connection is, once it has said so. */
interface Seat {
  readonly kernel: Kernel;
  readonly peer: string;
  readonly holding: Disposable;
  readonly watching: Disposable;
}

/** One connection of replicas. Whatever it holds goes with it: open blocks, its peer, its presence. */
export class Connection {
  readonly #visitor: Visitor;
  readonly #ports: ConnectionPorts;
  readonly #wire: Wire;
  readonly #replicas: OpenReplicas;
  readonly #presence: OwnPresence;
  readonly #queue = new KeyedQueue();
  #seat: Promise<Seat> | undefined;
  #waiting = 0;
  #traps = 0;
  #idle: (() => void)[] = [];

  constructor(socket: WebSocket, visitor: Visitor, ports: ConnectionPorts) {
    this.#visitor = visitor;
    this.#ports = ports;
    const { hall, timers, board, limits, outflow } = ports;
    this.#wire = new Wire(socket, {
      timers,
      stalled: limits.stalled,
      outflow,
      gaveUp: () => hall.metrics.counter("kumiko_resyncs_total", { door: "/replica" }).add(),
      gone: () => this.#gone(),
    });
    this.#replicas = new OpenReplicas(this.#wire, visitor, ports);
    this.#presence = new OwnPresence(hall, board, limits.presences);
    const { principal } = visitor;
    const revoked = (): void => this.#goodbye(principal.signal.reason, "unauthorised");
    const closing = (): void => this.#goodbye(closingError(), "closing");
    principal.signal.addEventListener("abort", revoked, { once: true });
    hall.closing.addEventListener("abort", closing, { once: true });
    socket.on("message", (data, binary) => this.#take(data, binary));
    // What there is to say about an error is said by the close that follows it.
    socket.on("error", () => undefined);
    socket.once("close", () => {
      principal.signal.removeEventListener("abort", revoked);
      hall.closing.removeEventListener("abort", closing);
      this.#wire.gone();
    });
    if (socket.readyState !== socket.OPEN) this.#wire.gone();
    else if (principal.signal.aborted) revoked();
    else if (hall.closing.aborted) closing();
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
    if (this.#wire.closed) return;
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
      if (this.#wire.closed) return;
      if (frame.kind === "presence") {
        this.#saidPresence(seat, frame.json);
        return;
      }
      const { block } = frame;
      await this.#queue.run([block], async () => {
        if (this.#wire.closed) return;
        try {
          if (frame.kind === "close") this.#replicas.close(block);
          else if (frame.kind === "open") await this.#replicas.open(seat, frame);
          else {
            await this.#replicas.push(seat, frame);
            this.#count("accepted");
          }
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
      watching: board.watch(kernel.id, { changed: (change) => this.#wire.sendBytes(change) }),
    };
    const version = REPLICA_VERSION;
    this.#wire.send({ kind: "grant", version, peer, secret, presence: this.#presence.key });
    void this.#tellWhoIsHere(kernel);
    return seat;
  }

  async #tellWhoIsHere(kernel: Kernel): Promise<void> {
    await this.#wire.room();
    for (const frame of this.#ports.board.everybody(kernel.id)) {
      if (this.#wire.closed) return;
      this.#wire.sendBytes(frame);
      await this.#wire.room();
    }
  }

  #saidPresence({ kernel }: Seat, json: string): void {
    try {
      this.#presence.say(kernel, this.#visitor.principal, json);
    } catch (error) {
      const often = error instanceof KumikoError && error.code === "too_many";
      this.#goodbye(error, often ? "too_many" : "malformed");
    }
  }

  /** The block is closed for the client; everything else goes on. */
  #refuse(block: string, error: unknown): void {
    this.#replicas.close(block);
    const told = this.#told(error);
    this.#count(told.code);
    this.#wire.send(refusal(block, told));
    if (told.facts["trapped"] === true && ++this.#traps >= this.#ports.limits.traps) {
      this.#goodbye(tooMany("updates of it broke what looks at them", this.#traps), "too_many");
    }
  }

  /** Says why, and ends the connection. */
  #goodbye(error: unknown, reason: CloseReason): void {
    if (this.#wire.closed) return;
    this.#wire.send(refusal(undefined, this.#told(error), "stop"));
    this.#wire.end(reason);
  }

  #told(error: unknown): KumikoError {
    if (error instanceof KumikoError) return error;
    const reference = randomUUID();
    this.#ports.hall.log.error({ err: error, reference }, "a replica's frame failed");
    return new KumikoError("internal", `A fault of ours (${reference}).`, { reference });
  }

  #count(outcome: string): void {
    this.#ports.hall.metrics.counter("kumiko_replica_frames_total", { outcome }).add();
  }

  #gone(): void {
    this.#replicas[Symbol.dispose]();
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
    this.#presence.remove(seat.kernel);
    // Who goes on as this peer has to see what is still on its way to disk.
    await this.#nothingUnderWay();
    seat.holding[Symbol.dispose]();
  }
}

function closingError(): KumikoError {
  return new KumikoError("closing", "The server is stopping.", {});
}
