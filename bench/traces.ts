/**
 * Editing traces: the real ones of the folder $KUMIKO_TRACES, else synthetic ones of the same shape.
 *
 * Positions in the files are Unicode code points. A sequential trace is always given in UTF-16
 * units. A concurrent one is too, unless it holds characters outside the BMP: its positions then
 * need the merged text and stay code points, which `unit` says.
 */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";

/** Position, how much is deleted there, what is inserted there. */
export type TracePatch = readonly [position: number, deleted: number, inserted: string];

export interface SequentialTrace {
  readonly kind: "sequential";
  readonly name: string;
  readonly unit: "utf16";
  readonly startContent: string;
  readonly endContent: string;
  /** The patches of each transaction, to be applied in order. */
  readonly transactions: readonly (readonly TracePatch[])[];
}

export interface ConcurrentTransaction {
  /** Indexes of the transactions it was made after; its positions mean their merge. */
  readonly parents: readonly number[];
  readonly agent: number;
  readonly patches: readonly TracePatch[];
}

export interface ConcurrentTrace {
  readonly kind: "concurrent";
  readonly name: string;
  readonly unit: "utf16" | "codepoint";
  readonly startContent: string;
  readonly endContent: string;
  readonly agents: number;
  readonly transactions: readonly ConcurrentTransaction[];
}

export type Trace = SequentialTrace | ConcurrentTrace;

/** All traces, by name: of the folder if it is named, synthetic otherwise. */
export function loadTraces(folder = process.env["KUMIKO_TRACES"]): Trace[] {
  if (folder === undefined || folder === "") return [syntheticTrace(), syntheticConcurrentTrace()];
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".json.gz"))
    .toSorted();
  if (files.length === 0) throw new Error(`KUMIKO_TRACES: there is no *.json.gz in ${folder}.`);
  return files.map((file) => readTrace(join(folder, file)));
}

interface TraceFile {
  startContent?: string;
  endContent: string;
  numAgents?: number;
  txns: { parents?: number[]; agent?: number; patches: [number, number, string][] }[];
}

function readTrace(file: string): Trace {
  const name = basename(file, ".json.gz");
  const {
    startContent = "",
    endContent,
    numAgents,
    txns,
  } = JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as TraceFile;
  const astral =
    hasAstral(startContent) || txns.some(({ patches }) => patches.some((p) => hasAstral(p[2])));
  if (txns[0]?.parents === undefined) {
    const given = txns.map(({ patches }) => patches);
    const transactions = astral ? inUtf16(startContent, given) : given;
    return { kind: "sequential", name, unit: "utf16", startContent, endContent, transactions };
  }
  const transactions = txns.map(({ parents = [], agent = 0, patches }) => ({
    parents,
    agent,
    patches,
  }));
  const agents = numAgents ?? 1 + Math.max(...transactions.map(({ agent }) => agent));
  const unit = astral ? "codepoint" : "utf16";
  return { kind: "concurrent", name, unit, startContent, endContent, agents, transactions };
}

function hasAstral(text: string): boolean {
  return /[\ud800-\udfff]/.test(text);
}

/** Code points to UTF-16 units; keeps only where the characters of two units stand. */
function inUtf16(
  startContent: string,
  transactions: readonly (readonly TracePatch[])[],
): TracePatch[][] {
  let wide = widePositions(startContent, 0);
  return transactions.map((patches) =>
    patches.map(([position, deleted, inserted]): TracePatch => {
      const from = firstAtOrAfter(wide, position);
      const to = firstAtOrAfter(wide, position + deleted);
      const grown = [...inserted].length - deleted;
      wide = [
        ...wide.slice(0, from),
        ...widePositions(inserted, position),
        ...wide.slice(to).map((each) => each + grown),
      ];
      return [position + from, deleted + to - from, inserted];
    }),
  );
}

function widePositions(text: string, start: number): number[] {
  return [...text].flatMap((character, index) => (character.length === 2 ? [start + index] : []));
}

function firstAtOrAfter(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Small seeded generator (mulberry32); gives integers below `limit`. */
function seededRandom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit);
  };
}

const letters = "eeeeettttaaaooiinnsshhrrdlcumwfgypbvk";

function typedCharacter(random: (limit: number) => number): string {
  const dice = random(1000);
  if (dice < 160) return " ";
  if (dice < 175) return "\n";
  if (dice < 200) return [",", ".", "-", "(", ")"][random(5)] ?? ".";
  return letters[random(letters.length)] ?? "e";
}

/** A text with a gap where the last edit was: bursts are cheap and a jump is one move of memory. */
class GapText {
  #units: Uint16Array;
  #gapStart = 0;
  #gapEnd: number;

  constructor(capacity: number) {
    this.#units = new Uint16Array(capacity);
    this.#gapEnd = capacity;
  }

