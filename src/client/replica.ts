import { KumikoError } from "../base/index.ts";
import type { ReplicaText, Splice } from "../blocks/index.ts";
import type { ClientFrame, ServerFrame } from "../protocol/replica-frame.ts";
import { ReplicaOpening } from "./replica-opening.ts";
import { ReplicaPushes } from "./replica-pushes.ts";
import { Unsent, type UnsentText } from "./unsent.ts";

/**
 * - `connecting`: there is no copy yet;
 * - `live`: connected, and told of everything;
 * - `behind`: connected, and still catching up;
 * - `offline`: there is a copy, which can be edited, and no connection;
 * - `refused`: there will be none; `replica.error` says why;
 * - `closed`: disposed of.
 */
export type ReplicaState = "connecting" | "live" | "behind" | "offline" | "refused" | "closed";

/** How the text changed. After `reload` nothing is as it was, and `text` says all. */
export interface ReplicaNews {
  readonly origin: "local" | "remote" | "reload";
  readonly splices: readonly Splice[];
  /** Who did it, as far as it is told. */
  readonly changes: readonly { readonly actor: string; readonly edit: string }[];
}

/** Edits that no server took. */
export interface RefusedText extends UnsentText {
  readonly error: KumikoError;
}

export interface ReplicaPorts {
  send(frame: ClientFrame): void;
  /** Makes a copy, writing as the peer that was granted. */
  copy(snapshot: Uint8Array): Promise<ReplicaText>;
  after(milliseconds: number, run: () => void): { cancel(): void };
  closed(): void;
}

type Listener<News> = (news: News) => void;

/** How long to wait when a server says to try again and not when. */
const AGAIN = 500;

/**
 * A copy of one block's text that is edited at once, here, connected or not. What is typed while a frame is under
 * way goes into the next one.
 */
export class Replica implements Disposable {
  readonly block: string;
  readonly #ports: ReplicaPorts;
  readonly #unsent = new Unsent();
  readonly #pushes = new ReplicaPushes(this.#unsent);
  readonly #changed = new Set<Listener<ReplicaNews>>();
  readonly #states = new Set<Listener<ReplicaState>>();
  readonly #refusals = new Set<Listener<RefusedText>>();
  readonly #waiting = new Set<() => void>();
  #copy: ReplicaText | undefined;
  #opening: ReplicaOpening | undefined;
  #connected = false;
  #open = false;
  #state: ReplicaState = "connecting";
  #error: KumikoError | undefined;
  #readOnly: KumikoError | undefined;
  #generation = 0;
  #version = 0;
  #flushing = false;
  /** Made without connection, and not sent since. */
  #offline = false;
  #retry: { cancel(): void } | undefined;

  constructor(block: string, ports: ReplicaPorts) {
    this.block = block;
    this.#ports = ports;
  }

  get state(): ReplicaState {
    return this.#state;
  }

  /** Why it is `refused`, or may only be read. */
  get error(): KumikoError | undefined {
    return this.#error ?? this.#readOnly;
  }

  /** The version of the block up to which it has everything. */
  get version(): number {
    return this.#version;
  }

  /** The text as it is here, with everything typed. */
  get text(): string {
    return this.#held().toString();
  }

  get length(): number {
    return this.#held().length;
  }

  /** Edits that are not known to be on disk. */
  get unsent(): readonly Splice[] {
    return this.#unsent.edits;
  }

  /** Changes the text at once; the server hears of it as soon as it can. Sequential splices, all or none. */
  edit(splices: readonly Splice[]): void {
    const copy = this.#held();
    // What no server will ever take is better not typed.
    if (this.error !== undefined) throw this.error;
    this.#unsent.made(splices, copy.edit(splices));
    this.#tell({ origin: "local", splices, changes: [] });
    this.#flushSoon();
  }

  /**
   * Takes the last edit back while no server can know of it and nobody else edited since; false when there is none.
   * What was sent is undone with `block_undo`.
   */
  undoUnsent(): boolean {
    const copy = this.#held();
    const splices = this.#unsent.takeBack();
    if (splices === undefined) return false;
    copy.edit(splices);
    this.#tell({ origin: "local", splices, changes: [] });
    this.#flushSoon();
    return true;
  }

  /** Resolves when there is a copy and everything of it was caught up with. */
  async ready(): Promise<void> {
    await this.#until(() => this.#state === "live");
  }

