import { parse, TomlError, type TomlTableWithoutBigInt } from "smol-toml";
import { KumikoError, nearest } from "../base/index.ts";
import { placeInString, type TomlPlaces, tomlPlaces } from "./toml-places.ts";

/** A pattern costs time with every decision, and whoever wrote the folder wrote its rules. */
const LONGEST = 65_536;
const DEEPEST = 20;
const SHOWN = 120;

export type Path = readonly (string | number)[];

/** A rule file as text and as values; whatever is wrong in it is told with its place. */
export class RulesText {
  readonly file: string;
  readonly root: TomlTableWithoutBigInt;
  readonly #text: string;
  readonly #places: TomlPlaces;

  constructor(given: string, file: string) {
    this.file = file;
    this.#text = given.replace(/^\uFEFF/, "");
    if (this.#text.length > LONGEST) {
      throw this.#refusal(1, 1, `the file is longer than ${LONGEST} characters`, "Shorten it.");
    }
    this.root = this.#parse();
    this.#places = tomlPlaces(this.#text);
  }

  /** `kumiko.toml line 7` */
  from(path: Path): string {
    return `${this.file} line ${this.#position(this.#places.value(...path)).line}`;
  }

  atKey(path: Path, what: string, hint: string): KumikoError {
    return this.#at(this.#places.key(...path), what, hint);
  }

  atValue(path: Path, what: string, hint: string): KumikoError {
    return this.#at(this.#places.value(...path), what, hint);
  }

  /** At a character of the string that stands there. */
  inString(path: Path, index: number, what: string, hint: string): KumikoError {
    const start = this.#places.value(...path);
    return this.#at(placeInString(this.#text, start, index), what, hint);
  }

  /** Refuses keys that mean nothing. */
  checkKeys(path: Path, table: object, known: readonly string[]): void {
    for (const key of Object.keys(table)) {
      if (known.includes(key)) continue;
      throw this.atKey([...path, key], `there is no key ${quoted(key)} here`, oneOf(key, known));
    }
  }

  /** The value as one of a few words. */
  word<Word extends string>(
    path: Path,
    value: unknown,
    what: string,
    words: readonly Word[],
  ): Word {
    const found = words.find((word) => word === value);
    if (found !== undefined) return found;
    if (typeof value === "string") {
      throw this.atValue(path, `there is no ${what} ${quoted(value)}`, oneOf(value, words));
    }
    throw this.atValue(path, `${what} must be a word in quotes`, `Write ${listed(words)}.`);
  }

  /** The tables of `[[name]]`. */
  tables(name: string): readonly TomlTableWithoutBigInt[] {
    const value = this.root[name];
    if (value === undefined) return [];
    if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) {
        if (!isTable(each)) {
          throw this.atValue([name, index], `${name} holds tables only`, `Write [[${name}]].`);
        }
      }
      return value as TomlTableWithoutBigInt[];
    }
    throw this.atKey([name], `${name} stands once for each ${name}`, `Write [[${name}]].`);
  }

  #parse(): TomlTableWithoutBigInt {
    try {
      return parse(this.#text, { maxDepth: DEEPEST });
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const { line, column } = error;
      const end = this.#position(this.#text.length);
      const why =
        line === end.line && column >= end.column
          ? "the file ends in the middle of a list or a value"
          : error.message.split("\n")[0]!.replace(/^Invalid TOML document: |\.$/g, "");
      throw this.#refusal(line, column, why, syntaxHint(why), { cause: error });
    }
  }

  #at(offset: number, what: string, hint: string): KumikoError {
    const { line, column } = this.#position(offset);
    return this.#refusal(line, column, what, hint);
  }

  #position(offset: number): { readonly line: number; readonly column: number } {
    const before = this.#text.slice(0, offset).split(/\r?\n/);
    return { line: before.length, column: before.at(-1)!.length + 1 };
  }

  #refusal(
    line: number,
    column: number,
    what: string,
    hint: string,
    options?: ErrorOptions,
  ): KumikoError {
    const whole = this.#text.split(/\r?\n/, line)[line - 1] ?? "";
    const text = whole.length > SHOWN ? `${whole.slice(0, SHOWN)}…` : whole;
    const { file } = this;
    return new KumikoError(
      "invalid_rules",
      `${file} line ${line}, column ${column}: ${what}. ${hint} The line is: ${text.trim()}`,
      { file, line, column, text, hint },
      options,
    );
  }
}

export function isTable(value: unknown): value is TomlTableWithoutBigInt {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.getPrototypeOf(value) === null
  );
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}

function listed(words: readonly string[]): string {
  const all = words.map(quoted);
  return all.length === 1 ? all[0]! : `${all.slice(0, -1).join(", ")} or ${all.at(-1)!}`;
}

export function oneOf(given: string, words: readonly string[]): string {
  const near = nearest(given, words);
  return near === undefined
    ? `Write ${listed(words)}.`
    : `Did you mean ${quoted(near)}? There are: ${words.join(", ")}.`;
}

const hints: readonly (readonly [about: RegExp, hint: string])[] = [
  [
    /table (?:array )?declaration/,
    "A rule begins with [[rule]]: two brackets before it, and two behind.",
  ],
  [/invalid value|numeric/, 'Text is written in quotes, for example level = "read_only".'],
  [/unfinished string|in strings/, "A string ends on its line, with the quote it began with."],
  [/escape/, "A pattern with \\ is written in single quotes, for example path = 'a\\*b'."],
  [/redefine/, "Each rule begins with its own [[rule]], and each key stands once in it."],
  [/array|comma|structure|list/, 'A list is written path = ["docs/**", "notes/**"].'],
  [/end-of-line/, "Each key stands on a line of its own."],
];

function syntaxHint(why: string): string {
  const found = hints.find(([about]) => about.test(why))?.[1];
  return found ?? 'A rule is written [[rule]], then path = "docs/**", then level = "read_only".';
}
