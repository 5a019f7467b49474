import { type Change, changed, type Character, textOf, type Wanted } from "./characters.ts";

/** Lines [start, end) of a text and those that take their place. */
export interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
}

/** Characters [start, end) of a text and the text that takes their place. */
export interface Range {
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}

/** What an edit against an older version must come to, as far as that can be said plainly. */
export type Placed = Wanted | "refused" | "somewhere" | "unsure";

export function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Where a line begins; the text's end for the line behind the last. */
export function startOf(text: string, line: number): number {
  const lines = linesOf(text);
  return line >= lines.length ? text.length : [...lines.slice(0, line), ""].join("\n").length;
}

/** Replaces lines of the text `now` that mean the text `base`, of which `now` is a later version. */
export function placeHunks(
  base: readonly Character[],
  now: readonly Character[],
  hunks: readonly Hunk[],
): Placed {
  return joined(
    now,
    hunks.map((hunk) => placeHunk(base, now, hunk)),
    base !== now,
  );
}

/** Replaces characters in the same way. */
export function placeRanges(
  base: readonly Character[],
  now: readonly Character[],
  ranges: readonly Range[],
): Placed {
  const placed = ranges.map((range) => placeRange(base, now, range));
  return placed.some((each) => each === "somewhere" || each === "unsure") && ranges.length > 1
    ? "unsure"
    : joined(now, placed, false);
}

/** The words at the beginning and the end that both have stay as they are. */
function trimmed({ start, end, insert }: Range, old: string): Change {
  const words = /[\p{L}\p{N}\p{M}_\u{10000}-\u{10ffff}]+|[^]/gu;
  const [from, to] = [[...(old.match(words) ?? [])], [...(insert.match(words) ?? [])]];
  const most = Math.min(from.length, to.length);
  let head = 0;
  while (head < most && from[head] === to[head]) head++;
  let tail = 0;
  while (tail < most - head && from.at(-1 - tail) === to.at(-1 - tail)) tail++;
  const before = from.slice(0, head).join("").length;
  const behind = from.slice(from.length - tail).join("").length;
  return {
    at: start + before,
    remove: end - start - before - behind,
    insert: to.slice(head, to.length - tail).join(""),
  };
}

type One = Change | "refused" | "somewhere" | "unsure";

function joined(now: readonly Character[], placed: readonly One[], apart: boolean): Placed {
  for (const doubt of ["refused", "unsure", "somewhere"] as const) {
    if (placed.includes(doubt)) return doubt;
  }
  const changes = (placed as readonly Change[]).toSorted((a, b) => a.at - b.at);
  const text = textOf(now);
  for (const [index, { at }] of changes.entries()) {
    const last = changes[index - 1];
    // Neighbours whose newlines are decided together.
    const between = last && text.slice(last.at + last.remove, at);
    if (apart && between !== undefined && between.split("\n").length < 3) return "somewhere";
  }
  return changed(now, changes);
}

function placeHunk(base: readonly Character[], now: readonly Character[], hunk: Hunk): One {
  const text = textOf(base);
  if (base === now) return changeOf(text, hunk);
  const from = startOf(text, hunk.start);
  if (hunk.start === hunk.end) return placeLine(base, now, hunk, from);
  const to = startOf(text, hunk.end);
  const at = placeOf(base.slice(from, to), now);
  if (at === undefined || !areLines(now, at, to - from)) return "refused";
  const change = changeOf(text, hunk);
  // A newline before the lines goes with them: which one that is now, the model does not say.
  if (change.at < from) return "somewhere";
  // All there was, without a newline.
  if (hunk.lines.length === 0 && !text.endsWith("\n")) return "somewhere";
  return { ...change, at: change.at + at - from };
}

function placeLine(
  base: readonly Character[],
  now: readonly Character[],
  { lines }: Hunk,
  from: number,
): One {
  const text = textOf(now);
  if (from === base.length) {
    const end = linesOf(text).length;
    return changeOf(text, { start: end, end, lines });
  }
  const at = now.indexOf(base[from]!);
  if (at >= 0 && (at === 0 || now[at - 1]!.text === "\n"))
    return { at, remove: 0, insert: `${lines.join("\n")}\n` };
  return at < 0 && from > 0 && !now.includes(base[from - 1]!) ? "refused" : "unsure";
}

function placeRange(base: readonly Character[], now: readonly Character[], range: Range): One {
  const { start, end, insert } = range;
  const old = base.slice(start, end);
  if (base === now) return trimmed(range, textOf(old));
  if (start < end) {
    const at = placeOf(old, now);
    if (at === undefined) return "refused";
    return trimmed({ start: at, end: at + old.length, insert }, textOf(old));
  }
  const at = start === base.length ? now.length : now.indexOf(base[start]!);
  if (at >= 0) return { at, remove: 0, insert };
  return start === 0 || now.includes(base[start - 1]!) ? "somewhere" : "refused";
}

/** Where characters stand now, if they stand together. */
function placeOf(characters: readonly Character[], now: readonly Character[]): number | undefined {
  const at = now.indexOf(characters[0]!);
  const stand = at >= 0 && characters.every((character, index) => now[at + index] === character);
  return stand ? at : undefined;
}

function areLines(now: readonly Character[], at: number, length: number): boolean {
  const newline = (index: number): boolean => now[index]?.text === "\n";
  const end = at + length;
  return (at === 0 || newline(at - 1)) && (end === now.length || newline(end - 1) || newline(end));
}

/** EDIT-3 to EDIT-5: what lines of a text replaced by others do to its newlines. */
function changeOf(text: string, { start, end, lines }: Hunk): Change {
  const content = lines.join("\n");
  const from = startOf(text, start);
  const bare = text !== "" && !text.endsWith("\n");
  if (start === end) {
    const behind = bare && from === text.length;
    return { at: from, remove: 0, insert: behind ? `\n${content}` : `${content}\n` };
  }
  const to = startOf(text, end);
  if (lines.length === 0) {
    const at = bare && to === text.length && from > 0 ? from - 1 : from;
    return { at, remove: to - at, insert: "" };
  }
  const old = text.slice(from, to).replace(/\n$/, "");
  return trimmed({ start: from, end: from + old.length, insert: content }, old);
}
