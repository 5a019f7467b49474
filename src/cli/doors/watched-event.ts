import type { FeedEvent, LiveEvent, LiveTopic } from "../../protocol/index.ts";
import { styled } from "../answer.ts";
import { shortened } from "../home/columns.ts";
import { moment } from "../home/moment.ts";
import { bold, dim } from "../home/paint.ts";
import { harmless, type Terminal } from "../terminal.ts";

/** Of one event; the rest is counted. */
const LINES = 4;
const WIDTH = 100;
/** Wider names stand out of their column. */
const COLUMN = 18;
const INDENT = "    ";

/** Events as somebody who watches reads them: in columns, which only grow, and days where they begin. */
export class WatchedEvents {
  readonly #terminal: Terminal;
  readonly #width: number;
  #day = "";
  #columns: readonly number[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#width = Math.min(WIDTH, (terminal.columns ?? Infinity) - INDENT.length - 2);
  }

  /** One change of a block, under a name for people: who, with what, where, and what was said. */
  event(
    { position, version, actor, time, tool, change, state, message }: FeedEvent,
    name: string,
  ): string {
    const [day, clock] = this.#moment(time);
    const [at, who, how, where, which] = this.#aligned([
      String(position),
      actor,
      (tool ?? "").replace(/^block_/, ""),
      name,
      `version ${version}`,
    ]);
    const head = [
      dim(this.#terminal, `${at} ${clock}`),
      bold(this.#terminal, who),
      how!,
      bold(this.#terminal, where),
      dim(this.#terminal, which!),
      kindOf(change),
      state === undefined ? "" : `${state.role} ${state.kind}, ${state.status}`,
    ];
    const said = message === undefined ? [] : [shortened(JSON.stringify(message), this.#width)];
    const lines = "splices" in change ? this.#excerpt(change.splices) : [];
    const below = [...said, ...lines].map((line) => `${INDENT}${oneLine(line)}`);
    return [...day, oneLine(joined(head)), ...below].join("\n");
  }

  notice({ topic, time, notice }: LiveEvent<LiveTopic>): string {
    const [day, clock] = this.#moment(time);
    const facts = Object.entries(notice).map(([name, value]) =>
      name === "kind" ? factText(value) : `${name}=${shortened(factText(value), this.#width)}`,
    );
    const head = [dim(this.#terminal, clock), bold(this.#terminal, topic), ...facts];
    return [...day, oneLine(joined(head))].join("\n");
  }

  /** The time of day, and the day when it is another than the last. */
  #moment(time: number): [day: string[], clock: string] {
    const [day = "", clock = ""] = moment(time).split(" ");
    const another = day !== this.#day;
    this.#day = day;
    return [another ? [dim(this.#terminal, day)] : [], clock];
  }

  #aligned(cells: readonly string[]): string[] {
    this.#columns = cells.map(({ length }, at) =>
      Math.max(this.#columns[at] ?? 0, Math.min(length, COLUMN)),
    );
    return cells.map((cell, at) =>
      at === 0 ? cell.padStart(this.#columns[at]!) : cell.padEnd(this.#columns[at]!),
    );
  }

  /** What was written; of what was removed an event says only how much. */
  #excerpt(splices: readonly { readonly remove: number; readonly insert: string }[]): string[] {
    const lines = splices.flatMap(({ remove, insert }) => [
      ...(remove > 0
        ? [styled(this.#terminal, "red", `- ${remove} character${remove === 1 ? "" : "s"}`)]
        : []),
      ...(insert === "" ? [] : insert.replace(/\n$/, "").split("\n", LINES + 1)).map((line) =>
        styled(this.#terminal, "green", `+ ${shortened(line, this.#width)}`),
      ),
    ]);
    const more = lines.length > LINES ? [dim(this.#terminal, "  …")] : [];
    return [...lines.slice(0, LINES), ...more];
  }
}

function joined(cells: readonly string[]): string {
  return cells.filter(Boolean).join("  ").trimEnd();
}

/** What is plain from the rest is not said. */
function kindOf(change: FeedEvent["change"]): string {
  if (change.kind === "flip")
    return `${change.active ? "brings back" : "takes back"} ${change.edit}`;
  if (change.kind === "import") return "typed";
  return change.kind === "baseline" ? "whole text" : "";
}

function factText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Whoever writes a text must not be able to draw on the screen of whoever watches, piped or not. */
function oneLine(text: string): string {
  return harmless(text.replaceAll("\n", "⏎"));
}
