import { expect, it } from "vitest";
import { Random } from "../../src/base/index.ts";
import { type FoundLine, TextMatcher, TextScan } from "../../src/base/search/index.ts";
import type { NewBlockRow, SearchHelp, SearchRequest, Store } from "../../src/kernel/ports.ts";
import { scaled, seed } from "../support/counts.ts";
import { batch, commit, encode, type NewWorld, row } from "./support.ts";

const A = "main~ann~1";
const B = "main~ann~2";
const C = "main~ann~3";

function request(query: string, more: Partial<SearchRequest> = {}): SearchRequest {
  return {
    query: { query, literal: false, ignoreCase: false },
    kinds: undefined,
    context: undefined,
    pathPrefix: undefined,
    contextLines: 0,
    linesPerText: 100,
    texts: 100,
    caller: "ann",
    milliseconds: 60_000,
    slice: 60_000,
    signal: undefined,
    ...more,
  };
}

/** What blocks say now, for a store that asks: those that it has no keyframe of. */
class Texts implements SearchHelp {
  readonly now = new Map<string, { version: number; text: string }>();
  readonly asked: string[] = [];

  async current(block: string): Promise<{ version: number; text: string }> {
    this.asked.push(block);
    const text = this.now.get(block);
    if (text === undefined) throw new Error(`${block} cannot be read`);
    return text;
  }

  async scan(
    wanted: SearchRequest,
    texts: readonly { block: string; text: string }[],
  ): ReturnType<SearchHelp["scan"]> {
    const found = new Map<string, FoundLine[]>();
    const more = new Set<string>();
    const scan = new TextScan(new TextMatcher(wanted.query), wanted, {
      found: (block, line) => found.set(block, [...(found.get(block) ?? []), line]),
      more: (block) => more.add(block),
      expired: () => false,
    });
    for (const { block, text } of texts) if (!scan.scan(block, text)) break;
    return { found, more, truncated: scan.truncated, timedOut: scan.timedOut, slow: [] };
  }

  /** Gives a block a next version and, unless it is to be asked for, a keyframe of it. */
  async write(store: Store, to: NewBlockRow, text: string, keyframe: boolean): Promise<void> {
    const before = this.now.get(to.block)?.version ?? 0;
    const body = encode(text);
    await store.commit(batch([commit(to.block, before, { body })], { rows: [to] }));
    this.now.set(to.block, { version: before + 1, text });
    if (keyframe) await store.putKeyframe(to.block, { version: before + 1, text });
  }
}

