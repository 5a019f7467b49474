/**
 * Consecutive commits of one block, column by column, then zstd. Numbers are written as differences, texts
 * once each, so that what repeats from commit to commit all but disappears. Bodies are as body-codec.ts says.
 *
 * The first byte is the format. Format 1 had the number of its text with each commit, and bodies end to end;
 * neither it nor format 2 knew tools. They are read and no longer written.
 */

import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ByteReader, ByteWriter } from "../../base/bytes.ts";
import type { StoredCommit } from "../../kernel/ports.ts";
import { headLength, readBodies, writeBodies } from "./body-codec.ts";
import { plain } from "./bytes.ts";

const FORMAT = 3;
const textColumns = ["actor", "edit", "call", "message", "model", "turn", "tool"] as const;
const COLUMNS_WITHOUT_TOOL = 6;

/** About what a commit adds to the raw bytes: its texts repeat, so only numbers and body count. */
export function rawSize(commit: StoredCommit): number {
  return commit.body.length + 12 + (commit.message?.length ?? 0);
}

export function encodeSegment(commits: readonly StoredCommit[]): Uint8Array {
  const bodies = commits.map((commit) => commit.body);
  const head = headLength(bodies);
  const plainly = encodeWithHeads(commits, bodies, 0);
  if (head === 0) return plainly;
  const packed = encodeWithHeads(commits, bodies, head);
  return packed.length < plainly.length ? packed : plainly;
}

function encodeWithHeads(
  commits: readonly StoredCommit[],
  bodies: readonly Uint8Array[],
  head: number,
): Uint8Array {
  const writer = new ByteWriter();
  writer.byte(FORMAT);
  writer.count(commits.length);
  writer.count(commits[0]!.version);
  writeDifferences(writer, commits, "position");
  writeDifferences(writer, commits, "time");
  for (const column of textColumns) writeTexts(writer, commits, column);
  for (const body of bodies) writer.count(body.length);
  writeBodies(writer, bodies, head);
  return zstdCompressSync(writer.finish());
}

/** Only for bytes that matched their hash. The bodies are views of one buffer. */
export function decodeSegment(block: string, data: Uint8Array): StoredCommit[] {
  const reader = new ByteReader(plain(zstdDecompressSync(data)));
  const format = reader.byte();
  if (format < 1 || format > FORMAT) throw new Error(`segment format ${format} is unknown`);
  const count = reader.count();
  const firstVersion = reader.count();
  const positions = readDifferences(reader, count);
  const times = readDifferences(reader, count);
  const known = format === FORMAT ? textColumns : textColumns.slice(0, COLUMNS_WITHOUT_TOOL);
  const [actors, edits, calls, messages, models, turns, tools] = known.map(() =>
    readTexts(reader, count, format),
  );
  const lengths = reader.counts(count);
  const bodies = format === 1 ? reader.bytes() : readBodies(reader, lengths);
  const commits: StoredCommit[] = [];
  let end = 0;
  for (let index = 0; index < count; index += 1) {
    const begin = end;
    end += lengths[index]!;
    commits.push({
      block,
      version: firstVersion + index,
      position: positions[index]!,
      time: times[index]!,
      actor: actors![index]!,
      edit: edits![index]!,
      call: calls![index],
      message: messages![index],
      model: models![index],
      turn: turns![index],
      tool: tools?.[index],
      body: bodies.subarray(begin, end),
    });
  }
  return commits;
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
  const numbers = reader.counts(count);
  let last = 0;
  for (let index = 0; index < count; index += 1) {
    const number = numbers[index]!;
    last += number % 2 === 0 ? number / 2 : -(number + 1) / 2;
    numbers[index] = last;
  }
  return numbers;
}

/** Runs of one text each: how long it is, and 0 for none or n for the n-th text of the column. */
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
  for (let begin = 0, end = 0; begin < commits.length; begin = end) {
    const text = commits[begin]![column];
    while (end < commits.length && commits[end]![column] === text) end += 1;
    writer.count(end - begin);
    writer.count(text === undefined ? 0 : numbers.get(text)!);
  }
}

function readTexts(reader: ByteReader, count: number, format: number): (string | undefined)[] {
  const texts = Array.from({ length: reader.count() }, () => reader.text());
  if (texts.length === 0) return [];
  if (format === 1) return reader.counts(count).map((number) => texts[number - 1]);
  const column: (string | undefined)[] = [];
  while (column.length < count) {
    const length = reader.count();
    const text = texts[reader.count() - 1];
    for (let index = 0; index < length; index += 1) column.push(text);
  }
  return column;
}
