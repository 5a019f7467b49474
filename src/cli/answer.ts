import { styleText } from "node:util";
import { type Fact, type Facts, KumikoError } from "../base/index.ts";
import { exitCode, exitCodeOf } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";

type Style = Parameters<typeof styleText>[0];

export function styled(terminal: Terminal, style: Style, text: string): string {
  return terminal.colour ? styleText(style, text, { validateStream: false }) : text;
}

/** Where the one JSON document that a command prints has been printed. */
const answered = new WeakSet<Terminal>();

export async function printJson(
  terminal: Terminal,
  answer: Readonly<Record<string, unknown>> & { readonly ok: boolean },
): Promise<void> {
  answered.add(terminal);
  await terminal.print(`${JSON.stringify(answer)}\n`);
}

/** A unified diff, in colour where that is wanted. */
export function printedDiff(terminal: Terminal, diff: string): string {
  if (!terminal.colour) return diff;
  return diff
    .split("\n")
    .map((line, at) => {
      if (at < 2) return styled(terminal, "bold", line);
      if (line.startsWith("@@")) return styled(terminal, "cyan", line);
      if (line.startsWith("-")) return styled(terminal, "red", line);
      return line.startsWith("+") ? styled(terminal, "green", line) : line;
    })
    .join("\n");
}

interface Answering {
  /** Programs that call a tool get its facts as the tool gave them. */
  readonly countFrom?: 0 | 1;
  /** What to do about it, in this command's own words. */
  readonly hint?: (error: KumikoError) => string | undefined | Promise<string | undefined>;
}

/** Runs a command; what it refuses is printed as people or programs want it. Faults of ours go up. */
export async function answering(
  terminal: Terminal,
  json: boolean,
  command: () => Promise<number>,
  { countFrom = 1, hint }: Answering = {},
): Promise<number> {
  try {
    return await command();
  } catch (thrown) {
    const [error, ...later] = causes(thrown);
    if (!(error instanceof KumikoError)) throw thrown;
    for (const each of later)
      await terminal.complain(
        `kumiko: and then: ${each instanceof Error ? each.message : String(each)}\n`,
      );
    const { code } = error;
    const raised = countedFromOne(error.facts);
    const advice = await hint?.(error);
    // What fails when everything is closed comes after the answer, and does not make it two.
    if (json && !answered.has(terminal)) {
      const message = advice === undefined ? error.message : `${error.message} ${advice}`;
      const facts = countFrom === 0 ? error.facts : raised;
      await printJson(terminal, { ok: false, error: { code, message, facts } });
    } else {
      const text = explained(terminal, error, raised);
      await terminal.complain(advice === undefined ? text : `${text}${advice}\n`);
    }
    return raised["interrupted"] === true ? exitCode.interrupted : exitCodeOf(code);
  }
}

/** What was thrown first, and what then failed while everything was closed. */
function causes(thrown: unknown): unknown[] {
  return thrown instanceof SuppressedError
    ? [...causes(thrown.suppressed), ...causes(thrown.error)]
    : [thrown];
}

function explained(terminal: Terminal, error: KumikoError, facts: Facts): string {
  const lines = [`${styled(terminal, "red", "kumiko:")} ${error.message}`];
  const closest = facts["closest"];
  if (isRecord(closest) && Array.isArray(facts["wanted"])) {
    lines.push("", "  the patch wants", ...quoted(facts["wanted"].map(printedFact), null));
    const first = Number(closest["line"]);
    lines.push(
      "",
      `  the text has, from line ${first}`,
      ...quoted(printedFact(closest["text"]).split("\n"), first),
    );
  }
  lines.push(...surroundings(facts));
  return `${lines.join("\n")}\n`;
}

/** What stands where an edit did not fit, and who put it there. */
function surroundings({ around, version, changed_by: changedBy }: Facts): string[] {
  if (!Array.isArray(around) || around.length === 0) return [];
  const shown = around.filter(isRecord);
  const first = Number(shown[0]?.["line"]) + 1;
  const authors = Array.isArray(changedBy) ? changedBy.filter(isRecord) : [];
  const who = [
    ...new Set(
      authors.map(({ actor, version: at }) => `${printedFact(actor)}, version ${printedFact(at)}`),
    ),
  ];
  return [
    "",
    `  version ${printedFact(version)} has, lines counted from 1${who.length > 0 ? ` (changed by ${who.join("; ")})` : ""}`,
    ...quoted(
      shown.map(({ text }) => printedFact(text)),
      first,
    ),
  ];
}

export function printedFact(fact: Fact | undefined): string {
  return typeof fact === "string" ? fact : JSON.stringify(fact ?? null);
}

const linesShown = 20;

function quoted(lines: readonly string[], first: number | null): string[] {
  const shown = lines.slice(0, linesShown).map((line, at) => {
    const number = first === null ? "" : String(first + at);
    return `  ${number.padStart(6)} | ${line}`.trimEnd();
  });
  if (lines.length > linesShown) shown.push(`         (${lines.length - linesShown} more lines)`);
  return shown;
}

/** The command counts lines from 1, as diffs and editors do. */
function countedFromOne(facts: Facts): Facts {
  if (facts["counted_from"] !== 0) return facts;
  const raised: Record<string, Fact> = { ...facts, counted_from: 1 };
  for (const name of ["requested_line", "overlaps_line"]) {
    const line = raised[name];
    if (typeof line === "number") raised[name] = line + 1;
  }
  const candidates = raised["candidates"];
  if (Array.isArray(candidates)) raised["candidates"] = candidates.map((line) => Number(line) + 1);
  const closest = raised["closest"];
  if (isRecord(closest)) raised["closest"] = { ...closest, line: Number(closest["line"]) + 1 };
  return raised;
}

function isRecord(fact: Fact | undefined): fact is { readonly [name: string]: Fact } {
  return typeof fact === "object" && fact !== null && !Array.isArray(fact);
}
