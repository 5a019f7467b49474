import type { ServerContext } from "@modelcontextprotocol/server";
import type { Timers } from "../../base/index.ts";

const EVERY = 1_000;

/**
 * Says once a second that a call is still under way, when its caller asked for progress: clients give up on calls
 * of which they hear nothing.
 */
export async function reportingProgress<Result>(
  timers: Timers,
  what: string,
  { mcpReq }: ServerContext,
  run: () => Promise<Result>,
): Promise<Result> {
  const progressToken = mcpReq["_meta"]?.progressToken;
  if (progressToken === undefined) return run();
  let seconds = 0;
  let last = Promise.resolve();
  const later = () => timers.after(EVERY, tell);
  let timer = later();
  function tell(): void {
    seconds += 1;
    const message = `${what} has been running for ${seconds} s`;
    // A client that is gone is noticed by whoever answers it.
    last = mcpReq
      .notify({
        method: "notifications/progress",
        params: { progressToken, progress: seconds, message },
      })
      .catch(() => undefined);
    timer = later();
  }
  try {
    return await run();
  } finally {
    timer.cancel();
    await last;
  }
}
