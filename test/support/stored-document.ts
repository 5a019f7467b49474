import { LoroDoc } from "loro-crdt";
import type { Random } from "../../src/base/index.ts";
import type { BlockDocument, RecordedChange } from "../../src/blocks/index.ts";
import { encodeBody } from "../../src/kernel/commit-body.ts";
import type { NewBlockRow, NewCommit, Store } from "../../src/kernel/ports.ts";

/** A block's row as the kernel writes it. */
export function storedRow(block: string, metadata: object = {}): NewBlockRow {
  const attributes = { flags: {}, metadata, owner: null, created: 1 };
  return {
    block,
    context: "main",
    parent: null,
    order: `a${block.split("~")[2]!}`,
    kind: "text",
    role: "user",
    status: "done",
    attributes: JSON.stringify(attributes),
  };
}

/** Writes one version of a document as the kernel does; the first brings the block's row. */
export async function storeVersion(
  store: Store,
  row: NewBlockRow,
  document: BlockDocument,
  version: number,
): Promise<number> {
  const { stamp, ...recorded } = document.recorded(version);
  const withRow = version === 1 ? { row } : {};
  const commit: NewCommit = {
    block: row.block,
    expectedVersion: version - 1,
    ...stamp,
    body: encodeBody({ ...recorded, ...withRow }),
    undo: undoOf(recorded.change),
  };
  const rows = version === 1 ? [row] : [];
  const outcome = await store.commit({ commits: [commit], rows, calls: [] });
  if (outcome.kind !== "committed") throw new Error(`the store answered ${outcome.kind}`);
  return outcome.positions[0]!;
}

export async function storeDocument(
  store: Store,
  row: NewBlockRow,
  document: BlockDocument,
): Promise<void> {
  for (let version = 1; version <= document.version; version++) {
    await storeVersion(store, row, document, version);
  }
}

/** Gives a document its replica form and merges what another replica typed meanwhile. */
export function importSomething(document: BlockDocument, random: Random, texts: readonly string[]) {
  let time = 1_800_000_000_000;
  const stamp = (actor: string, edit: string) => ({ actor, edit, time: (time += 1000) });
  if (!document.born) document.birth(stamp("system", `birth-${document.version}`));
  const other = new LoroDoc();
  other.import(document.exportSince());
  other.setPeerId(String(5_000 + random.below(1000)) as `${number}`);
  const text = other.getText("text");
  for (const insert of texts) text.insert(text.length === 0 ? 0 : text.length, insert);
  other.commit();
  const edit = `import-${document.version}`;
  document.import(other.export({ mode: "update" }), stamp("remote", edit));
  other.free();
  if (random.next() < 0.5) {
    document.flip({ edit, active: false }, stamp("remote", `${edit}-off`));
    if (random.next() < 0.5) document.flip({ edit, active: true }, stamp("remote", `${edit}-on`));
  }
}

function undoOf(change: RecordedChange): NewCommit["undo"] {
  if (change.kind === "flip") return { kind: "flip", edit: change.edit, active: change.active };
  return change.kind === "text" || change.kind === "import" ? { kind: "text" } : undefined;
}
