import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Random } from "../src/base/index.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { type Home, temporaryHome } from "./support/kumiko.ts";
import { Workshop } from "./support/kernel-workshop.ts";

const LONG = 15 * 60_000;
const PAGE = 4096;

/** Short and long blocks, one that overflows pages, with commits in rows and in segments, and other contexts. */
async function fill(home: Home): Promise<Map<string, string>> {
  for (const context of ["demo", "side"])
    expect((await home.run(["context", "new", context])).code).toBe(0);
  const store = await openSqliteStore(database(home));
  const texts = new Map<string, string>();
  {
    await using shop = await Workshop.open(store);
    for (let count = 0; count < 16; count++) {
      const begin = count === 5 ? `${"long ".repeat(4000)}${count}\n` : `beginning of ${count}\n`;
      const id = await shop.create("ann", begin);
      for (let line = 0; line < 6; line++) {
        const text = `line ${line} of ${count}: ${"x".repeat(count * 20)}\n`;
        await shop.call("ben", "block_append", { block_id: id, text, flush: true });
      }
      if (count % 3 === 0) await store.compact(id, 4);
      texts.set(id, (await shop.kernel.read(id)).text);
    }
  }
  return texts;
}

function database(home: Home): string {
  return join(home.folder.path, "home/kernels/main/state.db");
}

/** The texts that an export wrote, by block. */
function exported(home: Home, folder: string): Map<string, { text: string; whole: boolean }> {
  const place = join(home.folder.path, folder);
  const texts = new Map<string, { text: string; whole: boolean }>();
  if (!existsSync(join(place, "index.json"))) return texts;
  const index = JSON.parse(readFileSync(join(place, "index.json"), "utf8")) as {
    blocks?: Entry[];
    contexts?: { blocks: Entry[] }[];
  };
  const entries = index.blocks ?? index.contexts?.flatMap(({ blocks }) => blocks) ?? [];
  for (const { block_id, file, whole = true } of entries) {
    if (file === null) continue;
    texts.set(block_id, { text: readFileSync(join(place, file), "utf8"), whole });
  }
  return texts;
}

interface Entry {
  readonly block_id: string;
  readonly file: string | null;
  readonly whole?: boolean;
}

function expectTyped(where: unknown, { code, err }: { code: number; err: string }): void {
  expect([where, code, err.includes("    at ") ? err : ""]).toEqual([
    where,
    expect.toSatisfy((each: number) => each >= 0 && each <= 2),
    "",
  ]);
}

afterEach(() => void vi.restoreAllMocks());

describe("a byte flipped in SQLite's own structure", () => {
  test(
    "costs the doctor no more than it costs an export, and an export no more than single readings",
    { timeout: LONG },
    async () => {
      using home = temporaryHome();
      const texts = await fill(home);
      const whole = readFileSync(database(home));
      const pages = whole.length / PAGE;
      const random = new Random(seed());
      let [read, refused] = [0, 0];
      const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
      for (let number = 0; number < scaled(100); number++) {
        // The byte that says what a page is; then any of its header.
        const page = (number * 7) % pages;
        const offset = number % 4 === 3 ? random.below(page === 0 ? 100 : 12) : 0;
        const flip = offset === 0 ? 0xff : 1 << random.below(8);
        const where = { page: page + 1, offset, flip };
        const bytes = Buffer.from(whole);
        bytes[page * PAGE + offset]! ^= flip;
        for (const name of ["-wal", "-shm"]) rmSync(`${database(home)}${name}`, { force: true });
        writeFileSync(database(home), bytes);
        const doctor = await home.run(["doctor", "--export", `doctor-${number}`]);
        expect([where, readFileSync(database(home)).equals(bytes)]).toEqual([where, true]);
        expectTyped(where, doctor);
        const saved = exported(home, `doctor-${number}`);
        for (const [block, { text, whole: complete }] of saved) {
          if (complete) expect([where, block, text]).toEqual([where, block, texts.get(block)]);
          else expect([where, texts.get(block)!.startsWith(text)]).toEqual([where, true]);
        }
        const plain = await home.run(["export", `plain-${number}`]);
        expectTyped(where, plain);
        const written = exported(home, `plain-${number}`);
        for (const [block, one] of written) {
          expect([where, block, saved.get(block)]).toEqual([where, block, one]);
          if (!one.whole) expect([where, plain.code]).not.toEqual([where, 0]);
        }
        if (written.size < texts.size) expect([where, plain.code]).not.toEqual([where, 0]);
        for (const block of [...texts.keys()].slice(0, 2)) {
          const one = await home.run(["block", "read", block, "--no-line-numbers"]);
          expectTyped(where, one);
          if (one.code === 0) expect([where, written.has(block)]).toEqual([where, true]);
        }
        if (number % 2 === 0) {
          const usage = await home.run(["du"]);
          expectTyped(where, usage);
          expect(usage.out).not.toMatch(/ -\d/);
        }
        read += saved.size;
        // What is acknowledged is there, however broken everything around it is.
        const [block, before] = [...texts][random.below(texts.size)]!;
        const more = ["block", "append", block, "--text", "more\n", "--flush"];
        const appended = await home.run(more);
        expectTyped(where, appended);
        if (appended.code !== 0) {
          refused += 1;
          expect([where, appended.err]).toEqual([where, expect.stringContaining("kumiko doctor")]);
          continue;
        }
        expectTyped(where, await home.run(["doctor", "--export", `after-${number}`]));
        const after = exported(home, `after-${number}`).get(block);
        expect([where, after]).toEqual([where, { text: `${before}more\n`, whole: true }]);
      }
      expect(refused).toBeGreaterThan(0);
      expect(warned).toHaveBeenCalledWith(expect.stringContaining("is broken"), "KumikoWarning");
      expect(read).toBeGreaterThan(texts.size * scaled(100) * 0.9);
    },
  );
});
