import { styled } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import { shortened, widest, wrapped } from "./columns.ts";
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

/** As wide as a name is shown where there is not room for all of it, and at least. */
const NAME = 16;
const SHORT = 8;

/** One line to a version; what was said of it goes below where it does not fit. */
export function printHistory(terminal: Terminal, answer: Answer): string[] {
  const entries = answer["versions"] as readonly Entry[];
  const { columns = Infinity } = terminal;
  const rows = entries.map(({ version, actor, edit, time, tool = "", ...entry }) => {
    const verb = tool.replace(/^block_/, "");
    const [, done] = /-(moves|deletes)$/.exec(edit) ?? [];
    const kind = entry.kind === "text" || entry.kind === verb ? "" : (done ?? entry.kind);
    const cells = [String(version), moment(time), actor, edit, verb, size(entry, kind)];
    return { cells, message: entry.message ?? "" };
  });
  const widths = [0, 1, 2, 3, 4, 5].map((at) => widest(rows.map(({ cells }) => cells[at]!)));
  const over = total(widths) - columns;
  if (over > 0) widths[2] = Math.max(Math.min(widths[2]!, SHORT), widths[2]! - over);
  const lines = rows.flatMap(({ cells, message }) => {
    const [version, time, actor, edit, tool, changed] = cells.map((cell, at) =>
      at === 0 ? cell.padStart(widths[0]!) : shortened(cell, widths[at]!).padEnd(widths[at]!),
    );
    const row = [
      bold(terminal, version),
      dim(terminal, time!),
      actor,
      dim(terminal, edit!),
      dim(terminal, tool!),
      painted(terminal, changed!),
    ].join("  ");
    if (message === "") return [row.trimEnd()];
    if (total(widths) + 2 + message.length <= columns) return [`${row}  ${message}`];
    const indent = " ".repeat(widths[0]! + 2);
    const below = wrapped(message, columns - indent.length);
    return [row.trimEnd(), ...below.map((piece) => `${indent}${piece}`)];
  });
  if (typeof answer["before"] === "number")
    lines.push(dim(terminal, `older ones: --before ${answer["before"]}`));
  return lines;
}

function size({ inserted, removed }: Pick<Entry, "inserted" | "removed">, kind: string): string {
  const parts = [inserted > 0 ? `+${inserted}` : "", removed > 0 ? `-${removed}` : "", kind];
  return parts.filter(Boolean).join(" ");
}

function painted(terminal: Terminal, changed: string): string {
  return changed
    .replace(/\+\d+/, (added) => styled(terminal, "green", added))
    .replace(/(?<!\d)-\d+/, (removed) => styled(terminal, "red", removed));
}

/** With two spaces between them. */
function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1));
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
  const { columns = Infinity } = terminal;
  const width = String((runs.at(-1)?.start_line ?? 0) + 1_000).length;
  const names = authorsOf(runs, columns / 2 - width);
  let atLineStart = true;
  const lines = runs.flatMap(({ start_line, text }, run) => {
    const parts = text
      .replace(/\n$/, "")
      .split("\n")
      .map((line, at) => ({ number: start_line + at + 1, line }));
    // The newline of a line that others wrote is not worth a line of its own.
    const shown = parts[0]!.line === "" && !atLineStart ? parts.slice(1) : parts;
    atLineStart = text.endsWith("\n");
    return shown.map((part, at) => ({ ...part, who: at === 0 ? names[run]! : "" }));
  });
  const whoWidth = widest(lines.map(({ who }) => who));
  const rest = Math.max(1, columns - width - whoWidth - 4);
  return [
    dim(terminal, `version ${String(answer["version"])}, lines counted from 1`),
    ...lines.flatMap(({ number, who, line }) =>
      wrapped(line, rest).map((piece, at) => {
        const beside = at === 0 ? String(number) : "";
        const author = (at === 0 ? who : "").padEnd(whoWidth);
        return `${dim(terminal, beside.padStart(width))} ${author} | ${piece}`;
      }),
    ),
  ];
}

/** Who wrote each run, with as much beside as leaves the text its room. */
function authorsOf(runs: readonly Run[], room: number): string[] {
  const actorWidth = widest(runs.map(({ actor }) => actor));
  const forms = [
    ({ actor, time, edit }: Run) => `${actor.padEnd(actorWidth)} ${moment(time)} ${edit}`,
    ({ actor, time }: Run) => `${actor.padEnd(actorWidth)} ${moment(time)}`,
    ({ actor, time }: Run) => `${shortened(actor, NAME).padEnd(NAME)} ${moment(time)}`,
  ];
  const said = forms.map((form) => runs.map(form));
  return said.find((each) => widest(each) <= room) ?? said.at(-1)!;
}
