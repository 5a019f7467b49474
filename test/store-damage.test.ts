import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import type { Store } from "../src/kernel/ports.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { batch, commit, encode, row } from "./store-contract/support.ts";
import { scaled, seed } from "./support/counts.ts";
import { flipByte } from "./support/flip-byte.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 15 * 60_000;
const blocks = [1, 2, 3, 4, 5].map((number) => `main~ann~${number}`);

/** Tables of one block each; a flip in any other may harm no block at all. */
const ofBlocks = ["commits", "segments", "heads", "rows", "keyframes", "snapshots"];
const shared = ["edits", "actors", "names", "places", "sequences", "calls", "settings", "leases"];

describe("one flipped byte in a stored row", () => {
  it("is found, and every other block reads as before", { timeout: LONG }, async () => {
    using folder = temporaryFolder();
    const pristine = join(folder.path, "pristine.db");
    const before = await fill(pristine);
    const random = new Random(seed());
    const count = scaled(200);
    for (let number = 0; number < count; number += 1) {
      const file = join(folder.path, `flip-${number}.db`);
      copyFileSync(pristine, file);
      const tables = number % 3 === 2 ? shared : ofBlocks;
      const flip = flipByte(file, tables[Math.floor(number / 3) % tables.length]!, random);
      await using store = await openSqliteStore(file);
      const damages = await store.verify();
      expect([flip, damages.length > 0]).toEqual([flip, true]);
      for (const block of blocks.filter((one) => one !== flip.victim)) {
        expect([flip, await contentOf(store, block)]).toEqual([flip, before.get(block)]);
      }
      if (flip.victim !== undefined) {
        const victim = await contentOf(store, flip.victim).catch((error: unknown) => error);
        // Never something else than what was written: as before, or an error that names the block.
        if (victim instanceof KumikoError) expect(victim.facts["block"]).toBe(flip.victim);
        else expect([flip, victim]).toEqual([flip, before.get(flip.victim)]);
      }
    }
  });

  it("in the file itself, amid a commit, takes that block alone", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const before = await fill(file);
    const bytes = readFileSync(file);
    const at = bytes.indexOf(encode("body of main~ann~3 version 31"));
    expect(at).toBeGreaterThan(0);
    bytes[at + 5]! ^= 4;
    writeFileSync(file, bytes);
    await using store = await openSqliteStore(file);
    await expect(store.commitsOf("main~ann~3", 0)).rejects.toMatchObject({
      code: "damaged",
      facts: { table: "commits", block: "main~ann~3" },
    });
    for (const block of blocks.filter((one) => one !== "main~ann~3")) {
      expect(await contentOf(store, block)).toEqual(before.get(block));
    }
    // The feed is told where the damage lies and can go on behind it.
    const error = await store
      .changesSince(0, 10_000)
      .catch((thrown: unknown) => thrown as KumikoError);
    const position = (error as KumikoError).facts["position"] as number;
    expect(await store.changesSince(0, position - 1)).toHaveLength(position - 1);
    expect((await store.changesSince(position, 1))[0]!.position).toBe(position + 1);
    // Others can be written, the damaged one too: what it lacks is not touched.
    const outcome = await store.commit(batch([commit("main~ann~1", 32)]));
    expect(outcome.kind).toBe("committed");
    expect(await store.verify()).toMatchObject([{ table: "commits", block: "main~ann~3" }]);
  });
});

describe("a damaged Edit", () => {
  it("is an error for who asks for it, and harms nobody else", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const before = await fill(file);
    change(file, "UPDATE edits SET last = last + 1 WHERE edit = 'edit-30'");
    await using store = await openSqliteStore(file);
    const refusal = { code: "damaged", facts: { table: "edits", key: "edit-30", block: null } };
    await expect(store.edit("edit-30")).rejects.toMatchObject(refusal);
    await expect(store.newestEdit("ann")).rejects.toMatchObject(refusal);
    expect(await store.edit("edit-7")).toMatchObject({ active: false, flipped: { actor: "ann" } });
    expect(await store.verify()).toMatchObject([{ table: "edits", key: "edit-30" }]);
    for (const block of blocks) expect(await contentOf(store, block)).toEqual(before.get(block));
    const more = { undo: { kind: "text" } as const };
    const extending = batch([commit("main~ann~1", 32, { ...more, edit: "edit-30" })]);
    await expect(store.commit(extending)).rejects.toMatchObject(refusal);
    const another = batch([commit("main~ann~1", 32, { ...more, edit: "edit-40" })]);
    expect((await store.commit(another)).kind).toBe("committed");
  });
});

