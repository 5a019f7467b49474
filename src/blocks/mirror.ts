import type {
  ImportStatus,
  LoroDoc,
  LoroEventBatch,
  LoroText,
  PeerID,
  VersionVector,
} from "loro-crdt";
import { type Facts, KumikoError } from "../base/index.ts";
import { loro } from "./loro.ts";
import { OperationWriter } from "./operation-writer.ts";
import {
  type CheckedOperations,
  checkOperations,
  endOf,
  type PeerOperations,
  toLoroJson,
} from "./peer-operations.ts";
import type { SpliceRecord } from "./splice-record.ts";
import type { Splice } from "./types.ts";
import { endOfTyping, sameOperations, type Typing } from "./typing.ts";

const TEXT = "text";
/** Writes the text of a birth, once, in every document; granted to nobody. */
export const BIRTH_PEER = "1";

export interface Imported {
  readonly splices: Splice[];
  /** Whether the update brought anything that was not known. */
  readonly news: boolean;
  /** Peers whose operations wait for others, or undefined when nothing waits. */
  readonly pending: string[] | undefined;
}

/** What some versions wrote. */
export interface Written {
  /** Undefined when they changed nothing of the text. */
  readonly bytes: Uint8Array | undefined;
  readonly peer: string;
  /** How many operations of that peer there are with them. */
  readonly counter: number;
}

type PendingSpans = NonNullable<ImportStatus["pending"]>;

/** The numbers that a version's operations took, among those of the document's own peer. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * The Loro document of a text: what replicas merge with. It follows the record and is brought up to
 * date only when bytes are asked for or come in, many versions at once.
 *
 * Invariants
 * - Its text is the record's text at `version`.
 * - It is a function of the record: same splices, marks and peers, same bytes. Loro packs operations
 *   differently depending on where they were committed, which is why the marks are recorded.
 */
export class Mirror implements Disposable {
  readonly #doc: LoroDoc;
  readonly #text: LoroText;
  readonly #record: SpliceRecord;
  readonly #pending = new Map<number, PendingSpans>();
  #awaited: PendingSpans | null = null;
  #version: number;
  /** The peer the document writes as. */
  #writer: string | undefined;
  /** What versions wrote since somebody follows them and that was not exported yet. */
  #spans: Map<number, Span> | undefined;
  #written = 0;
  #committed = 0;
  /** It is nobody's to come back to: where it was caught up is not recorded. */
  #lent = false;

  private constructor(record: SpliceRecord, doc: LoroDoc, version: number) {
    this.#record = record;
    this.#doc = doc;
    this.#text = doc.getText(TEXT);
    this.#version = version;
  }

  /** From the birth on, all of it. */
  static replay(record: SpliceRecord, birth: number, text: string): Mirror {
    const doc = new (loro().LoroDoc)();
    const mirror = new Mirror(record, doc, birth);
    doc.setPeerId(BIRTH_PEER);
    if (text !== "") mirror.#text.insert(0, text);
    doc.commit();
    mirror.#catchUpAlongMarks();
    return mirror;
  }

  /** From the text as it is now, for as long as it is held. */
  static lend(record: SpliceRecord, text: string): Mirror {
    const mirror = Mirror.replay(record, record.version, text);
    mirror.#lent = true;
    return mirror;
  }

  /** From a snapshot that was taken at a version. */
  static restore(record: SpliceRecord, snapshot: Uint8Array, version: number): Mirror {
    const doc = new (loro().LoroDoc)();
    try {
      doc.import(snapshot);
    } catch (cause) {
      doc.free();
      throw new KumikoError(
        "damaged",
        `The stored snapshot cannot be read: ${String(cause)}.`,
        {},
        { cause },
      );
    }
    const mirror = new Mirror(record, doc, version);
    // What was still waiting when the snapshot was taken is not in it.
    for (const [at, special] of record.specials) {
      if (special.kind === "import" && special.update !== undefined && at <= version) {
        mirror.#importRecorded(at, special.update);
      }
    }
    mirror.#catchUpAlongMarks();
    return mirror;
  }

  get length(): number {
    return this.#text.length;
  }

  toString(): string {
    return this.#text.toString();
  }

