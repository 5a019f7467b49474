import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { BlockDocument } from "../src/blocks/index.ts";
import { toRecorded } from "../src/kernel/live-documents.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { fcOptions } from "./support/counts.ts";
import { type Answer, Workshop } from "./support/kernel-workshop.ts";
import { History, historyOf } from "./support/random-history.ts";
import { importSomething, storeDocument, storedRow } from "./support/stored-document.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const block = "main~ann~1";
const FILLER = "█";

/** The same text, but for units that are filled. */
function expectMasked(now: string, before: string): void {
  expect(now).toHaveLength(before.length);
  for (let at = 0; at < now.length; at++) {
    if (now[at] !== before[at]) {
      expect(now[at]).toBe(FILLER);
      expect(before[at]).not.toBe("\n");
    }
  }
}

async function load(disk: MemoryDisk): Promise<BlockDocument> {
  const commits = await new MemoryStore({ disk }).commitsOf(block, 0);
  return BlockDocument.load(undefined, { peer: "9", commits: commits.map(toRecorded) });
}

describe("purge", () => {
  test("a purged text is in no version; all else, blame and undo are as before", async () => {
    let purged = 0;
    const property = fc.asyncProperty(
      historyOf(25),
      fc.constantFrom("abc", "bcd", "aab", "dab", "words and", "s a"),
      fc.nat(),
      async (steps, secret, number) => {
        const random = new Random(number);
        using before = BlockDocument.create({ peer: "9" });
        new History(before).run(steps);
        const merged = random.next() < 0.3;
        if (merged) importSomething(before, random, ["ab", "c", "dabcd\n"]);
        if (before.version === 0) return;
        const disk = new MemoryDisk();
        await storeDocument(new MemoryStore({ disk }), storedRow(block), before);
        const shop = await Workshop.open(new MemoryStore({ disk }));
        const { gaps } = await shop.kernel.purge(
          { actor: "ann", message: "leak" },
          { text: secret },
        );
        purged += gaps.length;
        await shop[Symbol.asyncDispose]();
        using after = await load(disk);
        expect(after.version).toBe(before.version + gaps.length);
        let masked = false;
        for (let version = 0; version <= before.version; version++) {
          const [old, now] = [before.read(version), after.read(version)];
          expect(now).not.toContain(secret);
          expectMasked(now, old);
          if (old.includes(secret)) masked = true;
        }
        if (masked) expect(gaps).toMatchObject([{ block, by: "ann", why: "leak" }]);
        const runs = (document: BlockDocument): unknown =>
          document.blame().map(({ start, length, edit }) => ({ start, length, edit }));
        expect(runs(after)).toEqual(runs(before));
        if (before.born) {
          const bytes = Buffer.from(after.exportSnapshot()).toString("latin1");
          expect(bytes).not.toContain(secret);
        }
        // Whatever is undone or redone now gives the same with and without the purge.
        const edits = before.history({ limit: 1000 }).entries.map(({ edit }) => edit);
        for (const edit of new Set(edits)) {
          const stamp = { actor: "ben", edit: `later-${edit}`, time: 1_900_000_000_000 };
          for (const what of ["planUndo", "planRedo"] as const) {
            try {
              const plan = before[what]({ actor: "ben", edit });
              before.flip(plan, { ...stamp, edit: `${stamp.edit}-${what}` });
            } catch {
              continue;
            }
            const plan = after[what]({ actor: "ben", edit });
            after.flip(plan, { ...stamp, edit: `${stamp.edit}-${what}` });
            expectMasked(after.read(), before.read());
          }
        }
      },
    );
    await fc.assert(property, fcOptions(1000));
    expect(purged).toBeGreaterThan(10);
  });

  test("a whole block is masked line by line", async () => {
    const property = fc.asyncProperty(historyOf(15), async (steps) => {
      using before = BlockDocument.create({ peer: "9" });
      new History(before).run(steps);
      if (before.version === 0) return;
      const disk = new MemoryDisk();
      await storeDocument(new MemoryStore({ disk }), storedRow(block), before);
      const shop = await Workshop.open(new MemoryStore({ disk }));
      await shop.kernel.purge({ actor: "ann" }, { block });
      await shop[Symbol.asyncDispose]();
      using after = await load(disk);
      for (let version = 0; version <= before.version; version++) {
        expect(after.read(version)).toBe(
          before.read(version).replaceAll(/[^\n]/gu, (each) => FILLER.repeat(each.length)),
        );
      }
    });
    await fc.assert(property, fcOptions(200));
  });

  test("nothing of it is left in any file, answer, message or list; others are told", async () => {
    const secret = "hunter2-horse-staple";
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const shop = await Workshop.open(await openSqliteStore(file));
    const made = await shop.call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: `the key is ${secret}\nkeep this line\n`,
      metadata: { path: "keys.txt", note: `has ${secret}`, [`of ${secret}`]: [secret] },
      message: `adds ${secret}`,
      call_id: "c1",
    });
    const pasted = made["block_id"] as string;
    const typed = await shop.create("ben");
    for (const key of secret) {
      await shop.call("ben", "block_append", { block_id: typed, text: key, flush: true });
    }
    const backwards = await shop.create("ben", "");
    for (const key of [...secret].toReversed()) {
      const { version } = await shop.kernel.read(backwards);
      const insert = { block_id: backwards, offset: 0, delete_count: 0, insert: key };
      await shop.call("ben", "block_splice", { ...insert, base_version: version });
    }
    const plain = await shop.create("ann", "nothing of interest\n");
    await shop.call("ann", "block_replace", {
      block_id: pasted,
      old: "keep",
      new: "kept",
      base_version: 1,
      call_id: "c2",
    });
    await shop.call("ann", "block_replace", { block_id: pasted, old: secret, new: "[cut]" });
    const undone = await shop.call("ann", "block_undo", { call_id: "c3" });
    expect(await shop.text(pasted)).toContain(secret);
    const untouched = await shop.call("eve", "block_history", { block_id: plain });
    const head = shop.kernel.feed.head;

    expect(bytesOf(folder.path).includes(secret)).toBe(true);
    const found = await shop.call("eve", "kernel_search", { query: secret, kinds: ["text"] });
    expect(JSON.stringify(found)).toContain(pasted);
    const told: string[] = [];
    const listening = (async () => {
      for await (const events of shop.kernel.feed.subscribe({ from: head })) {
        told.push(...events.map((event) => event.block));
        if (told.length >= 3) return;
      }
    })();
    const purged = await shop.kernel.purge({ actor: "ann", message: "leaked" }, { text: secret });
    expect(purged.gaps.map((gap) => gap.block).toSorted()).toEqual(
      [pasted, typed, backwards].toSorted(),
    );
    expect(purged.calls).toBeGreaterThan(0);
    await listening;
    expect(told.toSorted()).toEqual([pasted, typed, backwards].toSorted());

    const replayed: unknown[] = [];
    for await (const events of shop.kernel.feed.subscribe({ from: 0 })) {
      replayed.push(...events);
      if (events.at(-1)!.position === shop.kernel.feed.head) break;
    }
    expect(JSON.stringify(replayed)).not.toContain(secret);
    const sought = await shop.call("eve", "kernel_search", { query: secret, kinds: ["text"] });
    expect(JSON.stringify(sought)).not.toContain(pasted);
    const answers: Answer[] = [];
    for (const block_id of [pasted, typed, backwards]) {
      answers.push(await shop.call("eve", "block_read", { block_id }));
      answers.push(await shop.call("eve", "block_history", { block_id, limit: 1000 }));
      answers.push(await shop.call("eve", "block_blame", { block_id }));
      answers.push(await shop.call("eve", "block_diff", { block_id, from: 0 }));
    }
    answers.push(await shop.call("eve", "block_list", {}));
    expect(JSON.stringify(answers)).not.toContain(secret);
    expect(await shop.text(pasted)).toBe(
      `the key is ${FILLER.repeat(secret.length)}\nkept this line\n`,
    );
    expect(answers[1]!["gaps"]).toMatchObject([{ by: "ann", units: secret.length, why: "leaked" }]);
    expect(await shop.call("eve", "block_history", { block_id: plain })).toEqual(untouched);
    await shop.call("ann", "block_redo", { edit: undone["flipped"] });
    expect(await shop.text(pasted)).toBe("the key is [cut]\nkept this line\n");
    expect(bytesOf(folder.path).includes(secret)).toBe(false);
    await shop[Symbol.asyncDispose]();
    expect(bytesOf(folder.path).includes(secret)).toBe(false);

    await using again = await Workshop.open(await openSqliteStore(file));
    for (const block_id of [pasted, typed, backwards]) {
      const { versions } = (await again.call("eve", "block_history", {
        block_id,
        limit: 1000,
      })) as {
        versions: { version: number }[];
      };
      for (const { version } of versions) {
        const read = await again.call("eve", "block_read", { block_id, version });
        expect(read["content"]).not.toContain(secret);
      }
    }
    expect((await again.kernel.purge({ actor: "ann" }, { text: secret })).gaps).toEqual([]);
  });

  test("of a block forgets its own answered calls, and not those of one whose name begins like it", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const ids: string[] = [];
    for (let count = 1; count <= 11; count++) ids.push(await shop.create("ann", "text\n"));
    const insert = (block_id: string, call_id: string): Promise<Answer> =>
      shop.call("ann", "block_edit", {
        block_id,
        operations: [{ op: "insert", line: 0, content: "once" }],
        call_id,
        base_version: 1,
      });
    const [first, eleventh] = [ids[0]!, ids[10]!];
    await insert(first, "c1");
    const answer = await insert(eleventh, "c11");
    const { calls } = await shop.kernel.purge({ actor: "ann" }, { block: first });
    expect(calls).toBe(1);
    expect(await insert(eleventh, "c11")).toEqual(answer);
    expect(await shop.text(eleventh)).toBe("once\ntext\n");
  });

  test("that is denied for any block it would touch changes nothing at all", async () => {
    const secret = "tok-12345";
    const store = new MemoryStore();
    const asked: string[] = [];
    let denied = "";
    await using shop = await Workshop.open(store, {
      authorise: (actor, operation, target) => {
        asked.push(`${operation} ${target}`);
        const deny = actor === "mallory" && `${operation} ${target}` === denied;
        return Promise.resolve({ decision: deny ? "deny" : "allow", reason: "not yours" });
      },
    });
    const ids: string[] = [];
    for (const call of ["c1", "c2", "c3"]) {
      const made = await shop.call("ann", "block_create", {
        role: "user",
        kind: "text",
        content: `${secret} of ${call}\n`,
        message: secret,
        call_id: call,
      });
      ids.push(String(made["block_id"]));
      const all = { block_id: ids.at(-1)!, old: secret, new: "gone", call_id: `${call}-edit` };
      await shop.call("ben", "block_read", { block_id: ids.at(-1)! });
      await shop.call("ann", "block_replace", { ...all, base_version: 1 });
    }
    const before = JSON.stringify([await store.changesSince(0, 100), [...store.disk.calls]]);
    const mallory = { actor: "mallory" };
    for (const [operation, request] of [
      [`delete ${ids[2]}`, { text: secret }],
      ["purge test", { text: secret }],
      [`delete ${ids[0]}`, { block: ids[0]! }],
    ] as const) {
      denied = operation;
      await expect(shop.kernel.purge(mallory, request)).rejects.toMatchObject({ code: "denied" });
      expect(JSON.stringify([await store.changesSince(0, 100), [...store.disk.calls]])).toBe(
        before,
      );
    }
    for (const [operation, request] of [
      ["preview_purge test", { text: secret }],
      [`preview_purge ${ids[0]}`, { block: ids[0]! }],
    ] as const) {
      denied = operation;
      await expect(shop.kernel.previewPurge(mallory, request)).rejects.toMatchObject({
        code: "denied",
        facts: { actor: "mallory", operation: "preview_purge" },
      });
    }
    denied = "";
    expect((await shop.kernel.previewPurge(mallory, { text: secret })).places).toHaveLength(3);
    expect((await shop.kernel.purge(mallory, { text: secret })).gaps).toHaveLength(3);
    expect(asked).toContain("purge test");
  });

  test("that fails halfway says what is purged already and what is not", async () => {
    const secret = "tok-12345";
    let rewrites = 0;
    const store = new MemoryStore({
      faults: ({ what, at }) =>
        what === "rewrite" && at === "write" && ++rewrites === 2 ? "fail" : "pass",
    });
    await using shop = await Workshop.open(store);
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.push(await shop.create("ann", `${secret}\n`));
    const failed = shop.kernel.purge({ actor: "ann" }, { text: secret });
    await expect(failed).rejects.toMatchObject({
      code: "journal_unwritable",
      facts: { purged: [ids[0]], not_purged: [ids[1], ids[2]] },
    });
    const again = await shop.kernel.purge({ actor: "ann" }, { text: secret });
    expect(again.gaps.map((gap) => gap.block)).toEqual([ids[1], ids[2]]);
  });

  test("of a block takes its messages and metadata too, of every version", async () => {
    const secret = "sk-12345";
    const store = new MemoryStore();
    await using shop = await Workshop.open(store);
    const made = await shop.call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: `${secret}\n`,
      metadata: {
        note: secret,
        deep: [{ [secret]: secret }],
        [`${secret}a`]: 1,
        [`${secret}b`]: 2,
      },
      flags: { pinned: true },
      message: `key ${secret}`,
    });
    const block_id = String(made["block_id"]);
    await shop.call("ann", "block_status", { block_id, metadata: { note: null }, message: secret });
    await shop.kernel.purge({ actor: "ann", message: "a key" }, { block: block_id });
    const stored = await store.commitsOf(block_id, 0);
    const bytes = Buffer.concat(stored.map(({ body }) => Buffer.from(body))).toString("latin1");
    const rest = JSON.stringify([
      stored.map(({ message }) => message),
      await store.row(block_id),
      await shop.call("eve", "block_read", { block_id }),
      await shop.call("eve", "block_history", { block_id }),
    ]);
    for (const text of [bytes, rest]) expect(text).not.toContain(secret);
    const { state } = await shop.kernel.read(block_id);
    expect(state.flags).toMatchObject({ pinned: true });
    expect(Object.values(state.metadata)).toEqual(expect.arrayContaining([1, 2]));
    // There is nothing more to remove.
    expect((await shop.kernel.purge({ actor: "ann" }, { block: block_id })).gaps).toEqual([]);
  });

  test("does not write down again what it removes", async () => {
    const secret = "tok-12345";
    const store = new MemoryStore();
    await using shop = await Workshop.open(store);
    const block_id = await shop.create("ann", `${secret}\n`);
    const why = { actor: "ann", message: `leaked ${secret}` };
    await shop.kernel.purge(why, { text: secret });
    const { gaps } = await shop.call("eve", "block_history", { block_id });
    expect(gaps).toMatchObject([{ why: `leaked ${FILLER.repeat(secret.length)}` }]);
    expect(JSON.stringify(await store.changesSince(0, 100))).not.toContain(secret);
  });

  test("what would stand everywhere is refused", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    await expect(shop.kernel.purge({ actor: "ann" }, { text: "a\n" })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });
});

function bytesOf(folder: string): Buffer {
  return Buffer.concat(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name))),
  );
}
