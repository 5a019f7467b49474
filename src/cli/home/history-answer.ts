import { styled } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import { moment } from "./moment.ts";
import { bold, dim } from "./paint.ts";
import type { Answer } from "./tool-answer.ts";

interface Entry {
  readonly version: number;
  readonly kind: string;
  readonly actor: string;
  readonly edit: string;
  readonly time: number;
  readonly tool?: string;
  readonly message?: string;
  readonly inserted: number;
  readonly removed: number;
}

export function printHistory(terminal: Terminal, answer: Answer): string[] {
  const entries = answer["versions"] as readonly Entry[];
  const width = Math.max(0, ...entries.map(({ version }) => String(version).length));
  const actorWidth = Math.max(0, ...entries.map(({ actor }) => actor.length));
  const toolWidth = Math.max(0, ...entries.map(({ tool }) => tool?.length ?? 0));
  const lines = entries.map(
    ({ version, kind, actor, edit, time, tool, message, inserted, removed }) => {
      const size = [
        inserted > 0 ? styled(terminal, "green", `+${inserted}`) : "",
        removed > 0 ? styled(terminal, "red", `-${removed}`) : "",
      ].filter(Boolean);
      const what = [...size, kind === "text" ? "" : kind, message ?? ""].filter(Boolean).join(" ");
      return [
        bold(terminal, String(version).padStart(width)),
        dim(terminal, moment(time)),
        actor.padEnd(actorWidth),
        dim(terminal, edit),
        dim(terminal, (tool ?? "").padEnd(toolWidth)),
        what,
      ]
        .join("  ")
        .trimEnd();
    },
  );
  if (typeof answer["before"] === "number")
    lines.push(dim(terminal, `older ones: --before ${answer["before"]}`));
  return lines;
}

interface Run {
  readonly start_line: number;
  readonly text: string;
  readonly actor: string;
  readonly edit: string;
  readonly time: number;
}

/** Line by line where possible: a run that covers many lines says who only once. */
export function printBlame(terminal: Terminal, answer: Answer): string[] {
  const runs = answer["runs"] as readonly Run[];
  const width = String((runs.at(-1)?.start_line ?? 0) + 1_000).length;
  const actorWidth = widest(runs.map(({ actor }) => actor));
  let atLineStart = true;
  const lines = runs.flatMap(({ start_line, text, actor, edit, time }) => {
    const who = `${actor.padEnd(actorWidth)} ${moment(time)} ${edit}`;
    const parts = text
      .replace(/\n$/, "")
      .split("\n")
      .map((line, at) => ({ number: start_line + at + 1, line }));
    // The newline of a line that others wrote is not worth a line of its own.
    const shown = parts[0]!.line === "" && !atLineStart ? parts.slice(1) : parts;
    atLineStart = text.endsWith("\n");
    return shown.map((part, at) => ({ ...part, who: at === 0 ? who : "" }));
  });
  const whoWidth = widest(lines.map(({ who }) => who));
  return [
    dim(terminal, `version ${String(answer["version"])}, lines counted from 1`),
    ...lines.map(
      ({ number, who, line }) =>
        `${dim(terminal, String(number).padStart(width))} ${who.padEnd(whoWidth)} | ${line}`,
    ),
  ];
}

/** A hundred thousand arguments are too many for one call, so no `Math.max(...lengths)`. */
function widest(texts: readonly string[]): number {
  return texts.reduce((width, { length }) => Math.max(width, length), 0);
}
