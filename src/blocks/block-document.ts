import {
  checkRange,
  checkWellFormed,
  damaged,
  KumikoError,
  lineCount,
  type PositionedText,
  sha256Text,
  TextRope,
} from "../base/index.ts";
import { Activity } from "./activity.ts";
import { type BlameEntry, blameRange } from "./blame.ts";
import { type By, changesSince } from "./changes-since.ts";
import { unifiedDiff, type UnifiedDiffOptions } from "./diff/unified-diff.ts";
import { flipEdit } from "./flip.ts";
import { type FlipPlan, type FlipRequest, planRedo, planUndo } from "./flip-plan.ts";
import { historyEntry, type HistoryEntry, type HistoryPage, pageOfHistory } from "./history.ts";
import { encodeIndex } from "./index-codec.ts";
import { BIRTH_PEER, Mirror } from "./mirror.ts";
import { PastText } from "./past-text.ts";
import { readVersion } from "./read-version.ts";
import { encodeRecord } from "./record-codec.ts";
import { splicesBack } from "./rollback.ts";
import { indexVersion, RunIndex } from "./run-index.ts";
import type { IndexState } from "./run-pieces.ts";
import {
  beginsEdit,
  changeOf,
  loadState,
  type RecordedCommit,
  type SavedDocument,
} from "./saved-document.ts";
import { SpliceRecord } from "./splice-record.ts";
import { checkEditGoesOn, checkEditIsNew, checkStamp } from "./stamp-check.ts";
import type { Author, EditTarget } from "./translation.ts";
import type { RecordedChange, Special, Splice, Stamp } from "./types.ts";

export interface Committed {
  readonly version: number;
  /** What changed in the text; empty when nothing did. */
  readonly splices: readonly Splice[];
}

export interface ImportedUpdate extends Committed {
  /** Peers whose operations wait for others that have not arrived. */
  readonly pending: readonly string[] | undefined;
}

/**
 * The text of one block: edits, versions, undo, blame and merging.
 *
 * Owner of one text rope, one record, one index and (once born) one Loro document. The record is the
 * truth; the others are functions of it and change only here, together. Rules: SPEC.md.
 */
export class BlockDocument implements EditTarget, Disposable {
  readonly #state: IndexState;
  readonly #rope: TextRope;
  readonly #peer: string;
  #mirror: Mirror | undefined;
  #snapshot: SavedDocument["snapshot"];
  #birth: number | undefined;
  #disposed = false;

  private constructor(state: IndexState, peer: string) {
    if (!/^[1-9][0-9]{0,19}$/.test(peer) || peer === BIRTH_PEER || BigInt(peer) >= 2n ** 64n - 1n) {
      throw new KumikoError(
        "invalid_argument",
        `A peer id is a whole number from 2 to 18446744073709551614 written as digits, not "${peer}".`,
        { peer },
      );
    }
    this.#state = state;
    this.#peer = peer;
    this.#rope = new TextRope(readVersion(state, state.record.version));
    for (const [version, special] of state.record.specials) {
      if (special.kind === "birth") this.#birth = version;
    }
  }

  /** An empty document, or one that begins with a text nobody can undo. */
  static create(options: {
    peer: string;
    baseline?: { text: string; stamp: Stamp };
  }): BlockDocument {
    const record = new SpliceRecord();
    const state: IndexState = { record, index: new RunIndex(), activity: new Activity() };
    const document = new BlockDocument(state, options.peer);
    if (options.baseline !== undefined) {
      const { text, stamp } = options.baseline;
      checkStamp(stamp);
      checkWellFormed(text);
      const splices = text === "" ? [] : [{ at: 0, remove: 0, insert: text }];
      document.#rope.splice(0, 0, text);
      document.#record(splices, stamp, { kind: "baseline" });
    }
    return document;
  }

  /** From rest, with the commits made since it was saved. */
  static load(
    saved: SavedDocument | undefined,
    options: { peer: string; commits?: readonly RecordedCommit[] },
  ): BlockDocument {
    const document = new BlockDocument(loadState(saved, options.commits ?? []), options.peer);
    document.#snapshot = saved?.snapshot;
    return document;
  }

  // Reading

  get version(): number {
    this.#checkUsable();
    return this.#state.record.version;
  }

  /** The current text as positions see it. */
  get current(): PositionedText {
    this.#checkUsable();
    return this.#rope;
  }

  get lineCount(): number {
    return lineCount(this.current);
  }

