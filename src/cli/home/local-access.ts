import type { HomeFolder } from "../../app/index.ts";
import { type LocalOptions, openLocal } from "../../app/local.ts";
import { faultLog } from "../../app/log.ts";
import type { RpcKernel } from "../../protocol/index.ts";
import type { Terminal } from "../terminal.ts";
import { readVersion } from "../version.ts";
import type { Access } from "./access.ts";

/** The same capabilities in this process. */
export async function localAccess(
  terminal: Terminal,
  home: HomeFolder,
  options: Pick<LocalOptions, "actor" | "onDamage">,
): Promise<Access> {
  // Only faults of ours are told: what is refused is the verb's to say.
  const log = faultLog((line) => void terminal.complain(line));
  const local = openLocal(home, { ...options, log, version: readVersion() });
  const kernels = new Map<string, RpcKernel>();
  return {
    server: undefined,
    lost: new AbortController().signal,
    world: (run) => run(local.world),
    async kernel(id, run) {
      const kernel = kernels.get(id) ?? (await local.world.attachKernel({ kernel: id }));
      kernels.set(id, kernel);
      return run(kernel);
    },
    [Symbol.asyncDispose]: () => local[Symbol.asyncDispose](),
  };
}
