import { checkWellFormed, KumikoError, lineAt, type PositionedText } from "../base/index.ts";
import { splitText } from "./diff/lines.ts";
import { type RangeChange, translateRanges } from "./edit-ranges.ts";
import { closestPlace } from "./patch/closest.ts";
import { LineIndex } from "./patch/line-index.ts";
import { plainReplacement } from "./plain-ends.ts";
import { baseOf, type EditTarget } from "./translation.ts";
import type { Splice } from "./types.ts";

/** How many places an error lists. */
const LISTED = 20;

export interface ReplaceRequest {
  /** The text to look for, or the places a regular expression matched, found by the caller. */
  readonly find:
    | { readonly old: string; readonly new: string }
    | { readonly matches: readonly RangeChange[] };
  /** Which matches: the only one there is, the first, the n-th (counted from 1) or all. */
  readonly occurrence?: "unique" | "first" | "all" | number | undefined;
  /** The version the matches mean; the current one without. */
  readonly base?: number | undefined;
}

/** Replaces by content. */
export function translateReplace(target: EditTarget, request: ReplaceRequest): Splice[] {
  const { occurrence = "unique", base } = request;
  const find =
    "matches" in request.find ? request.find : plainReplacement(target, request.find, base);
  const matches =
    "matches" in find ? find.matches : literalMatches(target.read(base), find.old, find.new);
  const { text } = baseOf(target, base);
  if (matches.length === 0) throw notFound(target, { ...request, find });
  return translateRanges(target, chosen(text, matches, occurrence), base);
}

function literalMatches(text: string, old: string, replacement: string): RangeChange[] {
  if (old === "") {
    throw new KumikoError(
      "invalid_argument",
      "The text to replace is empty; to add text, insert or append it.",
    );
  }
  checkWellFormed(old);
  const matches: RangeChange[] = [];
  for (let at = text.indexOf(old); at !== -1; at = text.indexOf(old, at + old.length)) {
    matches.push({ start: at, end: at + old.length, insert: replacement });
  }
  return matches;
}

function chosen(
  text: PositionedText,
  matches: readonly RangeChange[],
  occurrence: "unique" | "first" | "all" | number,
): readonly RangeChange[] {
  if (occurrence === "all") return matches;
  if (occurrence === "first") return matches.slice(0, 1);
  if (occurrence === "unique") {
    if (matches.length === 1) return matches;
    throw new KumikoError(
      "ambiguous",
      `The text occurs ${matches.length} times; say which occurrence you mean (first, all or a number), ` +
        "or give more of the text around it.",
      { matches: matches.length, counted_from: 0, lines: matchLines(text, matches) },
    );
  }
  if (Number.isInteger(occurrence) && occurrence >= 1 && occurrence <= matches.length) {
    return matches.slice(occurrence - 1, occurrence);
  }
  throw new KumikoError(
    "out_of_range",
    `There is no occurrence ${occurrence}: the text occurs ${matches.length} times, counted from 1.`,
    {
      occurrence,
      minimum: 1,
      maximum: matches.length,
      counted_from: 0,
      lines: matchLines(text, matches),
    },
  );
}

function matchLines(text: PositionedText, matches: readonly RangeChange[]): number[] {
  return matches.slice(0, LISTED).map(({ start }) => lineAt(text, start));
}

function notFound(target: EditTarget, request: ReplaceRequest): KumikoError {
  if ("matches" in request.find) {
    return new KumikoError("not_found", "The expression matches nothing in this block.", {
      version: request.base ?? target.version,
    });
  }
  const { old } = request.find;
  const closest = closestPlace(
    new LineIndex(splitText(target.read(request.base)).lines),
    splitText(old).lines,
    null,
  );
  return new KumikoError(
    "not_found",
    closest === null
      ? "The text to replace does not occur in this block."
      : `The text to replace does not occur in this block; the closest is at line ${closest.line} (counted from 0).`,
    {
      wanted: old,
      version: request.base ?? target.version,
      closest: closest === null ? null : { ...closest, counted_from: 0 },
    },
  );
}
