import {
  type ByteReader,
  ByteWriter,
  ByteReader as Reader,
  damaged,
  KumikoError,
} from "../base/index.ts";
import {
  type Places,
  readHolding,
  type RecordedChange,
  type RecordedCommit,
  type Splice,
  writeHolding,
} from "../blocks/index.ts";
import type { NewBlockRow } from "./ports.ts";

/**
 * What one commit did, as the journal keeps it: a change of the text, the block's new state, or both.
 * A format is never changed once written.
 */
export interface CommitBody extends Pick<RecordedCommit, "change" | "peer" | "marked"> {
  /** Present when something other than the text changed. */
  readonly row?: NewBlockRow | undefined;
}

/** What can be said in it is written in it: a body that is written again has the same bytes. */
const FORMAT = 1;
/** Of a flip that says which deletions it made hold or let go. */
const WITH_HOLDS = 2;
/** Of text that stands behind something hidden, and says behind how much. */
const WITH_PLACES = 3;
const READABLE = [FORMAT, WITH_HOLDS, WITH_PLACES];
const kinds = ["text", "structure", "baseline", "birth", "import", "flip"] as const;

export function encodeBody({ change, peer, marked, row }: CommitBody): Uint8Array {
  const writer = new ByteWriter();
  const held = change.kind === "flip" ? change.held : undefined;
  const places = "places" in change ? change.places : undefined;
  const more = held === undefined ? FORMAT : WITH_HOLDS;
  writer.byte(places === undefined ? more : WITH_PLACES);
  writer.byte(kinds.indexOf(change.kind) * 4 + (marked ? 2 : 0) + (row === undefined ? 0 : 1));
  writer.text(peer ?? "");
  if (row !== undefined) writeRow(writer, row);
  if (change.kind === "birth") writer.text(change.hash);
  if (change.kind === "import") writer.bytes(change.update);
  if (change.kind === "flip") {
    writer.text(change.edit);
    writer.byte(change.active ? 1 : 0);
  }
  if ("splices" in change) writeSplices(writer, change.splices);
  if (held !== undefined) writeHolding(writer, held);
  for (const hidden of places ?? []) writer.count(hidden);
  return writer.finish();
}

export function decodeBody(bytes: Uint8Array): CommitBody {
  const reader = new Reader(bytes);
  const format = reader.byte();
  if (!READABLE.includes(format)) {
    throw new KumikoError(
      "unsupported_format",
      `A commit has format ${format}, and this version of Kumiko reads format ${READABLE.join(", ")}.`,
      { found: format, readable: READABLE },
    );
  }
  const head = reader.byte();
  const kind = kinds[head >> 2];
  const marked = (head & 2) !== 0;
  const peer = reader.text() || undefined;
  const row = head & 1 ? readRow(reader) : undefined;
  const change = readChange(reader, kind, format);
  if (!reader.done) throw damaged("a commit has bytes left over");
  return { change, peer, marked, row };
}

function readChange(
  reader: ByteReader,
  kind: (typeof kinds)[number] | undefined,
  format: number,
): RecordedChange {
  switch (kind) {
    case "text": {
      const splices = readSplices(reader);
      return { kind, splices, places: readPlaces(reader, format, splices) };
    }
    case "baseline":
      return { kind, splices: readSplices(reader) };
    case "structure":
      return { kind };
    case "birth":
      return { kind, hash: reader.text() };
    case "import": {
      const update = reader.bytes();
      const splices = readSplices(reader);
      return { kind, update, splices, places: readPlaces(reader, format, splices) };
    }
    case "flip": {
      const edit = reader.text();
      const active = reader.byte() === 1;
      const splices = readSplices(reader);
      const held = format < WITH_HOLDS ? undefined : readHolding(reader);
      return { kind, edit, active, splices, held };
    }
    default:
      throw damaged("a commit is of an unknown kind");
  }
}

function writeSplices(writer: ByteWriter, splices: readonly Splice[]): void {
  writer.count(splices.length);
  for (const { at, remove, insert } of splices) {
    writer.count(at);
    writer.count(remove);
    writer.text(insert);
  }
}

function readSplices(reader: ByteReader): Splice[] {
  const splices: Splice[] = [];
  for (let left = reader.count(); left > 0; left--) {
    splices.push({ at: reader.count(), remove: reader.count(), insert: reader.text() });
  }
  return splices;
}

function readPlaces(reader: ByteReader, format: number, splices: readonly Splice[]): Places {
  return format < WITH_PLACES ? undefined : splices.map(() => reader.count());
}

function writeRow(writer: ByteWriter, row: NewBlockRow): void {
  writer.text(
    JSON.stringify([
      row.block,
      row.context,
      row.parent,
      row.order,
      row.kind,
      row.role,
      row.status,
      row.attributes,
    ]),
  );
}

function readRow(reader: ByteReader): NewBlockRow {
  const [block, context, parent, order, kind, role, status, attributes] = JSON.parse(
    reader.text(),
  ) as [string, string, string | null, string, string, string, string, string];
  return { block, context, parent, order, kind, role, status, attributes };
}
