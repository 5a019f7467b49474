import { ANYTHING, eitherOf, NOTHING_WIDE, type Part, partOf, Sequence } from "./pattern-part.ts";

/** The inside of a class with nothing in it but characters of words. */
const ONLY_OF_WORDS = /^(?:\\[dw]|[0-9]-[0-9]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9A-Z_a-z])+$/;

/** The pattern holds something this reader does not know: nothing is claimed about it. */
class Unread extends Error {}

interface Flags {
  readonly ignoreCase: boolean;
  readonly unicode: boolean;
}

/** Reads a regular expression, which must compile with the same flags. Of what it does not know it claims nothing. */
export function partOfPattern(source: string, flags: Flags): Part {
  try {
    const reader = new PatternReader(source, flags);
    const part = reader.alternatives();
    return reader.atEnd ? part : ANYTHING;
  } catch (error) {
    if (error instanceof Unread) return ANYTHING;
    throw error;
  }
}

export function partOfText(text: string, ignoreCase: boolean): Part {
  const sequence = new Sequence();
  for (const character of text) sequence.add(characterPart(character, ignoreCase));
  return sequence.finish();
}

class PatternReader {
  readonly #source: string;
  readonly #ignoreCase: boolean;
  readonly #unicode: boolean;
  #at = 0;
  #depth = 0;

  constructor(source: string, flags: Flags) {
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
    return branches.length === 1 ? branches[0]! : eitherOf(branches);
  }

  #sequence(): Part {
    const sequence = new Sequence();
    while (!this.atEnd && !this.#sees("|") && !this.#sees(")")) {
      const part = this.#term();
      const [least, most] = this.#quantifier();
      sequence.repeat(part, least, most);
    }
    return sequence.finish();
  }

  #term(): Part {
    const character = this.#next();
    switch (character) {
      case "^":
      case "$":
        return partOf("edge");
      case ".":
        return ANYTHING;
      case "[":
        return this.#class();
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
    if (character === "b") return partOf("edge");
    if (character === "B") return NOTHING_WIDE;
    if (character === "w" || character === "d") return partOf("word");
    if (character === "W" || character === "s") return partOf("edge", "gap", "edge");
    if (character === "D" || character === "S") return ANYTHING;
    if (/[0-9]/.test(character)) {
      while (this.#match(/^[0-9]+/) !== undefined);
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
    if (counted === undefined && sign === undefined) {
      // A count that is longer than what is looked at.
      if (/^\{[0-9]/.test(this.#source.slice(this.#at, this.#at + 2))) throw new Unread();
      return [1, 1];
    }
    this.#take("?");
    if (sign !== undefined) return sign === "+" ? [1, Infinity] : [0, Infinity];
    const [least, most] = counted!.slice(1, -1).split(",");
    return [Number(least), most === undefined ? Number(least) : Number(most || Infinity)];
  }

  #class(): Part {
    const start = this.#at;
    for (;;) {
      const character = this.#next();
      if (character === "]") break;
      if (character === "\\") this.#next();
    }
    const inside = this.#source.slice(start, this.#at - 1);
    return ONLY_OF_WORDS.test(inside) ? partOf("word") : ANYTHING;
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

/** Of characters that are not ASCII indexes and engines do not agree which belong together. */
function characterPart(character: string, ignoreCase: boolean): Part {
  return ignoreCase && character > "\u007f" ? ANYTHING : partOf({ text: character });
}

function codePoint(digits: string): string {
  const code = Number.parseInt(digits, 16);
  if (code > 0x10ffff) throw new Unread();
  return String.fromCodePoint(code);
}