  /** Applies what was committed since, and records that it was done here. */
  catchUp(): void {
    const { version } = this.#record;
    if (this.#version === version) return;
    this.#apply(version);
    if (!this.#lent) this.#record.marks.push(version);
  }

  #catchUpAlongMarks(): void {
    const { marks } = this.#record;
    for (let i = marks.firstAbove(this.#version); i < marks.length; i++) this.#apply(marks.at(i));
  }

  #apply(until: number): void {
    const record = this.#record;
    const writer = new OperationWriter(this.#text, record.inserted);
    let writtenUntil = 0;
    for (let version = this.#version + 1; version <= until; version++) {
      const special = record.specials.size === 0 ? undefined : record.specials.get(version);
      if (special?.kind === "import") {
        writer.flush();
        this.#doc.commit();
        this.#importRecorded(version, special.update);
        continue;
      }
      if (version > writtenUntil) {
        writer.flush();
        writtenUntil = this.#writeAs(version);
      }
      if (special?.kind === "flip") {
        for (const { at, remove, insert } of special.splices) {
          if (remove > 0) writer.remove(at, remove);
          if (insert !== "") writer.restore(at, insert);
        }
      } else {
        this.#writeVersion(version, writer);
      }
      if (this.#spans !== undefined) {
        writer.flush();
        const end = this.#committed + this.#doc.getPendingTxnLength();
        this.#spans.set(version, { start: this.#written, end });
        this.#written = end;
      }
    }
    writer.flush();
    this.#doc.commit();
    this.#committed = this.#written;
    this.#version = until;
  }

  #importRecorded(version: number, update: Uint8Array | undefined): void {
    if (update === undefined) {
      throw new KumikoError("damaged", `The update imported as version ${version} is missing.`, {
        version,
      });
    }
    let status: ImportStatus;
    try {
      status = this.#doc.import(update);
    } catch (cause) {
      const why = `the update imported as version ${version} cannot be read: ${String(cause)}`;
      throw new KumikoError("damaged", `The stored bytes are damaged: ${why}.`, { why }, { cause });
    }
    if (status.pending !== null) this.#pending.set(version, status.pending);
  }

  #writeVersion(version: number, writer: OperationWriter): void {
    const record = this.#record;
    const end = record.spliceEnd(version);
    let counter = record.counterEnd(version - 1);
    for (let i = record.spliceEnd(version - 1); i < end; i++) {
      const at = record.spliceAt(i);
      const removed = record.spliceRemove(i);
      const length = record.spliceInsertLength(i);
      if (removed > 0) writer.remove(at, removed);
      if (length > 0) writer.insert(at, counter, length);
      counter += length;
    }
  }

  /** Makes the peer of a version the writer; gives the last version it writes. */
  #writeAs(version: number): number {
    const writer = this.#record.peerAt(version);
    if (writer === undefined) {
      throw new KumikoError("damaged", `The record names no peer for version ${version}.`, {
        version,
      });
    }
    if (this.#writer !== writer.peer) {
      this.#doc.commit();
      this.#doc.setPeerId(writer.peer as `${number}`);
      this.#writer = writer.peer;
    }
    return writer.until;
  }

  /** Merges another replica's update. The caller records the outcome as the next version. */
  import(update: Uint8Array): Imported {
    return this.#merge({ bytes: update.length }, () => this.#doc.import(update));
  }

  /** Refuses operations that do not follow from what is here. Changes nothing. */
  check(operations: PeerOperations): CheckedOperations {
    checkOperations(this.#doc, operations);
    return { operations, version: this.#version, json: toLoroJson(this.#doc, operations) };
  }

  /** How many operations of a peer are here. */
  counterOf(peer: string): number {
    const version = this.#doc.version();
    try {
      return version.get(peer as PeerID) ?? 0;
    } finally {
      version.free();
    }
  }

  /** Merges checked operations, and gives them as bytes of our own making. */
  importOperations(checked: CheckedOperations): Imported & { readonly update: Uint8Array } {
    const { operations, json } = checked;
    const { peer, counter } = operations;
    const imported = this.#merge({ peer, counter }, () => {
      const [first, ...others] = json.map((each) => this.#doc.importJsonUpdates(each));
      return others.at(-1) ?? first!;
    });
    const len = endOf(operations) - counter;
    const update = this.#exportSpan(peer, counter, len);
    return { ...imported, update };
  }

  /** Whether its author had seen all that is here and nothing else, so that nothing has to be merged. */
  follows({ peer, counter, after }: Typing): boolean {
    return (
      this.#version === this.#record.version &&
      sameOperations(this.#doc.frontiers(), after) &&
      this.counterOf(peer) === counter
    );
  }

  /** Types as a peer what follows; gives it as bytes of our own making. */
  type(typing: Typing): Uint8Array {
    const { peer, counter, at, text } = typing;
    this.#doc.setPeerId(peer as PeerID);
    this.#writer = peer;
    this.#text.insert(at, text);
    this.#doc.commit();
    return this.#exportSpan(peer, counter, endOfTyping(typing) - counter);
  }

  #exportSpan(peer: string, counter: number, len: number): Uint8Array {
    const id = { peer: peer as PeerID, counter };
    return this.#doc.export({ mode: "updates-in-range", spans: [{ id, len }] });
  }

  #merge(facts: Facts, run: () => ImportStatus): Imported {
    const splices: Splice[] = [];
    const unsubscribe = this.#doc.subscribe((batch) => collect(batch, splices));
    let status: ImportStatus;
    try {
      status = run();
    } catch (cause) {
      throw new KumikoError(
        "import_rejected",
        `The update cannot be imported: ${String(cause)}. Nothing was changed.`,
        facts,
        { cause },
      );
    } finally {
      unsubscribe();
    }
    this.#awaited = status.pending;
    const pending = status.pending === null ? undefined : [...status.pending.keys()].map(String);
    const waitsAnew = status.pending !== null && !this.#alreadyWaiting(status.pending);
    return { splices, news: status.success.size > 0 || waitsAnew, pending };
  }

