import { type ErrorCode, KumikoError } from "../../base/index.ts";
import type { FeedEvent, FeedMessage, RpcInputs } from "../../protocol/index.ts";
import { styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { OpenKernel } from "./access.ts";
import { moment } from "./moment.ts";

type StreamInput = RpcInputs["Kernel"]["subscribeBlocks"];

/** Prints what comes until it ends or is interrupted; as JSON, one event per line. */
export async function printStream(
  terminal: Terminal,
  json: boolean,
  kernel: OpenKernel,
  signal: AbortSignal,
  input: StreamInput,
): Promise<number> {
  using waiting = new DisposableStack();
  // Who only waits keeps no process alive.
  const alive = setInterval(() => undefined, 60_000);
  waiting.defer(() => clearInterval(alive));
  const over = Promise.withResolvers<void>();
  let told: number | undefined;
  let printing = Promise.resolve();
  const show = async (message: FeedMessage): Promise<void> => {
    if (message.kind === "begun") told = message.position;
    if (message.kind !== "blocks") return;
    const lines = message.events.map((event) =>
      json ? JSON.stringify(event) : described(terminal, event),
    );
    if (lines.length > 0) await terminal.print(`${lines.join("\n")}\n`);
    told = message.position;
  };
  // A message may come before the one before it is printed.
  const take = (message: FeedMessage): Promise<void> => {
    if (message.kind === "ended") void printing.then(() => over.reject(ending(message, told)));
    else printing = printing.then(() => show(message));
    return printing;
  };
  const stop = (): void => over.resolve();
  signal.addEventListener("abort", stop, { once: true });
  kernel.lost.addEventListener("abort", () => over.reject(lost(told)), { once: true });
  waiting.defer(() => signal.removeEventListener("abort", stop));
  waiting.use(await kernel.ask((each) => each.subscribeBlocks(take, input)));
  if (signal.aborted) stop();
  await over.promise;
  return exitCode.interrupted;
}

function ending({ error }: Extract<FeedMessage, { kind: "ended" }>, told?: number): KumikoError {
  const { code, message, facts } = error;
  const sentence = `${message}${goOn(told)}`;
  return new KumikoError(code as ErrorCode, sentence, { ...facts, position: told ?? null });
}

function lost(told?: number): KumikoError {
  const facts = { sent: false, position: told ?? null };
  return new KumikoError("offline", `The server was lost.${goOn(told)}`, facts);
}

function goOn(told: number | undefined): string {
  return told === undefined
    ? ""
    : ` Everything up to ${told} was shown: go on with --from ${told}.`;
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
