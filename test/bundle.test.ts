import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { command } from "./support/kumiko.ts";
import { type Ended, runProgram } from "./support/process.ts";
import { type PublishedCommand, publishedCommand } from "./support/published.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const home = temporaryFolder();
let published: PublishedCommand;

beforeAll(async () => {
  published = await publishedCommand();
  expect((await kumiko("context", "new", "main")).code).toBe(0);
});

afterAll(() => {
  home[Symbol.dispose]();
  published[Symbol.dispose]();
});

function kumiko(...args: string[]): Promise<Ended> {
  const env = { ...process.env, KUMIKO_HOME: home.path, KUMIKO_ACTOR: "ann", NO_COLOR: "1" };
  return runProgram(process.execPath, [published.command, ...args], { env });
}

async function answer(...args: string[]): Promise<unknown> {
  const { stdout, stderr } = await kumiko(...args, "--json");
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

async function create(content: string): Promise<string> {
  const made = ["block", "create", "--context", "main", "--role", "user", "--kind", "text"];
  return ((await answer(...made, "--content", content)) as { block_id: string }).block_id;
}

describe("the command in few files", () => {
  test("is itself: version, help and refusals", async () => {
    const inSource = await runProgram(process.execPath, [command, "--help"]);
    expect(await kumiko("--help")).toEqual(inSource);
    expect((await kumiko("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await kumiko("no-such-verb")).code).toBe(2);
  });

  test("writes, reads and finds with the threads that are bundled with it", async () => {
    const block = await create("the quick brown fox\njumps\n");
    expect(await answer("block", "read", block, "--no-line-numbers")).toMatchObject({
      content: "the quick brown fox\njumps\n",
    });
    const found = { ok: true, blocks: [{ block_id: block, matches: [{ line: 0 }] }] };
    expect(await answer("search", "brown", "--literal")).toMatchObject(found);
    expect(await answer("search", "br[o]wn f.x")).toMatchObject(found);
    expect(await answer("search", block, "j.mps")).toMatchObject({ matches: [{ line: 1 }] });
    // Long texts are always written by a thread.
    const long = `${"long ".repeat(14_000)}\n`;
    expect(await answer("block", "read", await create(long), "--no-line-numbers")).toMatchObject({
      content: long,
    });
    expect(await answer("doctor")).toMatchObject({ ok: true });
  });

  test("edits, shows what changed and takes it back", async () => {
    const block = await create("one\ntwo\n");
    await answer("block", "replace", block, "two", "three", "--base-version", "1");
    expect((await kumiko("diff", block, "1")).stdout).toContain("-two\n+three\n");
    const history = (await answer("history", block)) as {
      versions: { version: number; edit: string }[];
    };
    const [, changed] = history.versions.toSorted((a, b) => a.version - b.version);
    await answer("undo", changed!.edit);
    expect((await kumiko("block", "read", block)).stdout).toContain("2 two\n");
  });

  test("loads of Node and of the protocol what it uses", () => {
    const parts = readdirSync(published.parts).map((name) =>
      readFileSync(join(published.parts, name), "utf8"),
    );
    expect(parts.filter((text) => /^import .*"node:/m.test(text))).toEqual([]);
    expect(parts.filter((text) => text.includes("rpcInputs ="))).not.toEqual([]);
    // What is said of answers is for types and tests.
    expect(parts.filter((text) => text.includes("rpcAnswers ="))).toEqual([]);
  });

  test("names the licences of what it took in, and leaves native code outside", () => {
    const files = readdirSync(published.parts);
    expect(files.filter((name) => !name.endsWith(".js"))).toEqual(["LICENSES"]);
  });
});