describe("a row that is gone", () => {
  it("of a block's commits is missed by whoever needs it or what lies behind it", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const before = await fill(file);
    const block = "main~ann~2";
    change(
      file,
      `DELETE FROM commits WHERE version = 28 AND block = (SELECT id FROM names WHERE text = '${block}')`,
    );
    await using store = await openSqliteStore(file);
    const refusal = {
      code: "damaged",
      facts: { table: "commits", key: `${block} version 28`, block },
    };
    await expect(store.commitsOf(block, 0)).rejects.toMatchObject(refusal);
    expect(await store.commitsOf(block, 28)).toHaveLength(4);
    // Positions behind it are known, and none before it is taken for an earlier version.
    const at = (version: number): number =>
      blocks.length * (version - 1) + blocks.indexOf(block) + 1;
    for (const version of [10, 28, 29, 32])
      expect(await store.versionAt(block, at(version))).toBe(version);
    for (const version of [20, 21, 27]) {
      await expect(store.versionAt(block, at(version))).rejects.toMatchObject({ code: "damaged" });
    }
    await expect(store.compact(block, 31)).rejects.toMatchObject(refusal);
    // What cannot be reached cannot be said to have been taken out.
    const commits = [{ version: 26, body: encode("removed"), message: undefined }];
    const note = { space: "gaps", key: block, value: "removed" };
    await expect(store.rewrite({ block, commits, note })).rejects.toMatchObject({
      code: "damaged",
      facts: { table: "commits", block },
    });
    expect(await store.verify()).toContainEqual(
      expect.objectContaining({ table: "commits", key: `${block} version 28` }),
    );
    for (const other of blocks.filter((one) => one !== block)) {
      expect(await contentOf(store, other)).toEqual(before.get(other));
    }
  });

  it("of an actor's Edits is found, and all that come before it are still undone", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    await fill(file);
    change(file, "DELETE FROM edits WHERE edit = 'edit-12'");
    await using store = await openSqliteStore(file);
    expect(await store.verify()).toMatchObject([{ table: "edits", key: "edit-13" }]);
    expect((await store.newestEdit("ann"))?.edit).toBe("edit-30");
    expect((await store.newestUndone("ann"))?.edit).toBe("edit-7");
    const one = commit("main~ann~1", 32, { edit: "edit-20", undo: { kind: "text" } });
    expect((await store.commit(batch([one]))).kind).toBe("committed");
    expect((await store.newestEdit("ann"))?.edit).toBe("edit-20");
    const behind = { undo: { kind: "text" }, edit: "edit-5" } as const;
    await expect(store.commit(batch([commit("main~ann~1", 33, behind)]))).rejects.toMatchObject({
      code: "damaged",
      facts: { table: "edits", key: "edit-13" },
    });
  });

  it.each(["DELETE FROM actors", "UPDATE actors SET newest = newest - 1", "DELETE FROM edits"])(
    "or wrong where an actor's Edits begin is found: %s",
    async (sql) => {
      using folder = temporaryFolder();
      const file = join(folder.path, "state.db");
      await fill(file);
      change(file, sql);
      await using store = await openSqliteStore(file);
      expect(await store.verify()).toMatchObject([{ table: "actors", key: "ann" }]);
      expect(await store.commitsOf("main~ann~1", 0)).toHaveLength(32);
    },
  );

  it("refuses what cannot be written without it, and keeps nothing of that", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    await fill(file);
    change(file, "UPDATE actors SET newest = newest + 1");
    await using store = await openSqliteStore(file);
    const [ann, bob] = ["ann", "bob"].map((actor) => ({
      actor,
      edit: `new-${actor}`,
      undo: { kind: "text" } as const,
    }));
    const refusal = { code: "damaged", facts: { table: "actors", key: "ann" } };
    const write = (more: object) => store.commit(batch([commit("main~ann~1", 32, more)]));
    await expect(write(ann!)).rejects.toMatchObject(refusal);
    // In one group, where each is refused by itself.
    const other = commit("main~ann~2", 32, bob);
    const [refused, written] = await Promise.allSettled([
      write(ann!),
      store.commit(batch([other])),
    ]);
    expect(refused).toMatchObject({ status: "rejected", reason: refusal });
    expect(written).toMatchObject({ value: { kind: "committed", positions: [161] } });
    expect(await write({ actor: "ann" })).toEqual({ kind: "committed", positions: [162] });
    expect((await store.newestEdit("bob"))?.edit).toBe("new-bob");
  });
});

function change(file: string, sql: string): void {
  const database = new BetterSqlite(file);
  database.exec(sql);
  database.close();
}

/** Rows of every table: live commits and segments, two of everything small. */
async function fill(file: string): Promise<Map<string, unknown>> {
  await using store = await openSqliteStore(file);
  for (let version = 0; version < 32; version += 1) {
    for (const block of blocks) {
      const body = encode(`body of ${block} version ${version + 1}`);
      const calls = [
        {
          actor: "ann",
          call: `${block} ${version}`,
          fingerprint: "f",
          answer: "{}",
          time: version,
        },
      ];
      const one = commit(block, version, {
        body,
        edit: `edit-${version}`,
        message: "said",
        model: "m",
        turn: "t",
        tool: version % 2 === 0 ? "block_edit" : undefined,
        undo: version === 31 ? { kind: "flip", edit: "edit-7", active: false } : { kind: "text" },
      });
      await store.commit(batch([one], { rows: version === 20 ? [row(block)] : [], calls }));
    }
  }
  for (const block of blocks) {
    await store.compact(block, 20);
    await store.putKeyframe(block, { version: 32, text: `text of ${block}`.repeat(30) });
    await store.putSnapshot(block, { version: 30, bytes: encode(`snapshot of ${block}`) });
  }
  await store.put("settings", "name", "value");
  await store.acquire("lease", "holder", 1000, 1000);
  const content = await Promise.all(
    blocks.map(async (block) => [block, await contentOf(store, block)] as const),
  );
  return new Map(content);
}

async function contentOf(store: Store, block: string): Promise<unknown> {
  return {
    commits: await store.commitsOf(block, 0),
    row: await store.row(block),
    keyframe: await store.keyframe(block),
    snapshot: await store.snapshot(block),
  };
}
