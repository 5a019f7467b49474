import { ByteReader, type ByteWriter, damaged, KumikoError, sha256Bytes } from "../base/index.ts";

const HASH_BYTES = 32;

/** Puts the SHA-256 of the bytes behind them. Their first byte is the format. */
export function seal(writer: ByteWriter): Uint8Array {
  const payload = writer.finish();
  const bytes = new Uint8Array(payload.length + HASH_BYTES);
  bytes.set(payload);
  bytes.set(sha256Bytes(payload), payload.length);
  return bytes;
}

/** The hash behind sealed bytes: it names them. */
export function hashOf(sealed: Uint8Array): Uint8Array {
  return sealed.subarray(sealed.length - HASH_BYTES);
}

/** Reads nothing before the hash is right, and no format but those asked for. */
export function open(
  bytes: Uint8Array,
  formats: readonly number[],
  what: string,
): { reader: ByteReader; format: number } {
  if (bytes.length <= HASH_BYTES) throw damaged(`the ${what} is cut off`);
  const payload = bytes.subarray(0, bytes.length - HASH_BYTES);
  const stored = bytes.subarray(payload.length);
  if (sha256Bytes(payload).some((byte, index) => byte !== stored[index])) {
    throw damaged(`the ${what} does not match its hash`);
  }
  const reader = new ByteReader(payload);
  const found = reader.byte();
  if (!formats.includes(found)) {
    throw new KumikoError(
      "unsupported_format",
      `The stored ${what} has format ${found}, and this version of Kumiko reads format ${formats.join(" and ")}.`,
      { found, readable: formats },
    );
  }
  return { reader, format: found };
}
