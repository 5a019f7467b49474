import { exportReadable, type ReadableBlock, type Store } from "../../kernel/index.ts";
import { counted } from "./counted.ts";
import type { ExportFolder } from "./export-folder.ts";

export interface Rescued {
  readonly folder: string;
  readonly whole: number;
  readonly partly: number;
  readonly nothing: number;
}

/** Writes everything that can still be read, whole or in part, one file per block. */
export async function rescue(
  folder: ExportFolder,
  kernel: string,
  store: Store,
  signal: AbortSignal,
): Promise<Rescued> {
  const index: object[] = [];
  const names: string[] = [];
  let whole = 0;
  for await (const block of exportReadable(store)) {
    const name = `${block.block.split("~")[0]!}/${block.block}.txt`;
    const empty = !block.whole && block.version === undefined;
    const file = { name, text: () => Promise.resolve(empty ? undefined : block.text) };
    await folder.write([file], signal, () => Promise.resolve());
    if (!empty) names.push(name);
    if (block.whole) whole += 1;
    index.push(toIndex(block, empty ? null : name));
  }
  await folder.finish(names, { kernel, blocks: index });
  const nothing = index.length - names.length;
  return { folder: folder.path, whole, partly: names.length - whole, nothing };
}

function toIndex({ block, state, version, whole }: ReadableBlock, file: string | null): object {
  const known =
    state === undefined
      ? {}
      : { parent_id: state.parent, kind: state.kind, role: state.role, status: state.status };
  return { block_id: block, file, whole, version: version ?? null, ...known };
}

export function describedRescue({ folder, whole, partly, nothing }: Rescued): string {
  const parts = [
    `${counted(whole, "block")} whole`,
    ...(partly > 0 ? [`${partly} in part`] : []),
    ...(nothing > 0 ? [`${nothing} not at all`] : []),
  ];
  return `${parts.join(", ")}: ${folder} (index.json says which)`;
}
