import { sha256Text } from "../../base/index.ts";
import type { RecordedCommit, Splice } from "../../blocks/index.ts";
import { ReplayedText } from "../replayed-text.ts";
import type { UnitHistory, UnitSplice } from "./unit-history.ts";
import { UnitSequence } from "./unit-sequence.ts";

/** Which units must go, by number. */
class Marks {
  readonly #marked: Uint8Array;
  #size = 0;

  constructor(units: number) {
    this.#marked = new Uint8Array(units);
  }

  get size(): number {
    return this.#size;
  }

  has(unit: number): boolean {
    return this.#marked[unit] === 1;
  }

  add(unit: number): void {
    if (this.has(unit)) return;
    this.#marked[unit] = 1;
    this.#size += 1;
  }
}

/** What stands in the place of what was removed; one that is not part of what is looked for. */
export function fillerFor(text: string): string {
  let code = "█".charCodeAt(0);
  while (text.includes(String.fromCharCode(code))) code += 1;
  return String.fromCharCode(code);
}

/**
 * The units of every place where a text stood, in whatever version, however it got there. Each change is
 * looked at with what surrounds it then: nothing else can make the text appear.
 */
export function occurrences({ units, versions }: UnitHistory, text: string): Marks {
  const marks = new Marks(units.length);
  const around = text.length - 1;
  const sequence = new UnitSequence();
  for (const { at, remove, insert } of versions.flat()) {
    sequence.splice(at, remove, insert);
    const start = Math.max(0, at - around);
    const end = Math.min(sequence.length, at + insert.length + around);
    if (end - start < text.length) continue;
    const window = sequence.slice(start, end);
    const seen = window.map((unit) => units[unit]!).join("");
    for (let found = seen.indexOf(text); found !== -1; found = seen.indexOf(text, found + 1)) {
      for (const unit of window.slice(found, found + text.length)) marks.add(unit);
    }
  }
  return marks;
}

export function everything({ units }: UnitHistory): Marks {
  const marks = new Marks(units.length);
  for (let unit = 0; unit < units.length; unit++) {
    if (units[unit] !== "\n") marks.add(unit);
  }
  return marks;
}

/**
 * The same commits with the marked units replaced, newlines excepted: every position, version, Edit and line
 * stays what it was. A text that had replicas becomes another Loro document, written by `peer`: its old
 * operations hold what must go, and no operation's name may mean two things.
 */
export function maskCommits(
  commits: readonly RecordedCommit[],
  { units, versions }: UnitHistory,
  marks: Marks,
  { filler, peer }: { filler: string; peer: string },
): RecordedCommit[] {
  const born = commits.some(({ change }) => change.kind === "birth");
  const show = ({ at, remove, insert }: UnitSplice): Splice => ({
    at,
    remove,
    insert: insert
      .map((unit) => (marks.has(unit) ? maskUnit(units[unit]!, filler) : units[unit]))
      .join(""),
  });
  const text = new ReplayedText("");
  return commits.map((commit, index) => {
    const { change } = commit;
    const writer = born && commit.peer !== undefined ? peer : commit.peer;
    if (change.kind === "structure") return { ...commit, peer: writer };
    if (change.kind === "birth") {
      return {
        ...commit,
        peer: writer,
        change: { kind: "birth", hash: sha256Text(text.toString()) },
      };
    }
    const splices = versions[index]!.map(show);
    text.apply({ kind: "text", splices });
    const masked =
      change.kind === "import"
        ? ({ kind: "text", splices, places: change.places } as const)
        : { ...change, splices };
    return { ...commit, peer: writer, change: masked };
  });
}

/** Replaces one text wherever it stands, or everything, by a filler of the same length; newlines stay. */
export class Mask {
  readonly filler: string;
  readonly #secret: string | undefined;

  constructor(secret: string | undefined, filler: string) {
    this.#secret = secret;
    this.filler = filler;
  }

  text(text: string): string {
    const secret = this.#secret;
    if (secret === undefined) return this.#filled(text);
    return text.replaceAll(secret, () => this.#filled(secret));
  }

  /** In all texts of a value that is JSON, names included. */
  json(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.json(each));
    if (typeof value !== "object" || value === null) return value;
    const masked = new Map<string, unknown>();
    for (const [name, each] of Object.entries(value)) {
      let free = this.text(name);
      // Two names may look alike now, and neither may take the other's value away.
      while (masked.has(free)) free += this.filler;
      masked.set(free, this.json(each));
    }
    return Object.fromEntries(masked);
  }

  #filled(text: string): string {
    return Array.from({ length: text.length }, (_, at) => maskUnit(text[at]!, this.filler)).join(
      "",
    );
  }
}

function maskUnit(unit: string, filler: string): string {
  return unit === "\n" ? "\n" : filler;
}
