import type { KumikoError } from "../../base/errors.ts";
import type { StoredCommit } from "../../kernel/ports.ts";
import { CommitRows } from "./commit-rows.ts";
import type { Connection } from "./connection.ts";
import { type Head, Heads } from "./heads.ts";
import type { Names } from "./names.ts";
import { Places } from "./places.ts";
import { damagedRow } from "./row-hash.ts";
import type { Seen } from "./seen.ts";
import { Segments } from "./segments.ts";

interface SeenOfJournal {
  readonly heads: Seen<number, Head> | undefined;
  readonly last: Seen<"last", number> | undefined;
}

/** All commits, wherever they are kept. What should be there and is not is damage, never a shorter list. */
export class Journal {
  readonly heads: Heads;
  readonly rows: CommitRows;
  readonly segments: Segments;
  readonly places: Places;
  readonly #connection: Connection;
  readonly #names: Names;

  constructor(connection: Connection, names: Names, seen: SeenOfJournal) {
    this.#connection = connection;
    this.#names = names;
    this.heads = new Heads(connection, names, seen.heads);
    this.rows = new CommitRows(connection, names, seen.last);
    this.segments = new Segments(connection, names);
    this.places = new Places(connection);
  }

  head(): number {
    return this.rows.lastPosition();
  }

  changesSince(position: number, limit: number, bytes = Infinity): StoredCommit[] {
    return this.#connection.together(() => {
      const wanted = Math.min(position + limit, this.head());
      if (wanted <= position) return [];
      const end = bytes < Infinity ? this.rows.endWithin(position, wanted, bytes) : wanted;
      const live = this.rows.between(position, end);
      if (live.length === end - position) return live;
      return this.#withCompacted(position, end, live, bytes);
    });
  }

  commitsOf(block: string, afterVersion: number, upToVersion = Infinity): StoredCommit[] {
    return this.#connection.together(() => {
      const id = this.#names.id(block);
      if (id === undefined) return [];
      const head = this.headOf(block, id);
      const version = Math.min(head?.version ?? 0, upToVersion);
      if (head === undefined || version <= afterVersion) return [];
      const commits: StoredCommit[] = [];
      let refused: KumikoError | undefined;
      const refuse = (error: KumikoError): void => void (refused = error);
      for (const segment of this.segments.behind(id, afterVersion, refuse, version)) {
        for (const commit of segment.commits) {
          if (commit.version > afterVersion && commit.version <= version) commits.push(commit);
        }
      }
      const gap = commits.findIndex((commit, index) => commit.version !== afterVersion + 1 + index);
      if (gap >= 0) throw refused ?? missingCommit(block, afterVersion + 1 + gap);
      const packed = afterVersion + commits.length;
      if (packed === version) return commits;
      const live = this.rows.ofBlock(id, head, packed, version);
      if (live.length !== version - packed) {
        throw refused ?? missingCommit(block, version - live.length);
      }
      for (const commit of live) commits.push(commit);
      return commits;
    });
  }

  versionAt(block: string, position: number): number {
    return this.#connection.together(() => {
      const id = this.#names.id(block);
      const head = id === undefined ? undefined : this.headOf(block, id);
      if (id === undefined || head === undefined) return 0;
      if (head.position <= position) return head.version;
      const live = this.rows.versionAt(id, head, position);
      if (live !== undefined) return live;
      const segment = this.segments.around(id, position);
      const last = segment?.commits.findLast((commit) => commit.position <= position);
      const version = last?.version ?? 0;
      // What comes next is there, or an earlier version would be taken for this one.
      if (version === (segment?.lastVersion ?? 0) && !this.segments.begins(id, version + 1))
        throw missingCommit(block, version + 1);
      return version;
    });
  }

  /** Undefined for a block without commits. */
  headOf(block: string, id: number): Head | undefined {
    const head = this.heads.get(id);
    if (head === undefined && (this.rows.has(id) || this.segments.has(id))) {
      throw damagedRow({ table: "heads", key: block, block }, "it is missing");
    }
    return head;
  }

  #withCompacted(
    after: number,
    end: number,
    live: readonly StoredCommit[],
    bytes: number,
  ): StoredCommit[] {
    const byPosition = new Map(live.map((commit) => [commit.position, commit]));
    const absent: number[] = [];
    for (let position = after + 1; position <= end; position += 1) {
      if (!byPosition.has(position)) absent.push(position);
    }
    const blocks = this.places.blocksAt(absent);
    const blockAt = new Map(absent.map((position, index) => [position, blocks[index]!]));
    const commits: StoredCommit[] = [];
    let size = 0;
    for (let position = after + 1; position <= end; position += 1) {
      const id = blockAt.get(position) ?? 0;
      if (!byPosition.has(position)) {
        const segment = id === 0 ? undefined : this.segments.around(id, position);
        for (const commit of segment?.commits ?? []) byPosition.set(commit.position, commit);
      }
      const commit = byPosition.get(position);
      if (commit === undefined) {
        const block = id === 0 ? undefined : this.#names.describe(id);
        const found = { table: "commits", key: String(position), block, position };
        throw damagedRow(found, "it is missing");
      }
      size += commit.body.length;
      if (size > bytes && commits.length > 0) break;
      commits.push(commit);
    }
    return commits;
  }
}

export function missingCommit(block: string, version: number): KumikoError {
  const key = `${block} version ${version}`;
  return damagedRow({ table: "commits", key, block }, "it is missing");
}
