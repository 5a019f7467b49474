import { KumikoError } from "./errors.ts";

const LONGEST = 1_000;
const DEEPEST = 10;

/** What a glob says, part by part; `at` is where in the pattern. */
export type GlobPart = { readonly at: number } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "character" | "characters" | "folders" | "slash" }
  | {
      readonly kind: "class";
      readonly negated: boolean;
      readonly ranges: readonly (readonly [first: number, last: number])[];
    }
  | { readonly kind: "choice"; readonly choices: readonly (readonly GlobPart[])[] }
);

/**
 * Reads a glob, or refuses it with the place and what to write. What would match nothing, or means something else
 * in other programs, is refused too: a rule that silently never holds is worse than an error.
 */
export function parseGlob(pattern: string): readonly GlobPart[] {
  if (pattern.length > LONGEST) {
    throw refused(pattern, LONGEST, `it is longer than ${LONGEST} characters`);
  }
  // Rules are compared in the form NFC; places are told in the pattern as it was written.
  const composed = pattern.normalize("NFC");
  const refuse: Refuse = (at, reason) => {
    throw refused(pattern, offsetAsWritten(pattern, composed, at), reason);
  };
  if (composed === "") return refuse(0, "it is empty; `**` means everything");
  if (composed.startsWith("!")) {
    return refuse(0, "there is no `!` for the opposite; the first rule that matches decides");
  }
  const dots = /(?:^|\/)(?<dots>\.\.?)(?=\/|$)/d.exec(composed);
  if (dots !== null) {
    const name = dots.groups!["dots"]!;
    return refuse(
      dots.indices!.groups!["dots"]![0],
      `\`${name}\` names no file; write the path below the mounted folder without it`,
    );
  }
  const parts = new GlobReader(composed, refuse).read();
  checkParts(parts, composed.length, refuse);
  return parts;
}

type Refuse = (at: number, reason: string) => never;

class GlobReader {
  readonly #pattern: string;
  readonly #refuse: Refuse;
  #at = 0;

  constructor(pattern: string, refuse: Refuse) {
    this.#pattern = pattern;
    this.#refuse = refuse;
  }

  read(): GlobPart[] {
    const parts = this.#sequence(0);
    if (this.#at < this.#pattern.length) {
      this.#refuse(this.#at, "`}` has no `{` before it; the character itself is written `\\}`");
    }
    return parts;
  }