export function searchTests(newWorld: NewWorld, fullRuns: number): void {
  it("finds lines in texts at rest and in texts that it must ask for", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const texts = new Texts();
    await texts.write(store, row(A), "one\nneedle one\n", true);
    await texts.write(store, row(B), "old needle\n", true);
    await texts.write(store, row(B), "two\nnew needle\n", false);
    await texts.write(store, row(C), "nothing\n", false);
    for (let time = 0; time < 3; time += 1) {
      texts.asked.length = 0;
      const { found, ...rest } = await store.search.search(request("needle"), texts);
      expect(found.map(({ block, version, lines }) => [block, version, lines[0]!.content])).toEqual(
        [
          [A, 1, "needle one"],
          [B, 2, "new needle"],
        ],
      );
      expect(rest).toEqual({ truncated: false, timedOut: false, slow: [], unreadable: [] });
      expect(texts.asked).toEqual([B, C]);
      await store.search.settled();
    }
  });

  it("answers in the order of conversations, of the blocks that are asked for", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const texts = new Texts();
    const path = (name: string): string => JSON.stringify({ metadata: { path: name } });
    const rows = [
      row("main~ann~9", { order: "a", attributes: path("src/a.ts"), kind: "file" }),
      row("main~ann~8", { order: "b", attributes: path("test/a.ts"), kind: "file" }),
      row("main~ann~1", { order: "b", parent: "main~ann~9" }),
      row("main~ann~2", { order: "a", parent: "main~ann~9" }),
      row("main~ann~3", { order: "a", parent: "main~ann~1" }),
      row("else~ann~1", { order: "z", context: "else" }),
    ];
    for (const [index, each] of rows.entries()) {
      await texts.write(store, each, "needle\n", index % 2 === 0);
    }
    const blocks = async (more: Partial<SearchRequest>): Promise<string[]> => {
      const { found } = await store.search.search(request("needle", more), texts);
      return found.map(({ block }) => block);
    };
    const inOrder = [
      "else~ann~1",
      "main~ann~9",
      "main~ann~2",
      "main~ann~1",
      "main~ann~3",
      "main~ann~8",
    ];
    expect(await blocks({})).toEqual(inOrder);
    expect(await blocks({ context: "main" })).toEqual(inOrder.slice(1));
    expect(await blocks({ kinds: ["file"] })).toEqual(["main~ann~9", "main~ann~8"]);
    expect(await blocks({ pathPrefix: "src/" })).toEqual(["main~ann~9"]);
    expect(await blocks({ texts: 2 })).toEqual(inOrder.slice(0, 2));
  });

  it("stops at its limits and says so, and names what it could not read", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const texts = new Texts();
    await texts.write(store, row(A), "needle\nneedle\n", true);
    await texts.write(store, row(B), "needle\n", true);
    await texts.write(store, row(C), "needle\n", false);
    texts.now.delete(C);
    const few = await store.search.search(request("needle", { linesPerText: 1, texts: 1 }), texts);
    expect(few).toMatchObject({ truncated: true, found: [{ block: A, truncated: true }] });
    expect(few.found[0]!.lines).toHaveLength(1);
    const enough = await store.search.search(
      request("needle", { linesPerText: 2, texts: 2 }),
      texts,
    );
    expect(enough).toMatchObject({
      truncated: false,
      found: [{ truncated: false }, { truncated: false }],
      unreadable: [{ block: C, why: `${C} cannot be read` }],
    });
  });

  it("forgets a text that is rewritten", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const texts = new Texts();
    await texts.write(store, row(A), "the secret is here\n", true);
    await store.search.settled();
    const found = async (query: string): Promise<number> =>
      (await store.search.search(request(query), texts)).found.length;
    expect(await found("secret")).toBe(1);
    texts.now.set(A, { version: 1, text: "the gap is here\n" });
    await store.rewrite({
      block: A,
      commits: [{ version: 1, body: encode("the gap is here\n"), message: undefined }],
      note: { space: "gaps", key: A, value: "1" },
    });
    expect([await found("secret"), await found("the gap")]).toEqual([0, 1]);
    await store.putKeyframe(A, { version: 1, text: "the gap is here\n" });
    await store.search.settled();
    expect([await found("secret"), await found("the gap")]).toEqual([0, 1]);
  });

  it("finds what a look through all texts finds, whatever is indexed", async () => {
    await using world = await newWorld();
    const random = new Random(seed());
    const texts = new Texts();
    let store = await world.open();
    for (let turn = 0; turn < scaled(fullRuns); turn += 1) {
      const number = 1 + random.below(12);
      const block = `main~ann~${number}`;
      const order = String(number).padStart(2, "0");
      await texts.write(store, row(block, { order }), randomText(random), random.next() < 0.6);
      if (random.next() < 0.2) await store.search.settled();
      if (random.next() < 0.02) {
        await store[Symbol.asyncDispose]();
        store = await world.open();
      }
      const wanted = request("", {
        query: {
          query: random.pick(queries),
          literal: random.next() < 0.3,
          ignoreCase: random.next() < 0.3,
        },
      });
      const { found } = await store.search.search(wanted, texts);
      const ordered = [...texts.now]
        .toSorted(([a], [b]) => Number(a.split("~")[2]) - Number(b.split("~")[2]))
        .map(([name, { text }]) => ({ block: name, text }));
      const plain = await texts.scan(wanted, ordered);
      expect(
        found.map(({ block: name, version, lines }) => [name, version, lines]),
        `turn ${turn}: ${JSON.stringify(wanted.query)}`,
      ).toEqual(
        [...plain.found].map(([name, lines]) => [name, texts.now.get(name)!.version, lines]),
      );
    }
    await store[Symbol.asyncDispose]();
  });
}

const pieces = [
  "alpha",
  "beta",
  "Kappa",
  "kappa",
  "ſigma",
  "sigma",
  "\u212aappa",
  "é",
  "😀",
  " ",
  "\n",
  '"',
  "\0",
  "ab",
  "OR",
  "x".repeat(9_000),
];

function randomText(random: Random): string {
  return Array.from({ length: random.below(30) }, () => random.pick(pieces)).join("");
}

const queries = [
  "alpha",
  "kappa",
  "sigma",
  "alpha|beta",
  "a+b",
  "ppa.?sig",
  "\\bbeta",
  '" "',
  '"a',
  "pha\\0be",
  "a\0",
  "OR alpha",
  "😀é",
  "x{10}alpha",
  "alphabeta",
  "ab$",
  "bet[ab] ",
  "é+ ?a",
  "\\nalpha",
];
