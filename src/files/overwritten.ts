import type { EditTarget, Splice } from "../blocks/index.ts";
import { type Change, ChangedLines, type Lines, Origin, type Range } from "./changed-lines.ts";

/**
 * Splices of what another program did, made wider where they change part of what one Edit wrote in a line: then they
 * replace all that it wrote there. Otherwise undoing that Edit would leave single words of the program's without those
 * that it found around them. What was in the file from the beginning is nobody's to undo, and is left as it is.
 *
 * White space, and signs at the edges of what an Edit wrote, change nothing of it: undone, it leaves the line as the program
 * formatted it, with what it said before. Signs within it do: `a, b` of `a b` would leave a comma alone.
 */
export function overwritten(target: EditTarget, splices: readonly Splice[]): Splice[] {
  const origin = new Origin(target);
  const changes = inOldText(splices);
  const wide = byLines(origin.text, changes).flatMap((lines) =>
    new ChangedLines(origin, lines).widened(),
  );
  return inTurn(origin, changes, wide);
}

/** Splices of what somebody made elsewhere, each where it belongs also when an Edit beside it is undone. */
export function besideEdits(target: EditTarget, splices: readonly Splice[]): Splice[] {
  const changes = inOldText(splices);
  return inTurn(new Origin(target), changes, changes);
}

/** The same, all of the text as it was. */
function inOldText(splices: readonly Splice[]): Change[] {
  let shift = 0;
  return splices.map(({ at, remove, insert }) => {
    const start = at - shift;
    shift += insert.length - remove;
    return { start, end: start + remove, insert };
  });
}

function byLines(text: string, changes: readonly Change[]): Lines[] {
  const all: { start: number; end: number; changes: Change[] }[] = [];
  for (const change of changes) {
    let last = all.at(-1);
    if (last === undefined || change.start > last.end) {
      const start = change.start === 0 ? 0 : text.lastIndexOf("\n", change.start - 1) + 1;
      last = { start, end: start, changes: [] };
      all.push(last);
    }
    last.changes.push(change);
    if (change.end < last.end) continue;
    const newline = text.indexOf("\n", change.end);
    last.end = newline === -1 ? text.length : newline;
  }
  return all;
}

/** Splices that make the changes and take away all of these ranges, which hold them. */
function inTurn(origin: Origin, changes: readonly Change[], wide: readonly Range[]): Splice[] {
  const { text } = origin;
  const splices: Splice[] = [];
  let shift = 0;
  let next = 0;
  for (const { start, end } of joined(wide)) {
    let insert = "";
    let at = start;
    for (; next < changes.length && changes[next]!.end <= end; next++) {
      const change = changes[next]!;
      insert += text.slice(at, change.start) + change.insert;
      at = change.end;
    }
    insert += text.slice(at, end);
    splices.push(replacing(origin, { start, end, insert }, shift));
    shift += insert.length - (end - start);
  }
  return splices;
}

/**
 * What follows a word that took another's place is put behind that one as well, which comes back there. New text goes
 * directly behind what is seen before it, but what replaces something behind all that is hidden there: so it replaces the
 * next character where it replaces nothing, and has that in it. In one splice: behind a newline, new text would stand behind
 * the hidden lines there, and the old newline before them.
 */
function replacing(origin: Origin, change: Change, shift: number): Splice {
  const { start, end, insert } = change;
  const isBehind = origin.isBehindEdit(change) && origin.canComeBehind(change);
  const next = isBehind && end === start ? origin.text[end]! : "";
  return { at: start + shift, remove: end - start + next.length, insert: insert + next };
}

/** Those that meet are one. */
function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const last = result.at(-1);
    if (last === undefined || range.start > last.end) result.push(range);
    else result[result.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
  }
  return result;
}
