import { promisify } from "node:util";
import { zstdCompress, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { plain } from "./bytes.ts";

const PLAIN = 0;
const ZSTD = 1;
const WORTH_PACKING = 256;
const compress = promisify(zstdCompress);
const encoder = new TextEncoder();

/** Bytes as they are stored: the first says how. */
export interface Packed {
  readonly packed: Uint8Array;
}

export function pack(bytes: Uint8Array): Packed {
  return framed(bytes, bytes.length < WORTH_PACKING ? undefined : zstdCompressSync(bytes));
}

/** The same on one of the system's threads. */
export async function packElsewhere(text: string): Promise<Packed> {
  const bytes = encoder.encode(text);
  return framed(bytes, bytes.length < WORTH_PACKING ? undefined : await compress(bytes));
}

export function unpack(data: Uint8Array): Uint8Array {
  const content = data.subarray(1);
  if (data[0] !== ZSTD) return plain(content);
  // In one piece as a rule: growing bit by bit takes three times as long.
  const chunkSize = Math.min(1 << 20, Math.max(1 << 14, content.length * 3));
  return plain(zstdDecompressSync(content, { chunkSize }));
}

function framed(bytes: Uint8Array, compressed: Uint8Array | undefined): Packed {
  const packed =
    compressed !== undefined && compressed.length < bytes.length
      ? [Uint8Array.of(ZSTD), compressed]
      : [Uint8Array.of(PLAIN), bytes];
  return { packed: Buffer.concat(packed) };
}
