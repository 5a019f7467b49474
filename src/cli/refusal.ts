import type { Fact, Facts, KumikoError } from "../base/index.ts";
import { moment } from "./home/moment.ts";

/** A refusal in the lines that a person reads: the sentence, what was expected, what is there, and who put it there. */
export function explained(error: KumikoError): string[] {
  const facts = countedFromOne(error.facts);
  return [
    sentenceOf(error),
    ...closestText(facts),
    ...conflictingTexts(facts),
    ...places(facts),
    ...lostLines(facts),
  ];
}

/** The command counts lines from 1, as diffs and editors do. */
export function countedFromOne(facts: Facts): Facts {
  const closest = facts["closest"];
  const nested = isRecord(closest) && closest["counted_from"] === 0;
  if (facts["counted_from"] !== 0 && !nested) return facts;
  const raised: Record<string, Fact> = { ...facts, counted_from: 1 };
  for (const name of ["line", "operation", "requested_line", "overlaps_line"]) {
    const number = raised[name];
    if (typeof number === "number") raised[name] = number + 1;
  }
  for (const name of ["candidates", "lines"]) {
    const numbers = raised[name];
    if (Array.isArray(numbers)) raised[name] = numbers.map((line) => Number(line) + 1);
  }
  const around = raised["around"];
  if (Array.isArray(around)) raised["around"] = around.map(lineRaised);
  if (isRecord(closest)) raised["closest"] = lineRaised(closest);
  return raised;
}

function lineRaised(fact: Fact): Fact {
  if (!isRecord(fact)) return fact;
  const counted = "counted_from" in fact ? { counted_from: 1 } : {};
  return { ...fact, ...counted, line: Number(fact["line"]) + 1 };
}

export function printedFact(fact: Fact | undefined): string {
  return typeof fact === "string" ? fact : JSON.stringify(fact ?? null);
}

/** Tools speak to programs, which count from 0: what they say of lines is said again for people. */
function sentenceOf({ code, message, facts }: KumikoError): string {
  const { line, operation, minimum, maximum, line_count: lines, version } = countedFromOne(facts);
  const which = operation === undefined ? "It" : `Operation ${printedFact(operation)}`;
  if (code === "conflict" && typeof line === "number" && typeof operation === "number") {
    const base = facts["base_version"];
    const why =
      base === version
        ? "the text there is not what the edit expects"
        : `the text there was changed since version ${printedFact(base)}`;
    return `${which} was not made: ${why}. Make it again for version ${printedFact(version)}.`;
  }
  if (code === "out_of_range" && typeof line === "number") {
    const last = Number(maximum) + 1;
    return (
      `${which} names line ${line}, but it must be one from ${Number(minimum) + 1} to ${last}: the text has ` +
      `${printedFact(lines)} lines. (Counted from 1, as everything here; JSON counts from 0.)`
    );
  }
  return message.replace(
    /\bline (\d{1,15}) \(counted from 0\)/,
    (_, number: string) => `line ${Number(number) + 1} (counted from 1)`,
  );
}

/** What was looked for, and what comes nearest. */
function closestText({ closest, wanted }: Facts): string[] {
  if (!isRecord(closest)) return [];
  const patch = Array.isArray(wanted);
  if (!patch && typeof wanted !== "string") return [];
  const first = Number(closest["line"]);
  return [
    "",
    patch ? "  the patch wants" : "  the edit looks for",
    ...quoted(patch ? wanted.map(printedFact) : linesOf(wanted), null),
    "",
    `  the text has, from line ${first}`,
    ...quoted(printedFact(closest["text"]).split("\n"), first),
  ];
}

/** Both sides of a conflict, and who changed it when. */
function conflictingTexts(facts: Facts): string[] {
  const { around, version, base_version: base, expected, actual, line } = facts;
  if (!Array.isArray(around)) return [];
  const shown = around.filter(isRecord);
  const authors = Array.isArray(facts["changed_by"]) ? facts["changed_by"].filter(isRecord) : [];
  const count = linesOf(printedFact(actual)).length;
  const isMeant = (number: number): boolean =>
    number >= Number(line) && number < Number(line) + count;
  const before = authors.length > 0 ? `, for version ${printedFact(base)}` : "";
  return [
    "",
    `  the edit expects${before}`,
    ...quoted(linesOf(printedFact(expected)), null),
    "",
    `  version ${printedFact(version)} has, lines counted from 1`,
    ...quoted(
      shown.map(({ text }) => printedFact(text)),
      Number(shown[0]?.["line"] ?? 1),
      isMeant,
    ),
    ...(authors.length > 0 ? [""] : []),
    ...authors.map(
      ({ actor, edit, version: at, time }) =>
        `  changed by ${printedFact(actor)}, ${moment(Number(time))}, version ${printedFact(at)}, edit ${printedFact(edit)}`,
    ),
  ];
}

function places({ lines }: Facts): string[] {
  if (!Array.isArray(lines) || lines.length === 0) return [];
  return ["", `  it occurs on line ${lines.map(printedFact).join(", ")} (counted from 1)`];
}

/** Of a conflict whose place is not known any more: what somebody may want to put there, and what closes it then. */
function lostLines({ conflict, lost }: Facts): string[] {
  if (typeof conflict !== "string" || typeof lost !== "string") return [];
  return [
    "",
    "  what does not stand there",
    ...quoted(linesOf(lost), null),
    "",
    `  put in what is missing with kumiko edit, then: kumiko resolve ${conflict} now`,
  ];
}

/** A text that ends with its last line, or one that has none. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

const linesShown = 20;

function quoted(
  lines: readonly string[],
  first: number | null,
  isMarked: (number: number) => boolean = () => false,
): string[] {
  if (lines.length === 0) return ["         (nothing)"];
  const shown = lines.slice(0, linesShown).map((line, at) => {
    const number = first === null ? "" : String(first + at);
    const mark = first !== null && isMarked(first + at) ? ">" : " ";
    return ` ${mark}${number.padStart(6)} | ${line}`.trimEnd();
  });
  if (lines.length > linesShown) shown.push(`         (${lines.length - linesShown} more lines)`);
  return shown;
}

function isRecord(fact: Fact | undefined): fact is { readonly [name: string]: Fact } {
  return typeof fact === "object" && fact !== null && !Array.isArray(fact);
}
