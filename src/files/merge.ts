import {
  type ChangedRange,
  diffLines,
  Effort,
  type Splice,
  splitText,
  type TextLines,
} from "../blocks/index.ts";
import {
  insertedTogether,
  isOwn,
  type LineRange,
  linesOf,
  refined,
  type SideLines,
} from "./clash.ts";
import { LineRebuild } from "./line-splices.ts";
import { reconciled } from "./reconciled.ts";
import {
  growth,
  joinedWhereEqual,
  type LineDiffer,
  type Place,
  placesOf,
  settled,
} from "./side-changes.ts";

interface ThreeTexts {
  /** What both sides were made from. */
  readonly base: string;
  readonly memory: string;
  readonly disk: string;
}

export interface MergeRule {
  /** Whose lines stand where both sides changed the same ones; `nobody`: both stay where they are. */
  readonly stands: "disk" | "memory" | "nobody";
  /** What memory continued the unfinished last line with is kept behind disk's lines. */
  readonly keepsAppended: boolean;
}

/** Lines counted from 0, the end exclusive, and what they say with their newlines. */
interface ConflictSide extends LineRange {
  readonly text: string;
}

/** Both sides changed the same lines differently. Plain data, to be kept until somebody decides. */
export interface MergeConflict {
  readonly base: ConflictSide;
  readonly memory: ConflictSide;
  readonly disk: ConflictSide;
  /** Where what stood is in the merged text; without a decision, memory's lines. */
  readonly at: LineRange;
  /** Nobody's when somebody has to decide first. */
  readonly stood?: "disk" | "memory" | undefined;
  /** What is not in the merged text. */
  readonly lost: string;
  readonly around: Around;
}

/** The lines around a place, by which it is found again. */
interface Around {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** How many lines the text had in all. */
  readonly lines: number;
}

export interface Merged {
  /** What must happen to memory's text, each splice in the text that the one before it left. */
  readonly splices: readonly Splice[];
  /** What memory says then. */
  readonly text: string;
  /** Whether disk must be written: it says something else, and nobody has to decide first. */
  readonly save: boolean;
  readonly conflicts: readonly MergeConflict[];
}

/** How many lines on either side are remembered of a conflict's place. */
export const AROUND_LINES = 4;

/**
 * For each of the two diffs against base, and for all that follows, some 60 ms: behind that, hunks are larger than they
 * need be.
 */
const DIFF_STEPS = 4_000_000;

/**
 * Three-way by lines. A change on one side is taken; changes of different lines both stand, also when they touch; the
 * same change on both sides is one. Lines added by both at one place are all kept, disk's first.
 *
 * A final newline is not part of the last line: whoever changed it decides. A move is a removal and an insertion.
 * Known limit: lines that are written often, added by both in several places close to each other, one of which is beside a
 * line that one of them changed, may be there twice.
 */
export function mergeTexts(texts: ThreeTexts, rule: MergeRule, steps: number = DIFF_STEPS): Merged {
  const base = splitText(texts.base);
  const memory = splitText(texts.memory);
  const disk = splitText(texts.disk);
  const within = (): LineDiffer => {
    const effort = new Effort(steps);
    return (left, right) => diffLines(left, right, effort).ranges;
  };
  const changesOf = (side: TextLines): ChangedRange[] =>
    settled(base.lines, side.lines, within()(base.lines, side.lines));
  const [ofMemory, ofDisk] = reconciled(
    { lines: memory.lines, changes: changesOf(memory) },
    { lines: disk.lines, changes: changesOf(disk) },
    base.lines,
  );
  const changed = placesOf(ofMemory, ofDisk);
  const places = joinedWhereEqual(changed, memory.lines, disk.lines);
  const merge = new Merge({ base, memory, disk }, rule, within());
  for (const place of places) merge.take(place);
  const { text, splices, conflicts } = merge.finish();
  const waits = rule.stands === "nobody" && conflicts.length > 0;
  return { splices, text, save: text !== texts.disk && !waits, conflicts };
}

interface Sides {
  readonly base: TextLines;
  readonly memory: TextLines;
  readonly disk: TextLines;
}