  get length(): number {
    return this.#units.length - (this.#gapEnd - this.#gapStart);
  }

  splice(position: number, deleted: number, inserted: string): void {
    if (position < this.#gapStart) {
      const moved = this.#gapStart - position;
      this.#units.copyWithin(this.#gapEnd - moved, position, this.#gapStart);
      this.#gapEnd -= moved;
    } else if (position > this.#gapStart) {
      const moved = position - this.#gapStart;
      this.#units.copyWithin(this.#gapStart, this.#gapEnd, this.#gapEnd + moved);
      this.#gapEnd += moved;
    }
    this.#gapStart = position;
    this.#gapEnd += deleted;
    for (let index = 0; index < inserted.length; index += 1) {
      this.#units[this.#gapStart] = inserted.charCodeAt(index);
      this.#gapStart += 1;
    }
  }

  toString(): string {
    const parts = [this.#units.subarray(0, this.#gapStart), this.#units.subarray(this.#gapEnd)];
    return parts.map((part) => new TextDecoder("utf-16le").decode(part)).join("");
  }
}

/**
 * One writer, one character per transaction, in bursts of typing with corrections, and jumps back
 * into the text, in about the proportions of a real paper (30 % deletions, a jump in 47 edits).
 */
export function syntheticTrace(count = 260_000): SequentialTrace {
  const random = seededRandom(20_261_115);
  const text = new GapText(count + 1);
  const transactions: TracePatch[][] = [];
  let cursor = 0;
  const edit = (...patch: TracePatch): void => {
    text.splice(...patch);
    transactions.push([patch]);
    cursor = patch[0] + patch[2].length;
  };
  while (transactions.length < count) {
    for (let left = 1 + random(66); left > 0 && transactions.length < count; left -= 1) {
      edit(cursor, 0, typedCharacter(random));
    }
    const erased = Math.min(random(29), cursor, count - transactions.length);
    for (let left = erased; left > 0; left -= 1) edit(cursor - 1, 1, "");
    // Mostly back to the end or nearby, sometimes anywhere.
    const dice = random(10);
    if (dice < 4) cursor = random(text.length + 1);
    else if (dice < 6) cursor = Math.max(0, cursor - random(200));
    else if (dice < 8) cursor = text.length;
  }
  return {
    kind: "sequential",
    name: "synthetic",
    unit: "utf16",
    startContent: "",
    endContent: text.toString(),
    transactions,
  };
}

/**
 * Two writers who part, each type in a paragraph of their own, and meet again. Between two
 * paragraphs there is always a line end that neither touches, so no two concurrent inserts stand at
 * the same place and every correct merge ends in `endContent`.
 */
export function syntheticConcurrentTrace(count = 26_000): ConcurrentTrace {
  const random = seededRandom(20_261_116);
  const transactions: ConcurrentTransaction[] = [];
  let paragraphs = ["Friends", "for", "ever"];
  const first: TracePatch = [0, 0, paragraphs.join("\n")];
  transactions.push({ parents: [], agent: 0, patches: [first] });
  let heads = [0];

  const writeAs = (agent: number, mine: number): { text: string; head: number } => {
    const start = paragraphs.slice(0, mine).reduce((sum, each) => sum + each.length + 1, 0);
    let text = paragraphs[mine] ?? "";
    let cursor = random(text.length + 1);
    let parents = heads;
    for (let left = 1 + random(22); left > 0; left -= 1) {
      const erases = cursor > 0 && random(10) === 0;
      const at = erases ? cursor - 1 : cursor;
      const inserted = erases ? "" : typedCharacter(random);
      text = text.slice(0, at) + inserted + text.slice(cursor);
      const patch: TracePatch = [start + at, erases ? 1 : 0, inserted];
      cursor = at + inserted.length;
      transactions.push({ parents, agent, patches: [patch] });
      parents = [transactions.length - 1];
    }
    return { text, head: transactions.length - 1 };
  };

  while (transactions.length < count - 1) {
    const mine = random(paragraphs.length);
    const theirs = (mine + 1 + random(paragraphs.length - 1)) % paragraphs.length;
    const ours = [writeAs(0, mine), writeAs(1, theirs)] as const;
    paragraphs = paragraphs
      .with(mine, ours[0].text)
      .with(theirs, ours[1].text)
      .flatMap((each) => each.split("\n"));
    heads = ours.map(({ head }) => head);
  }
  const merged = paragraphs.join("\n");
  const last: TracePatch = [merged.length, 0, "."];
  transactions.push({ parents: heads, agent: 0, patches: [last] });
  return {
    kind: "concurrent",
    name: "synthetic-concurrent",
    unit: "utf16",
    startContent: "",
    endContent: `${merged}.`,
    agents: 2,
    transactions,
  };
}
