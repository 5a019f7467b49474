import type { ReadableDocument } from "./readable-document.ts";
import { redoneBy, undoneBy } from "./undo.ts";

/** Whether an Edit made a file where none was, or where what had made one was undone. */
export function makes(document: ReadableDocument, edit: string): boolean {
  const first = firstOf(document, edit);
  if (first === undefined) return false;
  return first === 1 ? document.entry(1).actor !== "disk" : isUnmadeAt(document, first - 1);
}

/** Whether everything that a block says was written by one Edit. */
export function isAllBy(document: ReadableDocument, edit: string): boolean {
  return document.blame().every((run) => run.edit === edit);
}

/** Whether what made a file was undone, and nothing was written to its block since: there is to be no file. */
export function isUnmade(document: ReadableDocument): boolean {
  return isUnmadeAt(document, document.version);
}

/** Whether what makes a file was just done again. */
export function isRemade(document: ReadableDocument): boolean {
  const redone = redoneBy(document.entry(document.version).edit);
  return redone !== undefined && makes(document, redone);
}

function isUnmadeAt(document: ReadableDocument, version: number): boolean {
  const undone = undoneBy(document.entry(version).edit);
  if (undone === undefined || !makes(document, undone)) return false;
  return document.read(version) === "";
}

function firstOf(document: ReadableDocument, edit: string): number | undefined {
  for (let version = 1; version <= document.version; version++)
    if (document.entry(version).edit === edit) return version;
  return undefined;
}
