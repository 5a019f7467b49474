import type { ReadableDocument } from "./readable-document.ts";
import { undoneBy } from "./undo.ts";

/** The Edit that made a file and its block; undefined when the file was there before its block. */
export function madeBy(document: ReadableDocument): string | undefined {
  const { actor, edit } = document.entry(1);
  return actor === "disk" ? undefined : edit;
}

/** Whether everything that a block says was written by one Edit. */
export function isAllBy(document: ReadableDocument, edit: string): boolean {
  return document.blame().every((run) => run.edit === edit);
}

/** Whether what made a file was undone, and nothing was written to its block since: there is to be no file. */
export function isUnmade(document: ReadableDocument): boolean {
  const made = madeBy(document);
  if (made === undefined || document.current.length > 0) return false;
  return undoneBy(document.entry(document.version).edit) === made;
}
