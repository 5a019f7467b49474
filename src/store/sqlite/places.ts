import { ByteReader, ByteWriter } from "../../base/bytes.ts";
import type { Connection } from "./connection.ts";
import { checkRow, rowHash } from "./row-hash.ts";

const PAGE = 1024;

/**
 * Which block a compacted position belongs to. A page covers 1,024 positions as runs of one block each, so a
 * streamed text costs next to nothing and any other commit about three bytes.
 */
export class Places {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The block's number, or 0 when the position was not compacted. */
  blocksAt(positions: readonly number[]): number[] {
    const pages = new Map<number, number[]>();
    return positions.map((position) => {
      const page = Math.floor(position / PAGE);
      let blocks = pages.get(page);
      if (blocks === undefined) pages.set(page, (blocks = this.#read(page)));
      return blocks[position % PAGE]!;
    });
  }

  note(positions: readonly number[], block: number): void {
    const pages = new Map<number, number[]>();
    for (const position of positions) {
      const page = Math.floor(position / PAGE);
      let blocks = pages.get(page);
      if (blocks === undefined) pages.set(page, (blocks = this.#read(page)));
      blocks[position % PAGE] = block;
    }
    for (const [page, blocks] of pages) {
      const runs = encodeRuns(blocks);
      const hash = rowHash("places", [page], runs);
      this.#connection.run("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", page, runs, hash);
    }
  }

  #read(page: number): number[] {
    const row = this.#connection.get("SELECT runs, hash FROM places WHERE page = ?", page);
    if (row === undefined) return Array.from({ length: PAGE }, () => 0);
    const runs = row["runs"] as Uint8Array;
    checkRow({ table: "places", key: String(page) }, row["hash"], [page], runs);
    return decodeRuns(runs);
  }
}

function encodeRuns(blocks: readonly number[]): Uint8Array {
  const writer = new ByteWriter();
  for (let begin = 0; begin < PAGE;) {
    let end = begin + 1;
    while (end < PAGE && blocks[end] === blocks[begin]) end += 1;
    writer.count(end - begin);
    writer.count(blocks[begin]!);
    begin = end;
  }
  return writer.finish();
}

function decodeRuns(runs: Uint8Array): number[] {
  const reader = new ByteReader(runs);
  const blocks: number[] = [];
  while (!reader.done) {
    const length = reader.count();
    const block = reader.count();
    for (let index = 0; index < length; index += 1) blocks.push(block);
  }
  return blocks;
}
