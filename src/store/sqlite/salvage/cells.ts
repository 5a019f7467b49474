import type { PageFile } from "./page-file.ts";

/** Kinds of pages that hold rows, as their first byte says. */
export const kinds = { tableLeaf: 13, indexLeaf: 10, indexInterior: 2 } as const;
export const TABLE_INTERIOR = 5;

export type RowPage = (typeof kinds)[keyof typeof kinds];
export type Value = null | number | bigint | string | Buffer;

/** One row as it lies in a page. Who keeps its key there has it in `rowid`, others undefined. */
export interface Cell {
  readonly rowid: number | undefined;
  readonly values: readonly Value[];
  /** Pages that hold what did not fit. */
  readonly overflow: readonly number[];
}

/** A page reads as something it cannot be. Stays inside this folder. */
class Nonsense extends Error {}

export function headerOffset(number: number): number {
  return number === 1 ? 100 : 0;
}

/** Every cell of a page that is taken for one of this kind; undefined for each that cannot be read. */
export function cellsOf(pages: PageFile, number: number, kind: RowPage): (Cell | undefined)[] {
  const page = pages.page(number);
  const begin = headerOffset(number);
  const pointers = begin + (kind === kinds.indexInterior ? 12 : 8);
  const room = Math.floor((pages.usable - pointers) / 2);
  const count = Math.min(page.readUInt16BE(begin + 3), room);
  return Array.from({ length: count }, (_, index) => {
    try {
      return readCell(pages, page, page.readUInt16BE(pointers + 2 * index), kind);
    } catch (error) {
      if (error instanceof Nonsense) return undefined;
      throw error;
    }
  });
}

function readCell(pages: PageFile, page: Buffer, place: number, kind: RowPage): Cell {
  let at = kind === kinds.indexInterior ? place + 4 : place;
  const [length, behindLength] = varint(page, at);
  at = behindLength;
  let rowid: number | undefined;
  if (kind === kinds.tableLeaf) [rowid, at] = varint(page, at);
  const { bytes, overflow } = payload(pages, page, at, length, kind);
  return { rowid, values: readRecord(bytes), overflow };
}

/** What is in the page, and on through the chain of pages that hold the rest. */
function payload(
  pages: PageFile,
  page: Buffer,
  at: number,
  length: number,
  kind: RowPage,
): { bytes: Buffer; overflow: number[] } {
  const { usable } = pages;
  const most = kind === kinds.tableLeaf ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  if (length > pages.count * usable) throw new Nonsense();
  const fitting = least + ((length - least) % (usable - 4));
  const here = length <= most ? length : fitting <= most ? fitting : least;
  if (at + here > usable) throw new Nonsense();
  const parts = [page.subarray(at, at + here)];
  const overflow: number[] = [];
  let missing = length - here;
  let next = missing > 0 ? page.readUInt32BE(at + here) : 0;
  while (missing > 0) {
    if (next < 2 || next > pages.count || overflow.length > pages.count) throw new Nonsense();
    overflow.push(next);
    const more = pages.page(next);
    const taken = Math.min(missing, usable - 4);
    parts.push(more.subarray(4, 4 + taken));
    missing -= taken;
    next = more.readUInt32BE(0);
  }
  return { bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts), overflow };
}

function readRecord(bytes: Buffer): Value[] {
  const [headerLength, begin] = varint(bytes, 0);
  if (headerLength > bytes.length) throw new Nonsense();
  const values: Value[] = [];
  let value = headerLength;
  for (let at = begin; at < headerLength;) {
    const [type, behind] = varint(bytes, at);
    at = behind;
    const length = lengthOf(type);
    if (value + length > bytes.length) throw new Nonsense();
    values.push(readValue(bytes.subarray(value, value + length), type));
    value += length;
  }
  if (value !== bytes.length) throw new Nonsense();
  return values;
}

const lengths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function lengthOf(type: number): number {
  if (type < lengths.length) return lengths[type]!;
  if (type < 12) throw new Nonsense();
  return Math.floor((type - 12) / 2);
}

function readValue(bytes: Buffer, type: number): Value {
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type === 7) return bytes.readDoubleBE(0);
  if (type >= 12) return type % 2 === 0 ? Buffer.from(bytes) : bytes.toString("utf8");
  if (bytes.length < 8) return bytes.readIntBE(0, bytes.length);
  const wide = bytes.readBigInt64BE(0);
  return BigInt.asIntN(53, wide) === wide ? Number(wide) : wide;
}

/** Seven bits a byte, the first ones first; the ninth byte has eight. Ours are all below 2^53. */
function varint(bytes: Buffer, begin: number): [number, number] {
  let value = 0;
  for (let at = begin; at < begin + 8; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) throw new Nonsense();
    value = value * 128 + (byte & 127);
    if (value > Number.MAX_SAFE_INTEGER) throw new Nonsense();
    if (byte < 128) return [value, at + 1];
  }
  throw new Nonsense();
}
