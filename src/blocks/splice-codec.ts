import { type ByteReader, type ByteWriter, damaged } from "../base/index.ts";
import type { SpliceRecord } from "./splice-record.ts";

/**
 * Splices as people make them: keys typed one after the other, erased backwards or forwards, or
 * anything else. A stretch of the same kind is one token and the distance to where it begins.
 */
const OTHER = 0;
const TYPED = 1;
const ERASED_BACKWARDS = 2;
const ERASED_FORWARDS = 3;

interface SpliceColumns {
  readonly at: number[];
  readonly remove: number[];
  readonly insertLength: number[];
}

export function writeSplices(writer: ByteWriter, record: SpliceRecord): void {
  const count = record.spliceEnd(record.version);
  writer.count(count);
  // Where the cursor was left.
  let cursor = 0;
  for (let i = 0; i < count;) {
    const kind = kindOf(record, i);
    const start = i++;
    if (kind !== OTHER)
      while (i < count && kindOf(record, i) === kind && goesOn(record, i, kind)) i++;
    writer.count((i - start) * 4 + kind);
    writer.difference(record.spliceAt(start) - cursor);
    if (kind === OTHER) {
      writer.count(record.spliceRemove(start));
      writer.count(record.spliceInsertLength(start));
    }
    cursor = record.spliceAt(i - 1) + record.spliceInsertLength(i - 1);
  }
}

export function readSplices(reader: ByteReader): SpliceColumns {
  const count = reader.count();
  const columns: SpliceColumns = { at: [], remove: [], insertLength: [] };
  let cursor = 0;
  while (columns.at.length < count) {
    const header = reader.count();
    const kind = header % 4;
    const length = Math.floor(header / 4);
    if (length === 0 || columns.at.length + length > count)
      throw damaged("the splices have a wrong length");
    let at = cursor + reader.difference();
    const remove = kind === OTHER ? reader.count() : kind === TYPED ? 0 : 1;
    const insertLength = kind === OTHER ? reader.count() : kind === TYPED ? 1 : 0;
    for (let i = 0; i < length; i++) {
      columns.at.push(at);
      columns.remove.push(remove);
      columns.insertLength.push(insertLength);
      cursor = at + insertLength;
      at += kind === TYPED ? 1 : kind === ERASED_BACKWARDS ? -1 : 0;
    }
  }
  return columns;
}

function kindOf(record: SpliceRecord, index: number): number {
  const remove = record.spliceRemove(index);
  const insertLength = record.spliceInsertLength(index);
  if (remove === 0 && insertLength === 1) return TYPED;
  if (remove !== 1 || insertLength !== 0) return OTHER;
  const next = index + 1 < record.spliceEnd(record.version) ? record.spliceAt(index + 1) : -1;
  const previous = index > 0 ? record.spliceAt(index - 1) : -1;
  const at = record.spliceAt(index);
  return next === at || (next !== at - 1 && previous === at) ? ERASED_FORWARDS : ERASED_BACKWARDS;
}

function goesOn(record: SpliceRecord, index: number, kind: number): boolean {
  const step = kind === TYPED ? 1 : kind === ERASED_BACKWARDS ? -1 : 0;
  return record.spliceAt(index) === record.spliceAt(index - 1) + step;
}
