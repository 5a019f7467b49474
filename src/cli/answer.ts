import { styleText } from "node:util";
import { type Fact, type Facts, KumikoError } from "../base/index.ts";
import { exitCode, exitCodeOf } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";

type Style = Parameters<typeof styleText>[0];

export function styled(terminal: Terminal, style: Style, text: string): string {
  return terminal.colour ? styleText(style, text, { validateStream: false }) : text;
}

export async function printJson(
  terminal: Terminal,
  answer: Readonly<Record<string, unknown>> & { readonly ok: boolean },
): Promise<void> {
  await terminal.print(`${JSON.stringify(answer)}\n`);
}

/** Runs a command; what it refuses is printed as people or programs want it. Faults of ours go up. */
export async function answering(
  terminal: Terminal,
  json: boolean,
  command: () => Promise<number>,
): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    const facts = countedFromOne(error.facts);
    if (json)
      await printJson(terminal, {
        ok: false,
        error: { code: error.code, message: error.message, facts },
      });
    else await terminal.complain(explained(terminal, error, facts));
    return facts["interrupted"] === true ? exitCode.interrupted : exitCodeOf(error.code);
  }
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
  return `${lines.join("\n")}\n`;
}

function printedFact(fact: Fact | undefined): string {
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
