import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { scaled, seed } from "./support/counts.ts";
import {
  type BlockAnswer,
  type SearchWorkshop,
  searchWorkshop,
} from "./support/search-workshop.ts";

/** Never comes back from this line. */
const ENDLESS = `${"a".repeat(48)}b`;
const HOSTILE = "(a+)+$";

const kinds = ["memory", "sqlite"] as const;

async function refused(action: Promise<unknown>): Promise<KumikoError> {
  const error = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KumikoError);
  return error as KumikoError;
}

/** With the caller's own signal. */
function everywhere(
  shop: SearchWorkshop,
  query: string,
  invocation: { actor: string; signal: AbortSignal },
): Promise<unknown> {
  return shop.kernel.search.everywhere(invocation, {
    query: { query, literal: false, ignoreCase: false },
    kinds: undefined,
    context: undefined,
    pathPrefix: undefined,
    contextLines: 0,
    linesPerText: 1,
    texts: 1,
  });
}

/** Every block found, with the lines and their texts. */
async function found(shop: SearchWorkshop, input: object): Promise<string[]> {
  const { blocks } = await shop.search(input);
  return blocks.flatMap(({ block_id, version, matches }) =>
    matches.map(({ line, content }) => `${block_id}@${version}:${line}:${content}`),
  );
}

/** Keeps every text whole, as the kernel does when it has the time, and has it indexed. */
async function indexed(shop: SearchWorkshop, blocks: readonly string[]): Promise<void> {
  for (const block of blocks) {
    const { version, text } = await shop.kernel.read(block);
    await shop.store.putKeyframe(block, { version, text });
  }
  await shop.store.search.settled();
}

