import { NotEditable, TextScanner } from "./text-scanner.ts";

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

/** The text without that table and those in it; everything else stays. */
export function withoutTable(text: string, keys: readonly string[]): string {
  const statements = new Scanner(text).statements();
  refuseOtherForms(statements, keys);
  let changed = text;
  // From the end on, so that what stands before keeps its place.
  for (const [at, { kind, keys: own, start }] of [...statements.entries()].toReversed()) {
    if (kind === "pair" || !same(own.slice(0, keys.length), keys)) continue;
    const next = statements.findIndex((each, index) => index > at && each.kind !== "pair");
    const { end } = statements.at(next < 0 ? -1 : next - 1)!;
    const line = changed.indexOf("\n", end);
    const before = changed.slice(0, start);
    const rest = line < 0 ? "" : changed.slice(line + 1);
    // The empty line before it was its own.
    changed = (rest === "" ? before.replace(/(\r?\n)\r?\n$/, "$1") : before) + rest;
  }
  return changed;
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
  readonly #text: TextScanner;

  constructor(text: string) {
    this.#text = new TextScanner(text, { name: "TOML", blank: /(?:\s|#[^\n]*)*/y });
  }

  statements(): Statement[] {
    const found: Statement[] = [];
    for (;;) {
      this.#text.skip();
      if (this.#text.next === undefined) return found;
      found.push(this.#statement());
      this.#text.match(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y);
    }
  }

  #statement(): Statement {
    const start = this.#text.at;
    const several = this.#text.takes("[[");
    if (several || this.#text.takes("[")) {
      const keys = this.#keys();
      this.#text.match(several ? /\]\]/y : /\]/y);
      return { kind: several ? "tables" : "table", keys, start, end: this.#text.at };
    }
    const keys = this.#pair();
    return { kind: "pair", keys, start, end: this.#text.at };
  }

  #pair(): string[] {
    const keys = this.#keys();
    this.#text.match(/=[ \t]*/y);
    this.#value();
    return keys;
  }

  #keys(): string[] {
    const keys: string[] = [];
    do {
      const key = this.#text
        .match(/[ \t]*(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*/y)
        .trim();
      keys.push(/^["']/.test(key) ? key.slice(1, -1) : key);
    } while (this.#text.takes("."));
    return keys;
  }

  #value(): void {
    const { text, at, next } = this.#text;
    if (text.startsWith('"""', at)) this.#text.match(/"""(?:[^\\]|\\[\s\S])*?"""(?!")"{0,2}/y);
    else if (text.startsWith("'''", at)) this.#text.match(/'''[\s\S]*?'''(?!')'{0,2}/y);
    else if (next === '"') this.#text.match(/"(?:[^"\\\n]|\\.)*"/y);
    else if (next === "'") this.#text.match(/'[^'\n]*'/y);
    else if (next === "[") this.#text.items("[", "]", () => this.#value());
    else if (next === "{") this.#text.items("{", "}", () => void this.#pair());
    else this.#text.match(SCALAR);
  }
}
