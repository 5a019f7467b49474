import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { KumikoError, realTimers } from "../src/base/index.ts";
import { readFiles } from "../src/files/file-reader.ts";
import { Mounts, MountsPort } from "../src/files/index.ts";
import { MemoryFileIndex } from "../src/store/index.ts";
import { blockStreams, ToolRegistry } from "../src/tools/index.ts";
import { scaled } from "./support/counts.ts";
import { type Answer, Mounted } from "./support/mounted.ts";
import {
  editTools,
  type Operation,
  pathTools as tools,
  prepare,
  THREE,
} from "./support/path-tools.ts";
import { ReplicaServer } from "./support/replica-server.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { letterOf, outcome } from "./support/verdict.ts";
import { allPayloads, CANARY, makeOutside, makeRoot, memory, seen } from "./support/ways-out.ts";

const LONG = 15 * 60_000;
/** What is appended is saved soon. */
const PATIENCE = { timeout: 20_000, interval: 5 };
const ann = { actor: "ann", kind: "person" } as const;
const claude = { actor: "claude", kind: "agent" } as const;
const codex = { actor: "codex", kind: "agent" } as const;
/** Held to the rules as an agent is. */
const ci = { actor: "ci", kind: "service" } as const;

/**
 * What must be decided, written down by hand, for read, append, create, change, delete and move (which is deleting here
 * and creating there). y: allow, n: deny, h: ask a person, p: ask the one whose agent it is.
 */
const OPERATIONS: readonly Operation[] = ["read", "append", "create", "change", "delete", "move"];
const expected = {
  secret: { person: "yyyynn", agent: "hhhhnn" },
  read_only: { person: "ynnnnn", agent: "ynnnnn" },
  partner: { person: "yyyynn", agent: "ypppnn" },
  human: { person: "yyyyyy", agent: "yhhhhh" },
  append: { person: "yyynnn", agent: "yyynnn" },
  read_write: { person: "yyyyyy", agent: "yyyyhh" },
  admin: { person: "yyyyyy", agent: "yyyyyy" },
} as const;
const levels = Object.keys(expected) as (keyof typeof expected)[];

async function refused(call: Promise<unknown>): Promise<KumikoError> {
  const result = await outcome(call);
  if (result instanceof KumikoError) return result;
  throw new Error(`not refused: ${JSON.stringify(result)}`);
}

/** A file at rest: nobody waits for more of it. */
function writeOld(mounted: Mounted, path: string): void {
  mounted.write(path, THREE);
  utimesSync(mounted.path(path), 1_000, 1_000);
}

