import BetterSqlite from "better-sqlite3";
import { KumikoError } from "../../base/errors.ts";
import type {
  Batch,
  BatchOutcome,
  BlockRow,
  CallRow,
  ChildrenQuery,
  Damage,
  EditRow,
  Keyframe,
  Lease,
  Rewrite,
  SnapshotRow,
  Store,
  StoredCommit,
} from "../../kernel/ports.ts";
import { checkTexts, closedStore } from "../contract.ts";
import { inspect } from "./inspection.ts";
import { FolderLock } from "./lock.ts";
import { packElsewhere } from "./packed.ts";
import { openForReading } from "./recovery.ts";
import type { WriteRequest } from "./requests.ts";
import { damagedPage } from "./row-hash.ts";
import { brokenTables, isUnreadable } from "./salvage/structure.ts";
import { SqliteSearch } from "./search/sqlite-search.ts";
import type { Tables } from "./tables.ts";
import { scrubsPending } from "./vacuum.ts";
import { Writes } from "./writes.ts";

/** What a write may hold up everybody else for. */
const HELD = 5;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Characters of a keyframe up to which it is packed before it is written; longer ones are the thread's work. */
const PACKED_BEFORE = 256 * 1024;

export interface SqliteStoreOptions {
  /** Allow this process to open it more than once. Each store is then a writer of its own. */
  readonly shared?: boolean;
  /** What this process is doing, for whoever finds the database in use: no arguments, they may be secret. */
  readonly command?: string;
  /** Milliseconds a write may hold the caller's thread before others go to another one; 0: all do. */
  readonly held?: number;
  /** Whether a write that holds the caller's thread may hold up others; by default, always. */
  readonly hasCompany?: () => boolean;
  /** Told of what was lost and made good again; by default a warning of the process. */
  readonly warn?: (sentence: string) => void;
  /** What is known to be wrong with it already: `verify` begins with that. */
  readonly damages?: readonly Damage[];
  /** It is a copy of a file that cannot be written: writes are refused in that one's name. */
  readonly readOnly?: {
    readonly file: string;
    /** Disposed of when the store is. */
    readonly closed: AsyncDisposableStack;
  };
}

/** Opens a database, making it if it is not there; its folder must be. The caller disposes of the store. */
export async function openSqliteStore(
  file: string,
  options: SqliteStoreOptions = {},
): Promise<Store> {
  const { shared = false, command, warn = processWarning, readOnly } = options;
  const { held = HELD, hasCompany = () => true } = options;
  await using opening = new AsyncDisposableStack();
  if (readOnly !== undefined) opening.use(readOnly.closed);
  opening.use(sqliteErrors(file, () => FolderLock.take(file, shared, command)));
  // Disposed of after the reader, it is the last to close the database and so moves the WAL into it.
  const writes = opening.use(new Writes(file, { held, hasCompany }));
  const tables = opening.use(sqliteErrors(file, () => openForReading(file)));
  const broken = brokenTables(tables.connection);
  if (broken.length > 0) warn(brokenSentence(file, broken));
  if (scrubsPending(tables.connection)) writes.finishScrubs();
  const search = opening.use(new SqliteSearch({ file, warn }));
  return new SqliteStore(file, { writes, tables, search }, options, opening.move());
}

/**
 * Reads on this thread, which sees what was fsynced; writes are made here or on another. Owns the lock, the
 * writers and the connection.
 */
class SqliteStore implements Store {
  readonly search: SqliteSearch;
  readonly #file: string;
  readonly #writes: Writes;
  readonly #tables: Tables;
  readonly #damages: readonly Damage[];
  readonly #readOnly: SqliteStoreOptions["readOnly"];
  readonly #owned: AsyncDisposableStack;

  constructor(
    file: string,
    parts: { writes: Writes; tables: Tables; search: SqliteSearch },
    { damages = [], readOnly }: SqliteStoreOptions,
    owned: AsyncDisposableStack,
  ) {
    this.#file = file;
    this.#writes = parts.writes;
    this.#tables = parts.tables;
    this.search = parts.search;
    this.#damages = damages;
    this.#readOnly = readOnly;
    this.#owned = owned;
  }

  async head(): Promise<number> {
    return this.#read("commits", undefined, ({ journal }) => journal.head());
  }

  commit(batch: Batch): Promise<BatchOutcome> {
    return this.#write<BatchOutcome>({ do: "commit", batch });
  }

