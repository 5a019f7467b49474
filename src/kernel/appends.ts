import { KumikoError, type Timers } from "../base/index.ts";
import type { Invocation } from "./invocation.ts";

/** Text waits for company no longer than this after the last of it came. */
const SILENCE = 100;
/** Nor when there is more of it than this. */
const ENOUGH = 50;

export interface AppendReceipt {
  /** UTF-16 units taken in so far, in this stream. */
  readonly accepted: number;
  /** The version up to which it is on disk. */
  readonly durable_version: number;
}

export interface AppendPorts {
  readonly timers: Timers;
  newEdit(): string;
  /** Commits text at the end of a block; resolves with the version when it is on disk. */
  commit(invocation: Invocation, block: string, edit: string, text: string): Promise<number>;
}

/** One actor's appending to one block, until the block's status changes: one Edit. */
interface Stream {
  readonly block: string;
  invocation: Invocation;
  edit: string;
  buffer: string;
  accepted: number;
  durable: number;
  timer: { cancel(): void } | undefined;
  writing: Promise<void>;
  failure: unknown;
}

/**
 * Text that streams in, gathered into few commits. Taking it in is not yet keeping it: that is what the
 * receipt's durable version says, and what a flush waits for.
 */
export class Appends {
  readonly #ports: AppendPorts;
  readonly #streams = new Map<string, Stream>();

  constructor(ports: AppendPorts) {
    this.#ports = ports;
  }

  async append(
    invocation: Invocation,
    block: string,
    text: string,
    options: { flush?: boolean; durable: number },
  ): Promise<AppendReceipt> {
    const key = `${invocation.actor} ${block}`;
    const stream = this.#streams.get(key) ?? this.#open(key, block, invocation, options.durable);
    this.#throwFailure(key, stream);
    stream.invocation = invocation;
    stream.buffer += text;
    stream.accepted += text.length;
    stream.timer?.cancel();
    stream.timer = undefined;
    if (options.flush === true || stream.buffer.length > ENOUGH || text.includes("\n")) {
      const written = this.#flush(stream);
      if (options.flush === true) {
        await written;
        this.#throwFailure(key, stream);
      }
    } else {
      stream.timer = this.#ports.timers.after(SILENCE, () => void this.#flush(stream));
    }
    return { accepted: stream.accepted, durable_version: stream.durable };
  }

  /** Puts everything that waits for a block on disk; anyone who looks at it does this first. */
  async settle(block: string): Promise<void> {
    for (const stream of this.#streams.values())
      if (stream.block === block) await this.#flush(stream);
  }

  /** Ends the streams of a block: what comes later is another Edit. */
  async end(block: string): Promise<void> {
    await this.settle(block);
    for (const [key, stream] of this.#streams) {
      if (stream.block !== block) continue;
      this.#streams.delete(key);
      this.#throwFailure(key, stream);
    }
  }

  async endAll(): Promise<void> {
    for (const block of new Set([...this.#streams.values()].map((stream) => stream.block))) {
      await this.end(block);
    }
  }

  #open(key: string, block: string, invocation: Invocation, durable: number): Stream {
    const stream: Stream = {
      block,
      invocation,
      edit: this.#ports.newEdit(),
      buffer: "",
      accepted: 0,
      durable,
      timer: undefined,
      writing: Promise.resolve(),
      failure: undefined,
    };
    this.#streams.set(key, stream);
    return stream;
  }

  /** Text is written in the order it came, one commit at a time. */
  #flush(stream: Stream): Promise<void> {
    stream.timer?.cancel();
    stream.timer = undefined;
    const text = takeWhole(stream);
    if (text === "") return stream.writing;
    stream.writing = this.#writeAfter(stream.writing, stream, stream.invocation, text);
    return stream.writing;
  }

  async #writeAfter(
    earlier: Promise<void>,
    stream: Stream,
    invocation: Invocation,
    text: string,
  ): Promise<void> {
    await earlier;
    if (stream.failure !== undefined) return;
    try {
      stream.durable = await this.#write(stream, invocation, stream.block, text);
    } catch (error) {
      // Nobody may be waiting now: whoever calls next is told, and the text is not claimed to be kept.
      stream.failure = error;
    }
  }

  async #write(
    stream: Stream,
    invocation: Invocation,
    block: string,
    text: string,
  ): Promise<number> {
    try {
      return await this.#ports.commit(invocation, block, stream.edit, text);
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "edit_undone") throw error;
      // Somebody undid the stream so far; what comes now is new.
      stream.edit = this.#ports.newEdit();
      return this.#ports.commit(invocation, block, stream.edit, text);
    }
  }

  #throwFailure(key: string, stream: Stream): void {
    if (stream.failure === undefined) return;
    this.#streams.delete(key);
    throw stream.failure;
  }
}

/** What can be written: half of a surrogate pair at the end waits for its other half. */
function takeWhole(stream: Stream): string {
  const last = stream.buffer.charCodeAt(stream.buffer.length - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? stream.buffer.length - 1 : stream.buffer.length;
  const text = stream.buffer.slice(0, end);
  stream.buffer = stream.buffer.slice(end);
  return text;
}
