import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

const MAGIC = "SQLite format 3\0";
/** What ours have, for one that cannot say. */
const USUAL = 4096;
const WAL_HEADER = 32;
const FRAME_HEADER = 24;
/** The last two bits of a WAL's magic number: checksums of words in this order. */
const BIG_ENDIAN = 0x377f0683;
const LITTLE_ENDIAN = 0x377f0682;

/**
 * The pages of a database as they were last committed: the file with its WAL over it. Asks SQLite nothing, so that a
 * destroyed structure hides no page. Whoever opens it closes it.
 */
export class PageFile implements Disposable {
  readonly size: number;
  /** Bytes of a page that SQLite uses. */
  readonly usable: number;
  readonly count: number;
  /** How many migrations it says it has had. */
  readonly version: number;
  readonly #file: number;
  readonly #wal: number | undefined;
  /** Where in the WAL the last committed content of a page is. */
  readonly #newer = new Map<number, number>();

  constructor(file: string) {
    this.#file = openSync(file, "r");
    const wal = `${file}-wal`;
    this.#wal = existsSync(wal) ? openSync(wal, "r") : undefined;
    const walSize = this.#wal === undefined ? undefined : this.#readWal(this.#wal);
    const header = this.#read(this.#file, 0, 100);
    const named = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
    const known = header.toString("latin1", 0, 16) === MAGIC && isPageSize(named);
    this.size = walSize ?? (known ? named : USUAL);
    const first = this.page(1);
    this.usable = this.size - (known ? first[20]! : 0);
    const whole = Math.ceil(fstatSync(this.#file).size / this.size);
    this.count = Math.max(whole, ...this.#newer.keys());
    this.version = first.readUInt32BE(60);
  }

  /** Counted from 1; what lies behind the end is zeros. */
  page(number: number): Buffer {
    const newer = this.#newer.get(number);
    return newer === undefined || this.#wal === undefined
      ? this.#read(this.#file, (number - 1) * this.size, this.size)
      : this.#read(this.#wal, newer, this.size);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    if (this.#wal !== undefined) closeSync(this.#wal);
  }

  /** Notes the frames of whole transactions; gives the size of its pages. */
  #readWal(wal: number): number | undefined {
    const header = this.#read(wal, 0, WAL_HEADER);
    const magic = header.readUInt32BE(0);
    const size = header.readUInt32BE(8);
    if ((magic !== BIG_ENDIAN && magic !== LITTLE_ENDIAN) || !isPageSize(size)) return undefined;
    const big = magic === BIG_ENDIAN;
    let sum = checksum(header.subarray(0, 24), [0, 0], big);
    if (!isSum(header, 24, sum)) return undefined;
    const salts = header.subarray(16, 24);
    const { size: end } = fstatSync(wal);
    const open = new Map<number, number>();
    for (let at = WAL_HEADER; at + FRAME_HEADER + size <= end; at += FRAME_HEADER + size) {
      const frame = this.#read(wal, at, FRAME_HEADER + size);
      sum = checksum(frame.subarray(0, 8), sum, big);
      sum = checksum(frame.subarray(FRAME_HEADER), sum, big);
      // What follows is of an earlier use of the file.
      if (!frame.subarray(8, 16).equals(salts) || !isSum(frame, 16, sum)) break;
      open.set(frame.readUInt32BE(0), at + FRAME_HEADER);
      if (frame.readUInt32BE(4) === 0) continue;
      for (const [page, place] of open) this.#newer.set(page, place);
      open.clear();
    }
    return size;
  }

  #read(file: number, at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let done = 0; done < length;) {
      const read = readSync(file, bytes, done, length - done, at + done);
      if (read === 0) break;
      done += read;
    }
    return bytes;
  }
}

function isPageSize(size: number): boolean {
  return size >= 512 && size <= 65_536 && (size & (size - 1)) === 0;
}

type Sum = readonly [number, number];

function checksum(bytes: Buffer, [before, after]: Sum, big: boolean): Sum {
  let [first, second] = [before, after];
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + (big ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + second) >>> 0;
    second =
      (second + (big ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + first) >>> 0;
  }
  return [first, second];
}

function isSum(bytes: Buffer, at: number, [first, second]: Sum): boolean {
  return bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second;
}
