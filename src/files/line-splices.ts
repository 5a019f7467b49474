import { type Splice, type TextLines, trimmed } from "../blocks/index.ts";

/**
 * New lines made of a text's lines: stretches of them that stay, and lines between. Knows which splices lead there,
 * so that what stays is not touched and keeps its blame.
 */
export class LineRebuild {
  readonly lines: string[] = [];
  readonly #old: TextLines;
  /** [first old line, first new line, count] of what stays, in order. */
  readonly #kept: [number, number, number][] = [];

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
    const splices: Splice[] = [];
    let shift = 0;
    const change = (at: number, old: string, fresh: string): void => {
      if (old === fresh) return;
      const splice = trimmed(at, old, fresh);
      splices.push({ ...splice, at: splice.at + shift });
      shift += splice.insert.length - splice.remove;
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
    for (const [oldStart, newStart, count] of this.#kept) {
      between(oldStart, newStart);
      oldLine = oldStart + count;
      newLine = newStart + count;
      for (let line = oldStart; line < oldLine; line++) offset += old[line]!.length + 1;
    }
    // What is behind the last line that stays, with the newline that ends it or not: decided together.
    const oldText = tail(old, oldLine, this.#old.finalNewline);
    const newText = tail(lines, newLine, ends);
    change(oldLine > 0 && newLine > 0 ? offset - 1 : offset, oldText, newText);
    return { text, splices };
  }
}

function terminated(lines: readonly string[], start: number, end: number): string {
  return start === end ? "" : `${lines.slice(start, end).join("\n")}\n`;
}

/** From the end of what line `from - 1` says to the end of the text; from its beginning when there is no such line. */
function tail(lines: readonly string[], from: number, finalNewline: boolean): string {
  const rest = lines.slice(from).join("\n") + (finalNewline ? "\n" : "");
  return from > 0 && from < lines.length ? `\n${rest}` : rest;
}
