import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { listFolders, mountFolder, unmountFolder } from "../src/files/index.ts";
import { lookAt } from "../src/files/look.ts";
import { Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";
import { compileFaults } from "./support/fault-library.ts";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder, type TemporaryFolder } from "./support/temporary-folder.ts";
import { git } from "./support/writers.ts";

const LONG = 60_000;
const PATIENCE = 30_000;
const ann = { actor: "ann", kind: "person" } as const;

/** Asks again and again until the answer is the wanted one; gives the last answer otherwise. */
async function becoming<Value>(ask: () => Promise<Value> | Value, wanted: Value): Promise<Value> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await ask();
    if (JSON.stringify(found) === JSON.stringify(wanted) || Date.now() > end) return found;
    await passing(20);
  }
}

/** What a process that writes a file in place has written down before. */
function redoOf(path: string, name: string, before: Buffer, after: Buffer): Buffer {
  const { ino: inode, dev: device } = statSync(path);
  const [old, fresh] = [before, after].map((bytes) => ({
    size: bytes.length,
    hash: hash("sha256", bytes),
  }));
  const header = { name, inode, device, old, fresh };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), before, after]);
}

describe("the name of a mount", () => {
  it("stays its folder's: what was written in one folder never reaches another", async () => {
    await using mounted = await Mounted.with({ "a.txt": "of the project\n" });
    const folders = ["x", "y"].map((name) => {
      const folder = join(mounted.home, "..", name, "src");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "readme.md"), `line\nof ${name}\n`);
      return realpathSync(folder);
    });
    const [x, y] = folders as [string, string];
    const first = await mountFolder(mounted.mounts, { folder: x, manual: true });
    expect(first.mount).toBe("src");
    await mounted.call(
      "block_replace",
      { block_id: "@src/readme.md", old: "line\n", new: "line\nunsaved in x\n" },
      ann,
    );
    await unmountFolder(mounted.mounts, "src");

    const error = await refusalOf(mountFolder(mounted.mounts, { folder: y, name: "src" }));
    expect(error.code).toBe("already_exists");
    expect(error.message).toContain(x);
    expect((await mountFolder(mounted.mounts, { folder: y })).mount).toBe("src-2");
    expect(await mounted.text("@src-2/readme.md")).toBe("line\nof y\n");
    expect(readFileSync(join(y, "readme.md"), "utf8")).toBe("line\nof y\n");

    // The folder it was finds its name and its blocks again, in another process as well.
    await mounted.restart();
    expect((await mountFolder(mounted.mounts, { folder: x, manual: true })).mount).toBe("src");
    expect(await mounted.text("@src/readme.md")).toBe("line\nunsaved in x\nof x\n");
  });

  it("of a folder that cannot be mounted now is no other folder's either", async () => {
    await using mounted = await Mounted.with({});
    const [gone, other] = ["gone", "other"].map((name) => join(mounted.home, "..", name));
    for (const folder of [gone!, other!]) mkdirSync(folder);
    await mountFolder(mounted.mounts, { folder: gone!, name: "src" });
    await mounted.stop();
    rmSync(gone!, { recursive: true });
    await mounted.start();
    const error = await refusalOf(mountFolder(mounted.mounts, { folder: other!, name: "src" }));
    expect(error.code).toBe("already_exists");
  });
});

const READ_ONLY = '[[rule]]\npath = "a.txt"\nlevel = "read_only"\n';

