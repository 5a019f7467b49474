import type { ByteReader, ByteWriter } from "../base/index.ts";
import { damaged } from "../base/index.ts";
import type { SharedStamp } from "./splice-record.ts";

/**
 * Stamps as differences from the one before, field by field; the same kind of step many times over is
 * written once. Ids that count up ("edit-41", "edit-42") then cost nothing. Records of format 1 know no tools:
 * theirs are absent from the first stamp on and stay the same.
 */
const fields = ["edit", "actor", "call", "message", "model", "turn", "tool"] as const;

const SAME = 0;
const ABSENT = 1;
const COUNTED_UP = 2;
const WRITTEN = 3;

export type StampRow = { readonly [Field in (typeof fields)[number]]: string | undefined };

export function stampRow(stamp: SharedStamp, editIds: readonly string[]): StampRow {
  const { actor, call, message, model, turn, tool } = stamp;
  return { edit: editIds[stamp.editIndex]!, actor, call, message, model, turn, tool };
}

const nothing: StampRow = {
  edit: "",
  actor: "",
  call: undefined,
  message: undefined,
  model: undefined,
  turn: undefined,
  tool: undefined,
};

export function writeStamps(writer: ByteWriter, rows: readonly StampRow[]): void {
  writer.count(rows.length);
  let previous = nothing;
  for (let index = 0; index < rows.length;) {
    const step = stepOf(previous, rows[index]!);
    let same = 1;
    if (!writesOut(step)) {
      while (
        index + same < rows.length &&
        stepOf(rows[index + same - 1]!, rows[index + same]!) === step
      ) {
        same++;
      }
    }
    writer.count(step);
    writer.count(same);
    if (writesOut(step)) {
      for (const [position, field] of fields.entries()) {
        if (kindAt(step, position) === WRITTEN) writer.text(rows[index]![field]!);
      }
    }
    previous = rows[index + same - 1]!;
    index += same;
  }
}

export function readStamps(reader: ByteReader): StampRow[] {
  const length = reader.count();
  const rows: StampRow[] = [];
  let previous = nothing;
  while (rows.length < length) {
    const step = reader.count();
    const same = reader.count();
    if (same === 0 || rows.length + same > length) throw damaged("the stamps have a wrong length");
    for (let i = 0; i < same; i++) {
      const row: { -readonly [Field in keyof StampRow]: StampRow[Field] } = { ...previous };
      for (const [position, field] of fields.entries()) {
        const kind = kindAt(step, position);
        if (kind === ABSENT) row[field] = undefined;
        else if (kind === COUNTED_UP) row[field] = countedUp(previous[field] ?? "");
        else if (kind === WRITTEN) row[field] = reader.text();
      }
      rows.push(row);
      previous = row;
    }
  }
  return rows;
}

/** Two bits to a field. */
function stepOf(from: StampRow, to: StampRow): number {
  let step = 0;
  for (const [position, field] of fields.entries()) {
    step |= kindOf(from[field], to[field]) << (position * 2);
  }
  return step;
}

function kindOf(from: string | undefined, to: string | undefined): number {
  if (from === to) return SAME;
  if (to === undefined) return ABSENT;
  return from !== undefined && countedUp(from) === to ? COUNTED_UP : WRITTEN;
}

function kindAt(step: number, position: number): number {
  return (step >> (position * 2)) & 3;
}

function writesOut(step: number): boolean {
  return fields.some((_, position) => kindAt(step, position) === WRITTEN);
}

/** The id with its final number one higher; undefined where that is not plainly reversible. */
function countedUp(id: string): string | undefined {
  const digits = /(?:0|[1-9][0-9]{0,14})$/.exec(id);
  return digits === null ? undefined : id.slice(0, digits.index) + String(Number(digits[0]) + 1);
}