describe.each(kinds)("search over the %s store", (kind) => {
  test("block_search says lines that can be edited by", async () => {
    await using shop = await searchWorkshop(kind);
    const block = await shop.create("zero\none needle\ntwo\nthree\nneedle four\n");
    const input = { block_id: block, query: "ne+dle", context_lines: 1 };
    const answer = await shop.call<BlockAnswer>("block_search", input);
    expect(answer).toMatchObject({
      version: 1,
      truncated: false,
      timed_out: false,
      matches: [
        {
          line: 1,
          match_start: 4,
          match_end: 10,
          content: "one needle",
          before: ["zero"],
          after: ["two"],
        },
        { line: 4, match_start: 0, match_end: 6, before: ["three"], after: [] },
      ],
    });
    await shop.call("block_edit", {
      block_id: block,
      base_version: 1,
      operations: [{ op: "insert", line: 0, content: "before" }],
    });
    // A search is not a reading: who was shown nothing must say which version the lines mean.
    const edit = { op: "replace", start_line: 4, end_line: 5, content: "four" };
    const blind = shop.call("block_edit", { block_id: block, operations: [edit] }, "claude");
    expect((await refused(blind)).code).toBe("base_required");
    await shop.call(
      "block_edit",
      { block_id: block, operations: [edit], base_version: answer.version },
      "claude",
    );
    expect((await shop.kernel.read(block)).text).toBe(
      "before\nzero\none needle\ntwo\nthree\nfour\n",
    );
    const past = await shop.call<BlockAnswer>("block_search", { ...input, version: 1 });
    expect(past).toEqual(answer);
    const short = await shop.call<BlockAnswer>("block_search", {
      ...input,
      max_matches: 1,
      version: 1,
    });
    expect(short).toMatchObject({ truncated: true, matches: [{ line: 1 }] });
    expect(short.matches).toHaveLength(1);
  });

  test("block_search takes literals, cases and long texts", async () => {
    await using shop = await searchWorkshop(kind);
    const block = await shop.create(`A[0] += 1\n${"x".repeat(80)}\n`.repeat(4_000));
    const search = async (input: object): Promise<BlockAnswer> =>
      shop.call("block_search", { block_id: block, max_matches: 1000, ...input });
    expect(await search({ query: "a[0] +=" })).toMatchObject({ matches: [] });
    expect(await search({ query: "a[0] +=", literal: true })).toMatchObject({ matches: [] });
    const any = await search({ query: "a[0] +=", literal: true, ignore_case: true });
    expect(any).toMatchObject({ truncated: true, timed_out: false });
    expect(any.matches).toHaveLength(1000);
    expect(any.matches.at(-1)!.line).toBe(1998);
  });

  test("kernel_search searches files unless told otherwise, and says so", async () => {
    await using shop = await searchWorkshop(kind);
    const said = await shop.create("needle in a text\n");
    const metadata = { path: "src/needle.ts" };
    const file = await shop.create("needle in a file\n", { kind: "file", metadata });
    await shop.create("needle elsewhere\n", { kind: "file", metadata: { path: "test/x.ts" } });
    const byDefault = await shop.call<{ kinds: string[]; blocks: { path: string }[] }>(
      "kernel_search",
      { query: "needle" },
    );
    expect(byDefault.kinds).toEqual(["file"]);
    expect(byDefault.blocks.map(({ path }) => path)).toEqual(["src/needle.ts", "test/x.ts"]);
    const prefixed = await shop.search({ query: "needle", kinds: ["file"], path_prefix: "src/" });
    expect(prefixed.blocks).toMatchObject([{ block_id: file, path: "src/needle.ts" }]);
    expect((await shop.search({ query: "needle" })).blocks).toMatchObject([{ block_id: said }]);
    const nowhere = shop.search({ query: "needle", context: "none" });
    expect((await refused(nowhere)).code).toBe("unknown_context");
  });

  test("what streams in is found as soon as it was taken", async () => {
    await using shop = await searchWorkshop(kind);
    const block = await shop.create(undefined);
    await shop.call("block_append", { block_id: block, text: "begun\n" });
    await shop.call("block_append", { block_id: block, text: "needle" });
    expect(await found(shop, { query: "needle" })).toEqual([`${block}@3:1:needle`]);
  });

  test("finds what a look at every text finds, while blocks are edited", async () => {
    await using shop = await searchWorkshop(kind);
    const random = new Random(seed());
    const blocks: string[] = [];
    const words = ["alpha", "beta ", "Gamma", "delta\n", "needle", "\n", "ſtone", "Stone"];
    const queries = ["needle", "alpha|delta", "[Gg]amma", "bet\\w needle", "stone", "a\\b", "e+d"];
    const text = (): string =>
      Array.from({ length: random.below(20) }, () => random.pick(words)).join("");
    for (let turn = 0; turn < scaled(300); turn += 1) {
      if (blocks.length < 4 || random.next() < 0.1) blocks.push(await shop.create(text()));
      const block = random.pick(blocks);
      if (random.next() < 0.5) {
        const insert = random.pick(words);
        await shop.call("block_splice", {
          block_id: block,
          offset: 0,
          delete_count: 0,
          insert,
          base_version: (await shop.kernel.read(block)).version,
        });
      }
      if (random.next() < 0.3) await indexed(shop, [random.pick(blocks)]);
      if (random.next() < 0.03) await shop.reopen();
      if (random.next() < 0.05) rmSync(join(shop.folder, "search.db"), { force: true });
      const query = random.pick(queries);
      const ignore_case = random.next() < 0.3;
      const plain: string[] = [];
      for (const each of blocks) {
        const read = await shop.kernel.read(each);
        for (const [line, content] of read.text.split("\n").entries()) {
          if (!new RegExp(query, ignore_case ? "ui" : "u").test(content)) continue;
          plain.push(`${each}@${read.version}:${line}:${content}`);
        }
      }
      const input = { query, ignore_case, max_matches_per_block: 1000 };
      expect(await found(shop, input), `turn ${turn}`).toEqual(plain);
    }
  });

  test("patterns that cannot be read are refused with the reason", async () => {
    // To find out that one is too large may take a busy machine long.
    await using shop = await searchWorkshop(kind, 50_000);
    const block = await shop.create("a\n");
    for (const call of [
      shop.call("block_search", { block_id: block, query: "a(" }),
      shop.search({ query: "a(" }),
      shop.call("block_replace", { block_id: block, regex: "a(", new: "b" }),
    ]) {
      const error = await refused(call);
      expect(error.code).toBe("invalid_pattern");
      expect(error.facts["reason"]).toBe("Unterminated group");
    }
    const large = "(?:a?){65535}".repeat(200);
    const tooLarge = await refused(shop.search({ query: large }));
    expect(tooLarge.code).toBe("invalid_pattern");
  });

  test("a hostile pattern is ended in time, and what it found until then is told", async () => {
    await using shop = await searchWorkshop(kind, 1_000);
    const block = await shop.create(`fine\n${ENDLESS}\nfine again\n`);
    const query = `fine|${HOSTILE}`;
    const answer = await shop.search({ query });
    expect(answer).toMatchObject({ timed_out: false, truncated: false, slow: [block] });
    expect(answer.blocks).toMatchObject([{ block_id: block, matches: [{ line: 0 }] }]);
    const inBlock = await shop.call<BlockAnswer>("block_search", { block_id: block, query });
    expect(inBlock).toMatchObject({ timed_out: true, matches: [{ line: 0 }] });
    expect(await found(shop, { query: "fine a" })).toEqual([`${block}@1:2:fine again`]);
  });

  test("a pattern that is slow in one block is given up there and goes on behind it", async () => {
    await using shop = await searchWorkshop(kind, 2_000);
    const texts = ["needle 0", `needle 1\n${ENDLESS}\nneedle`, "needle 2", "needle 3", "needle 4"];
    const blocks: string[] = [];
    for (const text of texts) blocks.push(await shop.create(`${text}\n`));
    for (const atRest of [false, true]) {
      if (atRest) await indexed(shop, blocks);
      const input = { query: `^needle \\d|${HOSTILE}` };
      const answer = await shop.search(input);
      expect(answer).toMatchObject({ slow: [blocks[1]], timed_out: false, truncated: false });
      const lines = answer.blocks.map(({ block_id, matches }) => [block_id, matches[0]!.content]);
      expect(lines).toEqual(blocks.map((block, number) => [block, `needle ${number}`]));
      // Limits count over all threads that the search had.
      const few = await shop.search({ ...input, max_blocks: 4 });
      expect(few).toMatchObject({ slow: [blocks[1]], truncated: true });
      expect(few.blocks.map(({ block_id }) => block_id)).toEqual(blocks.slice(0, 4));
    }
  });

  test("a pattern that is slow in block after block ends, and says where it was", async () => {
    await using shop = await searchWorkshop(kind, 4_000);
    const blocks: string[] = [];
    for (let number = 0; number < 6; number += 1) {
      blocks.push(await shop.create(`needle ${number}\n${ENDLESS}\n`));
    }
    const answer = await shop.search({ query: `needle|${HOSTILE}` });
    expect(answer).toMatchObject({ slow: blocks.slice(0, 4), timed_out: true });
    expect(answer.blocks.map(({ block_id }) => block_id)).toEqual(blocks.slice(0, 4));
  });

  test("a hostile pattern costs its caller its own search, and nobody else anything", async () => {
    await using shop = await searchWorkshop(kind, 600_000);
    await shop.create(`${ENDLESS}\n`);
    const other = await shop.create("a quiet needle\n");
    const callers = new AbortController();
    let ended = 0;
    const hostile = ["mallory", "eve"].map((actor) =>
      refused(everywhere(shop, HOSTILE, { actor, signal: callers.signal })).then((error) => {
        ended += 1;
        return error.code;
      }),
    );
    // Their own other searches are not held up either.
    for (const actor of ["ann", "mallory", "eve"]) {
      const { blocks } = await shop.search({ query: "nee.le" }, actor);
      expect(blocks).toMatchObject([{ block_id: other }]);
      const input = { block_id: other, query: "quiet (\\w+)" };
      const { matches } = await shop.call<BlockAnswer>("block_search", input, actor);
      expect(matches).toHaveLength(1);
    }
    const splice = { offset: 0, delete_count: 0, insert: "so ", base_version: 1 };
    await shop.call("block_splice", { block_id: other, ...splice });
    expect(ended).toBe(0);
    callers.abort();
    expect(await Promise.all(hostile)).toEqual(["aborted", "aborted"]);
    expect(await found(shop, { query: "nee.le" })).toEqual([`${other}@2:0:so a quiet needle`]);
  });

  test("block_replace by pattern, with groups, over lines, at a version", async () => {
    await using shop = await searchWorkshop(kind, 1_000);
    const block = await shop.create("move(a, b)\nmove(c, d)\n");
    const swap = { block_id: block, regex: "move\\((\\w), (?<to>\\w)\\)", new: "move($<to>, $1)" };
    const unclear = await refused(shop.call("block_replace", swap));
    expect(unclear).toMatchObject({ code: "ambiguous", facts: { matches: 2, lines: [0, 1] } });
    await shop.call("block_replace", { ...swap, occurrence: 2 });
    expect((await shop.kernel.read(block)).text).toBe("move(a, b)\nmove(d, c)\n");
    await shop
      .call("block_replace", { ...swap, occurrence: "all", base_version: 1, call_id: "1" })
      .catch((error: unknown) => expect((error as KumikoError).code).toBe("conflict"));
    await shop.call("block_replace", { block_id: block, regex: "^", new: "> ", occurrence: "all" });
    expect((await shop.kernel.read(block)).text).toBe("> move(a, b)\n> move(d, c)\n> ");
    const nothing = shop.call("block_replace", { block_id: block, regex: "nothing\\d", new: "" });
    expect((await refused(nothing)).code).toBe("not_found");
    const both = shop.call("block_replace", { block_id: block, regex: "a", old: "a", new: "" });
    expect((await refused(both)).code).toBe("invalid_argument");
    const endless = await shop.create(`${ENDLESS}\n`);
    const slow = await refused(
      shop.call("block_replace", { block_id: endless, regex: HOSTILE, new: "" }),
    );
    expect(slow.code).toBe("timed_out");
    expect((await shop.kernel.read(endless)).version).toBe(1);
  });
});