type OpenConflict = Omit<MergeConflict, "around">;

/** Goes through base once, from place to place. */
class Merge {
  readonly #sides: Sides;
  readonly #rule: MergeRule;
  readonly #diff: LineDiffer;
  readonly #result: LineRebuild;
  readonly #conflicts: OpenConflict[] = [];
  #baseLines: ReadonlySet<string> | undefined;
  /** How far each side has been gone through. */
  #baseAt = 0;
  #memoryAt = 0;
  #diskAt = 0;
  /** The place before, when only one side changed it: its last lines may be the first of the next. */
  #last:
    | { readonly side: "memory" | "disk"; readonly end: number; readonly lines: readonly string[] }
    | undefined;

  constructor(sides: Sides, rule: MergeRule, diff: LineDiffer) {
    this.#sides = sides;
    this.#rule = rule;
    this.#diff = diff;
    this.#result = new LineRebuild(sides.memory);
  }

  take(place: Place): void {
    const unchanged = place.start - this.#baseAt;
    this.#result.keep(this.#memoryAt, this.#memoryAt + unchanged);
    const memory = this.#reach("memory", this.#memoryAt + unchanged, place);
    const disk = this.#reach("disk", this.#diskAt + unchanged, place);
    if (place.disk.length === 0) this.#takeMemory(place, memory);
    else if (place.memory.length === 0) this.#takeDisk(place, disk);
    else {
      this.#takeBoth(place, memory, disk);
      this.#last = undefined;
    }
    this.#baseAt = place.end;
    this.#memoryAt = memory.range.end;
    this.#diskAt = disk.range.end;
  }

