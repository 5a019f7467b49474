import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderBook, kernelOfFolder, registeredFolder } from "../src/app/folders.ts";
import { HomeFolder } from "../src/app/index.ts";
import { startServer } from "../src/app/server.ts";
import { KumikoError, Random } from "../src/base/index.ts";
import type { Status } from "../src/doors/http/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { command, type Home, temporaryHome } from "./support/kumiko.ts";
import { CLIENT, Pipe } from "./support/pipe.ts";
import { runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 120_000;
const placeOf = (home: Home): string => home.environment["KUMIKO_HOME"]!;

/** A folder with two files beside another one, both of which the kernel `main` has. */
async function mountedTwice(home: Home): Promise<{ notes: string; first: string }> {
  for (const [path, text] of [
    ["first/plan.md", "of first\n"],
    ["notes/plan.md", "of notes\n"],
    ["notes/locked.md", "locked\n"],
    ["notes/deep/a.md", "a\n"],
  ] as const)
    home.folder.write(path, text);
  const [first, notes] = ["first", "notes"].map((name) => join(home.folder.path, name));
  await home.json(["mount", "first"]);
  const rule = ["--rule", "locked.md=read_only"];
  const mounted = await home.json(["mount", "notes", "--name", "notes2", "--manual-save", ...rule]);
  expect(mounted).toMatchObject({ kernel: "main", mount: "notes2", manual: true });
  return { notes: notes!, first: first! };
}

describe("a folder that a kernel has mounted", { timeout: LONG }, () => {
  for (const hosts of [true, false]) {
    test(`is that kernel's for an agent that starts in it or below (${hosts ? "alone" : "with a server"})`, async () => {
      using home = temporaryHome();
      const { notes } = await mountedTwice(home);
      await using held = new AsyncDisposableStack();
      if (!hosts) held.use(await startServer({ home: placeOf(home) }));
      for (const folder of [notes, join(notes, "deep")]) {
        await using pipe = new Pipe(placeOf(home), folder);
        await pipe.begin();
        const replace = (block_id: string, old: string, text: string) =>
          pipe.call("block_replace", { block_id, old, new: text });
        const denied = await replace("locked.md", "locked", "open");
        expect(JSON.stringify(denied)).toContain("may not change locked.md");
        // What names no folder is in the one where the agent was started, not in the kernel's first.
        const read = await pipe.call("block_read", { block_id: "plan.md" });
        expect(JSON.stringify(read)).toContain("of notes");
        const listed = JSON.stringify(await pipe.call("file_list", {}));
        expect(listed).toContain("locked.md");
        const found = await pipe.call("kernel_search", { query: "of first" });
        expect(JSON.stringify(found)).toContain("@first/plan.md");
        const made = await pipe.call("file_create", {
          path: `${folder.length}.md`,
          content: "x\n",
        });
        expect(made).not.toHaveProperty("result.isError");
      }
      expect(readFileSync(join(notes, "locked.md"), "utf8")).toBe("locked\n");
      const { kernels } = (await home.json(["status"])) as unknown as Status;
      expect(kernels.map(({ kernel }) => kernel)).toEqual(["main"]);
    });
  }

  test("is that kernel's for who serves it, and for who mounts it from elsewhere", async () => {
    using home = temporaryHome();
    const { notes } = await mountedTwice(home);
    await using _ = await startServer({ home: placeOf(home) });
    for (const folder of [notes, join(notes, "deep")])
      expect(await home.json(["serve"], { folder })).toMatchObject({
        kernel: "main",
        folder: notes,
      });
    const { kernels } = (await home.json(["status"])) as unknown as Status;
    expect(kernels.map(({ kernel }) => kernel)).toEqual(["main"]);
    await home.json(["kernel", "new", "work"]);
    for (const folder of [notes, join(notes, "deep"), home.folder.path]) {
      const { error } = await home.json(["mount", folder, "--kernel", "work"]);
      expect(error).toMatchObject({ code: "already_exists", facts: { kernel: "main" } });
    }
    // What was refused is nobody's.
    expect(await registeredFolder(new HomeFolder(placeOf(home), "a test"), home.folder.path)).toBe(
      undefined,
    );
    expect(await home.json(["mount", "notes"])).toMatchObject({ kernel: "main", mount: "notes2" });
    expect(await home.json(["unmount", "notes"])).toMatchObject({ mount: "notes2" });
    expect(await home.json(["mount", notes, "--kernel", "work"])).toMatchObject({ kernel: "work" });
  });

  test("keeps a folder around it from being served, but none beside it, until it is let go", async () => {
    using home = temporaryHome();
    home.folder.write("all/inner/a.md", "a\n");
    home.folder.write("all/beside/b.md", "b\n");
    const place = (name: string) => join(home.folder.path, name);
    const [all, inner, beside] = [place("all"), place("all/inner"), place("all/beside")];
    await home.json(["mount", inner]);
    await using _ = await startServer({ home: placeOf(home) });
    const served = await home.run(["serve"], { folder: all });
    expect([served.code, served.out]).toEqual([2, ""]);
    expect(served.err).toContain(`${all} and ${inner} have files in common`);
    expect(served.err).toContain(`kumiko unmount ${inner}`);
    await using agent = new Pipe(placeOf(home), all);
    expect((await agent.ask("initialize", CLIENT)).error?.message).toContain("files in common");
    expect(await home.json(["serve"], { folder: beside })).toMatchObject({
      kernel: "beside",
      folder: beside,
    });
    await home.json(["unmount", inner]);
    await home.json(["unmount", beside], { folder: beside });
    expect(await home.json(["serve"], { folder: all })).toMatchObject({ kernel: "all" });
    expect((await home.run(["cat", "inner/a.md"], { folder: all })).out).toBe("a\n");
  });

  test("is not taken in by what was registered around it and cannot be mounted", async () => {
    using place = temporaryFolder();
    const home = new HomeFolder(join(place.path, "home"), "a test");
    const [all, inner, beside] = ["all", "all/inner", "all/beside"].map((name) => {
      const folder = join(place.path, name);
      mkdirSync(folder, { recursive: true });
      return folder;
    });
    mkdirSync(join(home.place, "kernels", "inner"), { recursive: true });
    const book = { format: 1, folders: { [all!]: "all" }, mounted: { [inner!]: "inner" } };
    writeFileSync(join(home.place, "folders.json"), JSON.stringify(book));
    expect(await kernelOfFolder(home, beside!)).toEqual({ folder: beside, kernel: "beside" });
  });

  test("is never all of the machine", async () => {
    using home = temporaryHome();
    for (const verb of [["serve"], ["mount", "/"]]) {
      const { code, err } = await home.run(verb, { folder: "/" });
      expect([code, err]).toEqual([2, expect.stringContaining("all of this machine")]);
    }
  });

  test("has one kernel when several processes mount it at once", async () => {
    using home = temporaryHome();
    home.folder.write("notes/a.md", "a\n");
    const kernels = ["one", "two", "three"];
    for (const kernel of kernels) await home.json(["kernel", "new", kernel]);
    const env = home.environment;
    const cwd = home.folder.path;
    const ended = await Promise.all(
      kernels.map((kernel) =>
        runProgram(process.execPath, [command, "mount", "notes", "--kernel", kernel], { cwd, env }),
      ),
    );
    expect(ended.map(({ code }) => String(code)).toSorted()).toEqual(["0", "2", "2"]);
    const told = await Promise.all(
      kernels.map(async (kernel) => (await home.json(["mounts", "--kernel", kernel]))["mounts"]),
    );
    expect(told.flat()).toHaveLength(1);
  });
});

test("kernels that take and leave folders at once never have a file in common", async () => {
  using place = temporaryFolder();
  const home = new HomeFolder(join(place.path, "home"), "a test");
  const kernels = ["one", "two", "three"];
  for (const kernel of kernels) mkdirSync(join(home.place, "kernels", kernel), { recursive: true });
  const folders = ["a", "a/b", "a/b/c", "a/bc", "d", "d/e"].map((name) => join(place.path, name));
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  const random = new Random(seed());
  const books = kernels.map((kernel) => folderBook(home, kernel));
  const wrong: unknown[] = [];
  for (let round = 0; round < scaled(60); round++) {
    const tried = Array.from({ length: 6 }, async (_, at) => {
      const [book, folder] = [random.pick(books), random.pick(folders)];
      if (random.below(3) === 0) return book.leave(folder);
      const isStarted = at === 0 && random.below(4) === 0;
      const taking = isStarted ? kernelOfFolder(home, folder) : book.take(folder);
      return taking.catch((error: unknown) => {
        if (!(error instanceof KumikoError) || error.code !== "already_exists") throw error;
      });
    });
    await Promise.all(tried);
    const { mounted } = JSON.parse(readFileSync(join(home.place, "folders.json"), "utf8")) as {
      mounted: { [folder: string]: string };
    };
    const all = Object.entries(mounted ?? {}).map(([folder, kernel]) => ({ folder, kernel }));
    const holders = (folder: string) =>
      all.filter((each) => `${folder}/`.startsWith(`${each.folder}/`));
    for (const folder of folders) {
      const [holder, ...others] = holders(folder);
      wrong.push(...others);
      // Whoever starts there finds who has it.
      const found = holder === undefined ? holder : await kernelOfFolder(home, folder);
      if (JSON.stringify(found) !== JSON.stringify(holder)) wrong.push({ found, holder });
    }
  }
  expect(wrong).toEqual([]);
});

test("what a kernel that is gone had mounted is free", async () => {
  using place = temporaryFolder();
  const home = new HomeFolder(join(place.path, "home"), "a test");
  mkdirSync(join(home.place, "kernels", "here"), { recursive: true });
  const folder = join(place.path, "a");
  mkdirSync(folder);
  await folderBook(home, "gone").take(folder);
  await folderBook(home, "here").take(folder);
  expect(await registeredFolder(home, folder)).toEqual({ folder, kernel: "here" });
});

describe("a folder that somebody unmounted", { timeout: LONG }, () => {
  test("is mounted again by who serves it, as it was, and not by an agent", async () => {
    using home = temporaryHome();
    home.folder.write("proj/a.md", "a\n");
    home.folder.write("proj/sub/b.md", "b\n");
    const folder = join(home.folder.path, "proj");
    await using _ = await startServer({ home: placeOf(home), folder });
    await home.json(["mount", ".", "--rule", "a.md=read_only"], { folder });
    expect(await home.json(["unmount", "proj"], { folder })).toMatchObject({ mount: "proj" });
    await using pipe = new Pipe(placeOf(home), join(folder, "sub"));
    await pipe.begin();
    const read = await pipe.call("block_read", { block_id: "a.md" });
    expect(JSON.stringify(read)).toContain(`a person mounts it with kumiko mount ${folder}`);
    const mounts = async () => (await home.json(["mounts"], { folder }))["mounts"];
    expect(await mounts()).toEqual([]);
    expect(await home.json(["serve"], { folder })).toMatchObject({ kernel: "proj", folder });
    expect(await mounts()).toMatchObject([{ mount: "proj", rules: ["a.md=read_only"] }]);
    expect(JSON.stringify(await pipe.call("block_read", { block_id: "a.md" }))).toContain('"a');
  });
});

describe("rules that do not parse", { timeout: LONG }, () => {
  const RULES = '[[rule]]\npath = "a.md"\nlevel = "read_only"\n';
  const BROKEN = '[[rule]]\npath = "a.md"\nlevel = \n';

  test("are told of first, with those that hold meanwhile, and are no trouble any more when they can be read", async () => {
    using home = temporaryHome();
    home.folder.write("proj/a.md", "a\n");
    const folder = join(home.folder.path, "proj");
    const file = join(folder, "kumiko.toml");
    writeFileSync(file, RULES);
    await using server = await startServer({ home: placeOf(home), folder });
    writeFileSync(file, BROKEN);
    const told = await home.run(["rules", "test", "a.md"], { folder });
    expect(told.out).toMatch(
      /^kumiko\.toml line 3, column \d+: .*\nUntil it can be read, the rules that it had before are in force\. .*\n\na\.md is read_only/,
    );
    expect((await home.json(["rules", "test", "a.md"], { folder }))["trouble"]).toContain("line 3");
    await server.close();
    // One that starts with them mounts nothing, and does so when they are corrected.
    await using _ = await startServer({ home: placeOf(home), folder });
    const refused = await home.run(["rules", "test", "a.md"], { folder });
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(
      /line 3, column \d+: .*The folder is not mounted without its rules/,
    );
    const trouble = async () => {
      const { mounts } = await home.json(["mounts"], { folder });
      return (mounts as { trouble?: string }[])[0]?.trouble ?? "none";
    };
    expect(await trouble()).toContain("line 3");
    writeFileSync(file, RULES);
    await expect.poll(trouble, { timeout: 20_000 }).toBe("none");
    expect((await home.run(["rules", "test", "a.md"], { folder })).out).toMatch(
      /^a\.md is read_only/,
    );
  });
});

test("where nothing is mounted, it is said how to", async () => {
  using home = temporaryHome();
  for (const args of [["ls"], ["mounts"], ["cat", "a.md"]]) {
    const { code, err } = await home.run(args);
    expect(code).toBe(2);
    expect(err).toMatch(/`kumiko mount \.` or `kumiko serve`/);
  }
});

describe("an agent", { timeout: LONG }, () => {
  const hello = { protocolVersion: "2025-11-25", capabilities: {} };
  const calls = [
    {
      id: 1,
      method: "initialize",
      params: { ...hello, clientInfo: { name: "Codex", version: "1" } },
    },
    { method: "notifications/initialized" },
    {
      id: 2,
      method: "tools/call",
      params: { name: "block_create", arguments: { role: "user", kind: "text", content: "x" } },
    },
  ];

  test("is never named by the person's variable", async () => {
    using home = temporaryHome();
    await using server = await startServer({ home: placeOf(home) });
    const input = calls.map((each) => `${JSON.stringify({ jsonrpc: "2.0", ...each })}\n`).join("");
    const named = async (own: { [name: string]: string }, ...args: string[]): Promise<string> => {
      const env = { ...home.environment, KUMIKO_ACTOR: "ann", ...own };
      const options = { cwd: home.folder.path, env, input };
      const { code, stdout } = await runProgram(
        process.execPath,
        [command, "mcp", ...args],
        options,
      );
      expect(code).toBe(0);
      return /main~([a-z0-9-]+)~\d+/.exec(stdout)![1]!;
    };
    expect(await named({})).toBe("codex");
    expect(await named({ KUMIKO_AGENT: "helper" })).toBe("helper");
    expect(await named({ KUMIKO_AGENT: "helper" }, "--actor", "claude")).toBe("claude");
    expect(server.kernel).toBe(undefined);
  });
});
