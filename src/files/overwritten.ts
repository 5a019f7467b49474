import type { EditTarget, Splice } from "../blocks/index.ts";

interface Change {
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}

/**
 * Splices of what another program did, made wider where they change part of what one Edit wrote in a line: then they
 * replace all that it wrote there. Otherwise undoing that Edit would leave single words of the program's without those
 * that it found around them. What was in the file from the beginning is nobody's to undo, and is left as it is.
 */
export function overwritten(target: EditTarget, splices: readonly Splice[]): Splice[] {
  const text = target.read();
  const first = target.version === 0 ? undefined : target.authors([1])[0];
  const fixed = first?.actor === "disk" ? first.edit : undefined;
  const wide: Change[] = [];
  let shift = 0;
  for (const { at, remove, insert } of splices) {
    const change = { start: at - shift, end: at - shift + remove, insert };
    shift += insert.length - remove;
    const last = wide.at(-1);
    const from = last?.end ?? 0;
    // They are one for each stretch of lines: only splices made otherwise could meet.
    if (last !== undefined && change.start < from) return [...splices];
    wide.push(widened(target, text, change, { from, fixed }));
  }
  let moved = 0;
  return wide.map(({ start, end, insert }) => {
    const splice = { at: start + moved, remove: end - start, insert };
    moved += insert.length - splice.remove;
    return splice;
  });
}

function widened(
  target: EditTarget,
  text: string,
  change: Change,
  { from, fixed }: { from: number; fixed: string | undefined },
): Change {
  if (change.insert === "") return change;
  const newlineBefore = change.start === 0 ? -1 : text.lastIndexOf("\n", change.start - 1);
  const lineStart = Math.max(from, newlineBefore + 1);
  const newline = text.indexOf("\n", change.end);
  const lineEnd = newline === -1 ? text.length : newline;
  const runs = target.blame(lineStart, lineEnd);
  const newlineBy = newline === -1 ? undefined : target.blame(newline, newline + 1)[0]?.edit;
  const at = (offset: number): string | undefined =>
    runs.find(({ start, length }) => start <= offset && offset < start + length)?.edit;
  const before = change.start > lineStart ? at(change.start - 1) : undefined;
  const behind = change.end < lineEnd ? at(change.end) : undefined;
  const changed = new Set(
    runs
      .filter(({ start, length }) => start < change.end && start + length > change.start)
      .map(({ edit }) => edit),
  );
  // In the middle of what one Edit wrote.
  if (before !== undefined && before === behind) changed.add(before);
  let { start, end } = change;
  for (const run of runs.toReversed())
    if (run.start < start && run.start + run.length >= start && isTaken(run.edit))
      start = run.start;
  for (const run of runs)
    if (run.start <= end && run.start + run.length > end && isTaken(run.edit))
      end = run.start + run.length;
  // The newline that the Edit ended the line with is the line's.
  if (end === newline && newlineBy !== undefined && isTaken(newlineBy)) end += 1;
  return {
    start,
    end,
    insert: text.slice(start, change.start) + change.insert + text.slice(change.end, end),
  };

  function isTaken(edit: string): boolean {
    return edit !== fixed && changed.has(edit);
  }
}
