import { ByteWriter, damaged } from "../base/index.ts";
import { hashOf, open, seal } from "./envelope.ts";
import { readNumbers, writeNumbers } from "./number-runs.ts";
import { RunIndex } from "./run-index.ts";
import {
  BITS,
  COUNTER,
  DEATH,
  DESCENDING,
  FLIPPED,
  HIDDEN_UNITS,
  LATER_DEATHS_SHIFT,
  LENGTH,
  NO_DEATH,
  RunLeaf,
  STRIDE,
  VISIBLE,
  VISIBLE_UNITS,
} from "./run-leaf.ts";
import type { SpliceRecord } from "./splice-record.ts";

/** The stored form of the index: loading it spares replaying the record. */
const FORMAT = 2;
/** In this one later deaths were versions, which do not say which deletion it was. */
const WITHOUT_DELETIONS = 1;
/** Leaves are filled to two thirds, so that edits find room. */
const FILL = 2 / 3;

/** `record` is the encoded record it was made from: the index of another one is never taken for it. */
export function encodeIndex(index: RunIndex, record: Uint8Array): Uint8Array {
  const columns: number[][] = [[], [], [], []];
  for (
    let leaf: RunLeaf | null = index.tree.first;
    leaf !== null;
    leaf = leaf.next as RunLeaf | null
  ) {
    for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) {
      for (let field = 0; field < STRIDE; field++) columns[field]!.push(leaf.runs[at + field]!);
    }
  }
  const writer = new ByteWriter();
  writer.byte(FORMAT);
  writer.bytes(hashOf(record));
  for (const column of columns) writeNumbers(writer, column.length, (i) => column[i]!);
  writer.count(index.laterDeaths.length);
  for (const deaths of index.laterDeaths) writeNumbers(writer, deaths.length, (i) => deaths[i]!);
  return seal(writer);
}

/** Undefined when the record has to be replayed, because the index does not know enough. */
export function decodeIndex(
  bytes: Uint8Array,
  encoded: Uint8Array,
  record: SpliceRecord,
): RunIndex | undefined {
  const { reader, format } = open(bytes, [WITHOUT_DELETIONS, FORMAT], "index");
  const hash = hashOf(encoded);
  if (reader.bytes().some((byte, at) => byte !== hash[at]))
    throw damaged("the index is of another record");
  const counters = readNumbers(reader);
  const lengths = readNumbers(reader);
  const deaths = readNumbers(reader);
  const bits = readNumbers(reader);
  const laterDeaths: number[][] = [];
  for (let left = reader.count(); left > 0; left--) laterDeaths.push(readNumbers(reader));
  if (!reader.done) throw damaged("the index has bytes left over");
  if (format === WITHOUT_DELETIONS && laterDeaths.length > 1) return undefined;
  const units = lengths.reduce((sum, length) => sum + length, 0);
  if (units !== record.inserted.length) throw damaged("the index does not cover the record");
  const leaves: RunLeaf[] = [];
  const perLeaf = Math.max(1, Math.floor(RunIndex.leafRuns * FILL));
  for (let from = 0; from < counters.length; from += perLeaf) {
    const leaf = new RunLeaf(RunIndex.leafRuns);
    leaf.count = Math.min(perLeaf, counters.length - from);
    for (let i = 0; i < leaf.count; i++) {
      const run = from + i;
      leaf.set(i, counters[run]!, lengths[run]!, deaths[run]!, bits[run]!);
      const sum = bits[run]! & VISIBLE ? VISIBLE_UNITS : HIDDEN_UNITS;
      leaf.sums[sum]! += lengths[run]!;
    }
    leaf.stamp = lastTouched(leaf, record);
    leaves.push(leaf);
  }
  const index = new RunIndex(leaves.length === 0 ? undefined : leaves);
  index.laterDeaths.length = 0;
  index.laterDeaths.push(...laterDeaths);
  return index;
}

function lastTouched(leaf: RunLeaf, record: SpliceRecord): number {
  let last = 0;
  for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) {
    const bits = leaf.runs[at + BITS]!;
    // When a flip was at work, any version may have been the last.
    if (bits & FLIPPED || bits >> LATER_DEATHS_SHIFT > 0) return record.version;
    const length = leaf.runs[at + LENGTH]!;
    last = Math.max(last, record.versionOfCounter(leaf.runs[at + COUNTER]! + length - 1));
    const death = leaf.runs[at + DEATH]!;
    if (death === NO_DEATH) continue;
    last = Math.max(last, record.versionOfDeath(bits & DESCENDING ? death : death + length - 1));
  }
  return last;
}
