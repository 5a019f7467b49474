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
import { Activity, isText } from "./activity.ts";
import { applySplices } from "./apply-splices.ts";
import { type BlameEntry, blameRange } from "./blame.ts";
import { changesSince } from "./changes-since.ts";
import { unifiedDiff, type UnifiedDiffOptions } from "./diff/unified-diff.ts";
import { flipEdit } from "./flip.ts";
import { flipOfNamed, type FlipPlan, type FlipRequest, planRedo, planUndo } from "./flip-plan.ts";
import { historyEntry, type HistoryEntry, type HistoryPage, pageOfHistory } from "./history.ts";
import { encodeIndex } from "./index-codec.ts";
import { BIRTH_PEER, type Mirror, type Written } from "./mirror.ts";
import { PastText } from "./past-text.ts";
import type { CheckedOperations, PeerOperations } from "./peer-operations.ts";
import { placeOf } from "./placement.ts";
import { readVersion } from "./read-version.ts";
import { encodeRecord } from "./record-codec.ts";
import { ReplicaForm } from "./replica-form.ts";
import { splicesBack } from "./rollback.ts";
import { indexVersion, type Place, RunIndex } from "./run-index.ts";
import type { IndexState } from "./run-pieces.ts";
import {
  loadState,
  recordedCommit,
  type RecordedCommit,
  type SavedDocument,
} from "./saved-document.ts";
import { SpliceRecord } from "./splice-record.ts";
import { checkEditGoesOn, checkEditIsNew, checkStamp, typingGoesOn } from "./stamp-check.ts";
import type { Author, EditTarget } from "./translation.ts";
import type { Places, RecordedChange, Special, Splice, Stamp } from "./types.ts";
import { fits, type Typing } from "./typing.ts";

export interface Committed {
  readonly version: number;
  /** What changed in the text; empty when nothing did. */
  readonly splices: readonly Splice[];
}

