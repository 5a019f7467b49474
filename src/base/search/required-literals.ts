/**
 * The shortest literal worth asking an index for: its entries are made of three characters. A longer one
 * than the longest is cut: what stands in the index as one piece is not longer.
 */
const SHORTEST = 3;
export const LONGEST_LITERAL = 64;
const BRANCHES = 16;

/** What is known of everything that a part of a pattern matches. */
interface Part {
  /** The one text it matches; zero-width parts match the empty one. */
  readonly exact: string | undefined;
  /** Texts of which every match contains at least one; none are known when it is empty. */
  readonly some: readonly string[];
}

const ANYTHING: Part = { exact: undefined, some: [] };
const NOTHING_WIDE: Part = { exact: "", some: [] };

/** The pattern holds something this reader does not know: nothing is claimed about it. */
class Unread extends Error {}

/**
 * Texts of three or more characters of which every match of a regular expression contains at least one;
 * empty when there is no such claim. The pattern must compile with the same flags.
 *
 * With `ignoreCase` a match contains them in some case, and they are of ASCII: of other characters indexes
 * and engines do not agree which belong together.
 */
export function requiredLiterals(
  source: string,
  flags: { readonly ignoreCase: boolean; readonly unicode: boolean },
): readonly string[] {
  try {
    const reader = new PatternReader(source, flags);
    const part = reader.alternatives();
    if (!reader.atEnd) return [];
    return claimsOf(part).map(cut);
  } catch (error) {
    if (error instanceof Unread) return [];
    throw error;
  }
}

/** The literal that a plain text gives, in the same form. */
export function literalsOf(text: string, ignoreCase: boolean): readonly string[] {
  const run = new Run();
  for (const character of text) run.add(characterPart(character, ignoreCase));
  return claimsOf(run.finish()).map(cut);
}

class PatternReader {
  readonly #source: string;
  readonly #ignoreCase: boolean;
  readonly #unicode: boolean;
  #at = 0;
  #depth = 0;

  constructor(source: string, flags: { ignoreCase: boolean; unicode: boolean }) {
    this.#source = source;
    this.#ignoreCase = flags.ignoreCase;
    this.#unicode = flags.unicode;
  }

  get atEnd(): boolean {
    return this.#at === this.#source.length;
  }