  async changesSince(position: number, limit: number, bytes?: number): Promise<StoredCommit[]> {
    return this.#read("commits", undefined, ({ journal }) =>
      journal.changesSince(position, limit, bytes),
    );
  }

  async commitsOf(
    block: string,
    afterVersion: number,
    upToVersion?: number,
  ): Promise<StoredCommit[]> {
    return this.#read("commits", block, ({ journal }) =>
      journal.commitsOf(block, afterVersion, upToVersion),
    );
  }

  async versionAt(block: string, position: number): Promise<number> {
    return this.#read("commits", block, ({ journal }) => journal.versionAt(block, position));
  }

  async row(block: string): Promise<BlockRow | undefined> {
    return this.#read("rows", block, ({ rows }) => rows.get(block));
  }

  async children(query: ChildrenQuery): Promise<BlockRow[]> {
    return this.#read("rows", undefined, ({ rows }) => rows.children(query));
  }

  async rows(query: { context?: string; after?: string; limit: number }): Promise<BlockRow[]> {
    return this.#read("rows", undefined, ({ rows }) => rows.list(query));
  }

  async rowsWithStatus(status: string): Promise<BlockRow[]> {
    return this.#read("rows", undefined, ({ rows }) => rows.withStatus(status));
  }

  async lastSequence(context: string, actor: string): Promise<number> {
    return this.#read("sequences", undefined, ({ sequences }) => sequences.get(context, actor));
  }

  async call(actor: string, call: string): Promise<CallRow | undefined> {
    return this.#read("calls", undefined, ({ calls }) => calls.get(actor, call));
  }

  async forgetCalls(which: { before: number } | { containing: string }): Promise<number> {
    if ("containing" in which) checkTexts(which);
    return this.#write({ do: "forget", which });
  }

  async edit(edit: string): Promise<EditRow | undefined> {
    return this.#read("edits", undefined, ({ edits }) => edits.get(edit));
  }

  async newestEdit(actor: string, before?: EditRow): Promise<EditRow | undefined> {
    return this.#read("edits", undefined, ({ edits }) => edits.newest(actor, before));
  }

  async newestUndone(actor: string): Promise<EditRow | undefined> {
    return this.#read("edits", undefined, ({ edits }) => edits.newestUndone(actor));
  }

  async keyframe(block: string): Promise<Keyframe | undefined> {
    const found = this.#read("keyframes", block, ({ keyframes }) => keyframes.get(block));
    return found && { version: found.version, text: decoder.decode(found.bytes) };
  }

  async putKeyframe(block: string, { version, text }: Keyframe): Promise<void> {
    checkTexts({ block, text });
    // Packed, most are written in less time than it takes to hand them to the thread, for which commits would wait.
    const kept = text.length <= PACKED_BEFORE ? await packElsewhere(text) : text;
    await this.#write({ do: "keyframe", block, version, text: kept });
    this.search.noted(block, text.length);
  }

  async snapshot(block: string): Promise<SnapshotRow | undefined> {
    return this.#read("snapshots", block, ({ snapshots }) => snapshots.get(block));
  }

  async putSnapshot(block: string, { version, bytes }: SnapshotRow): Promise<void> {
    checkTexts({ block });
    await this.#write({ do: "snapshot", block, version, bytes });
  }

  dropSnapshots(upToPosition: number): Promise<number> {
    return this.#write({ do: "drop_snapshots", upTo: upToPosition });
  }

  async compact(block: string, upToVersion: number): Promise<void> {
    await this.#write({ do: "compact", block, upTo: upToVersion });
  }

  async rewrite(rewrite: Rewrite): Promise<void> {
    await this.search.without(() => this.#write({ do: "rewrite", rewrite }));
  }

  async vacuum(): Promise<void> {
    await this.#write({ do: "vacuum" });
  }

  async get(space: string, key: string): Promise<string | undefined> {
    return this.#read("settings", undefined, ({ settings }) => settings.get(space, key));
  }

  async list(
    space: string,
    page?: { after?: string | undefined; limit?: number | undefined },
  ): Promise<{ key: string; value: string }[]> {
    return this.#read("settings", undefined, ({ settings }) => settings.list(space, page));
  }

  async put(space: string, key: string, value: string | undefined): Promise<void> {
    checkTexts({ space, key, value });
    await this.#write({ do: "put", space, key, value });
  }

  acquire(
    name: string,
    holder: string,
    now: number,
    milliseconds: number,
  ): Promise<{ granted: boolean; lease: Lease }> {
    return this.#write({ do: "acquire", name, holder, now, milliseconds });
  }

  renew(lease: Lease, now: number, milliseconds: number): Promise<Lease | undefined> {
    return this.#write({ do: "renew", lease, now, milliseconds });
  }

  async release(lease: Lease): Promise<void> {
    await this.#write({ do: "release", lease });
  }

  async verify(): Promise<Damage[]> {
    this.#open();
    return [...this.#damages, ...((await inspect(this.#file, "verify")) as Damage[])];
  }

  async size(): Promise<{ [kind: string]: number }> {
    this.#open();
    const sizes = (await inspect(this.#file, "size")) as { [kind: string]: number };
    return { ...sizes, search: this.search.size() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  #open(): void {
    if (this.#owned.disposed) throw closedStore();
  }

  async #write<Answer>(request: WriteRequest): Promise<Answer> {
    this.#open();
    if (this.#readOnly !== undefined) throw readOnlyRefusal(this.#readOnly.file);
    return this.#writes.ask(request) as Answer | Promise<Answer>;
  }

  /** Pages that SQLite itself cannot read are damage too. */
  #read<Result>(
    table: string,
    block: string | undefined,
    read: (tables: Tables) => Result,
  ): Result {
    this.#open();
    try {
      return read(this.#tables);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      throw damagedPage(table, block, `${error.code}, ${error.message}`);
    }
  }
}

function readOnlyRefusal(file: string): KumikoError {
  return new KumikoError(
    "journal_unwritable",
    `${file} is read-only here, so nothing in it can be changed: copy its home to a folder that can be written and name that with --home`,
    { file, outcome: "not_written", resumed: false, read_only: true },
  );
}

function brokenSentence(file: string, tables: readonly string[]): string {
  return (
    `The structure of ${file} is broken: ${tables.join(", ")} cannot be read. What is in other tables is read as before; ` +
    "run `kumiko doctor --export <folder>`, which saves what can be read, and restore a backup."
  );
}

function sqliteErrors<Result>(file: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof BetterSqlite.SqliteError)) throw error;
    const cause = `${error.code}: ${error.message}`;
    const damaged = /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
    throw new KumikoError(
      damaged ? "damaged" : "journal_unwritable",
      `${file} cannot be opened (${cause}). ${damaged ? "Run `kumiko doctor --export <folder>`, which saves what can be read, or restore it from a backup." : "Check that the disk has room and works and that the folder may be written."}`,
      { file, cause, table: null, block: null },
      { cause: error },
    );
  }
}

function processWarning(sentence: string): void {
  process.emitWarning(sentence, "KumikoWarning");
}
