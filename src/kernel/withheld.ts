import type { AttachedFiles } from "./attached-files.ts";
import type { Contexts } from "./contexts.ts";
import { areWritten, type Gate } from "./gate.ts";
import type { Invocation } from "./invocation.ts";
import type { Listing } from "./listing.ts";

interface WithheldFrom {
  readonly files: AttachedFiles;
  readonly gate: Gate;
  readonly contexts: Contexts;
  readonly listing: Listing;
}

/** Blocks of whose text a search tells a caller nothing. */
export async function withheldBlocks(
  { files, gate, contexts, listing }: WithheldFrom,
  invocation: Invocation,
): Promise<ReadonlySet<string>> {
  const { port } = files;
  if (port === undefined) return new Set();
  const { blocks, folders } = await port.withheld(invocation);
  const withheld = new Set(blocks);
  for (const folder of folders)
    for await (const { block } of listing.all(`@${folder}`)) withheld.add(block);
  if (!areWritten(port.rules())) return withheld;
  for (const { context } of await contexts.list())
    for await (const { block } of listing.all(context))
      if (!gate.mayRead(invocation, block)) withheld.add(block);
  return withheld;
}
