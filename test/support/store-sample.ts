import type { Store } from "../../src/kernel/ports.ts";
import { batch, commit, encode, row } from "../store-contract/support.ts";

const blocks = ["main~ann~1", "main~claude~2", "@src~file~7"];
const edits = ["both", "one", "stream", "edit-3"];

/**
 * A little of everything that databases of a version keep. The corpus of old databases is made of it: what
 * it does for a version never changes.
 */
export async function fillSample(store: Store, version: number): Promise<void> {
  await fillJournal(store);
  if (version >= 2) await fillEdits(store);
  if (version >= 3) await fillTools(store);
  await store.acquire("lease", "holder", 1000, 500);
}

async function fillJournal(store: Store): Promise<void> {
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
    // Databases of version 1 kept no times of calls: theirs are 0.
    const answered = {
      actor: "claude",
      call: `call-${version}`,
      fingerprint: "f",
      answer: "{}",
      time: 0,
    };
    const rows = version % 10 === 0 ? blocks.map((block) => row(block)) : [];
    await store.commit(batch(commits, { rows, calls: [answered] }));
  }
  await store.compact(blocks[0]!, 20);
  await store.compact(blocks[1]!, 30);
  await store.putKeyframe(blocks[0]!, { version: 30, text: "keyframe ".repeat(100) });
  await store.putKeyframe(blocks[1]!, { version: 29, text: "short" });
  await store.putSnapshot(blocks[0]!, { version: 28, bytes: encode("snapshot ".repeat(100)) });
  await store.put("settings", "a", "1");
}

/** Edits of text, one undone and one redone; a call with its time; rows of one block; a rewritten commit. */
async function fillEdits(store: Store): Promise<void> {
  const [ann, claude, file] = blocks as [string, string, string];
  const text = { undo: { kind: "text" } } as const;
  const flip = (edit: string, active: boolean) =>
    ({ undo: { kind: "flip", edit, active } }) as const;
  const answered = { actor: "claude", call: "timed", fingerprint: "f", answer: "{}", time: 5000 };
  await store.commit(
    batch([
      commit(ann, 30, { edit: "both", ...text }),
      commit(file, 30, { edit: "both", ...text }),
      commit(ann, 31, { edit: "one", actor: "claude", ...text }),
    ]),
  );
  await store.commit(
    batch([commit(ann, 32, flip("both", false)), commit(file, 31, flip("both", false))]),
  );
  await store.commit(
    batch([commit(ann, 33, { actor: "claude", ...flip("one", false) })], { calls: [answered] }),
  );
  await store.commit(batch([commit(ann, 34, { actor: "claude", ...flip("one", true) })]));
  const late = "main~claude~9";
  for (let version = 0; version < 40; version += 1) {
    const rows = version % 20 === 3 ? [row(late)] : [];
    const body = encode(`appended ${String(version).padStart(6, "0")} to the others`);
    await store.commit(batch([commit(late, version, { edit: "stream", body, ...text })], { rows }));
  }
  await store.compact(late, 35);
  await store.compact(file, 32);
  await store.rewrite({
    block: claude,
    commits: [{ version: 3, body: encode("removed"), message: undefined }],
    note: { space: "gaps", key: claude, value: "removed" },
  });
}

/** Tools of commits, some of them compacted. */
async function fillTools(store: Store): Promise<void> {
  const [ann] = blocks as [string];
  const tools = ["block_edit", undefined, "block_append", "block_append", "block_undo"];
  for (const [index, tool] of tools.entries())
    await store.commit(batch([commit(ann, 35 + index, { edit: `tool-${index}`, tool })]));
  await store.compact(ann, 38);
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
    calls: [await store.call("claude", "call-3"), await store.call("claude", "timed")],
    settings: [await store.list("settings"), await store.list("gaps")],
    edits: await Promise.all(edits.map((edit) => store.edit(edit))),
    newest: await Promise.all(["ann", "claude"].map((actor) => store.newestEdit(actor))),
    undone: await Promise.all(["ann", "claude"].map((actor) => store.newestUndone(actor))),
  };
}
