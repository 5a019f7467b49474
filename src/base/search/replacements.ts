import { KumikoError } from "../errors.ts";
import { compilePattern } from "./text-query.ts";

/** One replacement, in UTF-16 units of the text it was found in. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}

const MOST_UNITS = 64 * 1024 * 1024;

export interface PatternReplacement {
  readonly pattern: string;
  readonly ignoreCase: boolean;
  /** As in String.replace: $1 to $99, $<name>, $&, $` and $', and $$ for one dollar. */
  readonly replacement: string;
  /** No more matches than this are needed. */
  readonly most: number;
}

/** What a regular expression matches in a text, from its beginning, each with what is to stand there. */
export function findReplacements(text: string, wanted: PatternReplacement): Replacement[] {
  const { pattern, ignoreCase, replacement, most } = wanted;
  const compiled = compilePattern({ query: pattern, literal: false, ignoreCase });
  const found: Replacement[] = [];
  let units = 0;
  for (const match of text.matchAll(compiled)) {
    const insert = expand(replacement, match, text);
    units += insert.length;
    if (units > MOST_UNITS) {
      throw new KumikoError(
        "invalid_argument",
        `The replacements of "${pattern}" would add more than ${MOST_UNITS} characters; replace less at once.`,
        { pattern, maximum: MOST_UNITS },
      );
    }
    found.push({ start: match.index, end: match.index + match[0].length, insert });
    if (found.length >= most) break;
  }
  return found;
}

function expand(replacement: string, match: RegExpExecArray, text: string): string {
  if (!replacement.includes("$")) return replacement;
  // A name means something only where groups have names.
  const signs =
    match.groups === undefined ? /\$(?:([$&`'])|(\d\d?))/g : /\$(?:([$&`'])|(\d\d?)|<([^>]*)>)/g;
  return replacement.replace(
    signs,
    (whole: string, sign?: string, digits?: string, name?: string) => {
      if (sign !== undefined) return special(sign, match, text);
      if (digits !== undefined) return numbered(whole, digits, match);
      return match.groups?.[name!] ?? "";
    },
  );
}

function special(sign: string, match: RegExpExecArray, text: string): string {
  if (sign === "$") return "$";
  if (sign === "&") return match[0];
  return sign === "`" ? text.slice(0, match.index) : text.slice(match.index + match[0].length);
}

/** Two digits name a group if there are so many; otherwise the first one does and the second is text. */
function numbered(whole: string, digits: string, match: RegExpExecArray): string {
  const groups = match.length - 1;
  const number = Number(digits);
  if (number >= 1 && number <= groups) return match[number] ?? "";
  const first = Number(digits[0]);
  if (digits.length === 2 && first >= 1 && first <= groups)
    return (match[first] ?? "") + digits[1]!;
  return whole;
}