  #alreadyWaiting(spans: PendingSpans): boolean {
    return [...spans].every(([peer, { start, end }]) =>
      [...this.#pending.values()].some((known) => {
        const span = known.get(peer);
        return span !== undefined && span.start <= start && span.end >= end;
      }),
    );
  }

  /** The recorded outcome of an import is in this document already. */
  imported(version: number): void {
    this.#version = version;
    this.#record.marks.push(version);
    if (this.#awaited !== null) this.#pending.set(version, this.#awaited);
    this.#awaited = null;
  }

  /** Versions whose imports still wait, wholly or in part: Loro leaves them out of snapshots. */
  get waiting(): Set<number> {
    if (this.#pending.size === 0) return new Set();
    const version = this.#doc.version();
    const known = version.toJSON();
    version.free();
    for (const [at, spans] of this.#pending) {
      const arrived = [...spans].every(([peer, span]) => (known.get(peer) ?? 0) >= span.end);
      if (arrived) this.#pending.delete(at);
    }
    return new Set(this.#pending.keys());
  }

  versionVector(): Uint8Array {
    const version = this.#doc.version();
    try {
      return version.encode();
    } finally {
      version.free();
    }
  }

  /** From now on it is known which operations each version wrote. */
  follow(peer: string): void {
    if (this.#spans !== undefined) return;
    this.#spans = new Map();
    this.#written = this.counterOf(peer);
    this.#committed = this.#written;
  }

  /**
   * What versions of our own wrote, those behind one up to and with another; undefined when that was not
   * noted. What follows them, on disk or not, is left out.
   */
  exportWritten(peer: string, after: number, until: number): Written | undefined {
    const spans = this.#spans;
    const first = spans?.get(after + 1);
    const last = spans?.get(until);
    if (spans === undefined || first === undefined || last === undefined) return undefined;
    for (const version of spans.keys()) if (version <= until) spans.delete(version);
    const length = last.end - first.start;
    const bytes = length === 0 ? undefined : this.#exportSpan(peer, first.start, length);
    return { bytes, peer, counter: last.end };
  }

  /** What someone lacks who has so many operations of each peer. */
  exportMissing(known: ReadonlyMap<string, number>): Uint8Array {
    const version = this.#doc.version();
    // Who claims more than there is would be taken at their word.
    const from = new Map<PeerID, number>();
    for (const [peer, counter] of version.toJSON()) {
      const has = Math.min(known.get(peer) ?? 0, counter);
      if (has > 0) from.set(peer, has);
    }
    version.free();
    const vector = new (loro().VersionVector)(from);
    try {
      return this.#doc.export({ mode: "update", from: vector });
    } finally {
      vector.free();
    }
  }

  /** How many operations of each peer are here. */
  counters(): Map<string, number> {
    const version = this.#doc.version();
    try {
      return new Map(version.toJSON());
    } finally {
      version.free();
    }
  }

  exportSince(versionVector: Uint8Array | undefined): Uint8Array {
    if (versionVector === undefined) return this.#doc.export({ mode: "update" });
    let from: VersionVector;
    try {
      from = loro().VersionVector.decode(versionVector);
    } catch (cause) {
      throw new KumikoError(
        "invalid_argument",
        "The version vector cannot be read.",
        {},
        { cause },
      );
    }
    try {
      return this.#doc.export({ mode: "update", from });
    } finally {
      from.free();
    }
  }

  snapshot(): Uint8Array {
    return this.#doc.export({ mode: "snapshot" });
  }

  /** Every wasm object taken is given back here: what only the garbage collector knows of stays for long. */
  [Symbol.dispose](): void {
    this.#text.free();
    this.#doc.free();
  }
}

/** Events come before `import` returns, in UTF-16 units, as retains from the beginning of the text. */
export function collect(batch: LoroEventBatch, splices: Splice[]): void {
  for (const { diff } of batch.events) {
    if (batch.by !== "import" || diff.type !== "text") continue;
    let at = 0;
    for (const part of diff.diff) {
      if (part.retain !== undefined) at += part.retain;
      else if (part.delete !== undefined) splices.push({ at, remove: part.delete, insert: "" });
      else if (part.insert !== undefined) {
        splices.push({ at, remove: 0, insert: part.insert });
        at += part.insert.length;
      }
    }
  }
}
