const PRIMES = [2654435761, 2246822519, 3266489917, 668265263, 374761393] as const;

/** As Loro checks its bytes. */
function xxhash32(bytes: Uint8Array, seed: number): number {
  const [p1, p2, p3, p4, p5] = PRIMES;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash: number;
  const mixed = (lane: number, input: number): number =>
    Math.imul(rotated(lane + Math.imul(input, p2), 13), p1);
  if (bytes.length >= 16) {
    let lanes = [seed + p1 + p2, seed + p2, seed, seed - p1].map((lane) => lane | 0);
    for (; at <= bytes.length - 16; at += 16) {
      lanes = lanes.map((lane, index) => mixed(lane, view.getUint32(at + 4 * index, true)));
    }
    hash = [1, 7, 12, 18].reduce((sum, bits, index) => (sum + rotated(lanes[index]!, bits)) | 0, 0);
  } else hash = (seed + p5) | 0;
  hash = (hash + bytes.length) | 0;
  for (; at <= bytes.length - 4; at += 4) {
    hash = Math.imul(rotated(hash + Math.imul(view.getUint32(at, true), p3), 17), p4);
  }
  for (; at < bytes.length; at++) {
    hash = Math.imul(rotated(hash + Math.imul(bytes[at]!, p5), 11), p1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), p2);
  hash = Math.imul(hash ^ (hash >>> 13), p3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

/** Where Loro's bytes hold their checksum, and from where on it counts. */
const CHECKSUM = 16;
const CHECKED = 20;
const LORO = 0x4f524f4c;

/** The same bytes with the checksum that Loro wants. */
export function resealed(update: Uint8Array): Uint8Array {
  const sealed = update.slice();
  if (sealed.length < CHECKED) return sealed;
  const view = new DataView(sealed.buffer);
  view.setUint32(CHECKSUM, xxhash32(sealed.subarray(CHECKED), LORO), true);
  return sealed;
}