describe("the index", () => {
  async function filled(name = "block"): Promise<{ shop: SearchWorkshop; blocks: string[] }> {
    const shop = await searchWorkshop("sqlite");
    const blocks: string[] = [];
    for (let number = 0; number < 11; number += 1) {
      blocks.push(await shop.create(`${name} ${number}\n${number % 4 === 0 ? "a needle\n" : ""}`));
    }
    await indexed(shop, blocks);
    return { shop, blocks };
  }

  test("is built when texts are asked for, and used again after a restart", async () => {
    await using shop = await searchWorkshop("sqlite");
    const block = await shop.create("a needle\n");
    expect(await shop.store.keyframe(block)).toBeUndefined();
    await found(shop, { query: "needle" });
    // Closing does not wait for it; it is done soon after nobody needs the disk.
    while ((await shop.store.keyframe(block)) === undefined) await new Promise(setImmediate);
    await shop.store.search.settled();
    expect((await shop.store.size())["search"]).toBeGreaterThan(0);
    await shop.reopen();
    expect(await found(shop, { query: "needle" })).toEqual([`${block}@1:0:a needle`]);
    expect(shop.warnings).toEqual([]);
  });

  test("that is damaged is dropped loudly, and costs no result", async () => {
    for (const damage of ["header", "middle", "text"]) {
      const { shop } = await filled();
      await using _ = shop;
      const before = await found(shop, { query: "needle" });
      expect(before).toHaveLength(3);
      await shop.kernel[Symbol.asyncDispose]();
      const file = join(shop.folder, "search.db");
      const bytes = readFileSync(file);
      if (damage === "header") bytes.fill(7, 0, 100);
      if (damage === "middle") bytes.fill(7, 4096, bytes.length);
      writeFileSync(file, damage === "text" ? "not a database at all" : bytes);
      for (const ending of ["-wal", "-shm"]) rmSync(file + ending, { force: true });
      await shop.reopen();
      expect(await found(shop, { query: "needle" })).toEqual(before);
      await shop.store.search.settled();
      expect(shop.warnings.length, damage).toBeGreaterThan(0);
      expect(shop.warnings[0]).toContain("search.db");
      expect(await found(shop, { query: "needle" })).toEqual(before);
      expect((await shop.store.size())["search"]).toBeGreaterThan(4096);
    }
  });

  test("of another format is built anew without a word", async () => {
    for (const format of [0, 1, 77]) {
      const { shop } = await filled();
      await using _ = shop;
      const before = await found(shop, { query: "needle" });
      await shop.kernel[Symbol.asyncDispose]();
      const file = join(shop.folder, "search.db");
      if (format === 0) {
        // Somebody was interrupted before it had tables.
        writeFileSync(file, "");
      } else {
        const database = new BetterSqlite(file);
        database.pragma(`user_version = ${format}`);
        database.exec("DROP TABLE part_words");
        database.close();
      }
      await shop.reopen();
      expect(await found(shop, { query: "needle" })).toEqual(before);
      await shop.store.search.settled();
      expect(await found(shop, { query: "needle" })).toEqual(before);
      const made = new BetterSqlite(file, { readonly: true });
      expect(made.prepare("SELECT count(*) FROM docs").pluck().get()).toBe(11);
      expect(made.prepare("SELECT count(*) FROM part_words").pluck().get()).toBe(11);
      made.close();
      expect(shop.warnings).toEqual([]);
    }
  });

  test("that belongs to another journal is not believed", async () => {
    await using owned = new AsyncDisposableStack();
    const shop = owned.use((await filled()).shop);
    const other = owned.use((await filled("other")).shop);
    const first = await other.create("a needle of the other\n");
    await indexed(other, [first]);
    for (const each of [shop, other]) await each.kernel[Symbol.asyncDispose]();
    writeFileSync(join(other.folder, "search.db"), readFileSync(join(shop.folder, "search.db")));
    await other.reopen();
    expect(await found(other, { query: "needle of" })).toEqual([
      `${first}@1:0:a needle of the other`,
    ]);
    await other.store.search.settled();
    expect(other.warnings.join()).toContain("another journal");
    await shop.reopen();
  });

  test("may be deleted while the kernel is open", async () => {
    const { shop, blocks } = await filled();
    await using _ = shop;
    await found(shop, { query: "needle" });
    for (const ending of ["", "-wal", "-shm"]) {
      rmSync(join(shop.folder, `search.db${ending}`), { force: true });
    }
    await shop.call("block_splice", {
      block_id: blocks[1],
      offset: 0,
      delete_count: 0,
      insert: "needle ",
      base_version: 1,
    });
    await indexed(shop, blocks);
    expect(await found(shop, { query: "needle" })).toHaveLength(4);
    await shop.reopen();
    expect(await found(shop, { query: "needle" })).toHaveLength(4);
    await shop.store.search.settled();
    expect(existsSync(join(shop.folder, "search.db"))).toBe(true);
  });

  test("knows literals wherever its parts of a text are cut", async () => {
    await using shop = await searchWorkshop("sqlite");
    const literal = `needle ${"y".repeat(80)}`;
    const blocks: string[] = [];
    for (let before = 16_282; before <= 16_392; before += 5) {
      blocks.push(await shop.create(`${"x".repeat(before - 2)}😀${literal}\n`));
    }
    await indexed(shop, blocks);
    const asked = { query: literal, literal: true, ignore_case: false };
    const { blocks: all } = await shop.search(asked);
    expect(all.map(({ block_id }) => block_id)).toEqual(blocks);
    expect((await shop.search({ query: "needle yy" })).blocks).toHaveLength(blocks.length);
  });

  test("is gone before a text is rewritten", async () => {
    const { shop, blocks } = await filled();
    await using _ = shop;
    const file = join(shop.folder, "search.db");
    expect(existsSync(file)).toBe(true);
    const note = { space: "gaps", key: "1", value: "1" };
    await shop.store.rewrite({ block: blocks[0]!, commits: [], note });
    expect(existsSync(file)).toBe(false);
    expect(await found(shop, { query: "needle" })).toHaveLength(3);
    await shop.store.search.settled();
    expect(existsSync(file)).toBe(true);
    expect(shop.warnings).toEqual([]);
  });
});
