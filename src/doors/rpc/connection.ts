import { RpcSession } from "capnweb";
import type { WebSocket } from "ws";
import { KumikoError, type Timers } from "../../base/index.ts";
import type { Hall } from "../hall.ts";
import type { Visitor } from "../http/door.ts";
import type { OutflowLimits, Wire } from "../http/outflow.ts";
import { Caller, type CallerLimits } from "./caller.ts";
import { Transport } from "./transport.ts";
import { wireError } from "./wire-error.ts";
import { type RegisterFolder, WorldTarget } from "./world.ts";

export interface ConnectionOptions {
  readonly hall: Hall;
  /** What the log calls it, and the line of sight of calls that name none. */
  readonly name: string;
  readonly timers: Timers;
  readonly wire: Wire;
  readonly registerFolder?: RegisterFolder | undefined;
  readonly outflow?: OutflowLimits | undefined;
  readonly limits?: Partial<CallerLimits> | undefined;
}

/** One connection, from the first message to the end: what it holds goes with it. */
export function serve(
  socket: WebSocket,
  { principal, trace }: Visitor,
  options: ConnectionOptions,
): void {
  const { hall, name, timers, registerFolder, limits } = options;
  if (socket.readyState !== socket.OPEN) return;
  const transport = new Transport(
    socket,
    {
      timers,
      resumed: () => caller.resumed(),
      closed: (error) => {
        stop();
        caller.close(error);
        if (error.facts["reason"] === "resync")
          hall.metrics.counter("kumiko_resyncs_total", { door: "/rpc" }).add();
        log.debug({ err: error }, "an RPC connection ended");
      },
    },
    options.wire,
    options.outflow,
  );
  const log = hall.log.child({ connection: name });
  const caller = new Caller({
    hall,
    principal,
    reader: name,
    trace,
    timers,
    limits,
    paused: () => transport.paused,
    channels: transport.channels,
    stalled: () => transport.end("resync"),
  });
  /** Says why to whoever listens, then goes. */
  const drain = (reason: "closing" | "unauthorised"): void => {
    void caller.drain(reason).finally(() => transport.end(reason));
  };
  const closing = (): void => drain("closing");
  const revoked = (): void => {
    // What is under way is given up at once: the token does not allow it any more.
    const why: unknown = principal.signal.reason;
    drain("unauthorised");
    caller.close(why instanceof Error ? why : unauthorised());
  };
  const stop = (): void => {
    hall.closing.removeEventListener("abort", closing);
    principal.signal.removeEventListener("abort", revoked);
  };
  hall.closing.addEventListener("abort", closing, { once: true });
  principal.signal.addEventListener("abort", revoked, { once: true });
  void new RpcSession(transport, new WorldTarget(caller, registerFolder), {
    onSendError: wireError,
    limits: { maxDepth: 128, maxMessageSize: Infinity },
  });
  socket.resume();
  if (principal.signal.aborted) revoked();
  else if (hall.closing.aborted) closing();
}

function unauthorised(): KumikoError {
  return new KumikoError("unauthorised", "The token was revoked or has expired.", {});
}
