import { NotEditable, TextScanner } from "./text-scanner.ts";

/** A value in a JSON text: where it stands and what it has. */
interface Found {
  readonly start: number;
  readonly end: number;
  /** Undefined when it is no object. */
  readonly members: readonly Member[] | undefined;
  /** Undefined when it is no list. */
  readonly items?: readonly Found[] | undefined;
  /** Whether a comma follows the last member, as JSON with comments allows. */
  readonly trailing: boolean;
}

interface Member {
  readonly key: string;
  readonly start: number;
  readonly value: Found;
}

/** The text with these values in the object at `keys`; what else is in that object, and everything else, stays. */
export function withMembers(
  text: string,
  keys: readonly string[],
  values: { readonly [name: string]: unknown },
): string {
  let place: Found | undefined = new Scanner(text).whole();
  for (const key of keys) place = place?.members?.find((member) => member.key === key)?.value;
  if (place === undefined) return withMember(text, keys, values);
  return Object.entries(values).reduce(
    (changed, [name, value]) => withMember(changed, [...keys, name], value),
    text,
  );
}

/** The text with one item more at the end of the list at `keys`, which is made when it is missing. */
export function withItem(text: string, keys: readonly string[], value: unknown): string {
  const place = placeAt(text, keys);
  if (place === undefined) return withMember(text, keys, [value]);
  const { items, trailing } = place;
  if (items === undefined || trailing)
    throw new NotEditable(`${keys.join(".")} is not a list that can be added to`);
  const last = items.at(-1)?.end;
  if (last === undefined) return withMember(text, keys, [value]);
  const { newline, unit, written } = layoutOf(text);
  const depth = keys.length + 1;
  const item = `,${newline}${unit.repeat(depth)}${written(value, depth)}`;
  return text.slice(0, last) + item + text.slice(last);
}

/** The text without the member or item at `path`, and without what is empty then; everything else stays. */
export function without(text: string, path: readonly (string | number)[]): string {
  const [last] = path.slice(-1);
  const around = placeAt(text, path.slice(0, -1));
  const siblings =
    around?.items ?? around?.members?.map(({ start, value: { end } }) => ({ start, end })) ?? [];
  const at =
    typeof last === "string"
      ? (around?.members?.findIndex(({ key }) => key === last) ?? -1)
      : (last ?? -1);
  const [before, own, next] = [siblings[at - 1], siblings[at], siblings[at + 1]];
  if (around === undefined || own === undefined) return text;
  if (next !== undefined) return text.slice(0, own.start) + text.slice(next.start);
  if (before !== undefined) return text.slice(0, before.end) + text.slice(own.end);
  if (path.length > 1) return without(text, path.slice(0, -1));
  return text.slice(0, around.start + 1) + text.slice(around.end - 1);
}

/** Undefined when there is nothing. What stands twice is found by no name. */
function placeAt(text: string, path: readonly (string | number)[]): Found | undefined {
  let place: Found | undefined = new Scanner(text).whole();
  for (const key of path) {
    const same: readonly Found[] =
      typeof key === "number"
        ? (place.items?.slice(key, key + 1) ?? [])
        : (place.members?.flatMap((each) => (each.key === key ? each.value : [])) ?? []);
    if (same.length > 1) throw new NotEditable(`${key} stands there twice`);
    place = same[0];
    if (place === undefined) return undefined;
  }
  return place;
}

interface Layout {
  /** By how much things inside others are indented. */
  readonly unit: string;
  readonly newline: string;
  /** A value as it is written at a depth. */
  readonly written: (value: unknown, depth: number) => string;
}

function layoutOf(text: string): Layout {
  const { start, members } = new Scanner(text).whole();
  const beside = text.slice(start, members?.[0]?.value.start);
  const unit = /\n([ \t]+)"[^\n]*$/.exec(beside)?.[1] ?? "  ";
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const written = (value: unknown, depth: number): string =>
    JSON.stringify(value, undefined, unit).replaceAll("\n", `${newline}${unit.repeat(depth)}`);
  return { unit, newline, written };
}

/**
 * The text with `value` at `keys`, where objects are made that are missing; everything else stays as it is, to the
 * last space. Comments and trailing commas are taken as they are.
 */
function withMember(text: string, keys: readonly string[], value: unknown): string {
  const { unit, newline, written } = layoutOf(text);
  let place = new Scanner(text).whole();
  for (const [depth, key] of keys.entries()) {
    const { members } = place;
    if (members === undefined)
      throw new NotEditable(`${keys.slice(0, depth).join(".") || "the whole"} is not an object`);
    const same = members.filter((member) => member.key === key);
    if (same.length > 1) throw new NotEditable(`${key} stands there twice`);
    const found = same[0]?.value;
    if (found === undefined) {
      const rest = keys.slice(depth + 1).reduceRight((inner, each) => ({ [each]: inner }), value);
      const member = `${JSON.stringify(key)}: ${written(rest, depth + 1)}`;
      return added(text, place, member, { unit, depth, newline });
    }
    if (depth === keys.length - 1)
      return text.slice(0, found.start) + written(value, depth + 1) + text.slice(found.end);
    place = found;
  }
  return text;
}

function added(
  text: string,
  { start, end, members = [], trailing }: Found,
  member: string,
  { unit, depth, newline }: { unit: string; depth: number; newline: string },
): string {
  const inner = `${newline}${unit.repeat(depth + 1)}`;
  const last = members.at(-1)?.value.end;
  if (last === undefined) {
    const closing = `${newline}${unit.repeat(depth)}`;
    return `${text.slice(0, start + 1)}${inner}${member}${closing}${text.slice(start + 1, end - 1).trim()}${text.slice(end - 1)}`;
  }
  return `${text.slice(0, last)},${inner}${member}${text.slice(last + (trailing ? 1 : 0))}`;
}

/** Finds where objects and their members stand. */
class Scanner {
  readonly #text: TextScanner;

  constructor(text: string) {
    const blank = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
    this.#text = new TextScanner(text, { name: "JSON", blank });
  }

  whole(): Found {
    this.#text.skip();
    const found = this.#value();
    this.#text.skip();
    if (this.#text.next !== undefined) throw this.#text.unexpected();
    return found;
  }

  #value(): Found {
    const start = this.#text.at;
    const first = this.#text.next;
    if (first === "{") return this.#object();
    if (first === "[") return this.#list();
    if (first === '"') this.#string();
    else this.#text.match(/-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null/y);
    return { start, end: this.#text.at, members: undefined, trailing: false };
  }

  #object(): Found {
    const start = this.#text.at;
    const members: Member[] = [];
    const trailing = this.#text.items("{", "}", () => {
      const { at: begins } = this.#text;
      const key = this.#string();
      this.#text.skip();
      this.#text.match(/:/y);
      this.#text.skip();
      members.push({ key, start: begins, value: this.#value() });
    });
    // A comma that stands apart from its member is left where it is: then none may be taken off.
    const last = members.at(-1)?.value.end;
    if (trailing && this.#text.text[last!] !== ",")
      throw new NotEditable("a comma stands by itself");
    return { start, end: this.#text.at, members, trailing };
  }

  #list(): Found {
    const start = this.#text.at;
    const items: Found[] = [];
    const trailing = this.#text.items("[", "]", () => void items.push(this.#value()));
    return { start, end: this.#text.at, members: undefined, items, trailing };
  }

  #string(): string {
    const text = this.#text.match(/"(?:[^"\\\n]|\\.)*"/y);
    try {
      return JSON.parse(text) as string;
    } catch {
      throw this.#text.unexpected();
    }
  }
}
