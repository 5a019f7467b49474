import { styleText } from "node:util";
import { KumikoError } from "../base/index.ts";
import { exitCode, exitCodeOf } from "./exit-code.ts";
import { countedFromOne, explained } from "./refusal.ts";
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

export interface Answering {
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
      const [said = "", ...texts] = explained(error);
      const sentence = await forPeople(said);
      const head = `${styled(terminal, "red", "kumiko:")} ${sentence}`;
      const text = `${[head, ...texts].join("\n")}\n`;
      await terminal.complain(advice === undefined ? text : `${text}${advice}\n`);
    }
    return raised["interrupted"] === true ? exitCode.interrupted : exitCodeOf(code);
  }
}

/** Most sentences speak of no tool, and need not load what knows them. */
const speaksOfTools = /[a-z]_[a-z]|\b[Pp]ass |cannot be called|with choice/;

/** Tools are what programs call: people read of verbs and flags. */
export async function forPeople(sentence: string): Promise<string> {
  return speaksOfTools.test(sentence)
    ? (await import("./home/verb-names.ts")).inVerbs(sentence)
    : sentence;
}

/** What was thrown first, and what then failed while everything was closed. */
function causes(thrown: unknown): unknown[] {
  return thrown instanceof SuppressedError
    ? [...causes(thrown.suppressed), ...causes(thrown.error)]
    : [thrown];
}
