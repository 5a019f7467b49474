import { copyFileSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { diagnose, exportReadable, salvage } from "../src/kernel/index.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { scaled, seed } from "./support/counts.ts";
import { flipByte, ofBlocks, sharedTables } from "./support/flip-byte.ts";
import { type Answer, Workshop } from "./support/kernel-workshop.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 15 * 60_000;

/** Blocks with commits in rows and in segments, with keyframes and snapshots, alive and ended. */
async function fill(file: string): Promise<string[]> {
  const store = await openSqliteStore(file);
  await using shop = await Workshop.open(store);
  const ids: string[] = [];
  for (let count = 0; count < 4; count++) {
    const id = await shop.create("ann", `beginning of ${count}\n`);
    ids.push(id);
    for (let line = 0; line < 12; line++) {
      const text = `line ${line} of block ${count}\n`;
      await shop.call("ben", "block_append", { block_id: id, text, flush: true });
    }
    const { version, text } = await shop.kernel.read(id);
    await store.putKeyframe(id, {
      version: version - 2,
      text: text
        .split(/(?<=\n)/)
        .slice(0, -2)
        .join(""),
    });
    await store.compact(id, 10);
  }
  return ids;
}

async function contentOf(shop: Workshop, block_id: string): Promise<Answer[]> {
  return [
    await shop.call("eve", "block_read", { block_id }),
    await shop.call("eve", "block_history", { block_id }),
    await shop.call("eve", "block_blame", { block_id }),
    await shop.call("eve", "block_read", { block_id, version: 3 }),
  ];
}

describe("one flipped byte, seen through the kernel", () => {
  test(
    "takes at most its own block, loudly, and the doctor finds it",
    { timeout: LONG },
    async () => {
      using folder = temporaryFolder();
      const pristine = join(folder.path, "pristine.db");
      const ids = await fill(pristine);
      const before = new Map<string, Answer[]>();
      {
        await using shop = await Workshop.open(await openSqliteStore(pristine));
        for (const id of ids) before.set(id, await contentOf(shop, id));
      }
      const random = new Random(seed());
      let quarantined = 0;
      for (let number = 0; number < scaled(200); number++) {
        const file = join(folder.path, `flip-${number}.db`);
        copyFileSync(pristine, file);
        const tables = number % 4 === 3 ? sharedTables : ofBlocks;
        const flip = flipByte(file, tables[number % tables.length]!, random);
        const store = await openSqliteStore(file);
        const { findings, blocks } = await diagnose(store);
        expect([flip, findings.length > 0]).toEqual([flip, true]);
        // Whatever the damage, the text that is saved is one that stood there.
        for (const { block, readable } of blocks) {
          // A flipped number may accuse a second block, which is then read as before.
          const whole = (before.get(block)![0] as { content: string }).content;
          for (const line of readable?.text.split("\n") ?? []) expect(whole).toContain(line);
        }
        let shop: Workshop;
        try {
          shop = await Workshop.open(store);
        } catch (error) {
          // What no block owns may be needed to begin with: then it is said what is wrong.
          const { code } = error as KumikoError;
          expect([flip.table, code]).toEqual(["settings", "damaged"]);
          await store[Symbol.asyncDispose]();
          continue;
        }
        const others = ids.filter((each) => each !== flip.victim);
        for (const id of others) {
          expect([flip, await contentOf(shop, id)]).toEqual([flip, before.get(id)]);
        }
        const more = { text: "more\n", flush: true };
        await Promise.all(
          others.map((block_id) => shop.call("ann", "block_append", { block_id, ...more })),
        );
        const listed = await shop
          .call("eve", "block_list", {})
          .catch((error: unknown) => expect([flip, error]).toEqual([flip, "a list"]) as never);
        // A row that says it stands elsewhere is not found here; the doctor and whoever asks for it are told.
        const elsewhere = flip.table === "rows" && ["context", "parent"].includes(flip.column);
        const count = (listed["blocks"] as Answer[]).length;
        expect([flip, count]).toEqual([flip, ids.length - (elsewhere ? 1 : 0)]);
        if (flip.victim !== undefined) {
          const id = flip.victim;
          const victim = await contentOf(shop, id).catch((error: unknown) => error as KumikoError);
          if (victim instanceof KumikoError) {
            quarantined += 1;
            expect([flip, victim.code]).toEqual([flip, "quarantined"]);
            expect(victim.message).toContain("kumiko doctor");
            const write = { block_id: id, text: "x", flush: true };
            expect((await shop.refusal("ann", "block_append", write)).code).toBe("quarantined");
            expect(blocks.map(({ block }) => block)).toContain(id);
            const told = shop.damages.filter(({ effect }) => effect === "quarantined");
            expect([flip, told.map(({ block }) => block)]).toEqual([flip, [id]]);
            if (elsewhere) continue;
            const entry = ((await shop.call("eve", "block_list", {}))["blocks"] as Answer[]).find(
              (each) => each["block_id"] === id,
            )!;
            expect(entry["quarantined"]).toBeTypeOf("string");
          } else {
            expect([flip, victim]).toEqual([flip, before.get(id)]);
          }
        }
        await shop[Symbol.asyncDispose]();
      }
      expect(quarantined).toBeGreaterThan(scaled(200) / 10);
    },
  );
});

test("a block that is damaged while it is written takes no other write with it", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "state.db");
  await using shop = await Workshop.open(await openSqliteStore(file));
  const ids = await Promise.all([0, 1, 2].map((count) => shop.create("ann", `${count}\n`)));
  const database = new BetterSqlite(file);
  const victim = "(SELECT id FROM names WHERE text = ?)";
  database.prepare(`UPDATE heads SET hash = zeroblob(32) WHERE block = ${victim}`).run(ids[1]);
  database.close();
  const append = (block_id: string): Promise<Answer | KumikoError> =>
    shop
      .call("ben", "block_append", { block_id, text: "more\n", flush: true })
      .catch((error: unknown) => error as KumikoError);
  const answers = await Promise.all([...ids, ...ids].map(append));
  expect(answers.map((answer) => (answer instanceof KumikoError ? answer.code : "kept"))).toEqual([
    "kept",
    "quarantined",
    "kept",
    "kept",
    "quarantined",
    "kept",
  ]);
  expect(await shop.text(ids[0]!)).toBe("0\nmore\nmore\n");
  expect(shop.damages).toMatchObject([{ block: ids[1], effect: "quarantined", table: "heads" }]);
});

