import { BITS, COUNTER, LENGTH, STRIDE, VISIBLE, type RunLeaf } from "./run-leaf.ts";
import type { IndexState } from "./run-pieces.ts";

export interface BlameEntry {
  readonly start: number;
  readonly length: number;
  readonly edit: string;
  /** The version that inserted its first unit: its history entry says the rest. */
  readonly version: number;
}

/** Which Edit inserted each unit of a visible range. */
export function blameRange(
  { record, index }: IndexState,
  start: number,
  end: number,
): BlameEntry[] {
  const result: BlameEntry[] = [];
  if (start === end) return result;
  let at = start;
  let length = 0;
  let edit = -1;
  let version = 0;
  const { counterEnds, stampIndexes } = record;
  const found = index.seek(start);
  let offset = found.start;
  for (let leaf: RunLeaf | null = found.leaf; leaf !== null; leaf = leaf.next as RunLeaf | null) {
    const runs = leaf.runs;
    const limit = leaf.count * STRIDE;
    for (let run = 0; run < limit; run += STRIDE) {
      if ((runs[run + BITS]! & VISIBLE) === 0) continue;
      const runLength = runs[run + LENGTH]!;
      const from = Math.max(start - offset, 0);
      const until = Math.min(end - offset, runLength);
      offset += runLength;
      if (from >= until) {
        if (offset >= end) break;
        continue;
      }
      let counter = runs[run + COUNTER]! + from;
      const last = runs[run + COUNTER]! + until;
      // Index of the version in the columns.
      let birth = record.versionOfCounter(counter) - 1;
      while (counter < last) {
        const stamp = stampIndexes[birth]!;
        while (counterEnds[birth]! < last && stampIndexes[birth + 1] === stamp) birth++;
        const next = Math.min(last, counterEnds[birth]!);
        birth++;
        if (next <= counter) continue;
        const birthEdit = record.stamps[stamp]!.editIndex;
        if (birthEdit !== edit) {
          if (length > 0) {
            result.push({ start: at, length, edit: record.editIds[edit]!, version });
          }
          at += length;
          length = 0;
          edit = birthEdit;
          version = record.versionOfCounter(counter);
        }
        length += next - counter;
        counter = next;
      }
    }
    if (offset >= end) break;
  }
  result.push({ start: at, length, edit: record.editIds[edit]!, version });
  return result;
}
