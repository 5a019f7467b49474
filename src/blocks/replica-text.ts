import type { LoroDoc, LoroText, PeerID } from "loro-crdt";
import { checkRange, checkWellFormed, KumikoError, TextRope } from "../base/index.ts";
import { loro } from "./loro.ts";
import { collect } from "./mirror.ts";
import type { Splice } from "./types.ts";
import { behind, endOfTyping, type Typing } from "./typing.ts";

/** UTF-16 units of what is known to be one insertion; each time it is sent it is looked through. */
const LONGEST = 200;

/**
 * A copy of a born document that somebody else edits: the other end of `BlockDocument`'s exports. It writes as a
 * peer that nobody else writes as, and holds no history but Loro's. Whoever makes it disposes of it.
 */
export class ReplicaText implements Disposable {
  readonly #doc: LoroDoc;
  readonly #text: LoroText;
  readonly #rope: TextRope;
  readonly #peer: PeerID;
  /** The insertion that was made last, as long as nothing else was. */
  #typing: Typing | undefined;
  /** The last thing that happened was an edit made here: what is made now is on top of it alone. */
  #isOurs = false;
  /** How many operations of its own it holds; undefined when only Loro knows. */
  #counter: number | undefined;

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
    this.#typing = this.#typed(splices);
    for (const { at, remove, insert } of splices) {
      if (remove > 0) this.#text.delete(at, remove);
      if (insert !== "") this.#text.insert(at, insert);
      this.#isOurs ||= remove > 0 || insert !== "";
    }
    // How many a deletion takes is Loro's affair.
    this.#counter = this.#typing && endOfTyping(this.#typing);
    return back;
  }

  /** Merges what others did; gives what that changed here. */
  import(update: Uint8Array): Splice[] {
    const splices: Splice[] = [];
    this.#isOurs = false;
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
    return (this.#counter ??= this.#counted());
  }

  #counted(): number {
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
    this.#doc.commit();
    return this.#doc.export({ mode: "updates-in-range", spans: [{ id, len: to - from }] });
  }

  /** The same as plain data, when it is one insertion. */
  typing(from: number, to: number): Typing | undefined {
    const typing = this.#typing;
    if (typing === undefined || typing.counter > from || endOfTyping(typing) !== to)
      return undefined;
    return behind(typing, from);
  }

  /** What is about to be made, with what it goes on from, when it is one insertion. */
  #typed([splice, ...others]: readonly Splice[]): Typing | undefined {
    if (splice === undefined || others.length > 0) return undefined;
    const { at, remove, insert } = splice;
    if (remove > 0 || insert === "") return undefined;
    const last = this.#isOurs ? this.#typing : undefined;
    if (last !== undefined && at === last.at + last.text.length && last.text.length < LONGEST) {
      return { ...last, text: last.text + insert };
    }
    const { counter } = this;
    return { peer: this.#peer, counter, after: this.#last(counter), at, text: insert };
  }

  /** The last operations of everything that is here. */
  #last(counter: number): Typing["after"] {
    if (this.#isOurs) return [{ peer: this.#peer, counter: counter - 1 }];
    this.#doc.commit();
    return this.#doc.frontiers();
  }

  [Symbol.dispose](): void {
    this.#text.free();
    this.#doc.free();
  }
}
