import { ByteReader, ByteWriter, KumikoError } from "../base/index.ts";
import { BlockDocument, type RecordedCommit, type SavedDocument } from "../blocks/index.ts";
import { type BlockState, fromRow } from "./block-state.ts";
import { type CommitBody, decodeBody } from "./commit-body.ts";
import type { NewBlockRow, Store, StoredCommit } from "./ports.ts";
import { decoding, isDamage, type Quarantine } from "./quarantine.ts";

/** Commits replayed at loading before a snapshot is worth its bytes. */
const SNAPSHOT_AFTER = 512;

/** A document in memory, with what is applied to it and how much of that is on disk. */
export interface LiveDocument {
  readonly block: string;
  readonly document: BlockDocument;
  /** As applied; undefined before the block's creation. */
  state: BlockState | undefined;
  /** Only this version, and what `durableState` says, may be shown to anyone. */
  durable: number;
  durableState: BlockState | undefined;
  /** Settles when all that is applied is on disk, or has failed. Never rejects. */
  written: Promise<void>;
  /** Edits of it whose fate is open: until it is decided, nothing is loaded in its place. */
  undecided: number;
  /** Tasks that hold it: it may not be let go under them. */
  holders: number;
  /** Holds a change that will not be journalled: it must be loaded again before anyone builds on it. */
  spoilt: boolean;
  /** Spoilt because another server wrote more than it holds. */
  outdated: boolean;
}

/**
 * The documents in memory: the least recently used are let go when there are too many, but never one whose
 * changes are not yet durable. Owner of their wasm memory.
 */
export class LiveDocuments implements Disposable {
  readonly #store: Store;
  readonly #quarantine: Quarantine;
  readonly #limit: number;
  readonly #live = new Map<string, LiveDocument>();
  #peer: string;

  constructor(store: Store, quarantine: Quarantine, peer: string, limit: number) {
    this.#store = store;
    this.#quarantine = quarantine;
    this.#peer = peer;
    this.#limit = limit;
  }

  get size(): number {
    return this.#live.size;
  }

  /**
   * Only the holder of the block's queue may ask: loading is not done twice at once. Whoever opens a
   * document closes it.
   */
  async open(block: string): Promise<LiveDocument> {
    this.#quarantine.check(block);
    const known = this.#live.get(block);
    if (known !== undefined && !known.spoilt) {
      this.#live.delete(block);
      this.#live.set(block, known);
      known.holders++;
      return known;
    }
    if (known !== undefined) this.#drop(known);
    return this.#enter(await this.#quarantine.reading(block, () => this.#load(block)));
  }

  /** A block that never was: there is nothing to load. */
  create(block: string): LiveDocument {
    const failed = this.#live.get(block);
    if (failed !== undefined) this.#drop(failed);
    const document = BlockDocument.create({ peer: this.#peer });
    return this.#enter(asStored(block, document, undefined));
  }

  close(live: LiveDocument): void {
    live.holders--;
    this.#makeRoom();
  }

  /** Without loading: for readers, who need no queue. */
  peek(block: string): LiveDocument | undefined {
    const known = this.#live.get(block);
    return known === undefined || known.spoilt ? undefined : known;
  }

  isSpoilt(block: string): boolean {
    return this.#live.get(block)?.spoilt === true;
  }

  /** What is stored has changed: it is loaded again before anyone uses it. */
  forget(block: string): void {
    const known = this.#live.get(block);
    if (known !== undefined) known.spoilt = true;
  }

  forgetAll(): void {
    for (const live of this.#live.values()) live.spoilt = true;
  }

  /** Another server made this version: who holds less is loaded again. */
  outdate(block: string, version: number): void {
    const known = this.#live.get(block);
    if (known === undefined || known.durable >= version) return;
    known.spoilt = true;
    known.outdated = true;
  }

  /** After a failed write: whatever holds more than is on disk is loaded again, under another peer id. */
  forgetUnwritten(peer: string): void {
    this.#peer = peer;
    for (const live of this.#live.values()) {
      if (live.document.version !== live.durable) live.spoilt = true;
    }
  }

  [Symbol.dispose](): void {
    for (const live of this.#live.values()) live.document[Symbol.dispose]();
    this.#live.clear();
  }

  async #load(block: string): Promise<LiveDocument> {
    // Asked for first: what another server commits meanwhile brings its own row.
    const row = await this.#store.row(block);
    const { document, newer } = await this.#loadDocument(block, row?.version ?? 0);
    const last = newer ?? row;
    return asStored(block, document, last && fromRow(last));
  }

  async #loadDocument(block: string, rowVersion: number): Promise<Loaded> {
    const snapshot = await this.#quarantine.cached(block, () => this.#store.snapshot(block));
    if (snapshot !== undefined) {
      const since = await this.#store.commitsOf(block, snapshot.version);
      const loaded = await this.#quarantine.cached(block, async () =>
        this.#replay(
          decoding("the snapshot", () => decodeSaved(snapshot.bytes)),
          since,
          rowVersion,
        ),
      );
      if (loaded !== undefined) return this.#sparing(block, loaded, since.length);
    }
    const commits = await this.#store.commitsOf(block, 0);
    return this.#sparing(block, this.#replay(undefined, commits, rowVersion), commits.length);
  }

