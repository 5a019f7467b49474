/**
 * What the kernel needs from outside. This file is a door of the room: stores import it and nothing
 * else of the kernel.
 */

import type { FoundLine, ScanLimits, TextQuery } from "../base/search/index.ts";

/** Everything that is recorded with one change of one block. */
export interface NewCommit {
  /** `main~claude~42`. */
  readonly block: string;
  /** How many commits had touched the block before: it makes this the next one, or the batch has moved. */
  readonly expectedVersion: number;
  readonly edit: string;
  readonly actor: string;
  readonly time: number;
  readonly tool?: string | undefined;
  readonly call?: string | undefined;
  readonly message?: string | undefined;
  readonly model?: string | undefined;
  readonly turn?: string | undefined;
  /** What changed, in the kernel's own encoding; the store keeps it and never looks inside. */
  readonly body: Uint8Array;
  /** How it counts for undo: something that can be taken back, the flip of an earlier Edit, or neither. */
  readonly undo?:
    | { readonly kind: "text" }
    | { readonly kind: "flip"; readonly edit: string; readonly active: boolean }
    | undefined;
}

export interface StoredCommit extends Omit<NewCommit, "expectedVersion" | "undo"> {
  /** Kernel-wide, without gaps, in the order of commitment. */
  readonly position: number;
  readonly version: number;
}

/** What a block is now, apart from its text. One per block; a commit that changes it carries the new one. */
export interface BlockRow {
  readonly block: string;
  readonly context: string;
  readonly parent: string | null;
  /** Sorts siblings; unique among the children of one parent. */
  readonly order: string;
  readonly kind: string;
  readonly role: string;
  readonly status: string;
  /** Everything else, as JSON. */
  readonly attributes: string;
  readonly version: number;
  /** The position of the commit that made it so. */
  readonly position: number;
  /** The position of the block's first row: it did not exist before. */
  readonly created: number;
}

export type NewBlockRow = Omit<BlockRow, "version" | "position" | "created">;

/** An Edit that changed text, over all the blocks it changed: what undo needs to know of it. */
export interface EditRow {
  readonly edit: string;
  readonly actor: string;
  /** Every block whose text it changed, sorted. */
  readonly blocks: readonly string[];
  /** The positions of its first and its last commit. */
  readonly first: number;
  readonly last: number;
  readonly active: boolean;
  /** Who undid or redid it last, and at which position. */
  readonly flipped?: { readonly actor: string; readonly position: number } | undefined;
}

/** An answered call, so that a retry gets the same answer and changes nothing. */
export interface CallRow {
  readonly actor: string;
  readonly call: string;
  /** Hash of tool and arguments: the same id with others is an error. */
  readonly fingerprint: string;
  readonly answer: string;
  readonly time: number;
}

/** Commits that land together or not at all. */
export interface Batch {
  readonly commits: readonly NewCommit[];
  /** New state of blocks that these commits touch. A block without one keeps its row. */
  readonly rows: readonly NewBlockRow[];
  readonly calls: readonly CallRow[];
  /** Written only while this lease is held; otherwise the batch is refused as `fenced`. */
  readonly fence?: { readonly lease: string; readonly token: number } | undefined;
  /** Nobody waits for it: whoever asks has other things to do while it is written. */
  readonly patient?: boolean | undefined;
}

export type BatchOutcome =
  /** Fsynced. One position per commit, in their order. */
  | { readonly kind: "committed"; readonly positions: readonly number[] }
  /** Another writer was first: nothing was written. The commits the caller has not seen, per block. */
  | { readonly kind: "moved"; readonly missing: readonly StoredCommit[] }
  /** A call id was used before with other arguments, or by a batch the caller did not see. */
  | { readonly kind: "answered"; readonly call: CallRow }
  | { readonly kind: "fenced" }
  /** Another block stands at that order under that parent: nothing was written; choose another order. */
  | { readonly kind: "occupied"; readonly row: BlockRow };

export interface Keyframe {
  readonly version: number;
  readonly text: string;
}

/** A block's whole document at a version, so that loading need not replay what it covers. */
export interface SnapshotRow {
  readonly version: number;
  readonly bytes: Uint8Array;
}

export interface Lease {
  readonly name: string;
  readonly holder: string;
  /** Grows with every new holder, for ever: what an earlier holder writes late is recognised. */
  readonly token: number;
  readonly expires: number;
}

/** New contents for commits of one block: what a purge leaves in the place of what it removes. */
export interface Rewrite {
  readonly block: string;
  /** By version. A commit that is not named stays as it is. */
  readonly commits: readonly {
    readonly version: number;
    readonly body: Uint8Array;
    readonly message: string | undefined;
  }[];
  /** The block's row as it is to stand now, when that changes too. Its version and position stay. */
  readonly row?: NewBlockRow | undefined;
  /** A named value that is put in the same transaction: the gap, by its name. */
  readonly note: { readonly space: string; readonly key: string; readonly value: string };
}

