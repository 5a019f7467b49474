/** The goals of files: large folders, edits by agents, what others save, undo. */
import type { Row } from "./harness.ts";
import { fileSearchMeasures } from "./support/file-search.ts";
import { treeMeasures } from "./support/file-tree.ts";
import { mcpFileMeasures } from "./support/mcp.ts";

export const parts = { mcp: mcpFileMeasures, tree: treeMeasures, search: fileSearchMeasures };

export async function* measures(): AsyncGenerator<Row> {
  for (const part of Object.values(parts)) yield* part();
}