  /** Up to the end, or to what ends an alternative. */
  #sequence(depth: number): GlobPart[] {
    const parts: GlobPart[] = [];
    for (;;) {
      const at = this.#at;
      const next = this.#pattern[at];
      if (next === undefined || next === "}" || (next === "," && depth > 0)) return parts;
      if (next === "/") {
        this.#at++;
        parts.push({ at, kind: "slash" });
      } else if (next === "?") {
        this.#at++;
        parts.push({ at, kind: "character" });
      } else if (next === "*") parts.push(this.#stars());
      else if (next === "[") parts.push(this.#class());
      else if (next === "{") parts.push(this.#choice(depth + 1));
      else parts.push(this.#text(depth));
    }
  }

  #stars(): GlobPart {
    const at = this.#at;
    while (this.#pattern[this.#at] === "*") this.#at++;
    const count = this.#at - at;
    if (count > 2) this.#refuse(at, "more than two `*` in a row mean nothing; write `*` or `**`");
    return { at, kind: count === 2 ? "folders" : "characters" };
  }

  #text(depth: number): GlobPart {
    const at = this.#at;
    let text = "";
    for (;;) {
      const next = this.#pattern[this.#at];
      if (next === undefined || "/?*[{}".includes(next) || (next === "," && depth > 0)) break;
      if (next === "]") {
        this.#refuse(this.#at, "`]` has no `[` before it; the character itself is written `\\]`");
      }
      if (next === "(" && /[@!+?*]/.test(this.#pattern[this.#at - 1] ?? "")) {
        this.#refuse(
          this.#at - 1,
          "alternatives are written `{a,b}`; a bracket that is part of a name, `\\(`",
        );
      }
      text += this.#character();
    }
    return { at, kind: "text", text };
  }

  /** One character that stands for itself. */
  #character(): string {
    const at = this.#at;
    if (this.#pattern[at] === "\\") {
      this.#at++;
      const next = this.#pattern[this.#at];
      if (next === undefined) this.#refuse(at, "a `\\` at the end takes nothing literally");
      if (next === "/" || /[\p{L}\p{N}]/u.test(next)) {
        this.#refuse(
          at,
          "`\\` only takes a special character literally; folders are separated by `/`",
        );
      }
    }
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at)!);
    this.#at += character.length;
    return character;
  }

  #class(): GlobPart {
    const at = this.#at++;
    const negated = this.#pattern[this.#at] === "!";
    if (negated) this.#at++;
    if (this.#pattern[this.#at] === "^") {
      this.#refuse(this.#at, "the opposite of a class is written `[!…]`; the character, `\\^`");
    }
    const ranges: (readonly [number, number])[] = [];
    while (this.#pattern[this.#at] !== "]") {
      const begin = this.#at;
      const first = this.#member(at);
      let last = first;
      if (this.#pattern[this.#at] === "-" && this.#pattern[this.#at + 1] !== "]") {
        this.#at++;
        last = this.#member(at);
      }
      if (last < first) this.#refuse(begin, "the range runs backwards; write its ends in order");
      ranges.push([first, last]);
    }
    if (ranges.length === 0) {
      this.#refuse(at, "the class is empty; the character `]` itself is written `\\]`");
    }
    this.#at++;
    return { at, kind: "class", negated, ranges };
  }

  #member(begin: number): number {
    const next = this.#pattern[this.#at];
    if (next === undefined) {
      this.#refuse(begin, "the class has no `]`; the character `[` itself is written `\\[`");
    }
    if (next === "/") this.#refuse(this.#at, "a class cannot match `/`");
    if (next === "[" && this.#pattern[this.#at + 1] === ":") {
      this.#refuse(this.#at, "there are no named classes; write the range, for example `[a-z]`");
    }
    return this.#character().codePointAt(0)!;
  }

  #choice(depth: number): GlobPart {
    const at = this.#at++;
    if (depth > DEEPEST) this.#refuse(at, `braces stand in each other more than ${DEEPEST} deep`);
    const choices = [this.#sequence(depth)];
    while (this.#pattern[this.#at] === ",") {
      this.#at++;
      choices.push(this.#sequence(depth));
    }
    if (this.#pattern[this.#at] !== "}") {
      this.#refuse(at, "`{` has no `}` behind it; the character itself is written `\\{`");
    }
    if (choices.length === 1) {
      this.#refuse(at, "braces hold at least two alternatives; the character is written `\\{`");
    }
    this.#at++;
    return { at, kind: "choice", choices };
  }
}

/** What may stand directly before a place, over all ways through the braces: a set of these. */
const START = 1;
const FIRST_SLASH = 2;
const SLASH = 4;
const NAME = 8;
const FOLDERS = 16;

/** Every way through the braces must be a pattern that can match: no empty segment, `**` alone in its own. */
function checkParts(parts: readonly GlobPart[], length: number, refuse: Refuse): void {
  const end = behind(parts, START, refuse);
  if ((end & (START | FIRST_SLASH)) !== 0) {
    refuse(length, "one way to read it names nothing; `**` means everything");
  }
}

function behind(parts: readonly GlobPart[], begin: number, refuse: Refuse): number {
  let before = begin;
  for (const part of parts) {
    if (part.kind === "choice") {
      before = part.choices.reduce((all, choice) => all | behind(choice, before, refuse), 0);
    } else if (part.kind === "slash") {
      if ((before & (SLASH | FIRST_SLASH)) !== 0) {
        refuse(part.at, "two `/` meet here, and no file has an empty name between them");
      }
      const first = (before & START) !== 0 ? FIRST_SLASH : 0;
      before = first | (before === START ? 0 : SLASH);
    } else if (part.kind === "folders") {
      if ((before & (NAME | FOLDERS)) !== 0) refuse(part.at, ALONE);
      before = FOLDERS;
    } else {
      if ((before & FOLDERS) !== 0) refuse(part.at, ALONE);
      before = NAME;
    }
  }
  return before;
}

const ALONE = "`**` stands alone between `/`; inside a name write `*`";

function refused(pattern: string, offset: number, reason: string): KumikoError {
  const shown = pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern;
  return new KumikoError(
    "invalid_pattern",
    `The pattern ${JSON.stringify(shown)} cannot be used, character ${offset + 1}: ${reason}.`,
    { pattern: shown, offset, reason },
  );
}

function offsetAsWritten(pattern: string, composed: string, at: number): number {
  if (pattern === composed) return at;
  let offset = pattern.length;
  while (pattern.slice(0, offset).normalize("NFC").length > at) offset--;
  return offset;
}
