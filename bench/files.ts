/** The goals of files: large folders, edits by agents, what others save, undo. */
import type { Row } from "./harness.ts";
import { treeMeasures } from "./support/file-tree.ts";
import { mcpFileMeasures } from "./support/mcp.ts";

export async function* measures(): AsyncGenerator<Row> {
  yield* mcpFileMeasures();
  yield* treeMeasures();
}
