import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Random } from "../../base/index.ts";
import { batch, commit, encode, row } from "../../../test/store-contract/support.ts";
import { placesOf } from "../../../test/support/stored-bytes.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const A = "main~ann~1";
const B = "main~bob~1";
const SECRET = "kumiko-secret-7f3a9c51e0d842b6";
const note = { space: "gaps", key: A, value: "purged" };

/** Bytes that do not compress, so that what is written also takes room. */
function noise(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.below(256));
}

describe("rewriting a block that holds a secret", () => {
  it.each(["in rows", "compacted"])("leaves no byte of it in any file, %s", async (where) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const random = new Random(5);
    await using store = await openSqliteStore(file);
    for (let version = 0; version < 60; version += 1) {
      const held = version % 7 === 3 ? SECRET : "nothing of interest";
      const body = Buffer.concat([encode(`${"-".repeat(80)}${held}`), noise(random, 400)]);
      const secret = version % 11 === 5 ? `${"-".repeat(80)}${SECRET}` : undefined;
      const rows = [row(A, { attributes: JSON.stringify({ version, held }) })];
      await store.commit(batch([commit(A, version, { body, message: secret })], { rows }));
      await store.commit(batch([commit(B, version)]));
      // Older ones leave their pages free, as they were.
      const text = `${"long ".repeat(40)}${SECRET}${"more ".repeat(version * 40)}`;
      await store.putKeyframe(A, { version, text });
      await store.putSnapshot(A, { version, bytes: encode(text.slice(0, 240)) });
    }
    if (where === "compacted") await store.compact(A, 55);
    const before = placesOf(SECRET, folder.path, "state.db");
    expect(before).toEqual(expect.arrayContaining(["state.db-wal", "keyframes", "snapshots"]));
    if (where === "compacted") expect(before).toContain("segments");
    const commits = (await store.commitsOf(A, 0)).map(({ version }) => ({
      version,
      body: encode("removed"),
      message: undefined,
    }));
    const others = await store.commitsOf(B, 0);
    await store.rewrite({ block: A, commits, row: row(A), note });
    expect(placesOf(SECRET, folder.path, "state.db")).toEqual([]);
    expect(statSync(`${file}-wal`).size).toBeLessThan(100_000);
    expect(await store.commitsOf(B, 0)).toEqual(others);
    expect(await store.verify()).toEqual([]);
  });

  it("is done for many that are asked for at once", async () => {
    using folder = temporaryFolder();
    await using store = await openSqliteStore(join(folder.path, "state.db"));
    const blocks = Array.from({ length: 30 }, (_, index) => `main~ann~${index + 1}`);
    for (const block of blocks) {
      await store.commit(batch([commit(block, 0, { body: encode(`${SECRET} ${block}`) })]));
    }
    const commits = [{ version: 1, body: encode("removed"), message: undefined }];
    await Promise.all(blocks.map((block) => store.rewrite({ block, commits, note })));
    expect(placesOf(SECRET, folder.path, "state.db")).toEqual([]);
  });
});

describe("vacuum", () => {
  it("makes the file smaller, and takes what was forgotten out of it", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    await using store = await openSqliteStore(file);
    const random = new Random(5);
    const answer = `{"answer":"${SECRET}"}`;
    for (let version = 0; version < 200; version += 1) {
      const call = { actor: "ann", call: `c-${version}`, fingerprint: "f", answer, time: version };
      const body = noise(random, 2000);
      await store.commit(batch([commit(A, version, { body })], { calls: [call] }));
      await store.putSnapshot(A, { version, bytes: noise(random, 20_000) });
    }
    await store.putSnapshot(A, { version: 200, bytes: encode("small") });
    await store.compact(A, 199);
    expect(await store.forgetCalls({ containing: SECRET })).toBe(200);
    const before = statSync(file).size + statSync(`${file}-wal`).size;
    await store.vacuum();
    expect(placesOf(SECRET, folder.path, "state.db")).toEqual([]);
    expect(statSync(file).size).toBeLessThan(before / 2);
    expect(statSync(`${file}-wal`).size).toBeLessThan(100_000);
    expect(await store.commitsOf(A, 0)).toHaveLength(200);
  });
});
