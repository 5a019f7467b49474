import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { KumikoError } from "../../base/index.ts";
import type { RpcInputs } from "../../protocol/index.ts";
import type { OpenKernel } from "./access.ts";
import type { Caller } from "./with-kernel.ts";

/** Milliseconds in which a call that was given up has to say what became of it. */
const FAREWELL = 2_000;

/** Calls a tool, once however often the connection is lost. Ctrl-C gives it up. */
export async function callTool(
  kernel: OpenKernel,
  { actor, signal }: Caller,
  call: RpcInputs["Kernel"]["executeTool"],
): Promise<unknown> {
  signal.throwIfAborted();
  const cancel = randomUUID();
  const made = { actor, cancel, ...(kernel.server && { call_id: randomUUID() }), ...call };
  const farewell = new AbortController();
  const { promise: unanswered, reject } = Promise.withResolvers<never>();
  const stop = (): void => {
    // Whether there was anything to give up is told by the call itself.
    kernel.ask((each) => each.cancelCall({ cancel })).catch(() => undefined);
    sleep(FAREWELL, undefined, { signal: farewell.signal }).then(
      () => reject(unknownOutcome()),
      () => undefined,
    );
  };
  signal.addEventListener("abort", stop, { once: true });
  const answer = kernel.ask((each) => each.executeTool(made));
  try {
    return await Promise.race([answer, unanswered]);
  } finally {
    signal.removeEventListener("abort", stop);
    farewell.abort();
    // Nobody waits for an answer that comes after all.
    answer.catch(() => undefined);
  }
}

function unknownOutcome(): KumikoError {
  return new KumikoError(
    "aborted",
    "Interrupted, and the server did not say what became of the call: look before you make it again.",
    { interrupted: true, sent: true },
  );
}
