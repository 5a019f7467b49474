import { type ByteReader, ByteWriter, damaged } from "../base/index.ts";
import { open, seal } from "./envelope.ts";
import { readNumbers, writeNumbers } from "./number-runs.ts";
import { readHolding, writeHolding } from "./holding-codec.ts";
import { readSplices, writeSplices } from "./splice-codec.ts";
import { SpliceRecord } from "./splice-record.ts";
import { readStamps, stampRow, writeStamps } from "./stamp-codec.ts";
import type { Special, Splice } from "./types.ts";

/**
 * The stored form of a record: columns, each written as what changes. A format is never changed once
 * written: a new one gets a new number, and old bytes stay in the tests.
 */
const FORMAT = 4;
const READABLE = [1, 2, 3, FORMAT];
/** From this one on a flip says which deletions it made hold or let go. */
const WITH_HOLDS = 3;
/** From this one on a splice says where among hidden text its text stands. */
const WITH_PLACES = 4;

/** Updates for which `keepsUpdate` says no are left out: a snapshot covers them. */
export function encodeRecord(
  record: SpliceRecord,
  keepsUpdate: (version: number) => boolean,
): Uint8Array {
  const writer = new ByteWriter();
  const { version } = record;
  writer.byte(FORMAT);
  writeNumbers(writer, version, (index) => record.spliceEnd(index + 1));
  writeSplices(writer, record);
  writer.text(record.inserted.slice(0, record.inserted.length));
  writeStamps(
    writer,
    record.stamps.map((stamp) => stampRow(stamp, record.editIds)),
  );
  writeNumbers(writer, version, (index) => record.stampIndexOf(index + 1));
  writeNumbers(writer, version, (index) => record.times[index]!);
  writeNumbers(writer, record.marks.length, (index) => record.marks.at(index));
  writer.count(record.peers.length);
  for (const { from, peer } of record.peers) {
    writer.count(from);
    writer.text(peer);
  }
  writer.count(record.specials.size);
  for (const [at, special] of record.specials) {
    writer.count(at);
    writeSpecial(
      writer,
      special.kind === "import" && !keepsUpdate(at) ? { ...special, update: undefined } : special,
    );
  }
  const places = [...record.places];
  writeNumbers(writer, places.length, (index) => places[index]![0]);
  writeNumbers(writer, places.length, (index) => places[index]![1]);
  return seal(writer);
}

export function decodeRecord(bytes: Uint8Array): SpliceRecord {
  const { reader, format } = open(bytes, READABLE, "record");
  const record = new SpliceRecord();
  const spliceEnds = readNumbers(reader);
  const splices = readSplices(reader);
  const text = reader.text();
  const stamps = readStamps(reader);
  const stampIndexes = readNumbers(reader);
  const times = readNumbers(reader);
  const marks = readNumbers(reader);
  for (let left = reader.count(); left > 0; left--) {
    record.peers.push({ from: reader.count(), peer: reader.text() });
  }
  const specials = new Map<number, Special>();
  for (let left = reader.count(); left > 0; left--)
    specials.set(reader.count(), readSpecial(reader, format));
  if (format >= WITH_PLACES) {
    const placed = readNumbers(reader);
    const places = readNumbers(reader);
    for (const [index, splice] of placed.entries()) record.place(splice, places[index] ?? 0);
  }
  if (!reader.done) throw damaged("the record has bytes left over");
  let next = 0;
  let counter = 0;
  for (const [index, end] of spliceEnds.entries()) {
    const made: Splice[] = [];
    for (; next < end; next++) {
      const length = splices.insertLength[next]!;
      const insert = text.slice(counter, counter + length);
      made.push({ at: splices.at[next]!, remove: splices.remove[next]!, insert });
      counter += length;
    }
    const row = stamps[stampIndexes[index]!];
    const time = times[index];
    if (row?.edit === undefined || row.actor === undefined || time === undefined) {
      throw damaged(`version ${index + 1} has no stamp`);
    }
    record.append(
      made,
      { ...row, edit: row.edit, actor: row.actor, time },
      specials.get(index + 1),
    );
  }
  for (const mark of marks) record.marks.push(mark);
  return record;
}

const kinds = ["baseline", "birth", "import", "flip", "structure"] as const;

function writeSpecial(writer: ByteWriter, special: Special): void {
  writer.byte(kinds.indexOf(special.kind));
  if (special.kind === "birth") writer.text(special.hash);
  else if (special.kind === "import") {
    writer.byte(special.update === undefined ? 0 : 1);
    if (special.update !== undefined) writer.bytes(special.update);
  } else if (special.kind === "flip") {
    writer.count(special.target);
    writer.byte(special.active ? 1 : 0);
    writer.count(special.splices.length);
    for (const { at, remove, insert } of special.splices) {
      writer.count(at);
      writer.count(remove);
      writer.text(insert);
    }
    writeHolding(writer, special.held);
  }
}

function readSpecial(reader: ByteReader, format: number): Special {
  const kind = kinds[reader.byte()];
  switch (kind) {
    case "baseline":
    case "structure":
      return { kind };
    case "birth":
      return { kind, hash: reader.text() };
    case "import":
      return { kind, update: reader.byte() === 0 ? undefined : reader.bytes() };
    case "flip": {
      const target = reader.count();
      const active = reader.byte() === 1;
      const splices: Splice[] = [];
      for (let left = reader.count(); left > 0; left--) {
        splices.push({ at: reader.count(), remove: reader.count(), insert: reader.text() });
      }
      const held = format < WITH_HOLDS ? undefined : readHolding(reader);
      return { kind, target, active, splices, held };
    }
    default:
      throw damaged("a version is of an unknown kind");
  }
}