describe("the rules of a mount", () => {
  it("are in force when their file was put in place by a rename, and when it is moved away", async () => {
    await using mounted = await Mounted.with(
      { "a.txt": "one\n", "new.toml": READ_ONLY },
      { watch: true },
    );
    await mounted.mounts.watched();
    const level = () => mounted.mounts.first().rules.levelOf("a.txt").level;
    expect(level()).toBe("read_write");
    renameSync(mounted.path("new.toml"), mounted.path("kumiko.toml"));
    expect(await becoming(level, "read_only")).toBe("read_only");
    const edit = { block_id: "a.txt", old: "one", new: "two" };
    expect((await refusalOf(mounted.call("block_replace", edit))).code).toBe("denied");
    expect(mounted.read("a.txt")).toBe("one\n");
    renameSync(mounted.path("kumiko.toml"), mounted.path("old.toml"));
    expect(await becoming(level, "read_write")).toBe("read_write");
  });

  it("are in force although git ignores their file, whoever writes it", async () => {
    await using mounted = await Mounted.with(
      { ".gitignore": "kumiko.toml\n.kumikoignore\n", "a.txt": "one\n", "b.txt": "two\n" },
      { watch: true },
    );
    await mounted.mounts.watched();
    const { rules, ignored } = mounted.mounts.first();
    const level = () => mounted.mounts.first().rules.levelOf("a.txt").level;
    expect(rules.levelOf("a.txt").level).toBe("read_write");
    mounted.write("kumiko.toml", READ_ONLY);
    expect(await becoming(level, "read_only")).toBe("read_only");
    const secret = { block_id: "kumiko.toml", old: "read_only", new: "secret" };
    await mounted.call("block_replace", secret, ann);
    expect(await becoming(level, "secret")).toBe("secret");
    rmSync(mounted.path("kumiko.toml"));
    expect(await becoming(level, "read_write")).toBe("read_write");
    mounted.write(".kumikoignore", "b.txt\n");
    expect(await becoming(() => ignored.isIgnored("b.txt", false), true)).toBe(true);
    rmSync(mounted.path(".kumikoignore"));
    expect(await becoming(() => ignored.isIgnored("b.txt", false), false)).toBe(false);
  });

  it("say how files are saved and how large they may be, from the moment they change", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n" }, { watch: true });
    await mounted.mounts.watched();
    await mounted.text("a.txt");
    mounted.write("kumiko.toml", '[mount]\nsave = "manual"\nlargest = 20\n');
    expect(await becoming(() => mounted.mounts.first().manual, true)).toBe(true);
    await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "staged" });
    expect(mounted.read("a.txt")).toBe("one\n");
    mounted.write("b.txt", "more than twenty bytes of text\n");
    expect((await refusalOf(mounted.text("b.txt"))).code).toBe("too_large");
    rmSync(mounted.path("kumiko.toml"));
    // What was staged is saved when nobody says otherwise any more.
    expect(await becoming(() => mounted.read("a.txt"), "staged\n")).toBe("staged\n");
    expect(await mounted.text("b.txt")).toBe("more than twenty bytes of text\n");
  });

  it("that cannot be read leave those in force, and are no trouble any more when they can", async () => {
    await using mounted = await Mounted.with(
      { "a.txt": "one\n", "kumiko.toml": READ_ONLY },
      { watch: true },
    );
    await mounted.mounts.watched();
    const trouble = () => listFolders(mounted.mounts)[0]!.trouble;
    mounted.write("kumiko.toml", "[[rule]\n");
    await becoming(() => trouble() !== undefined, true);
    expect(trouble()).toMatch(/kumiko\.toml/);
    expect(mounted.mounts.first().rules.levelOf("a.txt").level).toBe("read_only");
    mounted.write("kumiko.toml", READ_ONLY);
    expect(await becoming(trouble, undefined)).toBeUndefined();
  });

  it("are read from a plain file only", async () => {
    await using mounted = await Mounted.with({ "rules/agents.toml": READ_ONLY, "a.txt": "1\n" });
    const put: { readonly [what: string]: () => void } = {
      link: () => symlinkSync("rules/agents.toml", mounted.path("kumiko.toml")),
      "plain file": () => execFileSync("mkfifo", [mounted.path("kumiko.toml")]),
      large: () => mounted.write("kumiko.toml", `#${" ".repeat(1024 * 1024)}\n`),
    };
    for (const [what, make] of Object.entries(put)) {
      await mounted.stop();
      make();
      await mounted.start();
      const error = await refusalOf(mounted.text("a.txt"));
      expect(error.code, what).toBe("file_unreadable");
      expect(error.message).toContain("kumiko.toml");
      expect(error.message).toContain(what);
      rmSync(mounted.path("kumiko.toml"));
    }
    await mounted.restart();
    expect(await mounted.text("a.txt")).toBe("1\n");
  });
});

