import type { LineIndex } from "./line-index.ts";

export interface Closest {
  /** Counting from 0. */
  readonly line: number;
  readonly text: string;
  /** 0 to 1. */
  readonly similarity: number;
}

const votesPerLine = 200;
const votesInAll = 20_000;
const placesCompared = 12;
const linesScanned = 20_000;
const linesCompared = 60;
const charactersCompared = 200;
const charactersShown = 4_000;

/** The place most like the wanted lines. Only a failure pays for it, and its cost is bounded. */
export function closestPlace(
  index: LineIndex,
  wanted: readonly string[],
  stated: number | null,
): Closest | null {
  if (wanted.length === 0 || index.lines.length === 0) return null;
  let best: Closest | null = null;
  for (const line of candidateStarts(index, wanted, stated)) {
    const similarity = similarityAt(index.lines, wanted, line);
    if (best !== null && similarity <= best.similarity) continue;
    const text = index.lines
      .slice(line, line + wanted.length)
      .join("\n")
      .slice(0, charactersShown);
    best = { line, text, similarity: Math.round(similarity * 100) / 100 };
  }
  return best === null || best.similarity === 0 ? null : best;
}

function candidateStarts(
  index: LineIndex,
  wanted: readonly string[],
  stated: number | null,
): number[] {
  const form = index.in("around");
  const votes = new Map<number, number>();
  let cast = 0;
  for (let at = 0; at < wanted.length && cast < votesInAll; at++) {
    const key = wanted[at]!.trim();
    const id = key === "" ? -1 : form.idOf(key);
    if (id < 0) continue;
    const positions = form.positionsOf(id);
    for (const position of positions.subarray(0, votesPerLine)) {
      const start = within(index, position - at);
      votes.set(start, (votes.get(start) ?? 0) + 1 / positions.length);
      cast++;
    }
  }
  const starts = [...votes.entries()]
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, placesCompared)
    .map(([start]) => start);
  if (starts.length === 0) starts.push(...similarLines(index, wanted));
  if (stated !== null) starts.push(within(index, stated));
  return starts;
}

/** No line of the hunk stands in the text as it is: look for the longest one, misspelt. */
function similarLines(index: LineIndex, wanted: readonly string[]): number[] {
  let longest = 0;
  for (let at = 1; at < wanted.length; at++) {
    if (wanted[at]!.trim().length > wanted[longest]!.trim().length) longest = at;
  }
  const pairs = letterPairs(wanted[longest]!);
  let best = { line: -1, similarity: 0 };
  for (let line = 0; line < Math.min(index.lines.length, linesScanned); line++) {
    const similarity = shared(pairs, letterPairs(index.lines[line]!));
    if (similarity > best.similarity) best = { line, similarity };
  }
  return best.line < 0 ? [] : [within(index, best.line - longest)];
}

function within(index: LineIndex, start: number): number {
  return Math.max(0, Math.min(start, index.lines.length - 1));
}

function similarityAt(lines: readonly string[], wanted: readonly string[], start: number): number {
  const count = Math.min(wanted.length, linesCompared);
  let sum = 0;
  for (let at = 0; at < count; at++) {
    const line = lines[start + at];
    if (line === undefined) continue;
    sum += line === wanted[at] ? 1 : 0.99 * shared(letterPairs(line), letterPairs(wanted[at]!));
  }
  return sum / count;
}

function letterPairs(line: string): Map<string, number> {
  const text = line.trim().slice(0, charactersCompared);
  const pairs = new Map<string, number>();
  for (let at = 0; at < Math.max(1, text.length - 1); at++) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

/** Dice's coefficient of two bags of letter pairs. */
function shared(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  let common = 0;
  let size = 0;
  for (const [pair, count] of one) {
    common += Math.min(count, other.get(pair) ?? 0);
    size += count;
  }
  for (const count of other.values()) size += count;
  return (2 * common) / size;
}
