/**
 * Many bodies of one block. Whatever they mean, they tend to begin alike, with small numbers that grow from
 * one to the next, and to go on with text. So the first bytes of all are written byte by byte as differences
 * from the body before, and what follows them end to end, where text meets text.
 */

import { type ByteReader, ByteWriter } from "../../base/bytes.ts";

const LONGEST_HEAD = 64;
/** Bits by which a column of differences pays: text left alone takes about 3.5 to a character. */
const WORTH_SPLITTING = 3;
const LONG = 256;

/** How many bytes of each body repeat those before closely enough to stand apart. */
export function headLength(bodies: readonly Uint8Array[]): number {
  let head = 0;
  for (let column = 0; column < LONGEST_HEAD; column += 1) {
    const bits = entropyOfDifferences(bodies, column);
    if (bits === undefined) break;
    if (bits < WORTH_SPLITTING) head = column + 1;
  }
  return head;
}

/** Undefined when hardly any body is that long. */
function entropyOfDifferences(bodies: readonly Uint8Array[], column: number): number | undefined {
  const seen = new Uint32Array(256);
  let last = 0;
  let count = 0;
  for (const body of bodies) {
    if (column >= body.length) continue;
    const byte = body[column]!;
    seen[(byte - last) & 0xff]! += 1;
    last = byte;
    count += 1;
  }
  if (count < bodies.length / 2 || count < 2) return undefined;
  let bits = 0;
  for (const times of seen) if (times > 0) bits -= (times / count) * Math.log2(times / count);
  return bits;
}

export function writeBodies(writer: ByteWriter, bodies: readonly Uint8Array[], head: number): void {
  writer.count(head);
  const heads = new ByteWriter();
  for (let column = 0; column < head; column += 1) {
    let last = 0;
    for (const body of bodies) {
      if (column >= body.length) continue;
      const byte = body[column]!;
      heads.byte((byte - last) & 0xff);
      last = byte;
    }
  }
  writer.bytes(heads.finish());
  writer.bytes(Buffer.concat(bodies.map((body) => body.subarray(head))));
}

/** All bodies end to end, whose lengths are known. */
export function readBodies(reader: ByteReader, lengths: readonly number[]): Uint8Array {
  const head = reader.count();
  const heads = reader.bytes();
  const rest = reader.bytes();
  const bodies = new Uint8Array(heads.length + rest.length);
  // Body by body, with a place in each column: what is written together is then read together.
  const places = columnStarts(lengths, head);
  const last = new Uint8Array(head);
  let begin = 0;
  let at = 0;
  for (const length of lengths) {
    const own = Math.min(head, length);
    for (let column = 0; column < own; column += 1) {
      const byte = (last[column]! + heads[places[column]!++]!) & 0xff;
      last[column] = byte;
      bodies[begin + column] = byte;
    }
    const end = begin + length;
    // Most are short: a view for each costs more than its bytes.
    if (length > LONG) bodies.set(rest.subarray(at, (at += length - own)), begin + own);
    else for (let to = begin + own; to < end; to += 1) bodies[to] = rest[at++]!;
    begin = end;
  }
  return bodies;
}

/** Where each column begins: those before it have one byte of every body that is long enough. */
function columnStarts(lengths: readonly number[], head: number): Int32Array {
  const ending = new Int32Array(head + 1);
  for (const length of lengths) ending[Math.min(length, head)]! += 1;
  const starts = new Int32Array(head);
  let reaching = lengths.length;
  for (let column = 0; column + 1 < head; column += 1) {
    reaching -= ending[column]!;
    starts[column + 1] = starts[column]! + reaching;
  }
  return starts;
}
