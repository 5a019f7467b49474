import { KeyedQueue, KumikoError } from "../../base/index.ts";
import { endOf, endOfTyping } from "../../blocks/index.ts";
import type { Invocation, Kernel, OpenedReplica, ReplicaFrame } from "../../kernel/index.ts";
import { type ClientFrame, replicaLimits } from "../../protocol/index.ts";
import type { Hall } from "../hall.ts";
import type { Visitor } from "../http/door.ts";
import { checkScope, invocationOf } from "../principal.ts";
import type { ConnectionLimits } from "./connection-limits.ts";
import { refusal, tooMany } from "./refusal.ts";
import { updateFrame, type WatchedBlock } from "./watched-block.ts";
import type { Wire } from "./wire.ts";

export interface ReplicaPorts {
  readonly hall: Hall;
  readonly limits: ConnectionLimits;
  /** The shadow of a block, until what this gives is disposed of. */
  watch(kernel: Kernel, block: string): { readonly watched: WatchedBlock } & Disposable;
}

/** As whom a connection writes, and where. */
interface Seat {
  readonly kernel: Kernel;
  readonly peer: string;
}

type PushFrame = Extract<ClientFrame, { kind: "push" }>;

/** Of which version a push became part, and the number that its peer's next operation has. */
interface Landed {
  readonly version: number;
  readonly next: number;
}

type OpenFrame = Extract<ClientFrame, { kind: "open" }>;

interface OpenReplica {
  readonly opened: OpenedReplica;
  readonly watching: { readonly watched: WatchedBlock } & Disposable;
  /** The number that the next operation of this connection's peer has. */
  next: number;
  /** The client was told to open it again: it hears of nothing else, and what it has pushed is taken as ever. */
  resynced: boolean;
}

/** The blocks that one connection has open. Whoever has the connection disposes of them. */
export class OpenReplicas implements Disposable {
  readonly #wire: Wire;
  readonly #visitor: Visitor;
  readonly #ports: ReplicaPorts;
  /** One copy at a time is made and sent: whoever does not read keeps no others in memory. */
  readonly #openings = new KeyedQueue();
  readonly #replicas = new Map<string, OpenReplica>();
  /** As whom it reads. */
  readonly #reader: Invocation;

  constructor(wire: Wire, visitor: Visitor, ports: ReplicaPorts) {
    this.#wire = wire;
    this.#visitor = visitor;
    this.#ports = ports;
    this.#reader = invocationOf(visitor.principal, {});
  }

  /** Opens it anew, and sends a copy or what is missing of it. */
  async open(seat: Seat, frame: OpenFrame): Promise<void> {
    const { hall } = this.#ports;
    const { principal } = this.#visitor;
    checkScope(principal, "read");
    hall.checkOpen();
    hall.rates.take(principal);
    this.close(frame.block);
    await this.#openings.run(["open"], async () => {
      await this.#wire.room();
      if (!this.#wire.closed) await this.#sendCopy(seat, frame);
    });
  }

  async #sendCopy(seat: Seat, { block, known }: OpenFrame): Promise<void> {
    const { limits } = this.#ports;
    await seat.kernel.checkReadable(this.#reader, block);
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
    if (this.#wire.closed) {
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
    this.#wire.send({ kind: "opened", block, blockVersion, generation, whole, counter, length });
    const later = early;
    early = undefined;
    for (const each of later) this.#frame(seat, each);
    for (let at = 0; at < length; at += replicaLimits.part) {
      // What is long waits for the peer to read; updates go past it, and the peer keeps them.
      await this.#wire.room();
      if (this.#wire.closed) return;
      this.#wire.send({ kind: "part", block, bytes: bytes.subarray(at, at + replicaLimits.part) });
    }
  }

  /** Takes an update; resolves when it is on disk and the client was told so. */
  async push(seat: Seat, frame: PushFrame): Promise<void> {
    const { hall } = this.#ports;
    const { principal, trace } = this.#visitor;
    const { block, counter } = frame;
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
    const invocation = invocationOf(principal, { trace });
    const { version, next } =
      (await this.#type(seat, frame, invocation)) ??
      (await this.#merge(seat, frame, invocation, replica.watching.watched));
    replica.next = next;
    const { peer } = seat;
    this.#wire.send({ kind: "accepted", block, peer, counter: next, blockVersion: version });
  }

  /** What was typed on top of all that is here is taken by its plain words; nobody looks into its bytes. */
  async #type(
    { kernel, peer }: Seat,
    { block, counter, typed, live }: PushFrame,
    invocation: Invocation,
  ): Promise<Landed | undefined> {
    if (typed === undefined) return undefined;
    const typing = { peer, counter, ...typed };
    const pushed = await kernel.replicas.type(invocation, block, typing, { live });
    return pushed && { version: pushed.version, next: endOfTyping(typing) };
  }

  async #merge(
    { kernel, peer }: Seat,
    { block, counter, update, live }: PushFrame,
    invocation: Invocation,
    { shadow }: WatchedBlock,
  ): Promise<Landed> {
    const operations = await shadow.vet(peer, counter, update);
    try {
      const { version } = await kernel.replicas.push(invocation, block, operations, { live });
      return { version, next: endOf(operations) };
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
    if (!seat.kernel.mayRead(this.#reader, block)) {
      void this.#refuse(seat.kernel, block);
      return;
    }
    const bytes = updateFrame(frame);
    if (bytes.length <= this.#ports.limits.update) this.#wire.sendBytes(bytes);
    else {
      replica.resynced = true;
      this.#wire.send({ kind: "resync", block, why: "Much was changed at once: read it again." });
    }
  }

  /** The rules changed while it was open: from here on nothing of it leaves. */
  async #refuse(kernel: Kernel, block: string): Promise<void> {
    this.close(block);
    try {
      await kernel.checkReadable(this.#reader, block);
      this.#wire.send({ kind: "resync", block, why: "Its rules changed: read it again." });
    } catch (error) {
      const why = `It cannot be followed any more: ${String(error)}`;
      const told = error instanceof KumikoError ? refusal(block, error) : undefined;
      this.#wire.send(told ?? { kind: "resync", block, why });
    }
  }

  #ended(block: string, { message }: KumikoError): void {
    this.close(block);
    this.#wire.send({ kind: "resync", block, why: message });
  }

  close(block: string): void {
    const replica = this.#replicas.get(block);
    if (replica === undefined) return;
    this.#replicas.delete(block);
    replica.opened[Symbol.dispose]();
    replica.watching[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const block of this.#replicas.keys()) this.close(block);
  }
}
