import type * as Loro from "loro-crdt";

let loaded: typeof Loro | undefined;

/**
 * Loro, from the first document on that has replicas: its wasm takes longer to load than a kernel to open,
 * and most documents never need it.
 */
export function loro(): typeof Loro {
  return (loaded ??= required());
}

/** For browsers, which can load nothing while they are asked: to be awaited before the first document. */
export async function loadLoro(): Promise<void> {
  loaded ??= await import("loro-crdt");
}

function required(): typeof Loro {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> };
  const builtin = process?.getBuiltinModule?.("node:module");
  if (builtin === undefined) throw new Error("Loro is not loaded: await loadLoro() first.");
  return builtin.createRequire(import.meta.url)("loro-crdt") as typeof Loro;
}
