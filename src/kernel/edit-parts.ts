import { decodeBody } from "./commit-body.ts";
import type { EditRow, Store } from "./ports.ts";
import { decoding } from "./quarantine.ts";

/** What an Edit did to one file as a whole, and the position at which it did. */
export interface FilePart {
  readonly block: string;
  readonly position: number;
}

export interface EditParts {
  /** The blocks whose text it changed. */
  readonly texts: readonly string[];
  readonly files: readonly FilePart[];
}

/** What an Edit did, as the journal says: text, and what counts for undo without changing any. */
export async function partsOf(store: Store, row: EditRow): Promise<EditParts> {
  const texts = new Set<string>();
  const files: FilePart[] = [];
  for (const block of row.blocks) {
    const before = await store.versionAt(block, row.first - 1);
    const commits = await store.commitsOf(block, before, await store.versionAt(block, row.last));
    for (const { edit, position, body } of commits) {
      if (edit !== row.edit) continue;
      const { change } = decoding("a commit", () => decodeBody(body));
      if (change.kind === "structure") files.push({ block, position });
      else texts.add(block);
    }
  }
  return { texts: [...texts], files };
}