describe("bytes whose hash is right and that mean nothing", () => {
  async function spoilt(): Promise<{ disk: MemoryDisk; ids: string[] }> {
    const disk = new MemoryDisk();
    await using shop = await Workshop.open(new MemoryStore({ disk }));
    const ids = [await shop.create("ann", "one\n"), await shop.create("ann", "two\n")];
    for (const block_id of ids) {
      for (const text of ["three\n", "four\n"])
        await shop.call("ann", "block_append", { block_id, text, flush: true });
    }
    return { disk, ids };
  }

  test("quarantine their block; what stood before them can be saved", async () => {
    const random = new Random(seed());
    for (let number = 0; number < scaled(500); number++) {
      const { disk, ids } = await spoilt();
      const commits = disk.commitsByBlock.get(ids[0]!)!;
      const body = new Uint8Array(random.below(20)).map(() => random.below(256));
      if (random.next() < 0.7) body[0] = 1;
      const index = random.below(3);
      commits[index] = { ...commits[index]!, body };
      const store = new MemoryStore({ disk });
      const saved = await salvage(store, ids[0]!);
      expect(["", "one\n", "one\nthree\n"]).toContain(saved?.text);
      const exported = await Array.fromAsync(exportReadable(store));
      expect(exported[1]).toMatchObject({ block: ids[1], whole: true, text: "two\nthree\nfour\n" });
      await using shop = await Workshop.open(store);
      expect(await shop.text(ids[1]!)).toBe("two\nthree\nfour\n");
      const refused = await shop.kernel
        .read(ids[0]!)
        .catch((error: unknown) => error as KumikoError);
      if (refused instanceof KumikoError) {
        expect(["quarantined", "unsupported_format"]).toContain(refused.code);
      }
    }
  });

  test("a snapshot or a keyframe that cannot be read is done without, and reported once", async () => {
    const { disk, ids } = await spoilt();
    const store = new MemoryStore({ disk });
    disk.snapshots.set(ids[0]!, { version: 2, bytes: Uint8Array.of(9, 9, 9) });
    await using shop = await Workshop.open(store);
    await shop.call("ann", "block_history", { block_id: ids[0] });
    await shop.call("ann", "block_append", { block_id: ids[0], text: "five\n", flush: true });
    expect(await shop.text(ids[0]!)).toBe("one\nthree\nfour\nfive\n");
    expect(shop.damages).toMatchObject([{ block: ids[0], effect: "slower" }]);
  });

  test("an Edit over a quarantined block is not undone anywhere", async () => {
    const { disk, ids } = await spoilt();
    {
      await using shop = await Workshop.open(new MemoryStore({ disk }));
      await shop.edit(
        "ben",
        new Map(ids.map((id) => [id, [{ op: "insert", line: 0, content: "x" }]])),
      );
    }
    const commits = disk.commitsByBlock.get(ids[0]!)!;
    commits[1] = { ...commits[1]!, body: Uint8Array.of(1, 200) };
    await using shop = await Workshop.open(new MemoryStore({ disk }));
    expect((await shop.refusal("ben", "block_undo", {})).code).toBe("quarantined");
    expect(await shop.text(ids[1]!)).toBe("x\ntwo\nthree\nfour\n");
  });
});