describe("the rules of a folder", () => {
  it("are tried with every tool that takes a block or a path", async () => {
    await using mounted = await Mounted.with({});
    const taking = mounted.tools.list().filter(({ input }) => {
      const shape = (input as unknown as { shape: object }).shape;
      return ["block_id", "path", "to", "versions", "blocks"].some((name) => name in shape);
    });
    expect(new Set(taking.map(({ name }) => name))).toEqual(new Set(tools.map(({ tool }) => tool)));
  });

  it.each(["person", "agent", "service"] as const)(
    "decide for a %s the same by block, by path, by @mount/path and by absolute path",
    { timeout: LONG },
    async (kind) => {
      const rules = levels.map((level) => `[[rule]]\npath = "${level}/**"\nlevel = "${level}"\n`);
      await using mounted = await Mounted.with({ "kumiko.toml": rules.join("\n") });
      const by = { person: ann, agent: claude, service: ci }[kind];
      const { folder } = mounted;
      const found = (path: string): string | undefined =>
        existsSync(mounted.path(path)) ? mounted.read(path) : undefined;
      const appended = new Map<string, string | undefined>();
      let count = 0;
      for (const level of levels) {
        for (const each of [...tools, ...editTools]) {
          const { tool, operation, takesBlock, input, prepared, moves } = each;
          const forms: ((path: string, id: string) => string)[] = [
            (path) => path,
            (path) => `@project/${path}`,
            (path) => join(folder, path),
            ...(takesBlock ? [(_: string, id: string) => id] : []),
          ];
          for (const form of editTools.includes(each) ? [String] : forms) {
            count += 1;
            const path = `${level}/${count}.txt`;
            const other = `admin/other-${count}.txt`;
            if (operation !== "create") writeOld(mounted, path);
            if (moves === "here") writeOld(mounted, other);
            let [id, edit] = ["", ""];
            if (operation !== "create")
              id = (await mounted.call("file_load", { path }, ann))["block_id"] as string;
            if (prepared !== undefined)
              edit = await prepare(mounted.kernel, { block: id, actor: by.actor, prepared });
            const version = id === "" ? 0 : await mounted.kernel.version(id);
            const call = mounted.call(tool, input(form(path, id), { other, edit }), by);
            const result = await outcome(call);
            const held = kind === "person" ? kind : "agent";
            const wanted =
              operation === "announce" ? "y" : expected[level][held][OPERATIONS.indexOf(operation)];
            const what = [kind, level, tool, form(path, id), String(result)];
            expect([...what, letterOf(result)]).toEqual([...what, wanted]);
            if (wanted !== "y") {
              expect([...what, JSON.stringify(result).includes("three")]).toEqual([...what, false]);
              expect(found(path)).toBe(operation === "create" ? undefined : THREE);
              expect(found(other)).toBe(moves === "here" ? THREE : undefined);
              if (id !== "") expect(await mounted.kernel.version(id)).toBe(version);
              continue;
            }
            const left = (each.leaves ?? String)(THREE);
            if (tool === "block_append") appended.set(path, left);
            else expect([...what, found(path)]).toEqual([...what, left]);
            expect(found(other)).toBe(moves === "away" ? THREE : undefined);
            const file = mounted.mounts.first().source.files.at(path);
            if (file !== undefined && left !== undefined)
              expect([...what, (await mounted.kernel.read(file.block)).text]).toEqual([
                ...what,
                left,
              ]);
          }
        }
      }
      expect(count).toBeGreaterThan(500);
      for (const [path, left] of appended) await vi.waitUntil(() => found(path) === left, PATIENCE);
    },
  );

  it("hold for undo, redo, rollback and patches over several files: all or nothing", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "b.txt": THREE });
    const edit = async (path: string, content: string) => {
      await mounted.text(path);
      const operations = [{ op: "replace", start_line: 0, end_line: 1, content }];
      return (await mounted.call("block_edit", { block_id: path, operations }))["edit"] as string;
    };
    const alone = await edit("a.txt", "A1");
    const patch = ["a.txt", "b.txt"]
      .map((name) => `--- a/${name}\n+++ b/${name}\n@@ -2,2 +2,2 @@\n-two\n+TWO\n three\n`)
      .join("");
    const both = (await mounted.call("block_apply_patch", { patch }))["edit"] as string;
    const undone = await edit("a.txt", "A2");
    await mounted.call("block_undo", { edit: undone });
    const before = ["a.txt", "b.txt"].map((name) => mounted.read(name));
    const versions = async () => {
      const all = mounted.mounts.list().flatMap(({ source }) => source.files.all());
      return Promise.all(all.map(({ block: id }) => mounted.kernel.version(id)));
    };
    const then = await versions();
    expect(then).toHaveLength(2);
    mounted.write("kumiko.toml", '[[rule]]\npath = "a.txt"\nlevel = "read_only"\n');
    mounted.mounts.first().readRules();
    const back = patch.replaceAll("-two\n+TWO", "-TWO\n+two");
    const attempts: readonly [string, object][] = [
      ["block_undo", {}],
      ["block_undo", { edit: alone }],
      ["block_undo", { edit: both }],
      ["block_undo", { actor: "claude" }],
      ["block_redo", {}],
      ["block_redo", { edit: undone }],
      ["block_rollback", { block_id: "a.txt", version: 1 }],
      ["block_apply_patch", { patch: back }],
    ];
    for (const by of [claude, codex, ann, { actor: "disk", kind: "agent" } as const]) {
      for (const [tool, input] of attempts) {
        // Who has done nothing has nothing to undo.
        const code = (await refused(mounted.call(tool, input, by))).code;
        expect([by.actor, tool, input, code]).toEqual([
          by.actor,
          tool,
          input,
          expect.stringMatching(by === claude ? /^denied$/ : /^(denied|nothing_to_undo)$/),
        ]);
      }
    }
    expect(["a.txt", "b.txt"].map((name) => mounted.read(name))).toEqual(before);
    expect(await versions()).toEqual(then);
    // Nor while the folder is not mounted because its rules cannot be read.
    mounted.write("kumiko.toml", "[[rule]]\nlevel =\n");
    await mounted.restart();
    for (const [tool, input] of attempts)
      expect((await refused(mounted.call(tool, input))).code).not.toBe("nothing_to_undo");
    mounted.write("kumiko.toml", '[[rule]]\npath = "a.txt"\nlevel = "read_only"\n');
    await mounted.restart();
    expect(await mounted.text("a.txt")).toBe(before[0]);
    expect(await versions()).toEqual(then);
  });

  it("that come behind a receipt take nothing of what it speaks of", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    await mounted.call("block_append", { block_id: "a.txt", text: "four" });
    mounted.write("kumiko.toml", '[[rule]]\npath = "a.txt"\nlevel = "read_only"\n');
    mounted.mounts.first().readRules();
    const late = { block_id: "a.txt", text: "five" };
    expect((await refused(mounted.call("block_append", late))).code).toBe("denied");
    expect(await mounted.text("a.txt")).toBe(`${THREE}four`);
    // The block has it; the file gets it when that is allowed again.
    await mounted.mounts.first().source.saving.saveAhead();
    expect(mounted.read("a.txt")).toBe(THREE);
    mounted.write("kumiko.toml", "");
    mounted.mounts.first().readRules();
    await mounted.mounts.first().source.saving.saveAhead();
    expect(mounted.read("a.txt")).toBe(`${THREE}four`);
  });

  /** Ann's block of a conversation, and what another may do with it: read and change. */
  async function aConversation(
    mounted: Mounted,
  ): Promise<{ said: object; decisions: (by: object) => Promise<string> }> {
    await mounted.kernel.contexts.create("main", "ann");
    const said = { role: "user", kind: "text", content: "between us\n", context: "main" };
    const { block_id } = await mounted.call("block_create", said, ann);
    const replacing = { block_id, old: "us\n", new: "you and us\n" };
    const decisions = async (by: object): Promise<string> => {
      const read = await outcome(mounted.call("block_read", { block_id }, by));
      const change = await outcome(mounted.call("block_replace", replacing, by));
      return letterOf(read) + letterOf(change);
    };
    return { said, decisions };
  }

  it("for conversations are those of the kernel's own folder, and nobody's while they cannot be read", async () => {
    using other = temporaryFolder();
    const rules = '[[conversation]]\ncontext = "*"\nwhose = "others"\nlevel = "secret"\n';
    await using mounted = await Mounted.with({ "kumiko.toml": rules });
    const { said, decisions } = await aConversation(mounted);
    const own = mounted.kernel.id;
    expect([await decisions(claude), await decisions(ann)]).toEqual(["hh", "yy"]);
    await mounted.mounts.mount("other", { root: realpathSync(other.path) });
    // With other settings it is mounted anew, after the other.
    const mounting = mounted.mounts.mount(own, {
      root: realpathSync(mounted.folder),
      manual: true,
    });
    const meanwhile = decisions(claude);
    await mounting;
    expect([await meanwhile, await decisions(claude)]).toEqual(["hh", "hh"]);
    expect(mounted.mounts.first().name).toBe(own);
    mounted.write("kumiko.toml", "[[conversation]]\nlevel =\n");
    await mounted.restart();
    expect([await decisions(claude), await decisions(ann)]).toEqual(["hh", "yy"]);
    const { block_id } = await mounted.call("block_create", { ...said, role: "model" }, claude);
    const mine = mounted.call("block_read", { block_id }, claude);
    expect(letterOf(await outcome(mine))).toBe("y");
    // Without a folder what is built in holds: an agent asks before it changes what is another's.
    await mounted.mounts.unmount(own);
    expect([await decisions(claude), await decisions(ann)]).toEqual(["yh", "yy"]);
  });

  it("for conversations are those of all folders in a kernel without one of its own", async () => {
    using place = temporaryFolder();
    const opens = '[[conversation]]\nwhose = "others"\nlevel = "admin"\n';
    const keeps = '[[conversation]]\nwhose = "others"\nlevel = "secret"\n';
    const other = join(realpathSync(place.path), "other");
    mkdirSync(other);
    await using mounted = await Mounted.with({ "kumiko.toml": keeps }, { kernel: "main" });
    const { decisions } = await aConversation(mounted);
    const root = realpathSync(mounted.folder);
    // Nobody has a place to write rules in.
    expect(await decisions(claude)).toBe("yy");
    await mounted.mounts.mount("project", { root });
    expect(await decisions(claude)).toBe("hh");
    // Whichever comes first by name or in time: one opens nothing that the other keeps.
    writeFileSync(join(other, "kumiko.toml"), opens);
    await mounted.mounts.mount("another", { root: other });
    expect(await decisions(claude)).toBe("hh");
    await mounted.restart();
    expect(await decisions(claude)).toBe("hh");
    // Mounted anew, and while its rules cannot be read.
    const mounting = mounted.mounts.mount("project", { root, manual: true });
    const meanwhile = decisions(claude);
    await mounting;
    expect([await meanwhile, await decisions(claude)]).toEqual(["hh", "hh"]);
    mounted.write("kumiko.toml", "[[conversation]]\nlevel =\n");
    await mounted.restart();
    expect([await decisions(claude), await decisions(ann)]).toEqual(["hh", "yy"]);
    // What a folder says goes with it; without any what is built in holds.
    await mounted.mounts.unmount("project");
    expect(await decisions(claude)).toBe("yy");
    await mounted.mounts.unmount("another");
    expect([await decisions(claude), await decisions(ann)]).toEqual(["yh", "yy"]);
    await mounted.restart();
    expect(await decisions(claude)).toBe("yh");
  });

  it("are asked again when a file is written later than its block", async () => {
    const rule = (level: string): string => `[[rule]]\npath = "a.txt"\nlevel = "${level}"\n`;
    const manual = '[mount]\nsave = "manual"\n';
    const kept = async (level: string, by: object): Promise<string> => {
      const files = { "a.txt": "one\n", "kumiko.toml": manual };
      await using mounted = await Mounted.with(files, { watch: true });
      await mounted.call("block_append", { block_id: "a.txt", text: "two\n", flush: true }, by);
      mounted.write("kumiko.toml", rule(level));
      mounted.mounts.first().readRules();
      await mounted.mounts.first().source.saving.saveAhead();
      const written = mounted.read("a.txt");
      await mounted.restart();
      await mounted.mounts.watched();
      const status = await mounted.mounts.first().statusOf("a.txt");
      mounted.write("kumiko.toml", "");
      await mounted.restart();
      await mounted.mounts.watched();
      expect(mounted.read("a.txt")).toBe("one\ntwo\n");
      return `${written === "one\n" ? "kept" : "written"} ${status}`;
    };
    expect(await kept("read_only", claude)).toBe("kept block_ahead");
    expect(await kept("read_only", ann)).toBe("kept block_ahead");
    expect(await kept("append", claude)).toBe("written synced");
    expect(await kept("human", ann)).toBe("written synced");
    expect(await kept("read_write", claude)).toBe("written synced");
    // What an earlier process took in may have been a person's.
    expect(await kept("human", claude)).toBe("kept synced");
  });

  it("let whoever may only append save what was only appended, and name what they leave out", async () => {
    const rules = `[mount]\nsave = "manual"\n[[rule]]\npath = "*.txt"\nlevel = `;
    const files = { "log.txt": "one\n", "kumiko.toml": `${rules}"append"\n` };
    for (const by of [claude, ann]) {
      await using mounted = await Mounted.with(files);
      const append = (block_id: string, text: string) =>
        mounted.call("block_append", { block_id, text, flush: true }, by);
      await append("log.txt", "two\n");
      expect(mounted.read("log.txt")).toBe("one\n");
      expect(await mounted.call("file_save", { path: "log.txt" }, by)).toMatchObject({
        saved: [{ path: "log.txt", status: "synced" }],
      });
      await append("log.txt", "three\n");
      await mounted.call("file_save", {}, by);
      expect(mounted.read("log.txt")).toBe("one\ntwo\nthree\n");
      mounted.write("kumiko.toml", `${rules}"read_write"\n`);
      mounted.mounts.first().readRules();
      const change = { block_id: "log.txt", old: "one", new: "ONE" };
      await mounted.call("block_replace", change, by);
      mounted.write("kumiko.toml", files["kumiko.toml"]);
      mounted.mounts.first().readRules();
      const why = `${by.actor} may not change log.txt: `;
      const { saved, left_out } = await mounted.call<{ saved: []; left_out: Answer[] }>(
        "file_save",
        {},
        by,
      );
      expect(saved).toEqual([]);
      expect(left_out).toMatchObject([{ path: "log.txt", why: expect.stringContaining(why) }]);
      const named = await refused(mounted.call("file_save", { path: "log.txt" }, by));
      expect(named.message).toContain(why);
      expect(mounted.read("log.txt")).toBe("one\ntwo\nthree\n");
    }
  });

  it("and what waited because of them is told, and written when they allow it", async () => {
    const manual = '[mount]\nsave = "manual"\n';
    const files = { "a.txt": "one\n", "kumiko.toml": manual };
    await using mounted = await Mounted.with(files, { watch: true });
    await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "ONE" });
    mounted.write("kumiko.toml", '[[rule]]\npath = "a.txt"\nlevel = "read_only"\n');
    await mounted.restart();
    await mounted.mounts.watched();
    expect(mounted.read("a.txt")).toBe("one\n");
    const { unsaved } = mounted.mounts.first().source.files.at("a.txt")!;
    expect(unsaved).toMatchObject({
      code: "denied",
      message: expect.stringContaining("read_only"),
    });
    mounted.write("kumiko.toml", "");
    await mounted.restart();
    await mounted.mounts.watched();
    expect(mounted.read("a.txt")).toBe("ONE\n");
  });

  it("keep a secret out of everything an agent can ask for", async () => {
    await using mounted = await Mounted.with({
      ".env": "KEY=hunter2\nline\n",
      "a.txt": THREE,
      link: "",
    });
    rmSync(mounted.path("link"));
    mounted.run("ln", "-s", ".env", "link");
    const { block_id } = await mounted.call("file_load", { path: ".env" }, ann);
    await mounted.text("a.txt");
    const attempts: readonly [string, object][] = [
      ["block_sync", { versions: [{ block_id, version: 0 }] }],
      ["block_sync", { versions: [{ block_id, version: 1 }] }],
      ["block_sync", { position: 0 }],
      ["block_sync", { position: 0, context: "@project" }],
      ["block_list", { context: "@project" }],
      ["block_list", { position: 5 }],
      ["block_read", { block_id: "link" }],
      ["block_read", { block_id, version: 1 }],
      ["kernel_search", { query: "hunter" }],
      ["kernel_search", { query: "hunter", context: "@project" }],
      ["file_status", {}],
      ["file_list", {}],
      ["block_undo", { actor: "disk" }],
      ["block_create", { role: "user", kind: "text", content: "x", parent_id: block_id }],
    ];
    for (const [tool, input] of attempts) {
      const answer = await outcome(mounted.call(tool, input, claude));
      expect([tool, input, JSON.stringify(answer)]).not.toEqual([
        tool,
        input,
        expect.stringContaining("hunter2"),
      ]);
    }
    const synced = await mounted.call<{ events: unknown[] }>("block_sync", { position: 0 }, claude);
    expect(JSON.stringify(synced)).toContain("three");
  });

  it("cannot be escaped by giving a block another path, or oneself another name", async () => {
    await using mounted = await Mounted.with({ ".env": "KEY=hunter2\n", "a.txt": THREE });
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    const metadata = { path: ".env" };
    await refused(mounted.call("block_status", { block_id, metadata }));
    await refused(mounted.call("block_status", { block_id, metadata: { path: null } }));
    await mounted.restart();
    expect(await mounted.text("a.txt")).toBe(THREE);
    for (const actor of ["disk", "system"]) {
      const by = { actor, kind: "agent" } as const;
      expect((await refused(mounted.call("block_read", { block_id: ".env" }, by))).code).toBe(
        "denied",
      );
    }
  });
});

