/** Where the keys and values of a TOML text stand, by their path: `rule.0.path.1`. */
export interface TomlPlaces {
  /** Offset of the key, or of the header that made the table. */
  key(...path: readonly (string | number)[]): number;
  /** Offset of the value; of the key where there is no value of its own. */
  value(...path: readonly (string | number)[]): number;
}

type Path = readonly (string | number)[];

/** Of a text that a real parser has accepted: only as much is understood as is needed to find places. */
export function tomlPlaces(text: string): TomlPlaces {
  const scan = new Scan(text);
  scan.run();
  const key = (...path: Path) => scan.keys.get(named(path)) ?? 0;
  return { key, value: (...path) => scan.values.get(named(path)) ?? key(...path) };
}

/** The offset in the text of a character of a string that begins, with its quote, at `start`. */
export function placeInString(text: string, start: number, index: number): number {
  const quote = text[start]!;
  const long = text.startsWith(quote.repeat(3), start);
  let at = start + (long ? 3 : 1);
  if (long) at += /^\r?\n/.exec(text.slice(at, at + 2))?.[0].length ?? 0;
  let decoded = 0;
  for (;;) {
    const ofLine = long && quote === '"' ? LINE_ESCAPE.exec(text.slice(at)) : null;
    if (ofLine !== null) {
      at += ofLine[0].length;
      continue;
    }
    if (decoded >= index) return at;
    const escape = quote === '"' ? ESCAPE.exec(text.slice(at, at + LONGEST_ESCAPE)) : null;
    const code = Number.parseInt(escape?.groups?.["code"] ?? "0", 16);
    decoded += code > 0xffff ? 2 : 1;
    at += escape?.[0].length ?? 1;
  }
}

const LONGEST_ESCAPE = 10;
const ESCAPE = /^\\(?:x(?<code>[\da-fA-F]{2})|u(?<code>[\da-fA-F]{4})|U(?<code>[\da-fA-F]{8})|.)/;
/** At the end of a line, `\` takes the line break and what is blank behind it away. */
const LINE_ESCAPE = /^\\[ \t]*\r?\n[ \t\r\n]*/;
const SPACE = /(?:[ \t\r\n]|#[^\n]*)*/y;
const BARE = /[\w-]+/y;
const SCALAR = /[^,\]}#\r\n]*/y;
const STRING = /"""(?:\\[^]|[^\\])*?"{3,5}|'''[^]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y;

class Scan {
  readonly keys = new Map<string, number>();
  readonly values = new Map<string, number>();
  readonly #text: string;
  readonly #tables = new Map<string, number>();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  run(): void {
    let table: Path = [];
    for (this.#take(SPACE); this.#at < this.#text.length; this.#take(SPACE)) {
      if (this.#text[this.#at] !== "[") {
        this.#pair(table);
        continue;
      }
      const many = this.#text[this.#at + 1] === "[";
      this.#at += many ? 2 : 1;
      table = this.#header(many);
      this.#at += many ? 2 : 1;
    }
  }

  #header(many: boolean): Path {
    const start = this.#at;
    const names = this.#dotted();
    let path: Path = [];
    for (const [index, name] of names.entries()) {
      path = [...path, name];
      const count = this.#tables.get(named(path));
      if (!this.keys.has(named(path))) this.keys.set(named(path), start);
      if (many && index === names.length - 1) {
        this.#tables.set(named(path), (count ?? 0) + 1);
        path = [...path, count ?? 0];
        this.keys.set(named(path), start);
      } else if (count !== undefined) path = [...path, count - 1];
    }
    return path;
  }

  #pair(table: Path): void {
    const start = this.#at;
    let path = table;
    for (const name of this.#dotted()) {
      path = [...path, name];
      this.keys.set(named(path), start);
    }
    this.#at++;
    this.#take(SPACE);
    this.#value(path);
  }

  #value(path: Path): void {
    this.values.set(named(path), this.#at);
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") this.#take(STRING);
    else if (first === "[" || first === "{") this.#members(first === "[" ? "]" : "}", path);
    else this.#take(SCALAR);
  }

  #members(end: string, path: Path): void {
    this.#at++;
    for (let index = 0; ; index++) {
      this.#take(SPACE);
      if (this.#text[this.#at] === end || this.#at >= this.#text.length) break;
      if (end === "]") this.#value([...path, index]);
      else this.#pair(path);
      this.#take(SPACE);
      if (this.#text[this.#at] === ",") this.#at++;
    }
    this.#at++;
  }

  /** The parts of a key, up to what follows it. */
  #dotted(): string[] {
    const names: string[] = [];
    do {
      if (names.length > 0) this.#at++;
      this.#take(SPACE);
      const quoted = /["']/.test(this.#text[this.#at] ?? "");
      const name = this.#take(quoted ? STRING : BARE);
      names.push(quoted ? name.slice(1, -1) : name);
      this.#take(SPACE);
    } while (this.#text[this.#at] === ".");
    return names;
  }

  #take(what: RegExp): string {
    what.lastIndex = this.#at;
    const found = what.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }
}

function named(path: Path): string {
  return path.join("\n");
}