describe("a root that was replaced by a copy", () => {
  it("is gone on with: read, edited, watched", { timeout: LONG }, async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n", "b.txt": "b\n" }, { watch: true });
    await mounted.mounts.watched();
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    const { folder } = mounted;
    cpSync(folder, `${folder}-copy`, { recursive: true });
    renameSync(folder, `${folder}-away`);
    const trouble = () => listFolders(mounted.mounts)[0]!.trouble !== undefined;
    expect(await becoming(trouble, true)).toBe(true);
    expect((await refusalOf(mounted.text("a.txt"))).code).toBe("root_gone");
    renameSync(`${folder}-copy`, folder);
    expect(await becoming(trouble, false)).toBe(false);
    expect(await mounted.text("a.txt")).toBe("one\n");
    await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "two" });
    expect(mounted.read("a.txt")).toBe("two\n");
    expect(readFileSync(join(`${folder}-away`, "a.txt"), "utf8")).toBe("one\n");
    mounted.write("a.txt", "three\n");
    const { kernel } = mounted;
    const text = async () => (await kernel.read(String(block_id))).text;
    expect(await becoming(text, "three\n")).toBe("three\n");
  });
});

describe("one epoch", () => {
  it("is one Edit, however long git takes", { timeout: LONG }, async () => {
    const names = Array.from({ length: 28 }, (_, index) => `f${index}.txt`);
    const files = Object.fromEntries(names.map((name) => [name, `old ${name}\n`]));
    await using mounted = await Mounted.with(
      { ...files, ".git/HEAD": "ref: refs/heads/main\n" },
      { watch: true },
    );
    await mounted.mounts.watched();
    const blocks: string[] = [];
    for (const path of names)
      blocks.push(String((await mounted.call("file_load", { path }))["block_id"]));
    mounted.write(".git/index.lock", "");
    for (const name of names) {
      mounted.write(name, `new ${name}\n`);
      // Longer than a file has to be quiet, and all of it longer than anything is waited for.
      await passing(125);
    }
    mounted.write(".git/HEAD", "ref: refs/heads/x\n");
    rmSync(mounted.path(".git/index.lock"));
    const { kernel } = mounted;
    const isNew = async () => {
      const texts = await Promise.all(blocks.map((block) => kernel.read(block)));
      return texts.every(({ text }) => text.startsWith("new"));
    };
    expect(await becoming(isNew, true)).toBe(true);
    const newest = async (block_id: string): Promise<string> => {
      type History = { versions: { edit: string; actor: string }[] };
      const { versions } = await mounted.call<History>("block_history", { block_id, limit: 1 });
      return `${versions[0]!.actor} ${versions[0]!.edit}`;
    };
    const edits = new Set(await Promise.all(blocks.map(newest)));
    expect([...edits]).toEqual([expect.stringMatching(/^disk /)]);
    // The next change is another one, once it has been seen that the lock is gone.
    await passing(500);
    mounted.write("f0.txt", "later\n");
    const read = async () => (await kernel.read(blocks[0]!)).text;
    expect(await becoming(read, "later\n")).toBe("later\n");
    expect([...edits]).not.toContain(await newest(blocks[0]!));
    await mounted.call("block_undo", { edit: [...edits][0]!.slice("disk ".length) }, ann);
    const texts = await Promise.all(blocks.slice(1).map((block) => kernel.read(block)));
    expect(texts.map(({ text }) => text)).toEqual(names.slice(1).map((name) => `old ${name}\n`));
  });
});

