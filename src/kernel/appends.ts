import { KumikoError, type Timers } from "../base/index.ts";
import type { Notice } from "../protocol/index.ts";
import { type AppendReceipt, AppendStream, type StreamPorts } from "./append-stream.ts";
import type { Invocation } from "./invocation.ts";

/** Text waits for company no longer than this after the last of it came. */
const SILENCE = 100;
/** Nor when there is more of it than this. */
const ENOUGH = 50;
/** With more than this on its way, who appends waits for the disk. */
const MUCH = 4_000_000;
/**
 * Streams that have nothing to write are remembered for their Edit: this many. Who appends again to a block
 * after so many others begins another Edit.
 */
const REMEMBERED = 10_000;

export interface AppendPorts extends StreamPorts {
  readonly timers: Timers;
  /** Tells everybody of text that was taken in and could not be kept. */
  announce(notice: Extract<Notice<"resource">, { kind: "unwritten" }>): void;
}

/**
 * Text that streams in, gathered into few commits. Taking it in is not yet keeping it: that is what the
 * receipt's durable version says, and what a flush waits for. What could not be kept is told to its author,
 * at the next call at the latest, and to nobody else.
 */
export class Appends {
  readonly #ports: AppendPorts;
  /** By block, the one longest without an append first; then by actor. */
  readonly #streams = new Map<string, Map<string, AppendStream>>();
  /** Those with text on its way. */
  readonly #busy = new Set<AppendStream>();
  #count = 0;
  #closed = false;

  constructor(ports: AppendPorts) {
    this.#ports = ports;
  }

  async append(
    invocation: Invocation,
    block: string,
    text: string,
    options: { flush?: boolean | undefined },
  ): Promise<AppendReceipt> {
    const stream = this.#streamOf(invocation, block);
    this.#tell(stream);
    stream.take(invocation, text);
    this.#busy.add(stream);
    const much = stream.unwritten > MUCH;
    if (options.flush === true || much || stream.buffered > ENOUGH || text.includes("\n")) {
      const written = this.#flush(stream);
      if (options.flush === true || much) {
        await written;
        this.#tell(stream);
      }
    } else {
      stream.timer = this.#ports.timers.after(SILENCE, () => void this.#flush(stream));
    }
    return stream.receipt();
  }

  /**
   * Text that may not be added twice: written by itself and at once, because only a call that is on disk can
   * be recognised when it is made again.
   */
  async appendOnce(
    invocation: Invocation,
    block: string,
    text: string,
    fingerprint: string,
  ): Promise<AppendReceipt> {
    const stream = this.#streamOf(invocation, block);
    this.#tell(stream);
    this.#busy.add(stream);
    const receipt = stream.once(invocation, text, fingerprint);
    void stream.written.then(() => this.#settled(stream));
    try {
      return await receipt;
    } catch (error) {
      if (error === stream.failure) this.#forget(stream);
      throw error;
    }
  }

  /** Puts everything that waits for a block on disk; anyone who looks at it does this first. */
  async settle(block: string): Promise<void> {
    const streams = this.#streams.get(block);
    if (streams === undefined) return;
    for (const stream of streams.values()) if (this.#busy.has(stream)) await this.#flush(stream);
  }

  async settleAll(): Promise<void> {
    // What is appended from now on is not waited for.
    const busy = [...this.#busy];
    for (const stream of busy) await this.#flush(stream);
  }

  /** Ends the streams of a block: what comes later is another Edit. Throws what the caller must be told. */
  async end(block: string, caller?: string): Promise<void> {
    const streams = [...(this.#streams.get(block)?.values() ?? [])];
    for (const stream of streams) await this.#finish(stream, caller);
  }

  /** Ends streams, whatever their block. */
  async endThose(
    which: (stream: { actor: string; edit: string }) => boolean,
    caller: string,
  ): Promise<void> {
    for (const stream of this.#all()) if (which(stream)) await this.#finish(stream, caller);
  }

  async endAll(caller: string): Promise<void> {
    for (const stream of this.#all()) await this.#finish(stream, caller);
  }

  /**
   * Takes nothing in any more and writes what is left. Throws what could not be written and nobody was told
   * of; one that fails keeps none of the others from ending.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const streams = this.#all();
    await Promise.all(streams.map((stream) => this.#finish(stream, undefined)));
    for (const { failure } of streams) if (failure !== undefined) throw failure;
  }

  #all(): AppendStream[] {
    return [...this.#streams.values()].flatMap((streams) => [...streams.values()]);
  }

  #streamOf(invocation: Invocation, block: string): AppendStream {
    if (this.#closed)
      throw new KumikoError("closed", "The kernel is closing and takes nothing in any more.", {});
    const { actor } = invocation;
    const streams = this.#streams.get(block) ?? new Map<string, AppendStream>();
    this.#streams.delete(block);
    this.#streams.set(block, streams);
    const known = streams.get(actor);
    if (known !== undefined) return known;
    const stream = new AppendStream(this.#ports, invocation, block);
    streams.set(actor, stream);
    this.#count++;
    this.#forgetOldest();
    return stream;
  }

  async #flush(stream: AppendStream): Promise<void> {
    await stream.flush();
    this.#settled(stream);
  }

  /** What could not be written is told at once to whoever listens; its author may be waiting for nothing. */
  #settled(stream: AppendStream): void {
    if (stream.idle) this.#busy.delete(stream);
    const { block, actor, failure } = stream;
    if (failure === undefined || stream.announced) return;
    stream.announced = true;
    const units = failure.facts["lost"] as number;
    const why = failure.message;
    this.#ports.announce({ kind: "unwritten", block, actor, units, why });
  }

  /** Text that comes while it is being written is written too, before anything of a later stream. */
  async #finish(stream: AppendStream, caller: string | undefined): Promise<void> {
    do await this.#flush(stream);
    while (stream.failure === undefined && stream.buffered > 0);
    if (stream.actor === caller) this.#tell(stream);
    if (stream.failure === undefined) this.#forget(stream);
  }

  /** The author hears of it once, and what comes then is another Edit. */
  #tell(stream: AppendStream): void {
    if (stream.failure === undefined) return;
    this.#forget(stream);
    throw stream.failure;
  }

  #forget(stream: AppendStream): void {
    const streams = this.#streams.get(stream.block);
    this.#busy.delete(stream);
    if (streams?.get(stream.actor) !== stream) return;
    streams.delete(stream.actor);
    this.#count--;
    if (streams.size === 0) this.#streams.delete(stream.block);
  }

  #forgetOldest(): void {
    if (this.#count <= REMEMBERED) return;
    for (const stream of this.#all()) {
      if (stream.idle) this.#forget(stream);
      // Room for many at once, so that not everyone who comes looks through all of them.
      if (this.#count <= REMEMBERED * 0.9) return;
    }
  }
}
