import type { Store } from "../../src/kernel/ports.ts";
import { batch, commit, encode, row } from "../store-contract/support.ts";

const blocks = ["main~ann~1", "main~claude~2", "@src~file~7"];

/** A little of everything a store keeps. The corpus of old databases is made of it: it never changes. */
export async function fillSample(store: Store): Promise<void> {
  for (let version = 0; version < 30; version += 1) {
    const commits = blocks.map((block, index) =>
      commit(block, version, {
        edit: `edit-${version}`,
        actor: index === 0 ? "ann" : "claude",
        time: 1_700_000_000_000 + version,
        call: index === 1 ? `call-${version}` : undefined,
        message: version % 7 === 0 ? "naïve \u{1f600}" : undefined,
        model: index === 1 ? "model-a" : undefined,
        turn: index === 1 ? "turn-1" : undefined,
        body: encode(`${block} ${version} ${"text ".repeat(index)}`),
      }),
    );
    const answered = { actor: "claude", call: `call-${version}`, fingerprint: "f", answer: "{}" };
    const rows = version % 10 === 0 ? blocks.map((block) => row(block)) : [];
    await store.commit(batch(commits, { rows, calls: [answered] }));
  }
  await store.compact(blocks[0]!, 20);
  await store.compact(blocks[1]!, 30);
  await store.putKeyframe(blocks[0]!, { version: 30, text: "keyframe ".repeat(100) });
  await store.putKeyframe(blocks[1]!, { version: 29, text: "short" });
  await store.putSnapshot(blocks[0]!, { version: 28, bytes: encode("snapshot ".repeat(100)) });
  await store.put("settings", "a", "1");
  await store.acquire("lease", "holder", 1000, 500);
}

/** Everything of it that can be asked for. */
export async function readSample(store: Store): Promise<unknown> {
  const perBlock = blocks.map(async (block) => ({
    commits: await store.commitsOf(block, 0),
    row: await store.row(block),
    keyframe: await store.keyframe(block),
    snapshot: await store.snapshot(block),
  }));
  return {
    head: await store.head(),
    journal: await store.changesSince(0, 1000),
    blocks: await Promise.all(perBlock),
    rows: await store.rows({ limit: 100 }),
    children: await store.children({ context: "main", parent: null, limit: 100 }),
    last: await store.lastSequence("@src", "file"),
    call: await store.call("claude", "call-3"),
    settings: await store.list("settings"),
  };
}
