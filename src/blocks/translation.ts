import type { PositionedText } from "../base/index.ts";
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

/** Leaves out what old and new text have in common at both ends, so that it keeps its blame. */
export function trimmed(at: number, old: string, insert: string): Splice {
  const most = Math.min(old.length, insert.length);
  let head = 0;
  while (head < most && old.charCodeAt(head) === insert.charCodeAt(head)) head++;
  if (head > 0 && isHighSurrogate(old.charCodeAt(head - 1))) head--;
  let tail = 0;
  while (
    tail < most - head &&
    old.charCodeAt(old.length - 1 - tail) === insert.charCodeAt(insert.length - 1 - tail)
  ) {
    tail++;
  }
  if (tail > 0 && isLowSurrogate(old.charCodeAt(old.length - tail))) tail--;
  return {
    at: at + head,
    remove: old.length - head - tail,
    insert: insert.slice(head, insert.length - tail),
  };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
