import { closeSync, existsSync, openSync, readFileSync, realpathSync, writeSync } from "node:fs";
import { setTimeout as passing } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { SavingPrograms, START as PROGRAM_START, tokenLine } from "./support/saving-programs.ts";

const LONG = 15 * 60_000;
/** Within so many milliseconds after the last change, blocks and files are equal. */
const SOON = 2_000;
const SLOTS = 30;
const START = `${Array.from({ length: SLOTS }, (_, slot) => `slot ${slot};`).join("\n")}\n`;

function count(text: string, token: string): number {
  return text.split(token).length - 1;
}

/** What every block and every file says, once they are equal. */
async function equalSoon(mounted: Mounted, paths: readonly string[]): Promise<Map<string, string>> {
  const { source } = mounted.mounts.first();
  const from = Date.now();
  let last: string[];
  do {
    last = [];
    await mounted.kernel.settle();
    const texts = new Map<string, string>();
    for (const path of paths) {
      const file = source.files.at(path);
      const disk = readFileSync(mounted.path(path), "utf8");
      const text = file === undefined ? disk : (await mounted.kernel.read(file.block)).text;
      if (text !== disk || (file !== undefined && file.synced === undefined)) last.push(path);
      texts.set(path, text);
    }
    if (last.length === 0) return texts;
    await passing(10);
  } while (Date.now() - from < SOON);
  const told = last.map((path) => {
    const file = source.files.at(path)!;
    return { path, unsaved: file.unsaved?.message, waits: file.waits, ahead: file.ahead };
  });
  throw new Error(`still not equal: ${JSON.stringify(told)}`);
}

/** Who took a token out of a file that had it; nobody when it never had. */
async function takenOut(mounted: Mounted, path: string, token: string): Promise<string> {
  const { versions } = await mounted.call<{ versions: { version: number; actor: string }[] }>(
    "block_history",
    { block_id: path, limit: 1000 },
  );
  const { block } = mounted.mounts.first().source.files.at(path)!;
  const has = (version: number): Promise<boolean> =>
    mounted.kernel.tryOut(block, (target) => target.read(version).includes(token));
  for (const { version, actor } of versions)
    if (await has(version - 1)) return (await has(version)) ? "nobody" : actor;
  return "nobody";
}