  /** Resolves when everything typed so far is on disk. */
  async saved(): Promise<void> {
    await this.#until(() => this.#copy !== undefined && this.#unsent.isEmpty && this.#open);
  }

  /** Resolves when it has everything up to a version of the block. */
  async reached(version: number): Promise<void> {
    await this.#until(() => this.#open && this.#version >= version);
  }

  onChange(listener: Listener<ReplicaNews>): Disposable {
    return listening(this.#changed, listener);
  }

  onState(listener: Listener<ReplicaState>): Disposable {
    return listening(this.#states, listener);
  }

  /** Told of edits that no server took, before the copy without them takes this one's place. */
  onRefused(listener: Listener<RefusedText>): Disposable {
    return listening(this.#refusals, listener);
  }

  [Symbol.dispose](): void {
    if (this.#state === "closed") return;
    if (this.#connected) this.#ports.send({ kind: "close", block: this.block });
    this.#enter("closed");
    this.#retry?.cancel();
    this.#copy?.[Symbol.dispose]();
    this.#copy = undefined;
    this.#ports.closed();
  }

  // What the connection tells it

  connected(): void {
    if (this.#isOver) return;
    this.#connected = true;
    this.#ask();
  }

  disconnected(): void {
    if (this.#isOver) return;
    this.#connected = false;
    this.#open = false;
    this.#opening = undefined;
    this.#retry?.cancel();
    this.#enter(this.#copy === undefined ? "connecting" : "offline");
  }

  /** The peer is another: what was typed as the old one can be sent no more. */
  peerLost(error: KumikoError): void {
    this.#giveUp(error);
  }

  refusedForGood(error: KumikoError): void {
    if (this.#isOver) return;
    this.#handBack(error);
    this.#error = error;
    this.#enter("refused");
  }

  async receive(frame: ServerFrame): Promise<void> {
    if (this.#isOver) return;
    try {
      await this.#receive(frame);
    } catch (error) {
      // Whatever the copy is now, it is not what the server thinks it is.
      this.#giveUp(
        error instanceof KumikoError
          ? error
          : new KumikoError("resync", `The copy cannot be gone on with: ${String(error)}`),
      );
    }
  }

  async #receive(frame: ServerFrame): Promise<void> {
    switch (frame.kind) {
      case "opened":
        this.#opening = new ReplicaOpening(frame);
        if (this.#opening.isComplete) await this.#opened(this.#opening);
        break;
      case "part":
        await this.#part(frame.bytes);
        break;
      case "update":
        if (this.#opening !== undefined) this.#opening.later.push(frame);
        else if (this.#open) this.#update(frame);
        break;
      case "accepted":
        if (this.#open) this.#accepted(frame);
        break;
      case "resync":
        this.#open = false;
        this.#ask();
        break;
      case "refused":
        this.#refused(frame);
        break;
      default:
        break;
    }
  }

  /** Asks for all of it, or for what is missing. */
  #ask(): void {
    this.#open = false;
    this.#opening = undefined;
    this.#enter(this.#copy === undefined ? "connecting" : "behind");
    const known =
      this.#copy === undefined
        ? undefined
        : { generation: this.#generation, counters: this.#copy.counters() };
    this.#ports.send({ kind: "open", block: this.block, known });
  }

  async #part(bytes: Uint8Array): Promise<void> {
    const opening = this.#opening;
    if (opening === undefined) return;
    opening.add(bytes);
    if (opening.isComplete) await this.#opened(opening);
  }

  async #opened(opening: ReplicaOpening): Promise<void> {
    const { opened, later, bytes } = opening;
    if (opened.whole) {
      const copy = await this.#ports.copy(bytes);
      // Something else may have happened while the first copy was loaded.
      if (this.#opening !== opening) {
        copy[Symbol.dispose]();
        return;
      }
      if (this.#copy !== undefined) this.#handBack(becameAnother(this.block));
      this.#copy?.[Symbol.dispose]();
      this.#copy = copy;
      this.#tell({ origin: "reload", splices: [], changes: [] });
    } else this.#merge(bytes, []);
    this.#opening = undefined;
    this.#generation = opened.generation;
    this.#version = opened.blockVersion;
    this.#pushes.opened(opened.counter);
    this.#open = true;
    this.#enter("live");
    for (const frame of later) this.#update(frame);
    this.#flush();
  }

  #update(frame: Extract<ServerFrame, { kind: "update" }>): void {
    if (frame.toVersion <= this.#version) return;
    const { changes } = frame;
    for (const { bytes } of frame.updates) this.#merge(bytes, changes);
    this.#version = frame.toVersion;
    this.#look();
  }

  #merge(bytes: Uint8Array, changes: ReplicaNews["changes"]): void {
    if (bytes.length === 0) return;
    const splices = this.#held().import(bytes);
    if (splices.length === 0) return;
    this.#unsent.merged(splices);
    this.#tell({ origin: "remote", splices, changes });
  }

  #accepted({ counter, blockVersion }: Extract<ServerFrame, { kind: "accepted" }>): void {
    // What others did before it may still be on its way, in a frame that ends with this very version.
    if (blockVersion === this.#version + 1) this.#version = blockVersion;
    if (this.#pushes.accepted(counter)) this.#offline = false;
    this.#flush();
    this.#look();
  }

  #refused(frame: Extract<ServerFrame, { kind: "refused" }>): void {
    const error = new KumikoError(frame.code, frame.message, frame.facts);
    if (frame.remedy === "retry") {
      const { retry_after: seconds } = frame.facts;
      this.#open = false;
      this.#enter("behind");
      const wait = typeof seconds === "number" ? seconds * 1_000 : AGAIN;
      this.#retry = this.#ports.after(wait, () => this.#ask());
      return;
    }
    if (frame.remedy === "stop" && !this.#open) {
      this.refusedForGood(error);
      return;
    }
    if (frame.remedy === "stop") this.#readOnly = error;
    this.#giveUp(error);
  }

  /** Throws the copy away and asks for another; what was typed is handed back. */
  #giveUp(error: KumikoError): void {
    this.#handBack(error);
    this.#copy?.[Symbol.dispose]();
    this.#copy = undefined;
    this.#pushes.forget();
    if (this.#connected) this.#ask();
  }

  #handBack(error: KumikoError): void {
    if (this.#unsent.isEmpty || this.#copy === undefined) return;
    const refused = { ...this.#unsent.handBack(this.#copy.toString()), error };
    this.#unsent.clear();
    for (const listener of this.#refusals) listener(refused);
  }

  #flushSoon(): void {
    if (!this.#connected) this.#offline = true;
    if (this.#flushing) return;
    this.#flushing = true;
    // All that is typed in one turn goes along.
    queueMicrotask(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  /** One frame at a time: what is typed meanwhile goes into the next. */
  #flush(): void {
    const copy = this.#copy;
    if (copy === undefined || !this.#open || this.#pushes.isUnderWay) return;
    const push = this.#pushes.next(copy);
    if (push === undefined) this.#look();
    else this.#ports.send({ kind: "push", block: this.block, live: !this.#offline, ...push });
  }

  #held(): ReplicaText {
    if (this.#copy !== undefined) return this.#copy;
    if (this.#error !== undefined) throw this.#error;
    throw new KumikoError(
      this.#state === "closed" ? "disposed" : "offline",
      `There is no copy of ${this.block} ${this.#state === "closed" ? "any more" : "yet: wait until it is ready"}.`,
      { block: this.block },
    );
  }

  get #isOver(): boolean {
    return this.#state === "closed" || this.#state === "refused";
  }

  #enter(state: ReplicaState): void {
    if (this.#state === state || this.#isOver) return;
    this.#state = state;
    for (const listener of this.#states) listener(state);
    this.#look();
  }

  #tell(news: ReplicaNews): void {
    for (const listener of this.#changed) listener(news);
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }

  async #until(isSo: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (isSo()) resolve();
      else if (this.#isOver) reject(this.#error ?? new KumikoError("disposed", "It was closed."));
    };
    this.#waiting.add(look);
    look();
    try {
      await promise;
    } finally {
      this.#waiting.delete(look);
    }
  }
}

function listening<News>(listeners: Set<Listener<News>>, listener: Listener<News>): Disposable {
  listeners.add(listener);
  return { [Symbol.dispose]: () => void listeners.delete(listener) };
}

function becameAnother(block: string): KumikoError {
  return new KumikoError(
    "resync",
    `${block} is another document than the one that was edited here.`,
    { block },
  );
}
