import type { Timers } from "../../base/index.ts";

/** UTF-8 has at most three bytes for one unit of a string. */
const WIDEST = 3;
const NEWLINE = Buffer.from("\n");
/** Of such a length it is worth to know it again. */
const LONG = 8_192;
const LONGEST = 1_000_000;
const MOST = 8;
const KEPT_FOR = 5_000;
/** Stands for a long text while the rest is written. */
const MARK = "\u0001 the text \u0001";
const WRITTEN_MARK = JSON.stringify(MARK);

/** A process that is done does not wait for them. */
const idleTimers: Timers = {
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/**
 * Messages as bytes of JSON, exactly as `JSON.stringify` has them. Whoever hears that a block has changed reads it, so
 * the same long text is sent to many at once, and to write it is most of what that costs: its bytes are kept for some
 * seconds. They are found by the text itself, so that no other can be sent in its place.
 */
export class JsonWriter {
  readonly #timers: Timers;
  readonly #kept = new Map<string, Buffer>();

  constructor(timers: Timers = idleTimers) {
    this.#timers = timers;
  }

  bytes(message: object): Buffer {
    return Buffer.concat(this.#parts(message));
  }

  line(message: object): Buffer {
    return Buffer.concat([...this.#parts(message), NEWLINE]);
  }

  /** Texts that are kept. */
  get size(): number {
    return this.#kept.size;
  }

  #parts(message: object): Buffer[] {
    const text = longText(message);
    if (text === undefined) return [written(message)];
    const shell = JSON.stringify(withText(message, MARK)).split(WRITTEN_MARK);
    // Somebody's own text may look like the mark.
    if (shell.length !== 2) return [written(message)];
    return [Buffer.from(shell[0]!), this.#textBytes(text), Buffer.from(shell[1]!)];
  }

  #textBytes(text: string): Buffer {
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const bytes = written(text);
    if (this.#kept.size === 0) this.#timers.after(KEPT_FOR, () => this.#kept.clear());
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MOST && oldest !== undefined) this.#kept.delete(oldest);
    // What it was written into is three times as long.
    this.#kept.set(text, Buffer.from(bytes));
    return bytes;
  }
}

/** In one pass: to count the bytes of a long text first takes as long as to write them. */
function written(value: unknown): Buffer {
  const json = JSON.stringify(value);
  const bytes = Buffer.allocUnsafe(json.length * WIDEST);
  return bytes.subarray(0, bytes.write(json));
}

interface Answer {
  readonly result?: { readonly content?: readonly { readonly text?: unknown }[] };
}

/** The text of an answer that is one text. */
function longText(message: Answer): string | undefined {
  const content = message.result?.content;
  if (!Array.isArray(content) || content.length !== 1) return undefined;
  const { text } = content[0] as { readonly text?: unknown };
  const long = typeof text === "string" && text.length >= LONG && text.length <= LONGEST;
  return long ? text : undefined;
}

function withText(message: Answer, text: string): Answer {
  const { result } = message;
  return { ...message, result: { ...result, content: [{ ...result!.content![0], text }] } };
}