describe("programs, agents and a person in one folder", () => {
  it(
    "lose nothing, double nothing, and see the same within two seconds",
    { timeout: LONG },
    async () => {
      const names = Array.from({ length: 4 }, (_, index) => `src/f${index}.ts`);
      const files = Object.fromEntries(names.map((name) => [name, PROGRAM_START]));
      await using mounted = await Mounted.with({ ...files, "links/keep": "" }, { watch: true });
      const random = new Random(seed());
      const programs = new SavingPrograms(mounted.folder, random, names);
      await programs.start();
      const acknowledged: { token: string; path: string; at: number }[] = [];
      const refusals: string[] = [];
      const working = new AbortController();
      let agents = 0;
      const attempt = async (act: () => Promise<void>): Promise<void> => {
        try {
          await act();
        } catch (error) {
          if (!(error instanceof KumikoError)) throw error;
          refusals.push(`${error.code}: ${error.message}`);
        }
      };
      const agent = async (actor: string): Promise<void> => {
        const by = { actor, kind: "agent" } as const;
        const own = new Random(seed() + actor.length + actor.charCodeAt(0));
        for (let round = 0; !working.signal.aborted; round++) {
          const path = programs.free(own);
          const token = `<${actor}-${round}>`;
          await attempt(async () => {
            const { version, line_count: lines } = await mounted.call<{
              version: number;
              line_count: number;
            }>("block_read", { block_id: path }, by);
            await passing(own.below(30));
            const operations = [
              { op: "insert", line: own.below(lines + 1), content: tokenLine(token) },
            ];
            const input = { block_id: path, operations, base_version: version };
            await mounted.call("block_edit", input, by);
            acknowledged.push({ token, path, at: performance.now() });
            agents += 1;
            // An edit is in place before its answer: an agent may run its tests next.
            const { why } = (
              await mounted.call<{ files: { why?: string }[] }>("file_status", { path }, by)
            ).files[0]!;
            expect([token, why]).toEqual([token, undefined]);
          });
          await passing(own.below(20));
        }
      };
      const person = async (): Promise<void> => {
        const own = new Random(seed() + 1);
        for (let round = 0; !working.signal.aborted; round++) {
          const path = programs.free(own);
          const token = `<ann-${round}>`;
          await attempt(async () => {
            const by = { actor: "ann", kind: "person" } as const;
            const text = `${tokenLine(token)}\n`;
            await mounted.call("block_append", { block_id: path, text }, by);
            acknowledged.push({ token, path, at: performance.now() });
          });
          await passing(own.below(60));
        }
      };
      const others = [agent("claude"), agent("codex"), agent("gemini"), person()];
      const saves = scaled(600);
      let next = 0;
      const saving = async (): Promise<void> => {
        while (next < saves) {
          await programs.save(next++);
          await passing(random.below(60));
        }
      };
      try {
        await Promise.all([saving(), saving(), saving()]);
      } finally {
        working.abort();
        await Promise.all(others);
      }
      const texts = await equalSoon(mounted, programs.paths);
      const { conflicts } = mounted.mounts;
      const lost = conflicts.list().map((each) => each.lost);
      const wrong: unknown[] = [];
      // Programs take turns at a file, so nothing excuses the loss of what one of them wrote.
      const written = programs.written.map((each) => ({ ...each, at: Infinity }));
      for (const { token, path, at } of [...acknowledged, ...written]) {
        const times = count(texts.get(path)!, token);
        if (times > 1) wrong.push(["doubled", token, path]);
        if (times > 0 || lost.some((text) => text.includes(token))) continue;
        const by = await takenOut(mounted, path, token);
        const unseen = by === "disk" && programs.wasSlowOver(path, at);
        if (!unseen) wrong.push(["lost", token, path, by]);
      }
      expect({ wrong, refusals }).toEqual({ wrong: [], refusals: [] });
      const statuses = await mounted.call<{ files: { path: string; status: string }[] }>(
        "file_status",
        {},
      );
      expect(statuses.files.filter(({ status }) => status === "deleted")).toEqual([]);
      expect(programs.written.length).toBeGreaterThanOrEqual(saves);
      expect(agents).toBeGreaterThan(saves / 2);
    },
  );

  it(
    "edit one file in parallel: nothing is lost, and no edit is refused",
    { timeout: LONG },
    async () => {
      const actors = Array.from({ length: 10 }, (_, index) => `agent-${index}`);
      const rounds = scaled(200);
      const start = actors
        .flatMap((actor) => Array.from({ length: 8 }, (_, slot) => `${actor} slot ${slot}`))
        .concat(Array.from({ length: 8 }, (_, slot) => `disk slot ${slot}`));
      await using mounted = await Mounted.with(
        { "a.txt": `${start.join("\n")}\n` },
        { watch: true },
      );
      const tokens: string[] = [];
      const agent = async (actor: string, index: number): Promise<void> => {
        const by = { actor, kind: "agent" } as const;
        const own = new Random(seed() + index);
        for (let round = 0; round < rounds; round++) {
          const token = `<${actor}-${round}>`;
          const { content } = await mounted.call<{ content: string }>(
            "block_read",
            { block_id: "a.txt", line_numbers: false },
            by,
          );
          await passing(own.below(5));
          const line = content
            .split("\n")
            .findIndex((each) => each.startsWith(`${actor} slot ${round % 8}`));
          const was = content.split("\n")[line]!;
          const operations = [
            { op: "replace", start_line: line, end_line: line + 1, content: `${was}${token}` },
          ];
          await mounted.call("block_edit", { block_id: "a.txt", operations }, by);
          tokens.push(token);
        }
      };
      const person = async (): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          const by = { actor: "ann", kind: "person" } as const;
          await mounted.call("block_append", { block_id: "a.txt", text: `<ann-${round}>\n` }, by);
          tokens.push(`<ann-${round}>`);
          await passing(5);
        }
      };
      const disk = async (): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          const token = `<disk-${round}>`;
          mounted.run("sed", "-i", `s/^disk slot ${round % 8}\\b.*/&${token}/`, "a.txt");
          tokens.push(token);
          await passing(20);
        }
      };
      await Promise.all([...actors.map(agent), person(), disk()]);
      const text = (await equalSoon(mounted, ["a.txt"])).get("a.txt")!;
      expect(tokens.filter((token) => count(text, token) !== 1)).toEqual([]);
      expect(tokens).toHaveLength(rounds * 12);
      expect(mounted.mounts.conflicts.list()).toEqual([]);
    },
  );
});