describe("copies that others keep and edit", () => {
  it("are given, and taken back, as the rules say", { timeout: LONG }, async () => {
    await using server = await ReplicaServer.start();
    using place = temporaryFolder();
    const path = (name: string) => join(place.path, name);
    writeFileSync(path(".env"), "KEY=hunter2\n");
    for (const name of ["a.txt", "fixed.txt"]) writeFileSync(path(name), THREE);
    writeFileSync(path("kumiko.toml"), '[[rule]]\npath = "fixed.txt"\nlevel = "read_only"\n');
    const { kernel } = server;
    const mounts = await Mounts.open({
      kernel,
      clock: { now: () => Date.now() },
      timers: realTimers,
      index: new MemoryFileIndex(readFiles),
      watch: false,
      onTrouble: () => undefined,
    });
    kernel.attach(new MountsPort(mounts));
    await mounts.mount("project", { root: realpathSync(place.path) });
    const { source } = mounts.first();
    const blockOf = async (name: string) => (await source.load(name)).block;
    const { token } = await server.test.mint({ kind: "agent", scopes: ["read", "write"] });
    using agent = server.client({ token });
    using person = server.client();
    const secret = await blockOf(".env");
    const refusing = agent.replica(secret);
    await expect(refusing.ready()).rejects.toMatchObject({ code: "denied" });
    const theirs = person.replica(secret);
    await theirs.ready();
    expect(theirs.text).toBe("KEY=hunter2\n");
    const fixed = agent.replica(await blockOf("fixed.txt"));
    await fixed.ready();
    expect(fixed.text).toBe(THREE);
    const refusedEdit = Promise.withResolvers<string>();
    fixed.onRefused(({ error }) => refusedEdit.resolve(error.code));
    fixed.edit([{ at: 0, remove: 0, insert: "no" }]);
    expect(await refusedEdit.promise).toBe("denied");
    const free = agent.replica(await blockOf("a.txt"));
    await free.ready();
    free.edit([{ at: 0, remove: 0, insert: "zero\n" }]);
    const end = Date.now() + 20_000;
    while (readFileSync(path("a.txt"), "utf8") !== `zero\n${THREE}`) {
      if (Date.now() > end) throw new Error("what was typed was not saved");
      await passing(10);
    }
    expect(readFileSync(path("fixed.txt"), "utf8")).toBe(THREE);
    // The feed is one more way to read.
    const heard = async (kind: "agent" | "person"): Promise<string> => {
      const streams = new ToolRegistry(blockStreams);
      const by = { actor: "someone", kind };
      for await (const batch of streams.stream(kernel, "block_subscribe", by, { from: 0 }))
        return JSON.stringify(batch);
      return "";
    };
    expect(await heard("person")).toContain("hunter2");
    expect(await heard("agent")).not.toContain("hunter2");
    expect(await heard("agent")).toContain("three");
  });
});

