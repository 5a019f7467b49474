import { KumikoError } from "../../../base/errors.ts";
import { Connection } from "../connection.ts";
import { Tables } from "../tables.ts";
import { deleteIndex, IndexFile, indexExists } from "./index-file.ts";
import { OtherFormat } from "./index-format.ts";
import { unusable } from "./unusable-index.ts";

/** About how much text goes into one transaction. */
const BATCH_UNITS = 2 * 1024 * 1024;
/** What a block counts for beside its text, so that many empty ones make a batch too. */
const SMALLEST_UNITS = 512;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Puts keyframes into the index, a batch at a time. The only one that writes to it. */
export class IndexBuilder implements Disposable {
  readonly #tables: Tables;
  readonly #index: IndexFile;
  readonly #versions: Map<number, number>;
  readonly #waiting = new Set<number>();
  /** Why what was there could not be used and was deleted, if so. */
  readonly dropped: string | undefined;

  constructor(stateFile: string) {
    this.#tables = new Tables(Connection.reader(stateFile), false);
    try {
      const opened = openIndex(stateFile, this.#tables);
      this.#index = opened.index;
      this.dropped = opened.dropped;
      this.#versions = this.#index.versions();
    } catch (error) {
      this.#tables[Symbol.dispose]();
      throw error;
    }
  }

  /** Notes what differs from the index: of the blocks named, or of all. */
  look(blocks: readonly string[] | undefined): void {
    const { connection, names } = this.#tables;
    if (blocks !== undefined) {
      for (const block of blocks) {
        const id = names.id(block);
        if (id !== undefined) this.#waiting.add(id);
      }
      return;
    }
    const gone = new Set(this.#versions.keys());
    for (const row of connection.all("SELECT block, version FROM keyframes")) {
      const id = row["block"] as number;
      gone.delete(id);
      if (this.#versions.get(id) !== row["version"]) this.#waiting.add(id);
    }
    for (const id of gone) this.#waiting.add(id);
  }

  /** Writes one batch; true when there is more to do. */
  step(): boolean {
    if (this.#waiting.size === 0) return false;
    const done: number[] = [];
    const versions = new Map<number, number | undefined>();
    this.#index.together(() => {
      let units = 0;
      for (const id of this.#waiting) {
        done.push(id);
        const keyframe = this.#keyframe(id);
        if (keyframe !== undefined && keyframe.version === this.#versions.get(id)) continue;
        if (keyframe === undefined) this.#index.remove(id);
        else this.#index.put(id, keyframe.version, keyframe.text);
        versions.set(id, keyframe?.version);
        units += SMALLEST_UNITS + (keyframe?.text.length ?? 0);
        if (units > BATCH_UNITS) break;
      }
      this.#index.anchor(this.#tables.journal);
    });
    for (const id of done) this.#waiting.delete(id);
    for (const [id, version] of versions) {
      if (version === undefined) this.#versions.delete(id);
      else this.#versions.set(id, version);
    }
    if (this.#waiting.size === 0) this.#index.database.pragma("wal_checkpoint(PASSIVE)");
    return this.#waiting.size > 0;
  }

  [Symbol.dispose](): void {
    this.#index[Symbol.dispose]();
    this.#tables[Symbol.dispose]();
  }

  #keyframe(id: number): { version: number; text: string } | undefined {
    try {
      const found = this.#tables.keyframes.get(this.#tables.names.text(id));
      return found && { version: found.version, text: decoder.decode(found.bytes) };
    } catch (error) {
      // A damaged one is not indexed: a search meets it, and says so.
      if (error instanceof KumikoError && error.code === "damaged") return undefined;
      throw error;
    }
  }
}

function openIndex(
  stateFile: string,
  { journal }: Tables,
): { index: IndexFile; dropped: string | undefined } {
  const wasThere = indexExists(stateFile);
  try {
    const index = IndexFile.open(stateFile, journal);
    try {
      if (wasThere) index.verify();
      return { index, dropped: undefined };
    } catch (error) {
      index[Symbol.dispose]();
      throw error;
    }
  } catch (error) {
    const why = unusable(error);
    if (why === undefined) throw error;
    deleteIndex(stateFile);
    const dropped = error instanceof OtherFormat ? undefined : why;
    return { index: IndexFile.open(stateFile, journal), dropped };
  }
}