type PlannedFlip = Pick<Extract<RecordedChange, { kind: "flip" }>, "edit" | "active" | "held">;

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
  readonly #form: ReplicaForm;
  readonly #place: Place = (at, before) => placeOf(this.#state, at, before);
  #disposed = false;

  private constructor(state: IndexState, peer: string, snapshot?: SavedDocument["snapshot"]) {
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
    this.#form = new ReplicaForm(state, snapshot);
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
      checkStamp(record, stamp);
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
    const state = loadState(saved, options.commits ?? []);
    return new BlockDocument(state, options.peer, saved?.snapshot);
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
    if (!Number.isInteger(limit) || limit < 1) {
      throw new KumikoError(
        "invalid_argument",
        `A page of history has 1 entry or more, not ${limit}.`,
        {
          limit,
        },
      );
    }
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

  authors(versions: readonly number[]): Author[] {
    this.#checkUsable();
    const { record } = this.#state;
    const authors = new Map<string, Author>();
    for (const version of versions.toSorted((a, b) => a - b)) {
      const { actor, editIndex } = record.stampOf(version);
      const time = record.times[version - 1]!;
      const edit = record.editIds[editIndex]!;
      if (!authors.has(edit)) authors.set(edit, { actor, edit, version, time });
    }
    return [...authors.values()];
  }

  // Writing

  /** Makes the next version. All splices are made or none. Without a change there is none, unless it is `makes` that counts. */
  commit(
    splices: readonly Splice[],
    stamp: Stamp,
    { makes = false, places }: { makes?: boolean | undefined; places?: Places } = {},
  ): Committed {
    this.#checkUsable();
    const { record, activity } = this.#state;
    checkStamp(record, stamp);
    if (!typingGoesOn(record, activity, stamp)) checkEditGoesOn(record, activity, stamp);
    const made = splices.every(changes) ? splices : splices.filter(changes);
    applySplices(this.#rope, splices);
    if (made.length === 0 && !makes) return { version: record.version, splices: made };
    const kept = places?.filter((_, i) => changes(splices[i]!));
    return this.#record(made, stamp, undefined, kept);
  }

  /** The first version of an Edit; undefined when no commit of it is recorded here. */
  firstOf(edit: string): number | undefined {
    this.#checkUsable();
    const { record } = this.#state;
    const index = record.editIndex(edit);
    return index === undefined ? undefined : record.editSpan(index)[0];
  }

  planUndo(request: FlipRequest): FlipPlan {
    this.#checkUsable();
    return planUndo(this.#state, request);
  }

  planRedo(request: FlipRequest): FlipPlan {
    this.#checkUsable();
    return planRedo(this.#state, request);
  }

  /** Carries out what was planned or recorded, as a new version by whoever asks. */
  flip(plan: PlannedFlip, stamp: Stamp): Committed {
    this.#checkUsable();
    const { record, activity } = this.#state;
    checkStamp(record, stamp);
    checkEditIsNew(record, stamp);
    const [target, active] = flipOfNamed(this.#state, plan.edit, plan.active ? "redo" : "undo");
    const version = record.version + 1;
    const { held } = plan;
    const flip = { edit: target, active, held: held ?? [] };
    const { splices } = flipEdit(this.#state, flip, version);
    for (const { at, remove, insert } of splices) this.#rope.splice(at, remove, insert);
    record.enterPeer(this.#peer);
    record.append([], stamp, { kind: "flip", target, active, splices, held });
    activity.flipped(record, version);
    return { version, splices };
  }

  /** Counts a change of the block that is not one of its text. */
  touch(stamp: Stamp): Committed {
    this.#checkUsable();
    checkStamp(this.#state.record, stamp);
    checkEditGoesOn(this.#state.record, this.#state.activity, stamp, { isText: false });
    return this.#record([], stamp, { kind: "structure" });
  }

  /** A version as a journal keeps it; `load` takes it back. */
  recorded(version: number): RecordedCommit {
    this.#checkVersion(version, 1);
    return recordedCommit(this.#state.record, version);
  }

  /** The splices that make the text what it was; commit them as an Edit. None where others wrote the same again. */
  translateRollback(version: number): Splice[] {
    this.#checkVersion(version);
    if (this.read(version) === this.read()) return [];
    return splicesBack(changesSince(this.#state, version), this.#state.record.inserted);
  }

  // Merging

  get born(): boolean {
    this.#checkUsable();
    return this.#form.birth !== undefined;
  }

  /** Fixes the text from which on replicas can merge. */
  birth(stamp: Stamp): Committed {
    this.#checkUsable();
    checkStamp(this.#state.record, stamp);
    const { birth } = this.#form;
    if (birth !== undefined) {
      throw new KumikoError("already_born", `The document was born as version ${birth}.`, {
        version: birth,
      });
    }
    checkEditIsNew(this.#state.record, stamp);
    const special: Special = { kind: "birth", hash: sha256Text(this.#rope.toString()) };
    this.#state.record.append([], stamp, special);
    this.#form.born(this.version);
    return { version: this.version, splices: [] };
  }

  /**
   * A replica form for those who only read: as if it were born now, but recorded nowhere, and gone with the birth or
   * from memory. True when it is another one than was lent before.
   */
  lend(): boolean {
    this.#checkUsable();
    if (this.#form.exists) return false;
    this.#form.lend(this.#rope.toString());
    return true;
  }

  /** What the replicas of this document have seen; pass it to `exportSince`. */
  versionVector(): Uint8Array {
    return this.#upToDate().versionVector();
  }

  exportSince(versionVector?: Uint8Array): Uint8Array {
    return this.#upToDate().exportSince(versionVector);
  }

  exportSnapshot(): Uint8Array {
    return this.#current().snapshot();
  }

  /** Merges another replica's update as one commit. */
  import(update: Uint8Array, stamp: Stamp): ImportedUpdate {
    this.#checkUsable();
    const { record, activity } = this.#state;
    checkStamp(record, stamp);
    checkEditGoesOn(record, activity, stamp);
    const mirror = this.#upToDate();
    // The record keeps it: what the caller does with its array later is no concern of ours.
    const own = update.slice();
    const imported = mirror.import(own);
    if (!imported.news) {
      return { version: record.version, splices: [], pending: imported.pending };
    }
    for (const { at, remove, insert } of imported.splices) this.#rope.splice(at, remove, insert);
    const committed = this.#record(imported.splices, stamp, { kind: "import", update: own });
    mirror.imported(committed.version);
    return { ...committed, pending: imported.pending };
  }

  /** What replicas hold of each peer's operations. */
  counters(): Map<string, number> {
    return this.#current().counters();
  }

  /** What someone lacks who holds so many of each peer's operations. */
  exportMissing(known: ReadonlyMap<string, number>): Uint8Array {
    return this.#current().exportMissing(known);
  }

  /** From here on `exportWritten` knows what each version wrote. */
  follow(): void {
    this.#current().follow(this.#peer);
  }

  /**
   * The operations of versions that were committed here, not imported: those behind one, up to and with another,
   * and nothing of later ones. Undefined when nobody followed them.
   */
  exportWritten(after: number, until: number): Written | undefined {
    if (!this.#form.exists) return undefined;
    return this.#current().exportWritten(this.#peer, after, until);
  }

  /** How many operations of a peer are in the document. */
  counterOf(peer: string): number {
    return this.#upToDate().counterOf(peer);
  }

  /** Refuses operations that do not follow from what the document holds. Changes nothing. */
  checkOperations(operations: PeerOperations): CheckedOperations {
    return this.#upToDate().check(operations);
  }

  /** Merges what one peer did as one commit. What is recorded are bytes of our own making. */
  importOperations(given: CheckedOperations, stamp: Stamp): ImportedUpdate {
    this.#checkUsable();
    const { record, activity } = this.#state;
    checkStamp(record, stamp);
    checkEditGoesOn(record, activity, stamp);
    const mirror = this.#upToDate();
    const checked = given.version === record.version ? given : mirror.check(given.operations);
    try {
      const { splices, pending, update } = mirror.importOperations(checked);
      const grown = splices.reduce((sum, { remove, insert }) => sum + insert.length - remove, 0);
      if (mirror.length !== this.#rope.length + grown) {
        throw damaged("a merge gives two different texts");
      }
      applySplices(this.#rope, splices);
      const committed = this.#record(splices, stamp, { kind: "import", update });
      mirror.imported(committed.version);
      return { ...committed, pending };
    } catch (error) {
      // Loro may keep what it could not apply: the mirror is made anew from the record.
      this.#form.forget();
      throw error;
    }
  }

  /**
   * Whether something was typed on top of all that the document holds, and nothing else. False also while its replica
   * form is asleep: then it has to be merged like everything else.
   */
  follows(typing: Typing): boolean {
    this.#checkUsable();
    return this.#form.follows(typing) && fits(this.#rope, typing);
  }

  /** Takes what follows as one commit, without merging. */
  type(typing: Typing, stamp: Stamp): Committed {
    this.#checkUsable();
    const { record, activity } = this.#state;
    checkStamp(record, stamp);
    checkEditGoesOn(record, activity, stamp);
    const mirror = this.#upToDate();
    const splices = [{ at: typing.at, remove: 0, insert: typing.text }];
    try {
      const update = mirror.type(typing);
      applySplices(this.#rope, splices);
      const committed = this.#record(splices, stamp, { kind: "import", update });
      mirror.imported(committed.version);
      return committed;
    } catch (error) {
      this.#form.forget();
      throw error;
    }
  }

  // Keeping

  /** Everything needed to load it again. With a snapshot, loading does not replay what it covers. */
  save(options: { snapshot?: boolean } = {}): SavedDocument {
    this.#checkUsable();
    const { record, index } = this.#state;
    const taken = this.#form.snapshot({ anew: options.snapshot === true });
    const keeps = (version: number): boolean =>
      taken === undefined || version > taken.version || taken.waiting.has(version);
    const snapshot =
      taken === undefined ? undefined : { bytes: taken.bytes, version: taken.version };
    const encoded = encodeRecord(record, keeps);
    return { record: encoded, index: encodeIndex(index, encoded), snapshot };
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#form[Symbol.dispose]();
  }

  /** Puts a change that is in the text already into the record and the index. */
  #record(
    splices: readonly Splice[],
    stamp: Stamp,
    special: Special | undefined,
    places?: Places,
  ): Committed {
    const { record, index, activity } = this.#state;
    record.enterPeer(this.#peer);
    record.append(splices, stamp, special, places);
    indexVersion(index, record, record.version, places === undefined ? this.#place : undefined);
    if (isText(record, record.version)) activity.textCommitted(record, record.version);
    return { version: record.version, splices };
  }

  /** What is merged into has to be born. */
  #upToDate(): Mirror {
    this.#checkUsable();
    return this.#form.bornMirror;
  }

  #current(): Mirror {
    this.#checkUsable();
    return this.#form.mirror;
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

function changes({ remove, insert }: Splice): boolean {
  return remove > 0 || insert !== "";
}
