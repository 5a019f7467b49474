import { unquoteName } from "../diff/quoted-name.ts";

export interface NamedSide {
  /** Null for `/dev/null`. */
  readonly name: string | null;
  /** GNU diff -N dates a file that does not exist to the epoch. */
  readonly epoch: boolean;
}

/** The two names of a file; null for `/dev/null`. */
export interface Sides {
  readonly old: string | null;
  readonly new: string | null;
}

/** What follows `--- ` or `+++ `: a name, plain or quoted, and perhaps a tab and a date. */
export function readNamedSide(text: string): NamedSide {
  if (text.startsWith('"')) {
    const { name, rest } = unquoteName(text);
    return { name: existing(name), epoch: isEpoch(rest.trim()) };
  }
  const tab = text.indexOf("\t");
  const undated = withoutDate(tab < 0 ? text : text.slice(0, tab));
  const name = tab < 0 ? undated.trimEnd() : undated;
  return {
    name: existing(name),
    epoch: tab >= 0 && isEpoch(text.slice(tab + 1).trim()),
  };
}

/** Some tools and models put a space before the date. */
function withoutDate(text: string): string {
  const date = text.search(/\s\d{4}-\d\d-\d\d[ T]\d\d:\d\d/);
  return date < 0 ? text : text.slice(0, date).trimEnd();
}

function isEpoch(date: string): boolean {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.0+)? ([+-]\d\d)(\d\d)$/.exec(date);
  if (parts === null) return false;
  return Date.parse(`${parts[1]!}T${parts[2]!}${parts[3]!}:${parts[4]!}`) === 0;
}

/**
 * The two names of a `diff --git` line. Unquoted names may hold spaces, so the line is only clear
 * when both are the same behind their prefixes; otherwise `rename` or `---` lines must name them.
 */
export function readGitNames(text: string): Sides | null {
  const names = readTwoNames(text);
  return names && { old: existing(names.old), new: existing(names.new) };
}

function existing(name: string): string | null {
  return name === "/dev/null" ? null : name;
}

function readTwoNames(text: string): { old: string; new: string } | null {
  if (text.startsWith('"')) {
    const { name, rest } = unquoteName(text);
    const other = rest.trimStart();
    return { old: name, new: other.startsWith('"') ? unquoteName(other).name : other };
  }
  const quoted = text.indexOf(' "');
  if (quoted > 0)
    return { old: text.slice(0, quoted), new: unquoteName(text.slice(quoted + 1)).name };
  const words = text.split(" ");
  if (words.length === 2) return { old: words[0]!, new: words[1]! };
  const middle = (text.length - 1) / 2;
  if (text[middle] !== " ") return null;
  const old = text.slice(0, middle);
  const fresh = text.slice(middle + 1);
  return withoutPrefix(old) === withoutPrefix(fresh) ? { old, new: fresh } : null;
}

export function readPlainName(text: string): string {
  return text.startsWith('"') ? unquoteName(text).name : text;
}

/** Null strip: take `a/` `b/` (or git's i, w, c, o) off when both sides wear them. */
export function stripped(old: string | null, fresh: string | null, strip: number | null): Sides {
  if (strip !== null) return { old: withoutFolders(old, strip), new: withoutFolders(fresh, strip) };
  const both = (old === null || prefix.test(old)) && (fresh === null || prefix.test(fresh));
  const differ = old === null || fresh === null || old[0] !== fresh[0];
  if (!both || !differ) return { old, new: fresh };
  return { old: old && withoutPrefix(old), new: fresh && withoutPrefix(fresh) };
}

const prefix = /^[abiwco]\//;

function withoutPrefix(name: string): string {
  return name.replace(prefix, "");
}

function withoutFolders(name: string | null, count: number): string | null {
  if (name === null) return null;
  return name.split("/").slice(count).join("/");
}

/** Whether a name is another, with folders or a prefix before it. */
export function endsWith(name: string | null, other: string): boolean {
  if (name === null) return false;
  const [long, end] = [withoutDots(name), withoutDots(other)];
  return long === end || long.endsWith(`/${end}`);
}

/** Models leave out folders in one of the places where a file is named, or put some before it. */
export function isOneFile(name: string | null, other: string | null): boolean {
  if (name === null || other === null) return false;
  const [left, right] = [withoutPrefix(name), withoutPrefix(other)];
  return endsWith(left, right) || endsWith(right, left);
}

/** `./x` and `a/./x` are `x` and `a/x`. */
function withoutDots(name: string): string {
  return name.replaceAll(/(?<=^|\/)(?:\.\/+)+/g, "");
}
