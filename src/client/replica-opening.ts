import type { ServerFrame } from "../protocol/replica-frame.ts";

type Opened = Extract<ServerFrame, { kind: "opened" }>;

/** A copy, or what is missing of one, that comes in parts. */
export class ReplicaOpening {
  readonly opened: Opened;
  /** Updates that came before all of it was there. */
  readonly later: Extract<ServerFrame, { kind: "update" }>[] = [];
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  constructor(opened: Opened) {
    this.opened = opened;
  }

  add(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  get isComplete(): boolean {
    return this.#length >= this.opened.length;
  }

  get bytes(): Uint8Array {
    const [first] = this.#parts;
    if (this.#parts.length === 1) return first!;
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}
