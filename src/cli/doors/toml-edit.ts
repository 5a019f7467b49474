import { NotEditable } from "./json-edit.ts";

/** A header or a `key = value` of a TOML text. */
interface Statement {
  readonly kind: "table" | "tables" | "pair";
  /** As written, below the header that it stands under. */
  readonly keys: readonly string[];
  readonly start: number;
  /** Behind the value or the header, before a comment. */
  readonly end: number;
}

/**
 * The text with a table of these strings and lists of strings; everything else stays as it is. A table that is there
 * keeps its other keys.
 */
export function withTable(
  text: string,
  keys: readonly string[],
  values: { readonly [name: string]: unknown },
): string {
  const statements = new Scanner(text).statements();
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  refuseOtherForms(statements, keys);
  const lines = new Map(
    Object.entries(values).map(([name, value]) => [name, `${name} = ${JSON.stringify(value)}`]),
  );
  const at = statements.findIndex(({ kind, keys: own }) => kind === "table" && same(own, keys));
  if (at < 0) {
    const gap = text === "" ? "" : text.endsWith("\n") ? newline : `${newline}${newline}`;
    const table = [`[${keys.join(".")}]`, ...lines.values()].join(newline);
    return `${text}${gap}${table}${newline}`;
  }
  const behind = statements.findIndex(({ kind }, index) => index > at && kind !== "pair");
  const pairs = statements.slice(at + 1, behind < 0 ? undefined : behind);
  // From the end on, so that what stands before keeps its place.
  let changed = text;
  for (const { keys: own, start, end } of pairs.toReversed()) {
    const line = own.length === 1 ? lines.get(own[0]!) : undefined;
    if (line === undefined) continue;
    changed = changed.slice(0, start) + line + changed.slice(end);
    lines.delete(own[0]!);
  }
  const head = /\r?\n|$/g;
  head.lastIndex = statements[at]!.end;
  const after = head.exec(changed)!.index;
  const missing = [...lines.values()].map((line) => `${newline}${line}`).join("");
  return changed.slice(0, after) + missing + changed.slice(after);
}

/** The same may be said inline, by dotted keys or as one of several tables: that is left to people. */
function refuseOtherForms(statements: readonly Statement[], keys: readonly string[]): void {
  let table: readonly string[] = [];
  for (const { kind, keys: own } of statements) {
    if (kind !== "pair") table = own;
    const whole = kind === "pair" ? [...table, ...own] : own;
    const overlaps = keys.every((key, index) => whole[index] === undefined || whole[index] === key);
    const inside = kind === "pair" && same(table.slice(0, keys.length), keys);
    if (overlaps && !inside && kind !== "table")
      throw new NotEditable(`${whole.join(".")} is written in a way that is not changed here`);
  }
}

function same(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index]);
}

const SCALAR =
  /(?:true|false|[+-]?(?:inf|nan)|0x[\da-fA-F_]+|0o[0-7_]+|0b[01_]+|\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d:\d\d(?:\.\d+)?|[+-]?\d[\d_]*(?:\.[\d_]+)?(?:[eE][+-]?[\d_]+)?)(?=[\s,\]}#]|$)/y;

/** Reads as much of TOML as is needed to know where each thing begins and ends. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\uFEFF")) this.#at = 1;
  }

  statements(): Statement[] {
    const found: Statement[] = [];
    for (;;) {
      this.#skip();
      if (this.#at >= this.#text.length) return found;
      found.push(this.#statement());
      this.#match(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y);
    }
  }

  #statement(): Statement {
    const start = this.#at;
    const header = /\[\[?/y;
    header.lastIndex = start;
    const opening = header.exec(this.#text)?.[0];
    if (opening !== undefined) {
      this.#at += opening.length;
      const keys = this.#keys();
      this.#match(opening === "[[" ? /\]\]/y : /\]/y);
      const kind = opening === "[[" ? "tables" : "table";
      return { kind, keys, start, end: this.#at };
    }
    const keys = this.#keys();
    this.#match(/=[ \t]*/y);
    this.#value();
    return { kind: "pair", keys, start, end: this.#at };
  }

  #keys(): string[] {
    const keys: string[] = [];
    do {
      const key = this.#match(
        /[ \t]*(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*/y,
      ).trim();
      keys.push(/^["']/.test(key) ? key.slice(1, -1) : key);
    } while (this.#takes("."));
    return keys;
  }

  #value(): void {
    const first = this.#text[this.#at];
    if (this.#text.startsWith('"""', this.#at))
      this.#match(/"""(?:[^\\]|\\[\s\S])*?"""(?!")"{0,2}/y);
    else if (this.#text.startsWith("'''", this.#at)) this.#match(/'''[\s\S]*?'''(?!')'{0,2}/y);
    else if (first === '"') this.#match(/"(?:[^"\\\n]|\\.)*"/y);
    else if (first === "'") this.#match(/'[^'\n]*'/y);
    else if (first === "[") this.#items("]", () => this.#value());
    else if (first === "{")
      this.#items("}", () => {
        this.#keys();
        this.#match(/=[ \t]*/y);
        this.#value();
      });
    else this.#match(SCALAR);
  }

  #items(closing: string, item: () => void): void {
    this.#at += 1;
    for (;;) {
      this.#skip();
      if (this.#takes(closing)) return;
      item();
      this.#skip();
      if (!this.#takes(",") && this.#text[this.#at] !== closing) throw this.#unexpected();
    }
  }

  #skip(): void {
    this.#match(/(?:\s|#[^\n]*)*/y);
  }

  #takes(character: string): boolean {
    const there = this.#text[this.#at] === character;
    if (there) this.#at += 1;
    return there;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw this.#unexpected();
    this.#at += found.length;
    return found;
  }

  #unexpected(): NotEditable {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new NotEditable(`line ${line} is not TOML`);
  }
}
