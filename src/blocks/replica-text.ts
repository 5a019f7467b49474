import type { LoroDoc, LoroText, PeerID } from "loro-crdt";
import { checkRange, checkWellFormed, KumikoError, TextRope } from "../base/index.ts";
import { loro } from "./loro.ts";
import { collect } from "./mirror.ts";
import type { Splice } from "./types.ts";

/**
 * A copy of a born document that somebody else edits: the other end of `BlockDocument`'s exports. It writes as a
 * peer that nobody else writes as, and holds no history but Loro's. Whoever makes it disposes of it.
 */
export class ReplicaText implements Disposable {
  readonly #doc: LoroDoc;
  readonly #text: LoroText;
  readonly #rope: TextRope;
  readonly #peer: PeerID;

  constructor(snapshot: Uint8Array, peer: string) {
    this.#peer = peer as PeerID;
    this.#doc = new (loro().LoroDoc)();
    this.#doc.import(snapshot);
    this.#doc.setPeerId(this.#peer);
    this.#text = this.#doc.getText("text");
    this.#rope = new TextRope(this.#text.toString());
  }

  get length(): number {
    return this.#rope.length;
  }

  toString(): string {
    return this.#rope.toString();
  }

  slice(start: number, end: number): string {
    return this.#rope.slice(start, end);
  }

  /** Makes sequential splices, all or none; gives what would take them back. */
  edit(splices: readonly Splice[]): Splice[] {
    const back: Splice[] = [];
    try {
      for (const { at, remove, insert } of splices) {
        checkRange(at, at + remove, this.#rope.length);
        this.#rope.checkBoundary(at);
        this.#rope.checkBoundary(at + remove);
        checkWellFormed(insert);
        back.unshift({ at, remove: insert.length, insert: this.#rope.slice(at, at + remove) });
        this.#rope.splice(at, remove, insert);
      }
    } catch (error) {
      for (const { at, remove, insert } of back) this.#rope.splice(at, remove, insert);
      throw error;
    }
    for (const { at, remove, insert } of splices) {
      if (remove > 0) this.#text.delete(at, remove);
      if (insert !== "") this.#text.insert(at, insert);
    }
    return back;
  }

  /** Merges what others did; gives what that changed here. */
  import(update: Uint8Array): Splice[] {
    const splices: Splice[] = [];
    this.#doc.commit();
    const unsubscribe = this.#doc.subscribe((batch) => collect(batch, splices));
    try {
      const { pending } = this.#doc.import(update);
      if (pending !== null) {
        throw new KumikoError(
          "resync",
          "An update is made on top of others that have not come: the copy is to be read again.",
        );
      }
    } finally {
      unsubscribe();
    }
    for (const { at, remove, insert } of splices) this.#rope.splice(at, remove, insert);
    return splices;
  }

  /** How many operations of its own it holds. */
  get counter(): number {
    this.#doc.commit();
    const version = this.#doc.version();
    try {
      return version.get(this.#peer) ?? 0;
    } finally {
      version.free();
    }
  }

  /** How many operations of each peer it holds. */
  counters(): Map<string, number> {
    this.#doc.commit();
    const version = this.#doc.version();
    try {
      return new Map(version.toJSON());
    } finally {
      version.free();
    }
  }

  /** Its own operations, from one number up to another. */
  exportOwn(from: number, to: number): Uint8Array {
    const id = { peer: this.#peer, counter: from };
    return this.#doc.export({ mode: "updates-in-range", spans: [{ id, len: to - from }] });
  }

  [Symbol.dispose](): void {
    this.#text.free();
    this.#doc.free();
  }
}
