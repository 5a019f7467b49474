import type { GlobPart } from "./glob-pattern.ts";
import { spelled } from "./spelling.ts";

const SLASH = 0x2f;
const ASCII = 128;

const Step = {
  text: 0,
  character: 1,
  class: 2,
  slash: 3,
  characters: 4,
  /** `**`: where it begins, inside a folder's name, and behind the `/` of one. */
  folders: 5,
  folderName: 6,
  nextFolder: 7,
  choice: 8,
  end: 9,
} as const;
type Step = (typeof Step)[keyof typeof Step];

/** How a step was reached. Only the first two wait for a character; the others end or become one of them at once. */
const Way = {
  /** From the root. */
  rooted: 0,
  /** From the beginning of any name; a `/` is then only possible at the end of the pattern. */
  anywhere: 1,
  /** That `/` at the end has been read. */
  below: 2,
  /** Nothing of the pattern was used yet, and a `/` now is the one that ties it to the root. */
  fresh: 3,
  /** `**` was no folder at all, which also takes the `/` behind it away. */
  noFolder: 4,
} as const;
type Way = (typeof Way)[keyof typeof Way];
/** A step and a way in one number: `step * WAYS + way`. */
const WAYS = 8;

/** All steps that wait for the next character, after some text; the same set is one object while it is remembered. */
export interface GlobMoment {
  /** The pattern may end here. */
  readonly ended: boolean;
  /** Nothing can match any more. */
  readonly dead: boolean;
}

interface Moment extends GlobMoment {
  /** A bit for each step and each of the two ways that wait: `step * 2 + way`. */
  readonly waiting: Int32Array;
  /** What follows each ASCII character. */
  readonly following: (Moment | undefined)[];
}

type CharacterClass = Extract<GlobPart, { kind: "class" }>;

/** More moments than this are not remembered: a hostile path could make one with every character. */
const REMEMBERED = 256;

/**
 * All ways through the pattern are followed at once, a character of the path at a time. A step is reached at most
 * once per character and way, however many roads lead to it: that is what keeps hostile patterns cheap. Ordinary
 * paths meet few different moments, so after a while each character costs one look.
 */
export class GlobAutomaton {
  readonly #ignoreCase: boolean;
  readonly #rooted: boolean;
  readonly #anywhere: boolean;
  readonly #classes: CharacterClass[] = [];
  readonly #choices: (readonly number[])[] = [];
  readonly #steps: Uint8Array;
  readonly #next: Int32Array;
  /** A character, an index into `#classes` or `#choices`, or the step of `**` that follows. */
  readonly #details: Int32Array;
  readonly #first: number;

  /** Of each step that stands directly before the next one, both bits: all of them are moved on at once. */
  readonly #inRun: Int32Array;
  /** By ASCII character. */
  readonly #accepting = new Map<number, Int32Array>();

  /** By hash. */
  readonly #remembered = new Map<number, Moment[]>();
  #rememberedCount = 0;
  #start: Moment | undefined;

  /** For each state, whether it was reached since the last character. */
  readonly #reached: Uint8Array;
  readonly #waiting: Int32Array;
  readonly #stack: Int32Array;
  #ended = false;

  constructor(parts: readonly GlobPart[], ignoreCase: boolean) {
    this.#ignoreCase = ignoreCase;
    this.#anywhere = !isTiedToRoot(parts);
    this.#rooted = !this.#anywhere || hasFolders(parts);
    const steps: StepRow[] = [];
    this.#first = this.#build(steps, parts, add(steps, Step.end, -1));
    this.#steps = Uint8Array.from(steps, ([step]) => step);
    this.#next = Int32Array.from(steps, ([, next]) => next);
    this.#details = Int32Array.from(steps, ([, , detail]) => detail);
    this.#reached = new Uint8Array(steps.length * WAYS);
    this.#stack = new Int32Array(steps.length * WAYS);
    this.#waiting = new Int32Array(Math.ceil((steps.length * 2) / 32));
    this.#inRun = new Int32Array(this.#waiting.length);
    for (const [step, [kind, next]] of steps.entries()) {
      const alone = kind > Step.class || next !== step - 1 || steps[next]![0] > Step.slash;
      if (!alone) this.#inRun[step >> 4]! |= 3 << ((step & 15) * 2);
    }
  }