  finish(): { text: string; splices: Splice[]; conflicts: MergeConflict[] } {
    const { memory } = this.#sides;
    this.#result.keep(this.#memoryAt, memory.lines.length);
    const { lines } = this.#result;
    const conflicts = this.#conflicts.map((conflict): MergeConflict => {
      const { start, end } = conflict.at;
      const before = lines.slice(Math.max(0, start - AROUND_LINES), start);
      const after = lines.slice(end, end + AROUND_LINES);
      return { ...conflict, around: { before, after, lines: lines.length } };
    });
    return { ...this.#result.finish(this.#finalNewline()), conflicts };
  }

  #reach(side: "memory" | "disk", start: number, place: Place): SideLines {
    const end = start + place.end - place.start + growth(place[side]);
    return { lines: this.#sides[side].lines, range: { start, end } };
  }

  #takeMemory(place: Place, memory: SideLines): void {
    const lines = linesOf(memory);
    if (this.#last?.side === "disk" && this.#last.end === place.start)
      this.#result.takeBack(this.#sharedLines(this.#last.lines, lines));
    this.#result.keep(memory.range.start, memory.range.end);
    this.#last = { side: "memory", end: place.end, lines };
  }

  #takeDisk(place: Place, disk: SideLines): void {
    const lines = linesOf(disk);
    const touches = this.#last?.side === "memory" && this.#last.end === place.start;
    const own = touches ? lines.slice(this.#sharedLines(this.#last!.lines, lines)) : lines;
    this.#result.add(own);
    this.#last = { side: "disk", end: place.end, lines: own };
  }

  /** How many lines end the one change and begin the other, which touches it: both sides wrote them. */
  #sharedLines(before: readonly string[], behind: readonly string[]): number {
    for (let count = Math.min(before.length, behind.length); count > 0; count--) {
      const from = before.length - count;
      let at = 0;
      while (at < count && before[from + at] === behind[at]) at++;
      if (at === count && behind.slice(0, count).some((line) => isOwn(line, this.#inBase)))
        return count;
    }
    return 0;
  }

  readonly #inBase = (line: string): boolean => {
    this.#baseLines ??= new Set(this.#sides.base.lines);
    return this.#baseLines.has(line);
  };

  #takeBoth(place: Place, memory: SideLines, disk: SideLines): void {
    if (sameLines(linesOf(memory), linesOf(disk))) {
      this.#result.keep(memory.range.start, memory.range.end);
      return;
    }
    if (place.start === place.end) {
      for (const stretch of insertedTogether(memory, disk, this.#inBase, this.#diff)) {
        if (stretch.kind !== "same") this.#addDisk(stretch.disk);
        this.#result.keep(stretch.memory.start, stretch.memory.end);
      }
      return;
    }
    // What one side or both took away is gone; nobody changed any of it.
    if ([...place.memory, ...place.disk].every(({ newStart, newEnd }) => newStart === newEnd))
      return;
    const stretches = refined(place, memory, disk, this.#diff);
    const clashes = stretches.some(({ kind }) => kind === "clash");
    const appended = clashes ? this.#appendedTo(place, disk) : undefined;
    if (appended !== undefined) {
      this.#result.add(appended);
      return;
    }
    for (const stretch of stretches) {
      if (stretch.kind === "clash") this.#conflict(stretch);
      else if (stretch.kind === "disk") this.#addDisk(stretch.disk);
      else this.#result.keep(stretch.memory.start, stretch.memory.end);
    }
  }

  #addDisk({ start, end }: LineRange): void {
    this.#result.add(this.#sides.disk.lines.slice(start, end));
  }

  /**
   * Disk's lines and, behind them, what memory continued the unfinished last line with. Whole lines behind it are an
   * insertion, which never clashes.
   */
  #appendedTo(place: Place, disk: SideLines): string[] | undefined {
    const { base, memory } = this.#sides;
    const [change] = place.memory;
    const end = base.lines.length;
    const isAtEnd = !base.finalNewline && place.memory.length === 1 && change!.oldEnd === end;
    if (this.#rule.stands !== "disk" || !this.#rule.keepsAppended || !isAtEnd) return undefined;
    const [first, ...rest] = memory.lines.slice(change!.newStart, change!.newEnd);
    const unfinished = base.lines[end - 1]!;
    if (change!.oldStart !== end - 1 || first?.startsWith(unfinished) !== true) return undefined;
    const continued = first.slice(unfinished.length);
    const lines = [...linesOf(disk)];
    const goesOn = lines.length > 0 && !this.#sides.disk.finalNewline;
    if (goesOn) lines.push(lines.pop()! + continued);
    else lines.push(continued);
    return [...lines, ...rest];
  }

  #conflict(place: { base: LineRange; memory: LineRange; disk: LineRange }): void {
    const { stands } = this.#rule;
    const start = this.#result.lines.length;
    if (stands === "disk") this.#addDisk(place.disk);
    else this.#result.keep(place.memory.start, place.memory.end);
    const side = (name: "base" | "memory" | "disk"): ConflictSide => {
      const { start: from, end } = place[name];
      return { start: from, end, text: textOf(this.#sides[name], from, end) };
    };
    const [base, memory, disk] = [side("base"), side("memory"), side("disk")];
    this.#conflicts.push({
      base,
      memory,
      disk,
      at: { start, end: this.#result.lines.length },
      ...(stands === "nobody" ? {} : { stood: stands }),
      lost: stands === "disk" ? memory.text : disk.text,
    });
  }

  /** Whoever changed it decides; where a conflict reaches the end, whose lines stand there. */
  #finalNewline(): boolean {
    const [base, memory, disk] = (["base", "memory", "disk"] as const).map((name) => {
      const { lines, finalNewline } = this.#sides[name];
      return lines.length === 0 ? undefined : finalNewline;
    });
    const last = this.#conflicts.at(-1);
    if (last !== undefined && last.at.end === this.#result.lines.length) {
      const stood = last.stood === "disk" ? disk : memory;
      if (stood !== undefined) return stood;
    }
    if (memory === undefined || disk === undefined) return disk ?? memory ?? base ?? true;
    if (memory === disk) return memory;
    if (base === undefined) return true;
    return memory === base ? disk : memory;
  }
}

function sameLines(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((line, at) => line === right[at]);
}

function textOf({ lines, finalNewline }: TextLines, start: number, end: number): string {
  if (start === end) return "";
  const ends = end < lines.length || finalNewline;
  return lines.slice(start, end).join("\n") + (ends ? "\n" : "");
}