/** Asked for in one direction, in pages: `after` is exclusive. */
export interface ChildrenQuery {
  readonly context: string;
  readonly parent: string | null;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly newestFirst?: boolean | undefined;
}

/** A stored row that no longer matches its hash. */
export interface Damage {
  readonly table: string;
  readonly key: string;
  /** The one block whose document it is part of, if any. */
  readonly block: string | undefined;
  readonly why: string;
}

/** Which blocks are searched for what, and where the answer ends. */
export interface SearchRequest extends ScanLimits {
  readonly query: TextQuery;
  readonly kinds: readonly string[] | undefined;
  readonly context: string | undefined;
  /** The beginning of `metadata.path` in a row's attributes. */
  readonly pathPrefix: string | undefined;
  /** Blocks that are looked through for nobody, as if they were not there. */
  readonly without?: ReadonlySet<string> | undefined;
  /** Whose search it is: one caller's searches do not hold up another's. */
  readonly caller: string;
  /** How long it may run. */
  readonly milliseconds: number;
  /** How long a pattern may take in one block, once more for each million units: then that block is given up. */
  readonly slice: number;
  readonly signal: AbortSignal | undefined;
}

export interface FoundBlock {
  readonly block: string;
  readonly path: string | undefined;
  /** The version whose lines these are. */
  readonly version: number;
  readonly lines: readonly FoundLine[];
  /** There are more lines than the limit let through. */
  readonly truncated: boolean;
}

export interface SearchAnswer {
  /** Context by context, each in the order of its conversation. */
  readonly found: readonly FoundBlock[];
  /** There are more blocks than the limit let through. */
  readonly truncated: boolean;
  /** Time was up, or too many blocks were slow: blocks behind were not looked through. */
  readonly timedOut: boolean;
  /** Blocks that were given up; what was found in them until then is told. */
  readonly slow: readonly string[];
  /** Blocks that could not be read, and why. */
  readonly unreadable: readonly { readonly block: string; readonly why: string }[];
}

/** What a store may ask of the kernel while it searches. */
export interface SearchHelp {
  /** The durable text of now; asked for when the block's keyframe is not of its last version. */
  current(block: string): Promise<Keyframe>;
  /** Looks through texts on a thread that ends in time: for stores that have none of their own. */
  scan(request: SearchRequest, texts: readonly SearchedText[]): Promise<ScanAnswer>;
}

export interface SearchedText {
  readonly block: string;
  readonly text: string;
}

export interface ScanAnswer {
  readonly found: ReadonlyMap<string, readonly FoundLine[]>;
  /** Texts with more lines than the limit let through. */
  readonly more: ReadonlySet<string>;
  readonly truncated: boolean;
  readonly timedOut: boolean;
  readonly slow: readonly string[];
}

/**
 * Finds text in all blocks. Built from keyframes, never in a commit's way, and lost without loss: what is not
 * in it is looked through directly, so its state changes no answer, only the time one takes.
 */
export interface SearchIndex {
  search(request: SearchRequest, help: SearchHelp): Promise<SearchAnswer>;
  /** Resolves when every keyframe that is there now is in the index. */
  settled(): Promise<void>;
}

/** A file in a folder; by its identity it is recognised without being read. */
export interface IdentifiedFile {
  readonly path: string;
  readonly identity: string;
}

/** Files of one folder, in this order, until they have so many units: at least one. */
export interface FileReading {
  /** The folder's real path. */
  readonly folder: string;
  readonly paths: readonly string[];
  /** Larger ones, in bytes, are no text. */
  readonly largest: number;
  readonly units: number;
}

/** What is at a path now. */
export type FileFinding = { readonly path: string } & (
  | { readonly text: string; readonly hash: string; readonly identity: string }
  /** No text, and none until it changes. */
  | { readonly noText: true; readonly identity: string }
  | { readonly absent: true }
  /** It cannot be read now; perhaps a moment later. */
  | { readonly unreadable: string }
);

/** How files are read. Rejects when the folder itself is not there. */
export type ReadFiles = (reading: FileReading) => Promise<FileFinding[]>;

/**
 * Reads files of folders and remembers which may hold what is looked for. Lost without loss: what it remembers may be
 * deleted at any time, and is only to be taken in again. When something rejects, it knows nothing until the next
 * `compare`.
 */
export interface FileIndex extends AsyncDisposable {
  /** Forgets a folder's files that are not among these; gives those that it does not know as they are. */
  compare(folder: string, files: AsyncIterable<readonly IdentifiedFile[]>): Promise<string[]>;
  /** Reads files and remembers what is in them, or that they are gone; without their texts. */
  take(reading: FileReading): Promise<{ readonly path: string; readonly unreadable: boolean }[]>;
  /** Reads files. */
  read(reading: FileReading): Promise<FileFinding[]>;
  /** All of the folder's, unless some are named. */
  forget(folder: string, paths?: readonly string[]): Promise<void>;
  /** Of the files with text, those in which the query may be found. */
  candidates(folder: string, query: TextQuery): Promise<string[]>;
  /** Forgets everything; when it resolves, nothing of it is in any file. What is being compared rejects (`cleared`). */
  clear(): Promise<void>;
}

