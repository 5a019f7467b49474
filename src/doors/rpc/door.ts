import { realTimers, type Timers } from "../../base/index.ts";
import type { Hall } from "../hall.ts";
import type { SocketDoor } from "../http/door.ts";
import type { OutflowLimits } from "../http/outflow.ts";
import type { CallerLimits } from "./caller.ts";
import { serve } from "./connection.ts";
import type { RegisterFolder } from "./world.ts";

export interface RpcDoorOptions {
  readonly registerFolder?: RegisterFolder | undefined;
  readonly timers?: Timers | undefined;
  readonly outflow?: OutflowLimits | undefined;
  readonly limits?: Partial<CallerLimits> | undefined;
}

/** Capabilities over WebSocket. */
export function createRpcDoor(hall: Hall, options: RpcDoorOptions = {}): SocketDoor {
  const { timers = realTimers, ...rest } = options;
  let connections = 0;
  return {
    path: "/rpc",
    accept(socket, visitor, wire) {
      connections++;
      const name = `rpc-${connections}`;
      serve(socket, visitor, { ...rest, timers, hall, name, wire });
    },
  };
}
