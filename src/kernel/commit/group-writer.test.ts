import { expect, test } from "vitest";
import type { Batch, NewBlockRow, NewCommit, Store } from "../ports.ts";
import type { Quarantine } from "../quarantine.ts";
import { GroupWriter } from "./group-writer.ts";
import type { OtherServers } from "./other-servers.ts";

function commit(block: string, expectedVersion: number): NewCommit {
  const edit = `e${expectedVersion}`;
  return { block, expectedVersion, edit, actor: "ann", time: 1, body: new Uint8Array() };
}

function row(block: string, attributes: string): NewBlockRow {
  const place = { context: "main", parent: null, order: block };
  return { block, ...place, kind: "text", role: "user", status: "done", attributes };
}

test("Edits that share a write and give one block several rows leave it the last of them", async () => {
  const batches: Batch[] = [];
  const store: Pick<Store, "commit"> = {
    commit: async (batch) => {
      batches.push(batch);
      return { kind: "committed", positions: batch.commits.map((_, index) => index + 1) };
    },
  };
  const writer = new GroupWriter({
    store: store as Store,
    quarantine: {} as Quarantine,
    others: { heard: () => true } as Pick<OtherServers, "heard"> as OtherServers,
    turn: () => undefined,
    fence: () => ({ lease: "lease", token: 1 }),
    unwritten: () => expect.unreachable(),
    outrun: () => expect.unreachable(),
  });
  const told: (readonly number[])[] = [];
  const write = (commits: readonly NewCommit[], rows: readonly NewBlockRow[]): Promise<void> =>
    writer.write({
      blocks: commits.map(({ block }) => block),
      commits,
      rows,
      call: undefined,
      patient: false,
      durable: (positions) => told.push(positions),
    });
  await Promise.all([
    write([commit("a", 1), commit("b", 1)], [row("a", "first"), row("b", "only")]),
    write([commit("a", 2)], [row("a", "second")]),
    write([commit("a", 3)], []),
  ]);
  expect(batches).toMatchObject([
    {
      commits: [{ block: "a" }, { block: "b" }, { block: "a" }, { block: "a" }],
      rows: [row("a", "second"), row("b", "only")],
    },
  ]);
  expect(told).toEqual([[1, 2], [3], [4]]);
});
