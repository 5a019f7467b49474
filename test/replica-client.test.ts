import { expect, test } from "vitest";
import { ReplicaText } from "../src/blocks/index.ts";
import { Replica } from "../src/client/replica.ts";
import type { ClientFrame } from "../src/protocol/index.ts";
import { documentOf, stamp } from "./support/documents.ts";

/** A replica of a new document, and what it sends. */
async function openReplica(text: string) {
  const stack = new DisposableStack();
  const document = stack.use(documentOf(text, "3"));
  document.birth(stamp("disk", "birth"));
  const sent: ClientFrame[] = [];
  const replica = stack.use(
    new Replica("main~ann~1", {
      send: (frame) => sent.push(frame),
      copy: (snapshot) => Promise.resolve(new ReplicaText(snapshot, "77")),
      after: () => ({ cancel: () => undefined }),
      closed: () => undefined,
    }),
  );
  const { block } = replica;
  replica.connected();
  const bytes = document.exportSnapshot();
  const opened = { block, blockVersion: 2, generation: 0, whole: true, counter: 0 };
  await replica.receive({ kind: "opened", ...opened, length: bytes.length });
  await replica.receive({ kind: "part", block, bytes });
  return { document, replica, block, sent, [Symbol.dispose]: () => stack.dispose() };
}

test("what others did is not left out when the answer to one's own comes first", async () => {
  using opened = await openReplica("text\n");
  const { document, replica, block, sent } = opened;
  const known = replica.length;
  replica.edit([{ at: 0, remove: 0, insert: "mine " }]);
  await Promise.resolve();
  expect(sent.at(-1)).toMatchObject({ kind: "push", counter: 0, live: true });
  const missing = document.counters();
  document.commit([{ at: 0, remove: 0, insert: "theirs " }], stamp("bob", "e1"));
  await replica.receive({ kind: "accepted", block, peer: "77", counter: 5, blockVersion: 4 });
  expect(replica.unsent).toEqual([]);
  const updates = [{ peer: undefined, bytes: document.exportMissing(missing) }];
  await replica.receive({
    kind: "update",
    block,
    fromVersion: 2,
    toVersion: 4,
    updates,
    changes: [],
  });
  expect(replica.version).toBe(4);
  expect(replica.length).toBe(known + "mine theirs ".length);
});

test("what is typed while a frame is under way goes into the next one", async () => {
  using opened = await openReplica("");
  const { replica, block, sent } = opened;
  for (let i = 0; i < 50; i++) {
    replica.edit([{ at: i, remove: 0, insert: "x" }]);
    await Promise.resolve();
  }
  const pushes = (): number[] =>
    sent.flatMap((frame) => (frame.kind === "push" ? [frame.counter] : []));
  expect(pushes()).toEqual([0]);
  await replica.receive({ kind: "accepted", block, peer: "77", counter: 1, blockVersion: 3 });
  expect(pushes()).toEqual([0, 1]);
  await replica.receive({ kind: "accepted", block, peer: "77", counter: 50, blockVersion: 4 });
  expect(pushes()).toEqual([0, 1]);
  expect(replica.unsent).toEqual([]);
});