describe("what is odd in the place of a file", () => {
  const folderOf = { "a.txt": START, "b.txt": START, "c.txt": START };

  it("keeps nothing else from being taken in", async () => {
    await using mounted = await Mounted.with(folderOf, { watch: true });
    for (const path of Object.keys(folderOf)) await mounted.text(path);
    mounted.run(
      "sh",
      "-ec",
      "rm a.txt; mkdir a.txt; echo in > a.txt/in; rm b.txt; ln -s c.txt b.txt; echo last >> c.txt",
    );
    const text = await equalSoon(mounted, ["c.txt"]);
    expect(text.get("c.txt")).toBe(`${START}last\n`);
    mounted.run("sh", "-ec", "rm -r a.txt b.txt; echo back > a.txt; echo back > b.txt");
    const back = await equalSoon(mounted, ["a.txt", "b.txt", "c.txt"]);
    expect([back.get("a.txt"), back.get("b.txt")]).toEqual(["back\n", "back\n"]);
  });

  it("as no file at all makes a conflict of what was not saved, which brings it back", async () => {
    const rules = '[mount]\nsave = "manual"\n';
    await using mounted = await Mounted.with({ ...folderOf, "kumiko.toml": rules });
    for (const path of ["a.txt", "b.txt"]) {
      await mounted.text(path);
      const input = { block_id: path, old: "slot 3;", new: "slot 3; <mine>" };
      await mounted.call("block_replace", input);
      mounted.run("rm", path);
    }
    for (const path of ["a.txt", "b.txt"]) expect(await mounted.text(path)).toContain("<mine>");
    await mounted.restart();
    const { conflicts } = await mounted.call<{ conflicts: { conflict: string; path: string }[] }>(
      "file_status",
      {},
    );
    expect(conflicts.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
    expect(mounted.mounts.conflicts.list()[0]!.lost).toContain("<mine>");
    const [a, b] = conflicts;
    await mounted.call("file_resolve", { conflict: a!.conflict, choice: "memory" });
    await mounted.call("file_save", { path: "a.txt" });
    expect(mounted.read("a.txt")).toBe(START.replace("slot 3;", "slot 3; <mine>"));
    expect(await mounted.text("a.txt")).toContain("<mine>");
    await mounted.call("file_resolve", { conflict: b!.conflict, choice: "disk" });
    expect(existsSync(mounted.path("b.txt"))).toBe(false);
    // It comes back as somebody else's: what was given up stays so.
    mounted.write("b.txt", START);
    expect(await mounted.text("b.txt")).toBe(START);
  });

  it("that is just being written is not taken for final, nor written over", async () => {
    await using mounted = await Mounted.with({ "a.txt": START });
    await mounted.text("a.txt");
    const descriptor = openSync(mounted.path("a.txt"), "w");
    writeSync(descriptor, START.slice(0, 40));
    const editing = mounted.call("block_replace", {
      block_id: "a.txt",
      old: "slot 20;",
      new: "slot 20; <mine>",
    });
    await passing(50);
    writeSync(descriptor, START.slice(40));
    closeSync(descriptor);
    await editing;
    expect(mounted.read("a.txt")).toBe(START.replace("slot 20;", "slot 20; <mine>"));
    expect(mounted.mounts.conflicts.list()).toEqual([]);
  });
});

describe("folders saved by hand", () => {
  it("are merged with what others write, and written only when somebody says so", async () => {
    const rules = '[mount]\nsave = "manual"\n';
    await using mounted = await Mounted.with(
      { "a.txt": START, "kumiko.toml": rules },
      { watch: true },
    );
    await mounted.text("a.txt");
    await mounted.call("block_replace", {
      block_id: "a.txt",
      old: "slot 3;",
      new: "slot 3; <mine>",
    });
    mounted.run("sed", "-i", "s/slot 20;/&<theirs>/", "a.txt");
    expect(await mounted.text("a.txt")).toContain("<theirs>");
    expect(await mounted.text("a.txt")).toContain("<mine>");
    expect(mounted.read("a.txt")).not.toContain("<mine>");
    await mounted.call("file_save", {});
    expect(mounted.read("a.txt")).toBe(await mounted.text("a.txt"));
    expect(mounted.read("a.txt")).toContain("<mine>");
  });

  it("wait for a decision where a person has to make it, also when there are several folders", async () => {
    using other = temporaryFolder();
    const rules = '[mount]\nsave = "manual"\n[[rule]]\npath = "a.txt"\nlevel = "human"\n';
    await using mounted = await Mounted.with({ "a.txt": START, "kumiko.toml": rules });
    const ann = { actor: "ann", kind: "person" } as const;
    await mounted.text("a.txt");
    const input = { block_id: "a.txt", old: "slot 3;", new: "slot 3; <mine>" };
    await mounted.call("block_replace", input, ann);
    mounted.run("sed", "-i", "s/slot 3;/&<theirs>/", "a.txt");
    expect(await mounted.text("a.txt")).toContain("<mine>");
    await mounted.mounts.mount("other", { root: realpathSync(other.path) });
    await mounted.restart();
    expect(mounted.mounts.list().map(({ name }) => name)).toEqual(["project", "other"]);
    await mounted.call("file_save", { path: "a.txt" }, ann);
    expect(mounted.read("a.txt")).toContain("slot 3;<theirs>\n");
    const { conflicts } = await mounted.call<{ conflicts: { conflict: string; stood: string }[] }>(
      "file_status",
      {},
    );
    expect(conflicts).toMatchObject([{ stood: "nobody" }]);
    const { conflict } = conflicts[0]!;
    await mounted.call("file_resolve", { conflict, choice: "both" }, ann);
    await mounted.call("file_save", { path: "a.txt" }, ann);
    expect(mounted.read("a.txt")).toContain("slot 3;<theirs>\nslot 3; <mine>\n");
  });
});
