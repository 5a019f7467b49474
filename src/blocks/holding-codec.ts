import type { ByteReader, ByteWriter } from "../base/index.ts";
import type { Holding } from "./types.ts";

/** Nothing at all and an empty list are not the same: the one is a flip of old formats. */
export function writeHolding(writer: ByteWriter, held: Holding): void {
  writer.count(held === undefined ? 0 : held.length + 1);
  for (const death of held ?? []) writer.count(death);
}

export function readHolding(reader: ByteReader): Holding {
  const written = reader.count();
  if (written === 0) return undefined;
  const held: number[] = [];
  for (let left = written - 1; left > 0; left--) held.push(reader.count());
  return held;
}