describe("a block follows its file to another name", () => {
  it("by its content, when a checkout makes it anew", { timeout: LONG }, async () => {
    await using mounted = await Mounted.with({ "a.txt": "1\n2\n3\n" });
    const { folder } = mounted;
    await git(folder, "init", "-q");
    await git(folder, "add", "a.txt");
    await git(folder, "commit", "-qm", "one");
    await git(folder, "checkout", "-qb", "moved");
    await git(folder, "mv", "a.txt", "b.txt");
    await git(folder, "commit", "-qm", "two");
    await git(folder, "checkout", "-q", "-");
    await mounted.stop();
    await using watched = await Mounted.at(join(folder, ".."));
    await watched.mounts.watched();
    const { block_id } = await watched.call("file_load", { path: "a.txt" });
    await git(folder, "checkout", "-q", "moved");
    const { source } = watched.mounts.first();
    expect(await becoming(() => source.files.of(String(block_id))!.path, "b.txt")).toBe("b.txt");
    expect((await watched.call("file_load", { path: "b.txt" }))["block_id"]).toBe(block_id);
    await watched.stop();
  });

  it("when it was renamed while nobody looked, and changed as well", async () => {
    await using mounted = await Mounted.with({ "b.txt": "1\n2\n3\n", "e.txt": "e\n" });
    const blocks: unknown[] = [];
    for (const path of ["b.txt", "e.txt"])
      blocks.push((await mounted.call("file_load", { path }))["block_id"]);
    await mounted.stop();
    renameSync(mounted.path("b.txt"), mounted.path("c.txt"));
    renameSync(mounted.path("e.txt"), mounted.path("f.txt"));
    writeFileSync(mounted.path("f.txt"), "changed\n", { flag: "r+" });
    await using watched = await Mounted.at(join(mounted.folder, ".."));
    await watched.mounts.watched();
    const { source } = watched.mounts.first();
    expect(blocks.map((block) => source.files.of(String(block))?.path)).toEqual(["c.txt", "f.txt"]);
    expect(await watched.text("f.txt")).toBe("changed\n");
  });

  it("when it was renamed while nobody looked, with a time from before it was there", async () => {
    await using mounted = await Mounted.with(
      { "kumiko.toml": '[mount]\nsave = "manual"\n', "a.txt": "one\n" },
      { watch: true },
    );
    // As `cp -p`, tar and rsync leave it.
    utimesSync(mounted.path("a.txt"), 1_600_000_000, 1_600_000_000);
    await mounted.mounts.watched();
    await mounted.call("block_append", { block_id: "a.txt", text: "not saved\n", flush: true });
    await mounted.stop();
    renameSync(mounted.path("a.txt"), mounted.path("b.txt"));
    await mounted.start();
    await mounted.mounts.watched();
    expect(mounted.mounts.first().source.files.at("b.txt")).toBeDefined();
    expect(await mounted.text("b.txt")).toBe("one\nnot saved\n");
    const { conflicts } = await mounted.call("file_status", {});
    expect(conflicts).toEqual([]);
  });

  it("when it was made anew while nobody looked; a copy that was there before is another file", async () => {
    await using mounted = await Mounted.with(
      { "a.txt": "1\n2\n3\n", "copied.txt": "4\n5\n6\n", "copy.txt": "4\n5\n6\n" },
      { watch: true },
    );
    await mounted.mounts.watched();
    const blocks: string[] = [];
    for (const path of ["a.txt", "copied.txt"])
      blocks.push(String((await mounted.call("file_load", { path }))["block_id"]));
    await mounted.stop();
    cpSync(mounted.path("a.txt"), mounted.path("b.txt"));
    for (const path of ["a.txt", "copied.txt"]) rmSync(mounted.path(path));
    await mounted.start();
    await mounted.mounts.watched();
    const { source } = mounted.mounts.first();
    expect(blocks.map((block) => source.files.of(block)!.path)).toEqual(["b.txt", "copied.txt"]);
    expect(source.files.at("copy.txt")).toBeUndefined();
  });

  const created = (path: string) => (mounted: Mounted) =>
    mounted.call("file_create", { path, content: "one\n" });
  it.each([
    { what: "file", from: "a.txt", to: "b.txt", make: created("a.txt") },
    { what: "folder", from: "d", to: "e", make: created("d/a.txt") },
    {
      what: "file that was moved",
      from: "a.txt",
      to: "b.txt",
      make: async (mounted: Mounted) => {
        await mounted.text("old.txt");
        await mounted.call("file_move", { path: "old.txt", to: "a.txt" }, ann);
      },
    },
  ])("when a $what is renamed before the watch knew it", async ({ from, to, ...made }) => {
    await using mounted = await Mounted.with({ "old.txt": "one\n", "d/f": "" }, { watch: true });
    await mounted.mounts.watched();
    await made.make(mounted);
    const { files } = mounted.mounts.first().source;
    const { block, path } = files.all()[0]!;
    const there = path.replace(from, to);
    renameSync(mounted.path(from), mounted.path(to));
    appendFileSync(mounted.path(there), "more\n");
    expect(await becoming(() => files.of(block)!.path, there)).toBe(there);
    expect(await mounted.text(there)).toBe("one\nmore\n");
    expect(files.at(there)!.block).toBe(block);
  });

  it("when somebody asked for its old name first", async () => {
    await using mounted = await Mounted.with({ "a.txt": "1\n2\n3\n" });
    const edit = (block_id: string, old: string) =>
      mounted.call("block_replace", { block_id, old, new: "new" });
    await edit("a.txt", "1");
    renameSync(mounted.path("a.txt"), mounted.path("b.txt"));
    expect((await refusalOf(edit("a.txt", "2"))).code).toBe("not_on_disk");
    await edit("b.txt", "3");
    const { versions } = await mounted.call<{ versions: { actor: string }[] }>("block_history", {
      block_id: "b.txt",
    });
    expect(versions.map(({ actor }) => actor)).toEqual(["claude", "disk", "claude", "disk"]);
    for (const _ of ["3", "1"]) await mounted.call("block_undo", {});
    expect(mounted.read("b.txt")).toBe("1\n2\n3\n");
  });

  it("when somebody asked for its old name before the watch told of the new one", async () => {
    await using mounted = await Mounted.with();
    await mounted.call("file_create", { path: "a.txt", content: "one\n" });
    const { files, takingIn } = mounted.mounts.first().source;
    const { block } = files.at("a.txt")!;
    renameSync(mounted.path("a.txt"), mounted.path("b.txt"));
    appendFileSync(mounted.path("b.txt"), "more\n");
    await mounted.text("a.txt");
    const there = [["b.txt", lookAt(mounted.path("b.txt"))!]] as const;
    await takingIn.changed({ changed: ["b.txt"], gone: [], renamed: [], there });
    expect(files.at("b.txt")?.block).toBe(block);
    expect(await mounted.text("b.txt")).toBe("one\nmore\n");
  });

  it("when nobody watches, at its next use, also when it was changed as well", async () => {
    await using mounted = await Mounted.with({ "a.txt": "1\n2\n3\n" });
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    renameSync(mounted.path("a.txt"), mounted.path("b.txt"));
    expect((await mounted.call("file_load", { path: "b.txt" }))["block_id"]).toBe(block_id);
    renameSync(mounted.path("b.txt"), mounted.path("c.txt"));
    appendFileSync(mounted.path("c.txt"), "4\n");
    expect((await mounted.call("file_load", { path: "c.txt" }))["block_id"]).toBe(block_id);
    renameSync(mounted.path("c.txt"), mounted.path("b.txt"));
    // A copy is another file, and so is one that came after the first was seen to go.
    cpSync(mounted.path("b.txt"), mounted.path("copy.txt"));
    expect((await mounted.call("file_load", { path: "copy.txt" }))["block_id"]).not.toBe(block_id);
  });
});

