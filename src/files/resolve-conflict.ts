import { type Splice, splitText } from "../blocks/index.ts";
import { saysSomething } from "./clash.ts";
import { LineRebuild } from "./line-splices.ts";
import { AROUND_LINES, type MergeConflict } from "./merge.ts";

/** `both`: disk's lines and memory's behind them. An empty text leaves no line there. */
export type ConflictChoice = "disk" | "memory" | "both" | { readonly text: string };

/**
 * The splices that put what was chosen in the place of what stood, in a text that may have changed since. The place
 * is known by what stood there and by the lines around it; `moved` when it is not, or might be another.
 */
export function resolveConflict(
  conflict: MergeConflict,
  text: string,
  choice: ConflictChoice,
): Splice[] | "moved" {
  const now = splitText(text);
  const stood = splitText(conflict[conflict.stood ?? "memory"].text).lines;
  const start = placeOf(conflict, now.lines, stood);
  if (start === undefined) return "moved";
  const rebuild = new LineRebuild(now);
  rebuild.keep(0, start);
  const chosen = chosenLines(conflict, choice);
  if (chosen.length === stood.length && chosen.every((line, at) => line === stood[at])) return [];
  rebuild.add(chosen);
  rebuild.keep(start + stood.length, now.lines.length);
  const finalNewline = now.lines.length === 0 || now.finalNewline;
  return rebuild.finish(finalNewline).splices;
}

/** What stands there then, a line each. */
export function chosenText(conflict: MergeConflict, choice: ConflictChoice): string {
  return chosenLines(conflict, choice)
    .map((line) => `${line}\n`)
    .join("");
}

function chosenLines({ memory, disk }: MergeConflict, choice: ConflictChoice): readonly string[] {
  const linesOf = (text: string): readonly string[] => splitText(text).lines;
  if (typeof choice === "object") return linesOf(choice.text);
  if (choice === "both") return [...linesOf(disk.text), ...linesOf(memory.text)];
  return linesOf(choice === "disk" ? disk.text : memory.text);
}

function placeOf(
  { at, around }: MergeConflict,
  lines: readonly string[],
  stood: readonly string[],
): number | undefined {
  const nearestFirst = around.before.toReversed();
  const speaks = stood.some(saysSomething);
  const candidates: { start: number; known: number; beside: boolean }[] = [];
  for (let start = 0; start + stood.length <= lines.length; start++) {
    if (!stood.every((line, offset) => lines[start + offset] === line)) continue;
    const before = knownLines(lines, start - 1, -1, nearestFirst);
    const after = knownLines(lines, start + stood.length, 1, around.after);
    candidates.push({ start, known: before + after, beside: before > 0 && after > 0 });
  }
  // What says nothing by itself stands in many places: only both of its neighbours tell it from others.
  const possible = speaks ? candidates : candidates.filter(({ beside }) => beside);
  const most = possible.reduce((highest, { known }) => Math.max(highest, known), 0);
  const best = possible.filter(({ known }) => known === most);
  if (best.length > 1 && lines.length === around.lines)
    return best.find(({ start }) => start === at.start)?.start;
  return best.length === 1 ? best[0]!.start : undefined;
}

/** How many of the remembered lines follow from a line on; where they ended at the text's border, that counts too. */
function knownLines(
  lines: readonly string[],
  from: number,
  step: 1 | -1,
  remembered: readonly string[],
): number {
  let count = 0;
  while (count < remembered.length && lines[from + count * step] === remembered[count]) count++;
  if (count < remembered.length || count === AROUND_LINES) return count;
  const border = from + count * step;
  return border === -1 || border === lines.length ? count + 1 : count;
}
