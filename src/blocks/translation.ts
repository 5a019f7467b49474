import type { PositionedText } from "../base/index.ts";
import type { BlameEntry } from "./blame.ts";
import type { PastText } from "./past-text.ts";
import type { Splice } from "./types.ts";

/** What a translation may know of a document. It reads and never writes. */
export interface EditTarget {
  readonly version: number;
  readonly current: PositionedText;
  /** A past version with its way to the current text; `undefined` for the current version itself. */
  past(version: number): PastText | undefined;
  read(version?: number): string;
  authors(versions: readonly number[]): Author[];
  /** The splices that make the text what it was at a version. */
  translateRollback(version: number): Splice[];
  /** Which Edits wrote a stretch of the current text. */
  blame(start: number, end: number): BlameEntry[];
}

export interface Author {
  readonly actor: string;
  readonly edit: string;
  readonly version: number;
  readonly time: number;
}

/** The text an edit addresses, and how to get from there to now. */
export interface Base {
  readonly version: number;
  readonly text: PositionedText;
  readonly past: PastText | undefined;
}

export function baseOf(target: EditTarget, version: number | undefined): Base {
  const base = version ?? target.version;
  const past = target.past(base);
  return { version: base, text: past ?? target.current, past };
}

/**
 * Splices that all address the same text, none overlapping, made sequential: each in the text that the
 * one before it left. Those at one place stand in the order given.
 */
export function sequential(splices: readonly Splice[]): Splice[] {
  const result: Splice[] = [];
  let shift = 0;
  for (const { at, remove, insert } of splices.toSorted((a, b) => a.at - b.at)) {
    if (remove === 0 && insert === "") continue;
    result.push({ at: at + shift, remove, insert });
    shift += insert.length - remove;
  }
  return result;
}

/**
 * Leaves out what old and new text have in common at both ends, in whole words, so that it keeps its blame. A word that
 * becomes another is one change: of letters that happen to be the same nobody would say who wrote them.
 */
export function trimmed(at: number, old: string, insert: string): Splice {
  const most = Math.min(old.length, insert.length);
  let head = 0;
  while (head < most && old.charCodeAt(head) === insert.charCodeAt(head)) head++;
  const goesOn = (text: string, index: number): boolean => isOfWord(text.charCodeAt(index));
  const isInside = (): boolean => goesOn(old, head) || goesOn(insert, head);
  while (head > 0 && goesOn(old, head - 1) && isInside()) head--;
  let tail = 0;
  while (
    tail < most - head &&
    old.charCodeAt(old.length - 1 - tail) === insert.charCodeAt(insert.length - 1 - tail)
  ) {
    tail++;
  }
  const isBehind = (text: string): boolean =>
    text.length - tail > head && goesOn(text, text.length - tail - 1);
  while (tail > 0 && goesOn(old, old.length - tail) && (isBehind(old) || isBehind(insert))) tail--;
  return {
    at: at + head,
    remove: old.length - head - tail,
    insert: insert.slice(head, insert.length - tail),
  };
}

const WORD = /[\p{L}\p{N}\p{M}_]/u;

const ASCII = Array.from({ length: 128 }, (_, unit) => WORD.test(String.fromCharCode(unit)));

/** Halves of a pair count as a word's, so that no pair is ever divided. */
export function isOfWord(unit: number): boolean {
  if (Number.isNaN(unit)) return false;
  if (unit < ASCII.length) return ASCII[unit]!;
  if (unit >= 0xd800 && unit <= 0xdfff) return true;
  return WORD.test(String.fromCharCode(unit));
}
