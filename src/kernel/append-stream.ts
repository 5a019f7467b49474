import { checkWellFormed, KumikoError } from "../base/index.ts";
import type { Invocation } from "./invocation.ts";

export interface AppendReceipt {
  /** UTF-16 units taken in so far, in this stream. */
  readonly accepted: number;
  /** The version up to which it is on disk. */
  readonly durable_version: number;
}

export interface StreamPorts {
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
  /** A block's last version on disk. */
  durableVersion(block: string): Promise<number>;
}

interface Waiting {
  /** What it will write, once nothing more may go along. */
  text: string | undefined;
  readonly written: Promise<void>;
}

/** One actor's appending to one block, until the block's status changes: one Edit. */
export class AppendStream {
  readonly block: string;
  readonly actor: string;
  /** What could not be kept. Nothing more is written then. */
  failure: KumikoError | undefined;
  /** Everybody was told of the failure. */
  announced = false;
  /** Flushes when nothing comes any more. */
  timer: { cancel(): void } | undefined;
  readonly #ports: StreamPorts;
  #invocation: Invocation;
  #edit: string;
  #buffer = "";
  /**
   * Half of a surrogate pair at the end, which waits for its other half. Beside the buffer: looked for in there, it would
   * have all of the buffer joined anew with each text.
   */
  #half = "";
  #accepted = 0;
  #durable: number | undefined;
  /** Units that were taken in and are not on disk yet. */
  #unwritten = 0;
  #last: Promise<void> = Promise.resolve();
  /** Writes that have not ended. */
  #underWay = 0;
  /** A write that waits for the one before it: what comes meanwhile goes along. */
  #waiting: Waiting | undefined;

  constructor(ports: StreamPorts, invocation: Invocation, block: string) {
    this.#ports = ports;
    this.#invocation = invocation;
    this.#edit = ports.newEdit();
    this.block = block;
    this.actor = invocation.actor;
  }

  get edit(): string {
    return this.#edit;
  }

  /** What can be written now. */
  get buffered(): number {
    return this.#buffer.length;
  }

  get unwritten(): number {
    return this.#unwritten;
  }

  /** Resolves when all writes that were begun have ended. */
  get written(): Promise<void> {
    return this.#last;
  }

  /** Nothing is left to write. */
  get idle(): boolean {
    return this.#underWay === 0 && this.#buffer === "" && this.#half === "";
  }

  /** Refuses text that could not be written: what was taken in before must not fail with it. */
  take(invocation: Invocation, text: string): void {
    const joined = this.#half + text;
    const end = wholeLength(joined);
    const whole = joined.slice(0, end);
    checkWellFormed(whole);
    this.#invocation = invocation;
    this.#buffer += whole;
    this.#half = joined.slice(end);
    this.#accepted += text.length;
    this.#unwritten += text.length;
    this.#cancelTimer();
  }

  async receipt(): Promise<AppendReceipt> {
    const accepted = this.#accepted;
    if (this.#durable === undefined) this.#kept(await this.#ports.durableVersion(this.block));
    return { accepted, durable_version: this.#durable ?? 0 };
  }

  /** Text is written in the order it came, one commit at a time: the slower the disk, the more at once. */
  flush(): Promise<void> {
    this.#cancelTimer();
    if (this.#waiting !== undefined) return this.#waiting.written;
    if (this.buffered === 0) return this.#last;
    const waiting: Waiting = {
      text: undefined,
      written: this.#after(async () => {
        if (this.#waiting === waiting) this.#waiting = undefined;
        await this.#writeNext(waiting.text ?? this.#takeWhole());
      }),
    };
    this.#waiting = waiting;
    return waiting.written;
  }

  /** Text by itself, recognised when the call is made again. */
  once(invocation: Invocation, text: string, fingerprint: string): Promise<AppendReceipt> {
    void this.flush();
    // What is appended from here on stands behind this text.
    if (this.#waiting !== undefined) this.#waiting.text = this.#takeWhole();
    this.#waiting = undefined;
    const { promise, resolve, reject } = Promise.withResolvers<AppendReceipt>();
    // What is appended after it is written after it, and does not share its failure.
    void this.#after(() => this.#writeOnce(invocation, text, fingerprint).then(resolve, reject));
    return promise;
  }

  /** Runs a write when those before it have ended. It never rejects. */
  #after(write: () => Promise<void>): Promise<void> {
    this.#underWay++;
    this.#last = this.#last.then(write).finally(() => void this.#underWay--);
    return this.#last;
  }

  async #writeNext(text: string): Promise<void> {
    if (this.failure !== undefined) return;
    try {
      // Whoever has gone since was given a receipt.
      const invocation = { ...this.#invocation, signal: undefined };
      this.#kept(await this.#write(invocation, { text, answer: (version) => version }));
      this.#unwritten -= text.length;
    } catch (error) {
      // What came meanwhile stands behind it and is lost as well. Nobody may be waiting now.
      this.failure = this.#notKept(error, this.#unwritten);
      this.#buffer = "";
      this.#half = "";
    }
  }

  async #writeOnce(
    invocation: Invocation,
    text: string,
    fingerprint: string,
  ): Promise<AppendReceipt> {
    if (this.failure !== undefined) throw this.failure;
    let made: AppendReceipt | undefined;
    const receipt = await this.#write(invocation, {
      text,
      fingerprint,
      answer: (version) =>
        (made = { accepted: this.#accepted + text.length, durable_version: version }),
    });
    // An answer that was given before is of a call that was counted before.
    if (receipt === made) this.#accepted += text.length;
    this.#kept(receipt.durable_version);
    return receipt;
  }

  #kept(version: number): void {
    this.#durable = Math.max(version, this.#durable ?? 0);
  }

  async #write<Answer>(
    invocation: Invocation,
    append: {
      text: string;
      fingerprint?: string | undefined;
      answer: (version: number) => Answer;
    },
  ): Promise<Answer> {
    const { block } = this;
    try {
      return await this.#ports.commit(invocation, { block, edit: this.#edit, ...append });
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "edit_undone") throw error;
      // Somebody undid the stream so far; what comes now is new.
      this.#edit = this.#ports.newEdit();
      return this.#ports.commit(invocation, { block, edit: this.#edit, ...append });
    }
  }

  #notKept(error: unknown, lost: number): KumikoError {
    const { block } = this;
    const known = error instanceof KumikoError;
    const why = error instanceof Error ? error.message : String(error);
    return new KumikoError(
      known ? error.code : "journal_unwritable",
      `The last ${lost} UTF-16 units that were appended to ${block} were not kept: ${why}`,
      { ...(known && error.facts), block, lost },
      { cause: error },
    );
  }

  #cancelTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  #takeWhole(): string {
    const text = this.#buffer;
    this.#buffer = "";
    return text;
  }
}

function wholeLength(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
}
