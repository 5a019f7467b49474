import { realTimers } from "../../base/index.ts";
import type { RpcWorld } from "../../protocol/index.ts";
import type { Hall } from "../hall.ts";
import type { Principal } from "../principal.ts";
import { Caller } from "./caller.ts";
import { type RegisterFolder, WorldTarget } from "./world.ts";

/** The capabilities without a connection, for who runs in the same process. Disposing gives up what is under way. */
export function localWorld(
  hall: Hall,
  principal: Principal,
  options: { readonly reader: string; readonly registerFolder?: RegisterFolder | undefined },
): { readonly world: RpcWorld } & Disposable {
  const caller = new Caller({ hall, principal, timers: realTimers, reader: options.reader });
  return {
    world: new WorldTarget(caller, options.registerFolder),
    [Symbol.dispose]: () => caller.close(new Error("The caller has gone.")),
  };
}
