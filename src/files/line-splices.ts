import type { Splice, TextLines } from "../blocks/index.ts";
import { areLookedThrough, type Replaced, wordSplices } from "./word-splices.ts";
import { saidIn } from "./words.ts";

/** What stays: its first line in the old text and in the new, and how many. */
type Kept = readonly [oldLine: number, newLine: number, count: number];

/**
 * New lines made of a text's lines: stretches of them that stay, and lines between. Knows which splices lead there,
 * so that what stays is not touched and keeps its blame.
 */
export class LineRebuild {
  readonly lines: string[] = [];
  readonly #old: TextLines;
  /** In order. */
  readonly #kept: [oldLine: number, newLine: number, count: number][] = [];

  constructor(old: TextLines) {
    this.#old = old;
  }

  /** Old lines [start, end) stay. */
  keep(start: number, end: number): void {
    if (end <= start) return;
    const last = this.#kept.at(-1);
    if (
      last !== undefined &&
      last[0] + last[2] === start &&
      last[1] + last[2] === this.lines.length
    )
      last[2] += end - start;
    else this.#kept.push([start, this.lines.length, end - start]);
    for (let line = start; line < end; line++) this.lines.push(this.#old.lines[line]!);
  }

  add(lines: readonly string[]): void {
    for (const line of lines) this.lines.push(line);
  }

  /** Takes back lines that were added last. */
  takeBack(count: number): void {
    this.lines.length -= count;
  }

  /** The new text, and the splices that lead to it from the old, each in the text that the one before it left. */
  finish(finalNewline: boolean): { text: string; splices: Splice[] } {
    const { lines } = this;
    // An empty last line is one only by its newline.
    const ends = lines.length > 0 && (finalNewline || lines.at(-1) === "");
    const text = lines.join("\n") + (ends ? "\n" : "");
    const wide = this.#between(this.#surelyKept(), ends);
    // Where nobody would find the doubtful lines again by their words, they stay as they are: nobody touched most of them.
    const stretches = areLookedThrough(wide) ? wide : this.#between(this.#kept, ends);
    return { text, splices: wordSplices(stretches) };
  }

  /** What is between lines that stay, where it says something else. */
  #between(all: readonly Kept[], ends: boolean): Replaced[] {
    const { lines } = this;
    const stretches: Replaced[] = [];
    const change = (at: number, gone: string, fresh: string): void => {
      if (gone !== fresh) stretches.push({ at, old: gone, fresh });
    };
    const old = this.#old.lines;
    let offset = 0;
    let oldLine = 0;
    let newLine = 0;
    const between = (oldEnd: number, newEnd: number): void => {
      const gone = terminated(old, oldLine, oldEnd);
      change(offset, gone, terminated(lines, newLine, newEnd));
      offset += gone.length;
    };
    for (const [oldStart, newStart, count] of all) {
      between(oldStart, newStart);
      oldLine = oldStart + count;
      newLine = newStart + count;
      for (let line = oldStart; line < oldLine; line++) offset += old[line]!.length + 1;
    }
    // What is behind the last line that stays, with the newline that ends it or not: decided together.
    const oldText = tail(old, oldLine, this.#old.finalNewline);
    const newText = tail(lines, newLine, ends);
    change(oldLine > 0 && newLine > 0 ? offset - 1 : offset, oldText, newText);
    return stretches;
  }

  /**
   * What stays, without what may be something else between changed lines: of two lines that differ by their indentation, the
   * one may say now what the other said. Those are found again among the lines around them, by what those say.
   */
  #surelyKept(): readonly Kept[] {
    const doubtful = this.#doubtful();
    if (doubtful.size === 0) return this.#kept;
    const steady = this.#kept.filter((kept) => !doubtful.has(kept));
    const inOld = counted(
      this.#old.lines,
      steady.map(([line, , count]) => [line, count]),
    );
    const inNew = counted(
      this.lines,
      steady.map(([, line, count]) => [line, count]),
    );
    return this.#kept.flatMap((kept) => {
      if (!doubtful.has(kept)) return [kept];
      const [oldLine, newLine, count] = kept;
      const own: Kept[] = [];
      for (let at = 0; at < count; at++) {
        const said = saidIn(this.#old.lines[oldLine + at]!);
        if (said !== "" && inOld.get(said) === 1 && inNew.get(said) === 1)
          own.push([oldLine + at, newLine + at, 1]);
      }
      return own;
    });
  }

  /** No more lines than were changed before them or behind them. */
  #doubtful(): Set<Kept> {
    const doubtful = new Set<Kept>();
    let [oldEnd, newEnd] = [0, 0];
    for (const [at, kept] of this.#kept.entries()) {
      const [oldLine, newLine, count] = kept;
      const next = this.#kept[at + 1] ?? [this.#old.lines.length, this.lines.length];
      const before = Math.max(oldLine - oldEnd, newLine - newEnd);
      [oldEnd, newEnd] = [oldLine + count, newLine + count];
      const behind = Math.max(next[0] - oldEnd, next[1] - newEnd);
      if (before > 0 && behind > 0 && count <= Math.max(before, behind)) doubtful.add(kept);
    }
    return doubtful;
  }
}

/** How often each thing is said by lines, but for some stretches of them. */
function counted(
  lines: readonly string[],
  except: readonly (readonly [start: number, count: number])[],
): Map<string, number> {
  const counts = new Map<string, number>();
  let at = 0;
  for (const [start, count] of [...except, [lines.length, 0] as const]) {
    for (; at < start; at++) {
      const said = saidIn(lines[at]!);
      counts.set(said, (counts.get(said) ?? 0) + 1);
    }
    at = start + count;
  }
  return counts;
}

function terminated(lines: readonly string[], start: number, end: number): string {
  return start === end ? "" : `${lines.slice(start, end).join("\n")}\n`;
}

/** From the end of what line `from - 1` says to the end of the text; from its beginning when there is no such line. */
function tail(lines: readonly string[], from: number, finalNewline: boolean): string {
  const rest = lines.slice(from).join("\n") + (finalNewline ? "\n" : "");
  return from > 0 && from < lines.length ? `\n${rest}` : rest;
}
