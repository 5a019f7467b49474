import { expect, test } from "vitest";
import { FakeTime } from "../../test/support/kernel-workshop.ts";
import type { RecordedChange } from "../blocks/index.ts";
import type { Store } from "./ports.ts";
import { Upkeep } from "./upkeep.ts";

const block = "main~ann~1";
const splice: RecordedChange = { kind: "text", splices: [{ at: 0, remove: 1, insert: "x" }] };

/** What is done to one block whose text is so long. */
function workshop(length: number) {
  const time = new FakeTime();
  const done: string[] = [];
  let version = 0;
  const store = {
    putKeyframe: async (_: string, { version: kept }: { version: number }) =>
      void done.push(`keep ${kept}`),
    compact: async (_: string, upTo: number) => void done.push(`pack ${upTo}`),
  } as unknown as Store;
  const upkeep = new Upkeep({
    store,
    clock: time.clock,
    timers: time.timers,
    read: async () => ({ version, text: "x".repeat(length) }),
  });
  const commit = async (
    count: number,
    change: (index: number) => RecordedChange = () => splice,
  ): Promise<void> => {
    for (let each = 0; each < count; each++) {
      version++;
      upkeep.committed(block, change(each), false);
      for (let turn = 0; turn < 12; turn++) await Promise.resolve();
    }
  };
  return { upkeep, time, done, commit };
}

test("a block that is written to is kept whole now and then, and packed when it rests", async () => {
  const { upkeep, time, done, commit } = workshop(10);
  await commit(600);
  expect(done).toEqual(["keep 256", "keep 512"]);
  time.pass(20_000);
  await upkeep.close();
  expect(done).toEqual(["keep 256", "keep 512", "keep 600", "pack 600"]);
});

test("a block that never rests is packed all the same", async () => {
  const { done, commit } = workshop(10);
  await commit(16_400);
  expect(done.filter((each) => each.startsWith("pack"))).toEqual(["pack 16384"]);
});

test("a long text is kept whole less often while it is written to", async () => {
  const { upkeep, done, commit } = workshop(1_000 * 1_024);
  await commit(999);
  expect(done).toEqual([]);
  await commit(1);
  expect(done).toEqual(["keep 1000"]);
  await upkeep.close();
  expect(done).toEqual(["keep 1000", "pack 1000"]);
});

test("what only streams in is packed as it comes: nobody waits for its commits", async () => {
  const { done, commit } = workshop(10);
  await commit(600, (at) => ({ kind: "text", splices: [{ at, remove: 0, insert: "x" }] }));
  expect(done).toEqual(["keep 256", "pack 256", "keep 512", "pack 512"]);
});

test("what is put in here and there is edited: it is packed when it rests", async () => {
  const { done, commit } = workshop(10);
  await commit(600, () => ({ kind: "text", splices: [{ at: 7, remove: 0, insert: "x" }] }));
  expect(done).toEqual(["keep 256", "keep 512"]);
});
