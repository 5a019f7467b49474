import type { FeedEvent } from "../../kernel/index.ts";
import { styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { moment } from "./moment.ts";

/** Prints what comes until it ends or is interrupted; as JSON, one event per line. */
export async function printStream(
  terminal: Terminal,
  json: boolean,
  signal: AbortSignal,
  batches: AsyncIterable<unknown>,
): Promise<number> {
  // Who only waits keeps no process alive.
  const alive = setInterval(() => undefined, 60_000);
  using waiting = new DisposableStack();
  waiting.defer(() => clearInterval(alive));
  for await (const batch of batches) {
    const { events } = batch as { events: readonly FeedEvent[] };
    const lines = events.map((event) =>
      json ? JSON.stringify(event) : described(terminal, event),
    );
    if (lines.length > 0) await terminal.print(`${lines.join("\n")}\n`);
  }
  return signal.aborted ? exitCode.interrupted : exitCode.fine;
}

function described(terminal: Terminal, event: FeedEvent): string {
  const { position, block, version, actor, time, change, state, message } = event;
  const what = [change.kind, state?.status ?? "", message ?? ""].filter(Boolean).join(" ");
  const added =
    "splices" in change
      ? change.splices
          .map(({ insert }) => insert)
          .join("")
          .trim()
      : "";
  return [
    styled(terminal, "dim", `${position} ${moment(time)}`),
    styled(terminal, "bold", block),
    `version ${version}`,
    actor,
    what,
    added === "" ? "" : JSON.stringify(added.slice(0, 60).toWellFormed()),
  ]
    .filter(Boolean)
    .join("  ");
}