  start(): GlobMoment {
    if (this.#start !== undefined) return this.#start;
    this.#begin();
    if (this.#rooted) this.#reach(this.#first, Way.fresh);
    if (this.#anywhere) this.#reach(this.#first, Way.anywhere);
    return (this.#start = this.#moment());
  }

  after(from: GlobMoment, code: number): GlobMoment {
    const moment = from as Moment;
    const known = moment.following[code];
    if (known !== undefined) return known;
    const next = this.#read(moment.waiting, code);
    if (code < ASCII) moment.following[code] = next;
    return next;
  }

  #read(waiting: Int32Array, code: number): Moment {
    this.#begin();
    const capital = this.#ignoreCase ? capitalOf(code) : code;
    const accepting = this.#acceptingOf(code, capital);
    const coming = this.#waiting;
    for (let index = 0; index < waiting.length; index++) {
      const moved = waiting[index]! & accepting[index]!;
      coming[index]! |= moved >>> 2;
      if (index > 0) coming[index - 1]! |= moved << 30;
      for (let word = waiting[index]! & ~this.#inRun[index]!; word !== 0; word &= word - 1) {
        const state = index * 32 + 31 - Math.clz32(word & -word);
        this.#follow(state >> 1, (state & 1) as Way, code, capital);
      }
    }
    if (code === SLASH && this.#anywhere) this.#reach(this.#first, Way.anywhere);
    return this.#moment();
  }

  /** The steps within runs that a character leads on from. */
  #acceptingOf(code: number, capital: number): Int32Array {
    const known = this.#accepting.get(code);
    if (known !== undefined) return known;
    const accepting = this.#inRun.slice();
    for (let step = 0; step < this.#steps.length; step++) {
      const bits = 3 << ((step & 15) * 2);
      const inRun = (this.#inRun[step >> 4]! & bits) !== 0;
      if (inRun && !this.#accepts(step, code, capital)) accepting[step >> 4]! &= ~bits;
    }
    if (code < ASCII) this.#accepting.set(code, accepting);
    return accepting;
  }

  #accepts(step: number, code: number, capital: number): boolean {
    const detail = this.#details[step]!;
    const kind = this.#steps[step];
    if (kind === Step.text) return code === detail;
    if (code === SLASH) return false;
    return kind === Step.character || isIn(this.#classes[detail]!, code, capital);
  }

  #follow(step: number, way: Way, code: number, capital: number): void {
    const next = this.#next[step]!;
    const detail = this.#details[step]!;
    const isSlash = code === SLASH;
    switch (this.#steps[step]) {
      case Step.text:
      case Step.character:
      case Step.class:
        if (this.#accepts(step, code, capital)) this.#reach(next, way);
        break;
      case Step.characters:
        if (!isSlash) this.#reach(step, way);
        break;
      case Step.slash:
        if (isSlash) this.#reach(next, way === Way.anywhere ? Way.below : way);
        break;
      case Step.folderName:
        this.#reach(isSlash ? detail : step, way);
        break;
      default:
        if (!isSlash) this.#reach(detail, way);
    }
  }

  #begin(): void {
    this.#reached.fill(0);
    this.#waiting.fill(0);
    this.#ended = false;
  }

  /** Notes a step and all that can be reached from it without a character. */
  #reach(first: number, firstWay: Way): void {
    const stack = this.#stack;
    let depth = this.#push(0, first, firstWay);
    while (depth > 0) {
      const state = stack[--depth]!;
      const step = state >> 3;
      const way = (state & 7) as Way;
      const kind = this.#steps[step];
      const next = this.#next[step]!;
      if (kind === Step.choice) {
        for (const choice of this.#choices[this.#details[step]!]!)
          depth = this.#push(depth, choice, way);
      } else if (kind === Step.end) {
        this.#ended = true;
      } else if (way === Way.fresh) {
        depth = this.#push(depth, kind === Step.slash ? next : step, Way.rooted);
      } else if (way === Way.noFolder) {
        if (kind === Step.slash) depth = this.#push(depth, next, Way.rooted);
      } else if (way !== Way.below && !(kind === Step.folders && way === Way.anywhere)) {
        // From anywhere `**` would match what it matches from the root.
        this.#wait(step, way);
        if (kind === Step.characters || kind === Step.folderName)
          depth = this.#push(depth, next, way);
        else if (kind === Step.folders) depth = this.#push(depth, next, Way.noFolder);
      }
    }
  }

  #wait(step: number, way: Way): void {
    const bit = step * 2 + way;
    this.#waiting[bit >> 5]! |= 1 << (bit & 31);
  }

  #push(depth: number, step: number, way: Way): number {
    // Most steps lead nowhere without a character.
    if (this.#steps[step]! <= Step.slash && way <= Way.anywhere) {
      this.#wait(step, way);
      return depth;
    }
    const state = step * WAYS + way;
    if (this.#reached[state] !== 0) return depth;
    this.#reached[state] = 1;
    this.#stack[depth] = state;
    return depth + 1;
  }

  /** What was reached, as one object for the same set. */
  #moment(): Moment {
    const waiting = this.#waiting;
    const ended = this.#ended;
    let hash = 0;
    let any = 0;
    for (const word of waiting) {
      hash = Math.imul(hash ^ word, 0x01000193) ^ (hash >>> 15);
      any |= word;
    }
    const like = this.#remembered
      .get(hash)
      ?.find((moment) => moment.ended === ended && isSame(moment.waiting, waiting));
    if (like !== undefined) return like;
    if (this.#rememberedCount++ >= REMEMBERED) {
      this.#remembered.clear();
      this.#rememberedCount = 1;
      this.#start = undefined;
    }
    const moment: Moment = {
      waiting: waiting.slice(),
      following: [],
      ended,
      dead: any === 0 && !ended && !this.#anywhere,
    };
    const others = this.#remembered.get(hash);
    if (others === undefined) this.#remembered.set(hash, [moment]);
    else others.push(moment);
    return moment;
  }

  /** From the end on: alternatives then share what follows them, and nothing is copied. */
  #build(steps: StepRow[], parts: readonly GlobPart[], end: number): number {
    return parts.reduceRight((next, part) => this.#buildPart(steps, part, next), end);
  }

  #buildPart(steps: StepRow[], part: GlobPart, next: number): number {
    switch (part.kind) {
      case "text":
        return Array.from(spelledText(part.text, this.#ignoreCase), codeOf).reduceRight(
          (then, code) => add(steps, Step.text, then, code),
          next,
        );
      case "class":
        return add(steps, Step.class, next, this.#classes.push(part) - 1);
      case "choice": {
        const choices = part.choices.map((choice) => this.#build(steps, choice, next));
        return add(steps, Step.choice, next, this.#choices.push(choices) - 1);
      }
      case "folders": {
        const name = add(steps, Step.folderName, next, steps.length + 1);
        add(steps, Step.nextFolder, next, name);
        return add(steps, Step.folders, next, name);
      }
      default:
        return add(steps, Step[part.kind], next);
    }
  }
}

type StepRow = readonly [step: Step, next: number, detail: number];

function add(steps: StepRow[], step: Step, next: number, detail = -1): number {
  return steps.push([step, next, detail]) - 1;
}

function isSame(left: Int32Array, right: Int32Array): boolean {
  for (let index = 0; index < left.length; index++) {
    if (left[index] !== right[index]) return false;
  }
  return true;
}

function isIn({ negated, ranges }: CharacterClass, code: number, capital: number): boolean {
  for (const [first, last] of ranges) {
    if ((code >= first && code <= last) || (capital >= first && capital <= last)) return !negated;
  }
  return negated;
}

/** A class keeps its case, because a range means nothing without; so it is asked for both. */
function capitalOf(code: number): number {
  const capital = String.fromCodePoint(code).toUpperCase();
  const only = codeOf(capital);
  return capital.length === (only > 0xffff ? 2 : 1) ? only : code;
}

/** Characters that show nothing are gone from paths: text of nothing else then matches none, instead of all. */
function spelledText(text: string, ignoreCase: boolean): string {
  return spelled(text, ignoreCase) || text;
}

function codeOf(character: string): number {
  return character.codePointAt(0)!;
}

/** Whatever way is taken through the braces. Others are looked for everywhere, and from the root as well. */
function isTiedToRoot(parts: readonly GlobPart[]): boolean {
  return parts.some(
    ({ kind }, index) =>
      kind === "slash" &&
      (index === 0 || (parts[index + 1] !== undefined && parts[index + 1]!.kind !== "choice")),
  );
}

/** Anything that only matches from the root. */
function hasFolders(parts: readonly GlobPart[]): boolean {
  return parts.some(
    (part) =>
      part.kind === "slash" ||
      part.kind === "folders" ||
      (part.kind === "choice" && part.choices.some(hasFolders)),
  );
}
