import { KumikoError } from "./errors.ts";

const encoder = new TextEncoder();
// Without ignoreBOM a text that begins with a BOM would come back without it.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The memory of the last writer that is done: to get some takes longer than most writing. */
let spare: Uint8Array | undefined;
const SPARE = 256;
const NONE = new Uint8Array(0);

/** Writes numbers and texts into as few bytes as they need. Done once it is finished. */
export class ByteWriter {
  #bytes = spare ?? new Uint8Array(SPARE);
  #length = 0;

  constructor() {
    spare = undefined;
  }

  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** A whole number from 0 on, seven bits to a byte. */
  count(value: number): void {
    this.#reserve(8);
    while (value > 0x7f) {
      this.#bytes[this.#length++] = (value % 0x80) | 0x80;
      value = Math.floor(value / 0x80);
    }
    this.#bytes[this.#length++] = value;
  }

  /** A whole number of either sign; small ones are short. */
  difference(value: number): void {
    this.count(value < 0 ? -2 * value - 1 : 2 * value);
  }

  bytes(value: Uint8Array): void {
    this.count(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  text(value: string): void {
    this.bytes(encoder.encode(value));
  }

  finish(): Uint8Array {
    const bytes = this.#bytes;
    const written = bytes.slice(0, this.#length);
    // Whoever went on would write into somebody else's.
    this.#bytes = NONE;
    if (bytes.length === SPARE) spare = bytes;
    return written;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** Reads what ByteWriter wrote; anything else is `damaged`, never a wrong value past the end. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    if (this.#at >= this.#bytes.length) throw damaged("they end too early");
    return this.#bytes[this.#at++]!;
  }

  count(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 0x80;
    }
    if (!Number.isSafeInteger(value)) throw damaged("a number is too large");
    return value;
  }

  /** Many counts that follow one another. */
  counts(length: number): number[] {
    const bytes = this.#bytes;
    const values: number[] = [];
    for (let index = 0; index < length; index += 1) {
      const byte = bytes[this.#at];
      if (byte !== undefined && byte < 0x80) {
        this.#at += 1;
        values.push(byte);
      } else values.push(this.count());
    }
    return values;
  }

  difference(): number {
    const value = this.count();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  bytes(): Uint8Array {
    const length = this.count();
    if (length > this.#bytes.length - this.#at) throw damaged("they end too early");
    this.#at += length;
    return this.#bytes.slice(this.#at - length, this.#at);
  }

  text(): string {
    try {
      return decoder.decode(this.bytes());
    } catch (cause) {
      if (cause instanceof KumikoError) throw cause;
      throw damaged("a text is not UTF-8");
    }
  }
}

export function damaged(why: string): KumikoError {
  return new KumikoError("damaged", `The stored bytes are damaged: ${why}.`, { why });
}