/**
 * The journal and what is looked up in it. Asynchronous; nobody is called back inside a transaction.
 *
 * - `commit` answers only after fsync. A batch that fails (thrown) has written nothing that is ever shown.
 * - Positions are given in the order in which batches become visible: who reads up to a position has
 *   seen everything before it.
 * - A row that does not match its hash is thrown as `damaged` with its block, and touches no other block.
 */
export interface Store extends AsyncDisposable {
  /** The position of the last durable commit; 0 when there is none. */
  head(): Promise<number>;
  commit(batch: Batch): Promise<BatchOutcome>;
  /**
   * Commits behind a position in order, without gaps, `limit` at most; with `bytes` no more than bodies of
   * so many bytes, but at least one commit.
   */
  changesSince(position: number, limit: number, bytes?: number): Promise<StoredCommit[]>;
  /** One block's commits behind a version, in order, up to and with another when that is given. */
  commitsOf(block: string, afterVersion: number, upToVersion?: number): Promise<StoredCommit[]>;
  /** How many commits had touched a block at a position; without reading them. */
  versionAt(block: string, position: number): Promise<number>;

  row(block: string): Promise<BlockRow | undefined>;
  /** In sibling order. */
  children(query: ChildrenQuery): Promise<BlockRow[]>;
  /** In block order, for lists over everything. */
  rows(query: { context?: string; after?: string; limit: number }): Promise<BlockRow[]>;
  /** Rows with a status, whatever their context. */
  rowsWithStatus(status: string): Promise<BlockRow[]>;
  /** The last sequence number used by an actor in a context; 0 when none. */
  lastSequence(context: string, actor: string): Promise<number>;

  call(actor: string, call: string): Promise<CallRow | undefined>;
  /** Forgets answered calls that are older than a time, or whose answer contains a text; says how many. */
  forgetCalls(which: { before: number } | { containing: string }): Promise<number>;

  /** An Edit of text, whoever made it. */
  edit(edit: string): Promise<EditRow | undefined>;
  /** The actor's active Edit with the last commit, of those that ended before another; undefined when there is none. */
  newestEdit(actor: string, before?: EditRow): Promise<EditRow | undefined>;
  /**
   * The Edit that the actor undid last and that is still undone; undefined when there is none, or when the
   * actor has changed text since (a new Edit clears its author's redo list).
   */
  newestUndone(actor: string): Promise<EditRow | undefined>;

  /** The block's current text at rest is its keyframe and the commits behind it. */
  keyframe(block: string): Promise<Keyframe | undefined>;
  /** Replaces the older one; an older one than is there is ignored. */
  putKeyframe(block: string, keyframe: Keyframe): Promise<void>;
  snapshot(block: string): Promise<SnapshotRow | undefined>;
  putSnapshot(block: string, snapshot: SnapshotRow): Promise<void>;
  /** Drops snapshots of blocks that no commit behind a position touched, and says how many: they only spare work. */
  dropSnapshots(upToPosition: number): Promise<number>;
  /** Packs a block's commits up to a version more tightly; every answer stays the same. */
  compact(block: string, upToVersion: number): Promise<void>;
  /**
   * Replaces what commits say and drops the block's keyframe, snapshot and index entry. When it resolves, the
   * old bytes are in none of the store's files any more.
   */
  rewrite(rewrite: Rewrite): Promise<void>;
  /** Gives free space back to the file system. */
  vacuum(): Promise<void>;

  readonly search: SearchIndex;

  /** Small named values: settings, members, contexts. Atomic each. */
  get(space: string, key: string): Promise<string | undefined>;
  /** In the order of their keys; `after` is exclusive. */
  list(
    space: string,
    page?: { after?: string | undefined; limit?: number | undefined },
  ): Promise<{ key: string; value: string }[]>;
  put(space: string, key: string, value: string | undefined): Promise<void>;

  /** Takes a lease that is free or expired, or gives the one that stands. */
  acquire(
    name: string,
    holder: string,
    now: number,
    milliseconds: number,
  ): Promise<{ granted: boolean; lease: Lease }>;
  renew(lease: Lease, now: number, milliseconds: number): Promise<Lease | undefined>;
  release(lease: Lease): Promise<void>;

  /** Reads every row; what is wrong is listed and nothing is changed. */
  verify(): Promise<Damage[]>;
  /** Bytes by kind of content, for `kumiko du`. */
  size(): Promise<{ [kind: string]: number }>;
}