/**
 * What a program tells that has a place mounted and can make calls fail on what is in a folder of it. What is done above
 * the folder is not counted.
 */
async function underFaults(
  place: TemporaryFolder,
  folder: string,
  program: string,
): Promise<unknown> {
  const control = place.write("control", "");
  writeFileSync(control, Buffer.alloc(24));
  const whole = `
    import { setTimeout as passing } from "node:timers/promises";
    import { Mounted } from "./test/support/mounted.ts";
    import { listFolders } from "./src/files/index.ts";
    import { controlFaults, noFaults } from "./test/support/fault-library.ts";
    const told = [];
    await using mounted = await Mounted.at(${JSON.stringify(place.path)}, { watch: false });
    const trouble = () => listFolders(mounted.mounts)[0].trouble;
    ${program}
    console.log(JSON.stringify(told));
  `;
  const { stdout, stderr } = await runProgram(
    process.execPath,
    ["--input-type=module", "-e", whole],
    {
      cwd: root,
      env: {
        ...process.env,
        LD_PRELOAD: compileFaults(place.path),
        FAULT_CONTROL: control,
        FAULT_FOLDER: join(realpathSync(place.path), "project", folder),
      },
    },
  );
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

describe("what goes wrong", () => {
  it("with a name that cannot be written down is said", async () => {
    await using mounted = await Mounted.with({ "a.txt": "1\n" });
    await mounted.stop();
    const name = Buffer.from([0x62, 0xff]);
    writeFileSync(Buffer.concat([Buffer.from(`${mounted.folder}/`), name]), "");
    await using watched = await Mounted.at(join(mounted.folder, ".."));
    await watched.mounts.watched();
    expect(listFolders(watched.mounts)[0]!.trouble).toMatch(/UTF-8/);
    rmSync(Buffer.concat([Buffer.from(`${mounted.folder}/`), name]));
    expect(listFolders(watched.mounts)[0]!.trouble).toBeUndefined();
  });

  it("when a process ended half-way is finished, or said", async () => {
    const [before, after] = ["old text\n", "new text\n"].map((text) => Buffer.from(text));
    await using mounted = await Mounted.with({ finished: before!, overtaken: before! });
    await mounted.text("overtaken");
    await mounted.stop();
    for (const [index, name] of ["finished", "overtaken"].entries()) {
      const redo = redoOf(mounted.path(name), name, before!, after!);
      mounted.write(`.kumiko-0123456789abcde${index}.redo.tmp`, redo);
    }
    writeFileSync(mounted.path("finished"), "new", { flag: "r+" });
    writeFileSync(mounted.path("overtaken"), "another\n", { flag: "r+" });
    await using watched = await Mounted.at(join(mounted.folder, ".."));
    expect(watched.read("finished")).toBe("new text\n");
    expect(listFolders(watched.mounts)[0]!.trouble).toMatch(/overtaken.*somebody else has written/);
    expect(await watched.text("overtaken")).toBe("another\n\n");
  });

  it.each([
    { holder: ".", paths: ["a.txt"] },
    { holder: "src/deep", paths: ["src/deep/a.txt", "link.txt", "linked/a.txt"] },
  ])(
    "with the folder ($holder) that holds the file itself, which is saved, is said until the disk takes it",
    async ({ holder, paths }) => {
      using place = temporaryFolder();
      for (const file of ["a.txt", "src/deep/a.txt"]) place.write(`project/${file}`, "one\n");
      symlinkSync("src/deep/a.txt", join(place.path, "project/link.txt"));
      symlinkSync("src/deep", join(place.path, "project/linked"));
      const edits = `
        const edit = async (path, to) => {
          await mounted.call("block_replace", { block_id: path, regex: ".+", new: to });
          for (const { source } of mounted.mounts.list()) await source.disk.settle();
          told.push([path, mounted.read(path), trouble() ?? "none"]);
        };
        for (const path of ${JSON.stringify(paths)}) {
          await mounted.text(path);
          // The only call that syncs there is the folder's: its file is made in the home. 5 is EIO.
          controlFaults([0, 1, 5, 0, 0, 1]);
          await edit(path, "two");
          noFaults();
          await edit(path, "three");
        }
      `;
      const trouble = `${join(holder, "a.txt")} is saved, but a power cut.*the disk failed`;
      expect(await underFaults(place, holder, edits)).toEqual(
        paths.flatMap((path) => [
          [path, "two\n", expect.stringMatching(trouble)],
          [path, "three\n", "none"],
        ]),
      );
    },
  );

  it("with any of the folders that are made with a file is said", async () => {
    using place = temporaryFolder();
    place.write("project/a.txt", "one\n");
    // Behind the file's own call are those of its folder, of the one above, and of the root.
    const making = `
      const end = Date.now() + ${PATIENCE};
      for (const call of [2, 3, 4]) {
        controlFaults([0, call, 5, 0, 0, 1]);
        const path = \`new\${call}/deep/b.txt\`;
        await mounted.call("file_create", { path, content: "b" });
        while (!trouble()?.includes(path) && Date.now() < end) await passing(5);
        told.push(trouble()?.includes(path));
      }
    `;
    expect(await underFaults(place, ".", making)).toEqual([true, true, true]);
  });

  it("when a file is made where a folder is: it is said so, and there is no block", async () => {
    await using mounted = await Mounted.with({ "src/a.txt": "1\n" });
    const error = await refusalOf(mounted.call("file_create", { path: "src", content: "x" }));
    expect(error.code).toBe("already_exists");
    expect(error.message).toContain("folder");
    const { files } = await mounted.call<{ files: unknown[] }>("file_status", {});
    expect(files).toEqual([]);
  });
});
