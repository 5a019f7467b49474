/**
 * Format 1 of a segment: consecutive commits of one block, column by column, then zstd. Numbers are written
 * as differences, texts once each, bodies end to end, so that what repeats from commit to commit all but
 * disappears.
 */

import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ByteReader, ByteWriter } from "../../base/index.ts";
import type { StoredCommit } from "../../kernel/ports.ts";
import { plain } from "./bytes.ts";

const FORMAT = 1;
const textColumns = ["actor", "edit", "call", "message", "model", "turn"] as const;

/** About what a commit adds to the raw bytes: its texts repeat, so only numbers and body count. */
export function rawSize(commit: StoredCommit): number {
  return commit.body.length + 12 + (commit.message?.length ?? 0);
}

export function encodeSegment(commits: readonly StoredCommit[]): Uint8Array {
  const writer = new ByteWriter();
  writer.byte(FORMAT);
  writer.count(commits.length);
  writer.count(commits[0]!.version);
  writeDifferences(writer, commits, "position");
  writeDifferences(writer, commits, "time");
  for (const column of textColumns) writeTexts(writer, commits, column);
  for (const { body } of commits) writer.count(body.length);
  writer.bytes(Buffer.concat(commits.map((commit) => commit.body)));
  return zstdCompressSync(writer.finish());
}

/** Only for bytes that matched their hash. */
export function decodeSegment(block: string, data: Uint8Array): StoredCommit[] {
  const reader = new ByteReader(plain(zstdDecompressSync(data)));
  const format = reader.byte();
  if (format !== FORMAT) throw new Error(`segment format ${format} is unknown`);
  const count = reader.count();
  const firstVersion = reader.count();
  const positions = readDifferences(reader, count);
  const times = readDifferences(reader, count);
  const texts = textColumns.map(() => readTexts(reader, count));
  const lengths = Array.from({ length: count }, () => reader.count());
  const bodies = reader.bytes();
  let end = 0;
  return lengths.map((length, index) => {
    const begin = end;
    end += length;
    return {
      block,
      version: firstVersion + index,
      position: positions[index]!,
      time: times[index]!,
      actor: texts[0]![index]!,
      edit: texts[1]![index]!,
      call: texts[2]![index],
      message: texts[3]![index],
      model: texts[4]![index],
      turn: texts[5]![index],
      body: bodies.slice(begin, end),
    };
  });
}

function writeDifferences(
  writer: ByteWriter,
  commits: readonly StoredCommit[],
  column: "position" | "time",
): void {
  let last = 0;
  for (const commit of commits) {
    writer.difference(commit[column] - last);
    last = commit[column];
  }
}

function readDifferences(reader: ByteReader, count: number): number[] {
  let last = 0;
  return Array.from({ length: count }, () => (last += reader.difference()));
}

/** 0 stands for none, n for the n-th text of the column. */
function writeTexts(
  writer: ByteWriter,
  commits: readonly StoredCommit[],
  column: (typeof textColumns)[number],
): void {
  const numbers = new Map<string, number>();
  for (const { [column]: text } of commits) {
    if (text !== undefined && !numbers.has(text)) numbers.set(text, numbers.size + 1);
  }
  writer.count(numbers.size);
  for (const text of numbers.keys()) writer.text(text);
  if (numbers.size === 0) return;
  for (const { [column]: text } of commits) {
    writer.count(text === undefined ? 0 : numbers.get(text)!);
  }
}

function readTexts(reader: ByteReader, count: number): (string | undefined)[] {
  const texts = Array.from({ length: reader.count() }, () => reader.text());
  if (texts.length === 0) return Array.from({ length: count }, () => undefined);
  return Array.from({ length: count }, () => texts[reader.count() - 1]);
}
