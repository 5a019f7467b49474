import { type Fact, type Facts, KumikoError } from "../../base/index.ts";
import { closestPlace } from "./closest.ts";
import type { LineIndex } from "./line-index.ts";
import type { OldSide } from "./old-side.ts";
import { findPlaces, type Place } from "./place.ts";
import type { Hunk } from "./types.ts";

/** Line numbers in facts count from 0, in sentences from 1; both say so. */

export interface Failing {
  /** Counting from 1. */
  readonly number: number;
  readonly hunk: Hunk;
  readonly old: OldSide;
  readonly stated: number | null;
  readonly from: number;
}

export function ambiguous(failing: Failing, places: readonly Place[]): KumikoError {
  const lines = places.map((place) => Math.max(0, place.start));
  const printed = lines.slice(0, 20).map((line) => line + 1);
  return new KumikoError(
    "ambiguous",
    `${nameOf(failing)} fits equally well at lines ${printed.join(", ")}${lines.length > 20 ? " and more" : ""} ` +
      "(counting from 1). Give its line number, or more context lines.",
    { ...factsOf(failing), candidates: lines.slice(0, 20), more_candidates: lines.length > 20 },
  );
}

export function unplaced(failing: Failing): KumikoError {
  return new KumikoError(
    "patch_rejected",
    `${nameOf(failing)} only adds lines and has neither context nor a line number inside the text; ` +
      "give it the lines around the insertion.",
    factsOf(failing),
  );
}

export function rejected(failing: Failing, index: LineIndex, fuzz: number): KumikoError {
  const earlier = findPlaces(index, failing.old, { from: 0, expected: [], fuzz: 0 })[0];
  if (earlier !== undefined) {
    return new KumikoError(
      "patch_rejected",
      `${nameOf(failing)} fits only at line ${earlier.start + 1} (counting from 1), which the hunk before it ` +
        "has changed or passed. Hunks must not overlap and must stand in the order of the text.",
      { ...factsOf(failing), overlaps_line: earlier.start },
    );
  }
  if (isApplied(failing, index)) {
    return new KumikoError(
      "patch_rejected",
      `${nameOf(failing)} fits nowhere, but what it would make is already there: the patch seems to be applied.`,
      { ...factsOf(failing), already_applied: true },
    );
  }
  const closest = closestPlace(index, failing.old.texts, failing.stated);
  const facts: Fact =
    closest === null
      ? null
      : { line: closest.line, text: closest.text, similarity: closest.similarity };
  return new KumikoError(
    "patch_rejected",
    `${nameOf(failing)} fits nowhere. ${closest === null ? "Nothing in the text resembles it." : difference(failing, index, closest.line)}`,
    { ...factsOf(failing), closest: facts, fuzz },
  );
}

function factsOf(failing: Failing): Facts {
  return {
    hunk: failing.number,
    header: failing.hunk.header,
    requested_line: failing.stated,
    wanted: failing.old.texts.slice(0, 200),
    counted_from: 0,
  };
}

function nameOf(failing: Failing): string {
  const header = failing.hunk.header === "" ? "" : ` (${failing.hunk.header.slice(0, 80).trim()})`;
  return `Hunk ${failing.number}${header}`;
}

function difference(failing: Failing, index: LineIndex, start: number): string {
  const at = failing.old.texts.findIndex((text, offset) => index.lines[start + offset] !== text);
  const wanted = JSON.stringify(failing.old.texts[Math.max(at, 0)]!.slice(0, 120));
  const actual = index.lines[start + Math.max(at, 0)];
  const what = failing.old.removed[Math.max(at, 0)] === true ? "removes" : "expects";
  return (
    `The closest place is line ${start + 1} (counting from 1); there the patch ${what} ${wanted} where ` +
    (actual === undefined
      ? "the text has ended."
      : `the text has ${JSON.stringify(actual.slice(0, 120))}.`)
  );
}

function isApplied(failing: Failing, index: LineIndex): boolean {
  const made = failing.hunk.lines.filter((line) => line.kind !== "removed");
  if (made.length === 0 || !failing.hunk.lines.some((line) => line.kind === "added")) return false;
  const after: OldSide = {
    texts: made.map((line) => line.text),
    removed: made.map(() => true),
    leadingContext: 0,
    trailingContext: 0,
    atEnd: false,
  };
  return findPlaces(index, after, { from: failing.from, expected: [], fuzz: 0 }).length > 0;
}
