import type { Batch, NewBlockRow, NewCommit, Store, StoredCommit } from "../../src/kernel/ports.ts";

/** The data of one test. Every `open` gives another handle on the same data: another writer. */
interface StoreWorld extends AsyncDisposable {
  open(): Promise<Store>;
}

export type NewWorld = () => Promise<StoreWorld>;

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

export function commit(
  block: string,
  expectedVersion: number,
  more: Partial<NewCommit> = {},
): NewCommit {
  const body = encode(`${block} ${expectedVersion + 1}`);
  return {
    block,
    expectedVersion,
    edit: "edit-1",
    actor: "ann",
    time: 1_700_000_000_000,
    body,
    ...more,
  };
}

export function row(block: string, more: Partial<NewBlockRow> = {}): NewBlockRow {
  return {
    block,
    context: "main",
    parent: null,
    order: block,
    kind: "text",
    role: "user",
    status: "pending",
    attributes: "{}",
    ...more,
  };
}

export function batch(commits: readonly NewCommit[], more: Partial<Batch> = {}): Batch {
  return { commits, rows: [], calls: [], ...more };
}

/** Commits `count` versions of a block, one batch each. */
export async function grow(
  store: Store,
  block: string,
  from: number,
  count: number,
): Promise<void> {
  const all = Array.from({ length: count }, (_, index) =>
    store.commit(batch([commit(block, from + index)])),
  );
  for (const outcome of await Promise.all(all)) {
    if (outcome.kind !== "committed") throw new Error(`${block} was ${outcome.kind}`);
  }
}

/** Everything from a position on, asked for in pages. */
export async function readAll(store: Store, limit: number, position = 0): Promise<StoredCommit[]> {
  const all: StoredCommit[] = [];
  for (;;) {
    const page = await store.changesSince(position, limit);
    if (page.length === 0) return all;
    all.push(...page);
    position = page.at(-1)!.position;
  }
}
