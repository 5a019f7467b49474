import type { BlockState } from "./block-state.ts";
import type { ReadableDocument } from "./readable-document.ts";
import { redoneBy, undoneBy } from "./undo.ts";

/** A block as it is now. */
export interface FileBlock {
  readonly document: ReadableDocument;
  readonly state: BlockState;
}

/** How many makings of one file are known, the newest: a program may delete and make one for ever. */
const KNOWN = 64;

/**
 * The state of a block whose file is made again in a version: no text tells that there was none before. Of what was made
 * before those that are known, only the text is undone: that removes no file.
 */
export function madeAgain(state: BlockState, version: number): BlockState {
  return { ...state, made: [...(state.made ?? []), version].slice(-KNOWN) };
}

/** Whether an Edit made a file where none was. */
export function makes(block: FileBlock, edit: string): boolean {
  return makingOf(block, edit) !== undefined;
}

/** Whether everything that a block says was written by one Edit, or it is what happened to it last. */
export function isLeftBy({ document }: FileBlock, edit: string): boolean {
  const isLast = document.entry(document.version).edit === edit;
  return isLast || document.blame().every((run) => run.edit === edit);
}

/** Whether what made a file was undone, and nothing was written to its block since: there is to be no file. */
export function isUnmade(block: FileBlock): boolean {
  return isUnmadeAt(block, block.document.version);
}

/** Whether what makes a file was just done again, and there was none meanwhile. */
export function isRemade(block: FileBlock): boolean {
  const { document } = block;
  const { version } = document;
  const redone = redoneBy(document.entry(version).edit);
  return redone !== undefined && isAsBefore(block, redone, version - 1);
}

function isUnmadeAt(block: FileBlock, version: number): boolean {
  const undone = undoneBy(block.document.entry(version).edit);
  return undone !== undefined && isAsBefore(block, undone, version);
}

/** Whether a version says what was there before an Edit made the file: nothing of others is in it. */
function isAsBefore(block: FileBlock, edit: string, version: number): boolean {
  const { document } = block;
  const making = makingOf(block, edit);
  return making !== undefined && document.read(version) === document.read(making - 1);
}

/** The version in which an Edit made the file. */
function makingOf(block: FileBlock, edit: string): number | undefined {
  const { document, state } = block;
  const first = document.firstOf(edit);
  if (first === undefined) return undefined;
  const isMaking =
    first === 1
      ? document.entry(1).actor !== "disk"
      : state.made?.includes(first) === true || isUnmadeAt(block, first - 1);
  return isMaking ? first : undefined;
}
