import { flipOf } from "../base/index.ts";
import type { HistoryEntry } from "../blocks/index.ts";
import type { BlockState } from "./block-state.ts";
import type { ReadableDocument } from "./readable-document.ts";
import { redoneBy, undoneBy } from "./undo.ts";

/** A block as it is now. */
export interface FileBlock {
  readonly document: ReadableDocument;
  readonly state: BlockState;
}

/** An Edit whose text was undone, and in which version. */
interface Undone {
  readonly edit: string;
  readonly version: number;
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

/**
 * Whether an Edit made a file where none was, and nothing of others has come to it since, or that is undone: without the
 * Edit there is no file.
 */
export function isAllBy(block: FileBlock, edit: string): boolean {
  return isAllByUpTo(block, edit, block.document.version);
}

/** Whether what made a file was undone when nobody else had written to it, and it was not made since: there is to be none. */
export function isUnmade(block: FileBlock): boolean {
  let at: number | undefined = block.document.version;
  while (at !== undefined) {
    const unmaking = unmakingUpTo(block, at);
    if (unmaking === undefined) return false;
    at = beforeFailed(block, unmaking);
  }
  return true;
}

/** Whether what makes a file was just done again, and there was none meanwhile. */
export function isRemade(block: FileBlock): boolean {
  const { document } = block;
  const last = changeUpTo(document, document.version);
  const redone = last && redoneBy(last.edit);
  if (redone === undefined || makingOf(block, redone) === undefined) return false;
  return unmakingUpTo(block, last!.version - 1) !== undefined;
}

/** To undo what was done before as well makes no file; to undo that it was deleted does. */
function unmakingUpTo(block: FileBlock, version: number): Undone | undefined {
  let undone = undoneUpTo(block.document, version);
  while (undone !== undefined && !isAllByUpTo(block, undone.edit, undone.version))
    undone = undoneUpTo(block.document, undone.version - 1);
  return undone;
}

/**
 * The version before a making, or the redoing of one, that failed and was taken back: the file is what it was then, which
 * may be one that somebody deleted. Undefined when there was none before, or somebody undid it.
 */
function beforeFailed({ document }: FileBlock, { edit, version }: Undone): number | undefined {
  if (document.entry(version).actor !== "system") return undefined;
  const first = document.firstOf(edit)!;
  for (let at = version - 1; at > first; at--)
    if (redoneBy(document.entry(at).edit) === edit) return at - 1;
  return first > 1 ? first - 1 : undefined;
}

function isAllByUpTo(block: FileBlock, edit: string, version: number): boolean {
  const making = makingOf(block, edit);
  return making !== undefined && !hasOthers(block.document, edit, { making, version });
}

/** Whether anything but an Edit stands of what was done to a file since it made it, also if nothing is left to be read of it. */
function hasOthers(
  document: ReadableDocument,
  edit: string,
  { making, version }: { readonly making: number; readonly version: number },
): boolean {
  const known = new Set([edit]);
  for (let at = version; at > making; at--) {
    const change = changeUpTo(document, at);
    if (change === undefined || change.version <= making) return false;
    at = change.version;
    const { target, active } = flipOf(change.edit) ?? { target: change.edit, active: true };
    // What became of it last is what it is.
    if (known.has(target)) continue;
    known.add(target);
    const isBack = change.kind === "structure" && document.firstOf(target)! < making;
    if (isBack || (active && change.kind !== "structure")) return true;
  }
  return false;
}

/** The version in which an Edit made the file. */
function makingOf(block: FileBlock, edit: string): number | undefined {
  const first = block.document.firstOf(edit);
  return first !== undefined && isMaking(block, first) ? first : undefined;
}

/** Whether a version made the file. Of older ones nothing tells it but that each came behind the undoing of the one before. */
function isMaking({ document, state }: FileBlock, version: number): boolean {
  let at = version;
  while (at > 1) {
    if (state.made?.includes(at) === true) return true;
    const undone = undoneUpTo(document, at - 1);
    const making = undone && document.firstOf(undone.edit);
    if (undone === undefined || making === undefined) return false;
    if (hasOthers(document, undone.edit, { making, version: undone.version })) return false;
    at = making;
  }
  return document.entry(1).actor !== "disk";
}

/** The Edit whose text was undone, if that is what last became of a file up to a version, and in which that was. */
function undoneUpTo(document: ReadableDocument, version: number): Undone | undefined {
  const change = changeUpTo(document, version);
  const edit = change?.kind === "undo" ? undoneBy(change.edit) : undefined;
  return edit === undefined ? undefined : { edit, version: change!.version };
}

/** The last version, up to one, that did something to a file's text, or undid that the file went. */
function changeUpTo(document: ReadableDocument, version: number): HistoryEntry | undefined {
  for (let at = version; at > 0; at--) {
    const entry = document.entry(at);
    const isText = entry.kind !== "structure" && entry.kind !== "birth";
    if (isText || undoneBy(entry.edit) !== undefined) return entry;
  }
  return undefined;
}
