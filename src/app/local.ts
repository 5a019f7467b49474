import { Hall, type Log, Metrics } from "../doors/index.ts";
import { localWorld } from "../doors/rpc/local.ts";
import type { DamageReport } from "../kernel/index.ts";
import type { RpcWorld, Scope } from "../protocol/index.ts";
import { allTools } from "./all-tools.ts";
import type { HomeFolder } from "./home.ts";
import { openWorld } from "./world.ts";

export interface LocalOptions {
  readonly actor: string;
  readonly version: string;
  readonly log: Log;
  readonly onDamage: (report: DamageReport) => void;
}

export interface LocalWorld extends AsyncDisposable {
  readonly world: RpcWorld;
}

const EVERYTHING: readonly Scope[] = ["read", "write", "admin", "mint", "act_as"];

/** The capabilities of a home's owner in this process, without a server. The caller disposes of them. */
export function openLocal(home: HomeFolder, options: LocalOptions): LocalWorld {
  const { actor, version, log, onDamage } = options;
  const world = openWorld(home, onDamage);
  const closing = new AbortController();
  const hall = new Hall({
    world,
    registry: allTools,
    log,
    metrics: new Metrics(),
    clock: { now: () => Date.now() },
    version,
    closing: closing.signal,
  });
  const owner = {
    token: "owner",
    kind: "person",
    actor,
    scopes: new Set(EVERYTHING),
    kernels: undefined,
    signal: closing.signal,
  } as const;
  const local = localWorld(hall, owner, { reader: actor });
  return {
    world: local.world,
    async [Symbol.asyncDispose]() {
      local[Symbol.dispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}
