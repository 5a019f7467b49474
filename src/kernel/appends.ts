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
  /** Commits text at the end of a block; resolves when it is on disk. */
  commit<Answer>(
    invocation: Invocation,
    append: {
      readonly block: string;
      readonly edit: string;
      readonly text: string;
      readonly fingerprint?: string | undefined;
      answer(version: number): Answer;
    },
  ): Promise<Answer>;
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
  /** A write that waits for the one before it: what comes meanwhile goes along. */
  waiting: Waiting | undefined;
  failure: unknown;
}

interface Waiting {
  /** What it will write, once nothing more may go along. */
  text: string | undefined;
  readonly written: Promise<void>;
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

  /**
   * Text that may not be added twice: written by itself and at once, because only a call that is on disk can
   * be recognised when it is made again.
   */
  async appendOnce(
    invocation: Invocation,
    block: string,
    text: string,
    options: { fingerprint: string; durable: number },
  ): Promise<AppendReceipt> {
    const key = `${invocation.actor} ${block}`;
    const stream = this.#streams.get(key) ?? this.#open(key, block, invocation, options.durable);
    const earlier = this.#flush(stream);
    // What is appended from here on stands behind this text.
    if (stream.waiting !== undefined) stream.waiting.text = takeWhole(stream);
    stream.waiting = undefined;
    this.#throwFailure(key, stream);
    const receipt = this.#onceAfter(earlier, stream, invocation, text, options.fingerprint);
    // What is appended after it is written after it, and does not share its failure.
    stream.writing = receipt.then(
      () => undefined,
      () => undefined,
    );
    return receipt;
  }

  /** Puts everything that waits for a block on disk; anyone who looks at it does this first. */
  async settle(block: string): Promise<void> {
    for (const stream of this.#streams.values())
      if (stream.block === block) await this.#flush(stream);
  }

  async settleAll(): Promise<void> {
    for (const block of new Set([...this.#streams.values()].map((stream) => stream.block))) {
      await this.settle(block);
    }
  }

  /** Ends the streams of a block: what comes later is another Edit. */
  async end(block: string): Promise<void> {
    for (const [key, stream] of this.#streams) {
      if (stream.block === block) await this.#finish(key, stream);
    }
  }

  /** Ends streams, whatever their block. */
  async endThose(which: (stream: { actor: string; edit: string }) => boolean): Promise<void> {
    for (const [key, stream] of this.#streams) {
      const { edit, invocation } = stream;
      if (which({ actor: invocation.actor, edit })) await this.#finish(key, stream);
    }
  }

  /** One that fails keeps none of the others from ending. */
  async endAll(): Promise<void> {
    const ends = [...this.#streams].map(([key, stream]) => this.#finish(key, stream));
    for (const end of await Promise.allSettled(ends)) {
      if (end.status === "rejected") throw end.reason;
    }
  }

  /** Text that comes while it is being written is written too, before anything of a later stream. */
  async #finish(key: string, stream: Stream): Promise<void> {
    do await this.#flush(stream);
    while (stream.failure === undefined && wholeLength(stream.buffer) > 0);
    if (this.#streams.get(key) === stream) this.#streams.delete(key);
    if (stream.failure !== undefined) throw stream.failure;
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
      waiting: undefined,
      failure: undefined,
    };
    this.#streams.set(key, stream);
    return stream;
  }

  /** Text is written in the order it came, one commit at a time: the slower the disk, the more at once. */
  #flush(stream: Stream): Promise<void> {
    stream.timer?.cancel();
    stream.timer = undefined;
    if (stream.waiting !== undefined) return stream.waiting.written;
    if (wholeLength(stream.buffer) === 0) return stream.writing;
    const waiting: Waiting = {
      text: undefined,
      written: stream.writing.then(() => this.#writeNext(stream, waiting)),
    };
    stream.waiting = waiting;
    stream.writing = waiting.written;
    return waiting.written;
  }

  async #writeNext(stream: Stream, waiting: Waiting): Promise<void> {
    if (stream.waiting === waiting) stream.waiting = undefined;
    if (stream.failure !== undefined) return;
    const text = waiting.text ?? takeWhole(stream);
    try {
      stream.durable = await this.#write(stream, stream.invocation, {
        text,
        answer: (version) => version,
      });
    } catch (error) {
      // Nobody may be waiting now: whoever calls next is told, and the text is not claimed to be kept.
      stream.failure = error;
    }
  }

  async #onceAfter(
    earlier: Promise<void>,
    stream: Stream,
    invocation: Invocation,
    text: string,
    fingerprint: string,
  ): Promise<AppendReceipt> {
    await earlier;
    if (stream.failure !== undefined) throw stream.failure;
    const receipt = await this.#write(stream, invocation, {
      text,
      fingerprint,
      answer: (version): AppendReceipt => {
        stream.accepted += text.length;
        return { accepted: stream.accepted, durable_version: version };
      },
    });
    stream.durable = Math.max(stream.durable, receipt.durable_version);
    return receipt;
  }

  async #write<Answer>(
    stream: Stream,
    invocation: Invocation,
    append: {
      text: string;
      fingerprint?: string | undefined;
      answer: (version: number) => Answer;
    },
  ): Promise<Answer> {
    const { block } = stream;
    try {
      return await this.#ports.commit(invocation, { block, edit: stream.edit, ...append });
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "edit_undone") throw error;
      // Somebody undid the stream so far; what comes now is new.
      stream.edit = this.#ports.newEdit();
      return this.#ports.commit(invocation, { block, edit: stream.edit, ...append });
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
  const end = wholeLength(stream.buffer);
  const text = stream.buffer.slice(0, end);
  stream.buffer = stream.buffer.slice(end);
  return text;
}

function wholeLength(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
}