describe("paths that lead out", () => {
  it("lead nowhere with any tool", { timeout: LONG }, async () => {
    using place = temporaryFolder(memory());
    const outside = makeOutside(place.path);
    const root = join(outside, "root");
    makeRoot(root);
    writeFileSync(join(root, "kumiko.toml"), '[[rule]]\npath = "**"\nlevel = "admin"\n');
    const before = seen(outside);
    await using mounted = await Mounted.with({}, { folder: root });
    const payloads = allPayloads(root, scaled(1_200));
    let calls = 0;
    let refusals = 0;
    for (const payload of payloads) {
      for (const { tool, input } of tools) {
        for (const given of [payload, `@root/${payload}`]) {
          // What was moved away or deleted through an odd name for it.
          if (!existsSync(join(root, "notes.txt"))) writeFileSync(join(root, "notes.txt"), "notes");
          mkdirSync(join(root, "admin"), { recursive: true });
          writeFileSync(join(root, "admin/mover"), "mover\n");
          utimesSync(join(root, "admin/mover"), 1_000, 1_000);
          const around = { other: "admin/mover", edit: "" };
          const result = await outcome(mounted.call(tool, input(given, around), ann));
          calls += 1;
          if (result instanceof KumikoError) refusals += 1;
          if (JSON.stringify(result).includes(CANARY))
            throw new Error(`${tool} ${JSON.stringify(given)} read what is outside`);
        }
      }
      // What only chooses among the folder's files.
      for (const [tool, input] of [
        ["file_list", { after: payload }],
        ["file_list", { pattern: payload }],
        ["kernel_search", { query: "a", path_prefix: payload }],
      ] as const) {
        const told = await outcome(mounted.call(tool, input, ann));
        expect([tool, payload, JSON.stringify(told).includes(CANARY)]).toEqual([
          tool,
          payload,
          false,
        ]);
        const { files = [] } = told as { files?: { path: string }[] };
        expect(files.filter(({ path }) => path.split("/").includes(".."))).toEqual([]);
      }
      expect([payload, seen(outside)]).toEqual([payload, before]);
    }
    expect(calls).toBe(payloads.length * tools.length * 2);
    expect(refusals).toBeGreaterThan(calls / 2);
    expect(readdirSync(outside).toSorted()).toEqual(["canary.txt", "root", "root-evil"]);
  });
});