  /** The text of any version; the current one without a number. */
  read(version?: number): string {
    if (version === undefined || version === this.version) {
      this.#checkUsable();
      return this.#rope.toString();
    }
    this.#checkVersion(version);
    return readVersion(this.#state, version);
  }

  past(version: number): PastText | undefined {
    this.#checkVersion(version);
    if (version === this.version) return undefined;
    const { inserted } = this.#state.record;
    return new PastText(this.#rope, inserted, changesSince(this.#state, version));
  }

  /** What changed from one version to another, as a unified diff. */
  diff(from: number, to: number, options: Partial<UnifiedDiffOptions> = {}): string {
    const names = { oldName: `version ${from}`, newName: `version ${to}` };
    return unifiedDiff(this.read(from), this.read(to), { ...names, ...options });
  }

  history(options: { before?: number; limit?: number } = {}): HistoryPage {
    const { before = this.version + 1, limit = 50 } = options;
    this.#checkVersion(before - 1);
    return pageOfHistory(this.#state.record, before, limit);
  }

  entry(version: number): HistoryEntry {
    this.#checkVersion(version, 1);
    return historyEntry(this.#state.record, version);
  }

  blame(start = 0, end = this.current.length): BlameEntry[] {
    checkRange(start, end, this.current.length);
    return blameRange(this.#state, start, end);
  }

  authors(causes: readonly By[]): Author[] {
    const { record } = this.#state;
    const authors: Author[] = [];
    const seen = new Set<number>();
    for (const { from, to, cause } of causes) {
      for (let version = from; version <= to; version++) {
        const edit = record.editOf(version);
        if (seen.has(edit) || !record.did(version, cause)) continue;
        seen.add(edit);
        authors.push({
          actor: record.stampOf(version).actor,
          edit: record.editIds[edit]!,
          version,
        });
      }
    }
    return authors.toSorted((a, b) => a.version - b.version);
  }

  // Writing

  /** Makes the next version. All splices are made or none. */
  commit(splices: readonly Splice[], stamp: Stamp): Committed {
    this.#checkUsable();
    checkStamp(stamp);
    const { record, activity } = this.#state;
    checkEditGoesOn(record, activity, stamp);
    const made = splices.filter(({ remove, insert }) => remove > 0 || insert !== "");
    this.#applyToText(splices);
    if (made.length === 0) return { version: record.version, splices: made };
    return this.#record(made, stamp, undefined);
  }

  planUndo(request: FlipRequest): FlipPlan {
    this.#checkUsable();
    return planUndo(this.#state, request);
  }

  planRedo(request: FlipRequest): FlipPlan {
    this.#checkUsable();
    return planRedo(this.#state, request);
  }

  /** Carries out what was planned, as a new version by whoever asks. */
  flip(plan: Pick<FlipPlan, "edit" | "active">, stamp: Stamp): Committed {
    this.#checkUsable();
    checkStamp(stamp);
    const { record, activity } = this.#state;
    checkEditIsNew(record, stamp);
    const { edit, active } = (plan.active ? planRedo : planUndo)(this.#state, {
      actor: stamp.actor,
      edit: plan.edit,
    });
    const target = record.editIndex(edit)!;
    const version = record.version + 1;
    const { splices } = flipEdit(this.#state, target, active, version);
    for (const { at, remove, insert } of splices) this.#rope.splice(at, remove, insert);
    this.#enterPeer();
    record.append([], stamp, { kind: "flip", target, active, splices });
    activity.flip(target, active, stamp.actor, version);
    return { version, splices };
  }

  /** Counts a change of the block that is not one of its text. */
  touch(stamp: Stamp): Committed {
    this.#checkUsable();
    checkStamp(stamp);
    checkEditGoesOn(this.#state.record, this.#state.activity, stamp);
    return this.#record([], stamp, { kind: "structure" });
  }

  /** What a version did, for a journal; `load` takes it back. */
  change(version: number): RecordedChange {
    this.#checkVersion(version, 1);
    return changeOf(this.#state.record, version);
  }

  /** The splices that make the text what it was; commit them as an Edit. */
  translateRollback(version: number): Splice[] {
    this.#checkVersion(version);
    return splicesBack(changesSince(this.#state, version), this.#state.record.inserted);
  }

  // Merging

  get born(): boolean {
    this.#checkUsable();
    return this.#birth !== undefined;
  }

  /** Fixes the text from which on replicas can merge. */
  birth(stamp: Stamp): Committed {
    this.#checkUsable();
    checkStamp(stamp);
    if (this.#birth !== undefined) {
      throw new KumikoError("already_born", `The document was born as version ${this.#birth}.`, {
        version: this.#birth,
      });
    }
    checkEditIsNew(this.#state.record, stamp);
    const special: Special = { kind: "birth", hash: sha256Text(this.#rope.toString()) };
    this.#state.record.append([], stamp, special);
    this.#birth = this.version;
    return { version: this.version, splices: [] };
  }

  /** What the replicas of this document have seen; pass it to `exportSince`. */
  versionVector(): Uint8Array {
    return this.#upToDate().versionVector();
  }

  exportSince(versionVector?: Uint8Array): Uint8Array {
    return this.#upToDate().exportSince(versionVector);
  }

  exportSnapshot(): Uint8Array {
    return this.#upToDate().snapshot();
  }

  /** Merges another replica's update as one commit. */
  import(update: Uint8Array, stamp: Stamp): ImportedUpdate {
    this.#checkUsable();
    checkStamp(stamp);
    const { record, activity } = this.#state;
    checkEditGoesOn(record, activity, stamp);
    const mirror = this.#upToDate();
    const imported = mirror.import(update);
    if (!imported.news) return { version: record.version, splices: [], pending: undefined };
    for (const { at, remove, insert } of imported.splices) this.#rope.splice(at, remove, insert);
    const committed = this.#record(imported.splices, stamp, { kind: "import", update });
    mirror.imported(committed.version);
    return { ...committed, pending: imported.pending };
  }

  // Keeping

  /** Everything needed to load it again. With a snapshot, loading does not replay what it covers. */
  save(options: { snapshot?: boolean } = {}): SavedDocument {
    this.#checkUsable();
    const { record, index } = this.#state;
    const snapshot =
      options.snapshot === true && this.#birth !== undefined
        ? { bytes: this.exportSnapshot(), version: this.version }
        : this.#snapshot;
    const waiting = this.#mirror?.waiting ?? new Set<number>();
    return {
      record: encodeRecord(
        record,
        (version) => snapshot === undefined || version > snapshot.version || waiting.has(version),
      ),
      index: encodeIndex(index, record.version),
      snapshot,
    };
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#mirror?.[Symbol.dispose]();
    this.#mirror = undefined;
  }

  /** Puts a change that is in the text already into the record and the index. */
  #record(splices: readonly Splice[], stamp: Stamp, special: Special | undefined): Committed {
    const { record, index, activity } = this.#state;
    const begins = record.editIndex(stamp.edit) === undefined;
    this.#enterPeer();
    record.append(splices, stamp, special);
    indexVersion(index, record, record.version);
    if (begins && beginsEdit(special)) activity.editBegun(stamp.actor);
    return { version: record.version, splices };
  }

  /** A peer is on record from the first version it writes. */
  #enterPeer(): void {
    const { record } = this.#state;
    if (record.peers.at(-1)?.peer === this.#peer) return;
    record.peers.push({ from: record.version + 1, peer: this.#peer });
  }

  /** Makes splices in the text, or leaves it as it was. */
  #applyToText(splices: readonly Splice[]): void {
    const rope = this.#rope;
    const done: Splice[] = [];
    try {
      for (const { at, remove, insert } of splices) {
        rope.checkBoundary(at);
        if (remove !== 0) checkRemoval(rope, at, remove);
        if (insert !== "") checkWellFormed(insert);
        if (splices.length > 1) {
          done.push({ at, remove: insert.length, insert: rope.slice(at, at + remove) });
        }
        rope.splice(at, remove, insert);
      }
    } catch (error) {
      for (const { at, remove, insert } of done.toReversed()) rope.splice(at, remove, insert);
      throw error;
    }
  }

  #upToDate(): Mirror {
    this.#checkUsable();
    const mirror = (this.#mirror ??= this.#wake());
    mirror.catchUp();
    return mirror;
  }

  #wake(): Mirror {
    const birth = this.#birth;
    if (birth === undefined) {
      throw new KumikoError(
        "not_born",
        "The document has no replica form yet: commit a birth before exporting or importing.",
        { version: this.version },
      );
    }
    const { record } = this.#state;
    if (this.#snapshot !== undefined) {
      return Mirror.restore(record, this.#snapshot.bytes, this.#snapshot.version);
    }
    const text = readVersion(this.#state, birth);
    const special = record.specials.get(birth);
    if (special?.kind !== "birth" || sha256Text(text) !== special.hash) {
      throw damaged(`the text of version ${birth} is not the one the document was born with`);
    }
    return Mirror.replay(record, birth, text);
  }

  #checkVersion(version: number, minimum = 0): void {
    const maximum = this.version;
    if (Number.isInteger(version) && version >= minimum && version <= maximum) return;
    throw new KumikoError(
      "out_of_range",
      `There is no version ${version}: this block has versions ${minimum} to ${maximum}.`,
      { version, minimum, maximum },
    );
  }

  #checkUsable(): void {
    if (this.#disposed) {
      throw new KumikoError("disposed", "This document was disposed and cannot be used any more.");
    }
  }
}

function checkRemoval(rope: TextRope, at: number, remove: number): void {
  checkRange(at, at + remove, rope.length);
  rope.checkBoundary(at + remove);
}
