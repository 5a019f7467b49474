import type { PositionedText, Unit } from "../base/index.ts";
import type { BlockDocument, EditTarget } from "../blocks/index.ts";

type Readable =
  | "version"
  | "current"
  | "lineCount"
  | "read"
  | "history"
  | "entry"
  | "firstOf"
  | "blame"
  | "diff";

/** A document as everyone but the commit door gets it: there is no way to change it in here. */
export type ReadableDocument = Pick<BlockDocument, Readable>;

export function readable(document: BlockDocument): ReadableDocument {
  return Object.freeze({
    version: document.version,
    lineCount: document.lineCount,
    current: readableText(document.current),
    read: (version?: number) => document.read(version),
    history: (options?: Parameters<BlockDocument["history"]>[0]) => document.history(options),
    entry: (version: number) => document.entry(version),
    firstOf: (edit: string) => document.firstOf(edit),
    blame: (start?: number, end?: number) => document.blame(start, end),
    diff: (...names: Parameters<BlockDocument["diff"]>) => document.diff(...names),
  });
}

/** A document as translations get it. */
export function editTarget(document: BlockDocument): EditTarget {
  return Object.freeze({
    version: document.version,
    current: readableText(document.current),
    past: (version: number) => document.past(version),
    read: (version?: number) => document.read(version),
    authors: (versions: readonly number[]) => document.authors(versions),
    translateRollback: (version: number) => document.translateRollback(version),
    blame: (start: number, end: number) => document.blame(start, end),
  });
}

/** The rope itself could be written to; only its questions are passed on. */
function readableText(text: PositionedText): PositionedText {
  return Object.freeze({
    length: text.length,
    slice: (start: number, end: number) => text.slice(start, end),
    total: (unit: Unit) => text.total(unit),
    count: (unit: Unit, offset: number) => text.count(unit, offset),
    locate: (unit: Unit, value: number) => text.locate(unit, value),
  });
}
