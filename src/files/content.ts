import { hash } from "node:crypto";

/**
 * What is or was in a file: its bytes, or their hash. The hash is made when it is needed: a file that is saved again and
 * again is compared byte by byte, in a tenth of the time.
 */
export class Content {
  #bytes: Uint8Array | undefined;
  #hash: string | undefined;

  private constructor(bytes: Uint8Array | undefined, known: string | undefined) {
    this.#bytes = bytes;
    this.#hash = known;
  }

  /** Nobody may change the bytes afterwards. */
  static of(bytes: Uint8Array): Content {
    return new Content(bytes, undefined);
  }

  static known(digits: string): Content {
    return new Content(undefined, digits);
  }

  /** As long as they are at hand. */
  get bytes(): Uint8Array | undefined {
    return this.#bytes;
  }

  /** SHA-256 of the bytes, in hexadecimal digits. */
  get hash(): string {
    this.#hash ??= hash("sha256", this.#bytes!);
    return this.#hash;
  }

  /** The hash is enough from now on. */
  letGo(): void {
    this.#hash ??= this.hash;
    this.#bytes = undefined;
  }

  equals(other: Content): boolean {
    if (this.#bytes !== undefined && other.#bytes !== undefined)
      return Buffer.compare(this.#bytes, other.#bytes) === 0;
    return this.hash === other.hash;
  }
}