  #replay(
    saved: SavedDocument | undefined,
    stored: readonly StoredCommit[],
    rowVersion: number,
  ): Loaded {
    return decoding("the journal", () => {
      let newer: NewBlockRow | undefined;
      const commits = stored.map((commit) => {
        const body = decodeBody(commit.body);
        if (commit.version > rowVersion) newer = body.row ?? newer;
        return recorded(commit, body);
      });
      return { document: BlockDocument.load(saved, { peer: this.#peer, commits }), newer };
    });
  }

  /** Spares the next loading what this one had to replay, when that was much. */
  async #sparing(block: string, loaded: Loaded, replayed: number): Promise<Loaded> {
    const { document } = loaded;
    if (replayed <= SNAPSHOT_AFTER) return loaded;
    try {
      const bytes = encodeSaved(document.save());
      await this.#store.putSnapshot(block, { version: document.version, bytes });
    } catch (error) {
      // A full disk must not keep anyone from reading; the next loading tries again.
      const unwritable = error instanceof KumikoError && error.code === "journal_unwritable";
      if (!unwritable && !isDamage(error)) throw error;
    }
    return loaded;
  }

  #enter(live: LiveDocument): LiveDocument {
    this.#live.set(live.block, live);
    live.holders++;
    this.#makeRoom();
    return live;
  }

  #makeRoom(): void {
    for (const live of this.#live.values()) {
      if (this.#live.size <= this.#limit) return;
      if (live.holders === 0 && live.undecided === 0) this.#drop(live);
    }
  }

  #drop(live: LiveDocument): void {
    this.#live.delete(live.block);
    live.document[Symbol.dispose]();
  }
}

interface Loaded {
  readonly document: BlockDocument;
  /** What a commit behind the row that was read says the block is. */
  readonly newer: NewBlockRow | undefined;
}

function asStored(
  block: string,
  document: BlockDocument,
  state: BlockState | undefined,
): LiveDocument {
  return {
    block,
    document,
    state,
    durable: document.version,
    durableState: state,
    undecided: 0,
    holders: 0,
    written: Promise.resolve(),
    spoilt: false,
    outdated: false,
  };
}

export function toRecorded(commit: StoredCommit): RecordedCommit {
  return recorded(commit, decodeBody(commit.body));
}

function recorded(commit: StoredCommit, { change, peer, marked }: CommitBody): RecordedCommit {
  const { actor, edit, time, tool, call, message, model, turn } = commit;
  return { change, peer, marked, stamp: { actor, edit, time, tool, call, message, model, turn } };
}

export function unknownBlock(block: string): KumikoError {
  return new KumikoError("unknown_block", `There is no block ${block}.`, { block });
}

function encodeSaved({ record, index, snapshot }: SavedDocument): Uint8Array {
  const writer = new ByteWriter();
  writer.bytes(record);
  writer.bytes(index ?? new Uint8Array());
  writer.count(snapshot?.version ?? 0);
  writer.bytes(snapshot?.bytes ?? new Uint8Array());
  return writer.finish();
}

function decodeSaved(bytes: Uint8Array): SavedDocument {
  const reader = new ByteReader(bytes);
  const record = reader.bytes();
  const index = reader.bytes();
  const version = reader.count();
  const snapshot = reader.bytes();
  return {
    record,
    index: index.length === 0 ? undefined : index,
    snapshot: version === 0 ? undefined : { version, bytes: snapshot },
  };
}