  alternatives(): Part {
    this.#depth += 1;
    if (this.#depth > 200) throw new Unread();
    const branches = [this.#sequence()];
    while (this.#take("|")) branches.push(this.#sequence());
    this.#depth -= 1;
    if (branches.length === 1) return branches[0]!;
    const claims = branches.map(claimsOf);
    const some = claims.some((each) => each.length === 0) ? [] : [...new Set(claims.flat())];
    return { exact: undefined, some: some.length > BRANCHES ? [] : some };
  }

  #sequence(): Part {
    const run = new Run();
    while (!this.atEnd && !this.#sees("|") && !this.#sees(")")) {
      const part = this.#term();
      const [least, most] = this.#quantifier();
      run.repeat(part, least, most);
    }
    return run.finish();
  }

  #term(): Part {
    const character = this.#next();
    switch (character) {
      case "^":
      case "$":
        return NOTHING_WIDE;
      case ".":
        return ANYTHING;
      case "[":
        this.#skipClass();
        return ANYTHING;
      case "(":
        return this.#group();
      case "\\":
        return this.#escape();
      default:
        return characterPart(character, this.#ignoreCase);
    }
  }

  #group(): Part {
    let kind: "plain" | "look" | "other" = "plain";
    if (this.#take("?")) {
      if (this.#match(/^(?:=|!|<=|<!)/) !== undefined) kind = "look";
      // Modifiers such as (?i:…) change what the inside means.
      else if (this.#match(/^[a-z]*-?[a-z]+:/) !== undefined) kind = "other";
      else if (this.#match(/^(?::|<[^>]*>)/) === undefined) throw new Unread();
    }
    const inside = this.alternatives();
    if (!this.#take(")")) throw new Unread();
    if (kind === "look") return NOTHING_WIDE;
    return kind === "other" ? ANYTHING : inside;
  }

  #escape(): Part {
    const character = this.#next();
    const control = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v" }[character];
    if (control !== undefined) return characterPart(control, this.#ignoreCase);
    if (character === "b" || character === "B") return NOTHING_WIDE;
    if (/[dDwWsS]/.test(character)) return ANYTHING;
    if (/[0-9]/.test(character)) {
      this.#match(/^[0-9]*/);
      return ANYTHING;
    }
    if (character === "x" || character === "u") {
      const code = this.#match(/^(?:\{[0-9a-fA-F]+\}|[0-9a-fA-F]{2,4})/);
      const length = character === "x" ? 2 : 4;
      if (code === undefined) throw new Unread();
      if (code.startsWith("{")) {
        if (!this.#unicode || character === "x") throw new Unread();
        return characterPart(codePoint(code.slice(1, -1)), this.#ignoreCase);
      }
      if (code.length < length) throw new Unread();
      this.#at -= code.length - length;
      return characterPart(codePoint(code.slice(0, length)), this.#ignoreCase);
    }
    if (character === "p" || character === "P") {
      if (!this.#unicode || this.#match(/^\{[^}]*\}/) === undefined) throw new Unread();
      return ANYTHING;
    }
    if (/[a-zA-Z]/.test(character)) throw new Unread();
    return characterPart(character, this.#ignoreCase);
  }

  /** How often the last term stands there, at least and at most. */
  #quantifier(): readonly [number, number] {
    const counted = this.#match(/^\{[0-9]+(?:,[0-9]*)?\}/);
    const sign = counted === undefined ? this.#match(/^[*+?]/) : undefined;
    if (counted === undefined && sign === undefined) return [1, 1];
    this.#take("?");
    if (sign !== undefined) return sign === "+" ? [1, Infinity] : [0, Infinity];
    const [least, most] = counted!.slice(1, -1).split(",");
    return [Number(least), most === undefined ? Number(least) : Number(most || Infinity)];
  }

  #skipClass(): void {
    for (;;) {
      const character = this.#next();
      if (character === "]") return;
      if (character === "\\") this.#next();
    }
  }

  #sees(character: string): boolean {
    return this.#source[this.#at] === character;
  }

  #take(character: string): boolean {
    if (!this.#sees(character)) return false;
    this.#at += 1;
    return true;
  }

  /** One character, as the engine counts them: a quantifier belongs to the last one. */
  #next(): string {
    if (this.atEnd) throw new Unread();
    const character = this.#unicode
      ? String.fromCodePoint(this.#source.codePointAt(this.#at)!)
      : this.#source[this.#at]!;
    this.#at += character.length;
    return character;
  }

  #match(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.#source.slice(this.#at, this.#at + 256))?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

/** Parts that follow one another: neighbours with one text each make a longer one. */
class Run {
  #literal = "";
  #exact = true;
  #best: readonly string[] = [];

  add(part: Part): void {
    if (part.exact !== undefined) {
      this.#literal += part.exact;
      return;
    }
    this.#close();
    this.#offer(part.some);
  }

  repeat(part: Part, least: number, most: number): void {
    if (least === 1 && most === 1) {
      this.add(part);
    } else if (least === 0) {
      this.#close();
    } else if (part.exact === undefined) {
      this.add(part);
    } else if (least === most && part.exact.length * least <= LONGEST_LITERAL) {
      this.add({ exact: part.exact.repeat(least), some: [] });
    } else {
      // Once behind what came before, and once before what follows.
      this.#literal += part.exact;
      this.#close();
      this.#literal = part.exact;
    }
  }

  finish(): Part {
    if (this.#exact) return { exact: this.#literal, some: [] };
    this.#close();
    return { exact: undefined, some: this.#best };
  }

  #close(): void {
    this.#exact = false;
    this.#offer(this.#literal === "" ? [] : claimsOf({ exact: this.#literal, some: [] }));
    this.#literal = "";
  }

  /** The better claim has the longer shortest text. */
  #offer(some: readonly string[]): void {
    if (some.length > 0 && (this.#best.length === 0 || shortest(some) > shortest(this.#best))) {
      this.#best = some;
    }
  }
}

function characterPart(character: string, ignoreCase: boolean): Part {
  return ignoreCase && character > "\u007f" ? ANYTHING : { exact: character, some: [] };
}

function claimsOf({ exact, some }: Part): readonly string[] {
  if (exact === undefined) return some;
  const beginning = Array.from(exact.slice(0, SHORTEST * 2));
  return beginning.length >= SHORTEST && exact.isWellFormed() ? [exact] : [];
}

function cut(literal: string): string {
  if (literal.length <= LONGEST_LITERAL) return literal;
  const beginning = literal.slice(0, LONGEST_LITERAL);
  return beginning.isWellFormed() ? beginning : beginning.slice(0, -1);
}

function shortest(texts: readonly string[]): number {
  return Math.min(...texts.map((text) => text.length));
}

function codePoint(digits: string): string {
  const code = Number.parseInt(digits, 16);
  if (code > 0x10ffff) throw new Unread();
  return String.fromCodePoint(code);
}
