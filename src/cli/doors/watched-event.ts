import type { FeedEvent, LiveEvent, LiveTopic } from "../../protocol/index.ts";
import { styled } from "../answer.ts";
import { moment } from "../home/moment.ts";
import { bold, dim } from "../home/paint.ts";
import { harmless, type Terminal } from "../terminal.ts";

/** Of one event; the rest is counted. */
const LINES = 4;
const WIDTH = 100;

/** One change of a block: who, with what, where, and what was said. */
export function describedEvent(terminal: Terminal, event: FeedEvent): string {
  const { position, block, version, actor, time, tool, change, state, message } = event;
  const what = [
    kindOf(change),
    state === undefined ? "" : `${state.role} ${state.kind}, ${state.status}`,
    message === undefined ? "" : JSON.stringify(message),
  ];
  const head = [
    dim(terminal, `${position} ${moment(time)}`),
    bold(terminal, actor),
    tool ?? "",
    bold(terminal, block),
    dim(terminal, `version ${version}`),
    ...what,
  ];
  const lines = "splices" in change ? excerpt(terminal, change.splices) : [];
  return [oneLine(head.filter(Boolean).join("  ")), ...lines].join("\n");
}

/** What is plain from the rest is not said. */
function kindOf(change: FeedEvent["change"]): string {
  if (change.kind === "flip")
    return `${change.active ? "brings back" : "takes back"} ${change.edit}`;
  if (change.kind === "import") return "typed";
  return change.kind === "baseline" ? "whole text" : "";
}

/** What was written; of what was removed an event says only how much. */
function excerpt(
  terminal: Terminal,
  splices: readonly { readonly remove: number; readonly insert: string }[],
): string[] {
  const lines = splices.flatMap(({ remove, insert }) => [
    ...(remove > 0
      ? [styled(terminal, "red", `- ${remove} character${remove === 1 ? "" : "s"}`)]
      : []),
    ...(insert === "" ? [] : insert.replace(/\n$/, "").split("\n", LINES + 1)).map((line) =>
      styled(terminal, "green", `+ ${shortened(line)}`),
    ),
  ]);
  const more = lines.length > LINES ? [dim(terminal, "  …")] : [];
  return [...lines.slice(0, LINES), ...more].map((line) => `    ${oneLine(line)}`);
}

export function describedNotice(terminal: Terminal, event: LiveEvent<LiveTopic>): string {
  const { topic, time, notice } = event;
  const facts = Object.entries(notice).map(([name, value]) =>
    name === "kind" ? factText(value) : `${name}=${shortened(factText(value))}`,
  );
  const head = [dim(terminal, moment(time)), bold(terminal, topic), ...facts];
  return oneLine(head.join("  "));
}

function factText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function shortened(text: string): string {
  return text.length > WIDTH ? `${text.slice(0, WIDTH).toWellFormed()}…` : text;
}

/** Whoever writes a text must not be able to draw on the screen of whoever watches, piped or not. */
function oneLine(text: string): string {
  return harmless(text.replaceAll("\n", "⏎"));
}
