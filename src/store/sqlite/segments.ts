import { KumikoError } from "../../base/errors.ts";
import type { StoredCommit } from "../../kernel/ports.ts";
import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { checkRow, damagedRow, rowHash, type Scalar } from "./row-hash.ts";
import { decodeSegment, encodeSegment } from "./segment-codec.ts";

const DECODED = 8;

type Row = { readonly [column: string]: unknown };

interface SegmentSize {
  readonly firstVersion: number;
  readonly lastVersion: number;
  readonly raw: number;
}

export interface Segment extends SegmentSize {
  readonly commits: readonly StoredCommit[];
}

/** Compacted commits. A segment belongs to one block, so a damaged one is that block's alone. */
export class Segments {
  readonly #connection: Connection;
  readonly #names: Names;
  /** By hash: what was decoded stays right whoever rewrites the rows. The oldest goes first. */
  readonly #decoded = new Map<string, readonly StoredCommit[]>();

  constructor(connection: Connection, names: Names) {
    this.#connection = connection;
    this.#names = names;
  }

  has(block: number): boolean {
    return (
      this.#connection.get("SELECT 1 FROM segments WHERE block = ? LIMIT 1", block) !== undefined
    );
  }

  /** Its commits are read when they are asked for: that takes longer than all the rest. */
  last(block: number): (SegmentSize & { commits(): readonly StoredCommit[] }) | undefined {
    const sql = "SELECT * FROM segments WHERE block = ? ORDER BY first_version DESC LIMIT 1";
    const row = this.#connection.get(sql, block);
    if (row === undefined) return undefined;
    const { size, decode } = this.#checked(row);
    return { ...size, commits: decode };
  }

  /**
   * Those that hold versions behind one and up to another, in order. A damaged one is handed to `refused`: it may bear the
   * wrong block, and whether this block lacks anything is for its head to say.
   */
  behind(
    block: number,
    afterVersion: number,
    refused: (error: KumikoError) => void,
    upToVersion: number = Number.MAX_SAFE_INTEGER,
  ): Segment[] {
    const first = this.#connection.get(
      "SELECT max(first_version) AS first FROM segments WHERE block = ? AND first_version <= ?",
      block,
      afterVersion + 1,
    );
    const sql =
      "SELECT * FROM segments WHERE block = ? AND first_version >= ? AND first_version <= ? ORDER BY first_version";
    const segments: Segment[] = [];
    for (const row of this.#connection.all(sql, block, first?.["first"] ?? 0, upToVersion)) {
      try {
        const segment = this.#read(row);
        if (segment.lastVersion > afterVersion) segments.push(segment);
      } catch (error) {
        if (!(error instanceof KumikoError)) throw error;
        refused(error);
      }
    }
    return segments;
  }

  /** The one that should hold a block's commit at a position. */
  around(block: number, position: number): Segment | undefined {
    const sql =
      "SELECT * FROM segments WHERE block = ? AND first_position <= ? ORDER BY first_position DESC LIMIT 1";
    const row = this.#connection.get(sql, block, position);
    return row === undefined ? undefined : this.#read(row);
  }

  /** Whether one begins with this version. */
  begins(block: number, version: number): boolean {
    const sql = "SELECT 1 FROM segments WHERE block = ? AND first_version = ?";
    return this.#connection.get(sql, block, version) !== undefined;
  }

  insert(block: number, commits: readonly StoredCommit[], raw: number): void {
    const first = commits[0]!;
    const last = commits.at(-1)!;
    const data = encodeSegment(commits);
    const numbers = [first.version, last.version, first.position, last.position, raw];
    const hash = rowHash("segments", [first.block, ...numbers], data);
    const sql = "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    this.#connection.run(sql, block, ...numbers, data, hash);
  }

  delete(block: number, firstVersion: number): void {
    const sql = "DELETE FROM segments WHERE block = ? AND first_version = ?";
    this.#connection.run(sql, block, firstVersion);
  }

  #read(row: Row): Segment {
    const { size, decode } = this.#checked(row);
    return { ...size, commits: decode() };
  }

  #checked(row: Row): { size: SegmentSize; decode: () => readonly StoredCommit[] } {
    const block = this.#names.describe(row["block"] as number);
    const data = row["data"] as Uint8Array;
    const numbers = ["first_version", "last_version", "first_position", "last_position", "raw"].map(
      (column) => row[column] as Scalar,
    );
    const found = { table: "segments", key: `${block} from ${numbers[0]}`, block };
    if (!(data instanceof Uint8Array)) throw damagedRow(found, "its data are not bytes");
    checkRow(found, row["hash"], [block, ...numbers], data);
    return {
      size: {
        firstVersion: row["first_version"] as number,
        lastVersion: row["last_version"] as number,
        raw: row["raw"] as number,
      },
      decode: () => this.#decode(block, data, (row["hash"] as Buffer).toString("latin1")),
    };
  }

  #decode(block: string, data: Uint8Array, key: string): readonly StoredCommit[] {
    const known = this.#decoded.get(key);
    if (known !== undefined) return known;
    const commits = decodeSegment(block, data);
    if (this.#decoded.size >= DECODED) this.#decoded.delete(this.#decoded.keys().next().value!);
    this.#decoded.set(key, commits);
    return commits;
  }
}
