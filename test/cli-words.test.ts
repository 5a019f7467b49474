import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { HomeFolder } from "../src/app/index.ts";
import { openLog } from "../src/app/log.ts";
import { startServer } from "../src/app/server.ts";
import { type Home, temporaryHome } from "./support/kumiko.ts";

/** A mounted folder with the command over it, without a server. */
async function project(home: Home, files: { readonly [path: string]: string | Buffer }) {
  const folder = join(home.folder.path, "project");
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const run = (...args: string[]) => home.run(args, { folder });
  const json = (...args: string[]) => home.json(args, { folder });
  expect(await run("mount", ".")).toMatchObject({ code: 0, err: "" });
  return { folder, run, json };
}

describe("what the command says of files", () => {
  test("ls names what is not there, links that lead nowhere, and all that is ignored", async () => {
    using home = temporaryHome();
    const files = {
      "src/app.ts": "1\n",
      ".gitignore": "node_modules\n",
      "node_modules/a/b.js": "",
    };
    const { folder, run, json } = await project(home, files);
    symlinkSync("src/app.ts", join(folder, "in.ts"));
    symlinkSync("/etc/hostname", join(folder, "out.txt"));
    symlinkSync("gone.ts", join(folder, "dangling.ts"));
    expect(await run("ls", "src/ap.ts")).toEqual({
      code: 2,
      out: "",
      err: "kumiko: There is nothing called src/ap.ts. Did you mean src/app.ts?\n",
    });
    const { files: listed } = await json("ls", "--ignored");
    expect(listed).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ path: "node_modules/a/b.js" }),
        expect.objectContaining({ path: "in.ts", permission: "read_write" }),
        expect.objectContaining({ path: "out.txt", permission: "none", status: "unreadable" }),
        expect.objectContaining({ path: "dangling.ts", permission: "none", status: "unreadable" }),
      ]),
    );
  });

  test("cat prints the bytes of the file, and says what a path is that is no file", async () => {
    using home = temporaryHome();
    const windows = "one\r\ntwo\r\n";
    const marked = "\uFEFFone\ntwo\n";
    const { folder, run } = await project(home, { "src/app.ts": "1\n", windows, marked });
    expect((await run("cat", "windows")).out).toBe(windows);
    expect((await run("cat", "marked")).out).toBe(marked);
    await run("block", "replace", "windows", "--old", "two", "--new", "2");
    expect((await run("cat", "windows", "--version", "1")).out).toBe(windows);
    expect((await run("cat", "windows")).out).toBe(readFileSync(join(folder, "windows"), "utf8"));
    expect((await run("cat", "src")).err).toContain("src is a folder");
    expect((await run("cat", "src/ap.ts")).err).toContain("Did you mean src/app.ts?");
  });

  test("undo and redo take a path, in the words of the command", async () => {
    using home = temporaryHome();
    const { folder, run } = await project(home, { "u.txt": "one\n", "v.txt": "one\n" });
    const text = () => readFileSync(join(folder, "u.txt"), "utf8");
    const edit = ["block", "replace", "u.txt", "--old", "one", "--new", "two"];
    await run(...edit, "--actor", "claude");
    expect(await run("undo", "u.txt", "--of-actor", "claude")).toMatchObject({ code: 0 });
    expect(text()).toBe("one\n");
    expect(await run("redo", "u.txt", "--of-actor", "claude")).toMatchObject({ code: 0 });
    expect(text()).toBe("two\n");
    expect((await run("redo", "u.txt")).err).toContain("that could be redone");
    expect((await run("undo", "nosuch.ts")).err).toContain("There is no file nosuch.ts");
    // What was only read has nothing that could be undone, in nobody's name.
    const nothing = (await run("undo", "v.txt")).err;
    expect(nothing).toMatch(/^kumiko: There is no Edit of \S+ in v\.txt that could be undone\.\n$/);
    expect((await run("undo", "--of-actor", "disk")).err).toContain("disk has no Edit");
    await run("file", "create", "made.txt", "--content", "m\n");
    expect((await run("undo")).out).toMatch(
      /^undid \S+ of ann .*\nmade\.txt is now version 2\n {2}the file is gone again: that Edit had made it\n---/,
    );
    const own = ["block", "replace", "u.txt", "--old", "two", "--new", "three"];
    await run(...own);
    rmSync(join(folder, "u.txt"));
    expect((await run("undo", "u.txt")).out).toContain(
      "u.txt is now version 6\n  the file had been deleted; it is there again\n",
    );
    await run(...own);
    await run("block", "replace", "u.txt", "--old", "three", "--new", "six", "--actor", "claude");
    // It is a version, and one with the text of the last: it must not sound as if there were none.
    expect((await run("undo")).out).toMatch(
      /^undid \S+ of ann .*: no text changed by that\nu\.txt is now version 9, with the same text\n.* other Edits have removed/,
    );
    const help = (await run("undo", "--help")).out;
    expect(help).toContain("[edit-or-block-or-path]");
    expect(help).not.toMatch(/block_|file_/);
    expect((await run("blame", "--help")).out).not.toContain("(counted from 0)");
    const unknown = (await run("undo", "e9-99")).err;
    expect(unknown).toContain("kumiko history");
    expect(unknown).not.toContain("block_history");
  });

  test("saving, deleting and deciding are told in sentences", async () => {
    using home = temporaryHome();
    const files = { "m.txt": "one\ntwo\n", "p.txt": "p\n" };
    const { folder, run, json } = await project(home, files);
    await run("mount", ".", "--manual-save");
    await run("block", "replace", "m.txt", "--old", "two", "--new", "mine", "--actor", "claude");
    expect((await run("file", "save", "m.txt")).out).toBe("saved m.txt\n");
    expect((await run("file", "save")).out).toBe("nothing waits to be saved\n");
    await run("block", "replace", "m.txt", "--old", "mine", "--new", "again", "--actor", "claude");
    writeFileSync(join(folder, "m.txt"), "one\ndisk\n");
    const unsaved = await run("file", "save", "m.txt");
    expect(unsaved.code).toBe(1);
    expect(unsaved.out).toMatch(/^m\.txt is not saved as it is: .*kumiko conflicts/);
    expect(await json("file", "save", "m.txt")).toMatchObject({ ok: false });
    const kept = await run("unmount", ".");
    expect(kept.code).toBe(2);
    expect(kept.err).toContain("the conflict c1 in m.txt. It is kept");
    expect(kept.err).toContain("--force");
    expect(await home.run(["unmount", "."], { folder, answers: ["no"] })).toMatchObject({
      code: 2,
    });
    const forced = await run("unmount", ".", "--force");
    expect(forced).toMatchObject({ code: 0, err: "" });
    expect(forced.out).toContain("Kept until then: ");
    await run("mount", ".", "--manual-save");
    const { out } = await run("conflicts");
    expect(out).toContain("memory (claude)");
    expect((await run("resolve", "c1", "memory")).out).toMatch(
      /^c1 is resolved: m\.txt is now version \d+ \(kumiko undo takes it back\)\n {2}there stands now, by claude:\n {9}\| again\n$/,
    );
    expect((await run("file", "delete", "p.txt")).out).toMatch(
      /^deleted p\.txt; kumiko undo brings it back version \d+\n$/,
    );
    expect((await run("mount", ".", "--name", "other")).err).toContain(
      "is mounted already, as @project, and keeps that name",
    );
    await run("mount", ".", "--rule", "m.txt=read_only");
    const refused = await run("rules", "test", "m.txt");
    expect(refused.out).toContain("a --rule before it, given with `kumiko mount`");
    // It is said for whom: a name makes nobody an agent.
    const named = (await run("rules", "test", "m.txt", "--actor", "claude")).out;
    expect(named).toContain("person: whoever types here, claude too (--actor is only a name)");
    expect((await run("rules", "test", "--help")).out).toMatch(/command line\s+acts as a person/);
  });

  test("status and file list mean where one stands", async () => {
    using home = temporaryHome();
    const { folder, run } = await project(home, { "src/app.ts": "1\n" });
    const unread = await run("status", "src/app.ts");
    expect([unread.code, unread.out]).toEqual([
      0,
      expect.stringMatching(/^no block {2}src\/app\.ts /),
    ]);
    await run("cat", "src/app.ts");
    expect((await run("status", "src/app.ts")).out).toMatch(
      /^synced {2}src\/app\.ts {2}changed on disk \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$/,
    );
    expect((await run("file", "status", "src/app.ts")).out).toBe("synced  src/app.ts\n");
    for (const name of ["another", "zoo"]) {
      const other = join(folder, "..", name);
      mkdirSync(other);
      writeFileSync(join(other, `${name}.txt`), "o\n");
      await run("mount", other);
      // Whichever is the first, it is not meant in the others.
      const listed = await home.run(["file", "list"], { folder: other });
      expect(listed.out).toMatch(new RegExp(`^\\S+ .* ${name}\\.txt\\n$`));
    }
    expect((await run("file", "list")).out).toContain("src/app.ts");
  });
});

test("status says of a server that does not answer yet that it is starting", async () => {
  using home = temporaryHome();
  const { run } = await project(home, { "a.txt": "a\n" });
  await using _ = await new HomeFolder(home.environment["KUMIKO_HOME"]!, "kumiko serve").openStore(
    "main",
  );
  const { code, out, err } = await run("status");
  expect([code, err]).toEqual([1, ""]);
  expect(out).toMatch(new RegExp(`^A server of .* is starting \\(process ${process.pid}\\)`));
  expect(out).not.toContain("No server runs");
});

describe("tools and their arguments", () => {
  test("are verbs and flags where people read of them", async () => {
    using home = temporaryHome();
    const { folder, run } = await project(home, { "gone.txt": "one\n" });
    await run("context", "new", "talk");
    const create = ["block", "create", "user", "text", "--context", "talk", "--content"];
    await run(...create, "a\n");
    await run("cat", "gone.txt");
    rmSync(join(folder, "gone.txt"));
    const said = async (...args: string[]): Promise<string> => {
      const { out, err } = await run(...args);
      expect(`${out}${err}`).not.toMatch(/(block|file|kernel)_[a-z]|called like that|: true/);
      return err;
    };
    expect(await said("search", "(")).toContain("pass --literal.");
    expect(await said("block", "list")).toContain(
      "pass --context. With --position and without --parent-id",
    );
    expect(await said("block", "sync")).toContain(
      "Pass --versions (of blocks you name) or --position (for everything)",
    );
    expect(await said("block", "status", "talk~ann~1")).toContain(
      "pass --status, --flags or --metadata",
    );
    expect(await said("cat", "gone.txt")).toContain(
      "`kumiko rollback` or `kumiko file save` brings it back",
    );
    // A file may be called like a tool.
    expect((await run("cat", "file_save.ts")).err).toContain("no file file_save.ts");
    expect(await said("context", "new", "")).toContain("1 to 32 lower-case letters");
    expect(await said("context", "show", "")).toContain("context: it may not be empty");
    // A block is taken wherever a path is.
    await run("block", "append", "talk~ann~1", "--text", "b\n");
    expect((await run("undo", "talk~ann~1")).out).toMatch(/^undid .*\n[^]*-b\n/);
    expect((await run("redo", "talk~ann~1")).out).toMatch(/^redid .*\n[^]*\+b\n/);
    expect(await said("undo", "talk~ann~1", "--of-actor", "ben")).toContain(
      "There is no Edit of ben in talk~ann~1",
    );
    expect(await said("diff", "talk~ann~1")).toContain(
      "Say which version: kumiko diff talk~ann~1 <from> [to]",
    );
  });
});

test("an argument that does not fit is answered with what would", async () => {
  using home = temporaryHome();
  const { run } = await project(home, { "plan.md": "one\n" });
  const said = async (...args: string[]) => (await run(...args)).err.split("\n")[0];
  const edit = (operations: string) =>
    said("block", "edit", "plan.md", "--base-version", "1", "--operations", operations);
  const isWritten = 'operations is written like this: [{"op":"insert",';
  for (const [operations, why] of [
    ['{"op":"insert","line":0,"content":"x"}', "operations: it must be a list, not an object"],
    ["[]", "operations: it may not be empty"],
    [
      '[{"op":"insrt"}]',
      'operations.0.op: it must be "insert", "delete" or "replace", not "insrt"',
    ],
    [
      '[{"op":"insert","line":"1","content":"x"}]',
      "operations.0.line: it must be a number, not a text",
    ],
  ] as const)
    expect(await edit(operations)).toContain(`cannot be called like that: ${why}; ${isWritten}`);
  expect(
    await said("block", "replace", "plan.md", "one", "two", "--occurrence", "second"),
  ).toContain('occurrence: it must be "first", "all" or a number, not "second"');
  expect(await said("history", "plan.md", "--limit", "0")).toContain(
    "limit: it must be 1 or more, not the number 0",
  );
});

test("a refusal says what to do next", async () => {
  using home = temporaryHome();
  const { run } = await project(home, { "plan.md": "one\n" });
  // As grep has it.
  const turned = await run("search", "one", "plan.md");
  expect(turned).toMatchObject({ code: 2, out: "" });
  expect(turned.err).toBe(
    'kumiko: "plan.md" is one word too many; expected <query>. Quote text that has spaces. One file or block goes before it ' +
      "(`kumiko search plan.md one`), those of a folder are meant by --path-prefix.\n",
  );
  const long = await run("file", "create", "new.md", "one two three\n".repeat(99));
  expect(long.err).toMatch(/one two three\n[^]{0,60}…" is one word too many; .* --content\.\n$/);
  expect((await run("search", "--help")).out).toContain("kumiko search <path-or-block> <query>");
  for (const verb of ["cat", "history", "status", "conflicts", "undo"])
    expect([verb, (await run(verb, "plam.md")).err]).toEqual([
      verb,
      expect.stringContaining("Did you mean plan.md?"),
    ]);
  await run("context", "new", "talk");
  expect((await run("context", "new", "talk")).err).toContain("`kumiko context show talk`");
  const replaced = await run("block", "replace", "plan.md", "--old", "zwei", "--new", "2");
  expect(replaced.err).toContain("Copy the text to replace from the block as it is now");
  for (const [verb, help] of [
    [["cat"], "kumiko cat --help"],
    [["context", "new"], "kumiko context new --help"],
    [["block", "read"], "kumiko block read --help"],
    [["token", "new"], "kumiko token new --help"],
  ] as const)
    expect((await run(...verb, "--bogus")).err).toContain(`(${help} shows what there is)`);
  using unmounted = temporaryHome();
  await unmounted.run(["context", "new", "talk"]);
  const nonsense = await unmounted.run(["block", "read", "nonsense"]);
  expect(nonsense.err).toContain("`kumiko mount .`");
});

test("help is what --help says of a verb, and refuses what is none", async () => {
  using home = temporaryHome();
  for (const verb of [
    [],
    ["ls"],
    ["serve"],
    ["hook"],
    ["search"],
    ["block"],
    ["block", "read"],
    ["kernel", "new"],
    ["patch", "apply"],
  ]) {
    const help = await home.run([...verb, "--help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toMatch(new RegExp(`^Usage: ${["kumiko", ...verb].join(" ")} `));
    for (const args of [
      ["help", ...verb],
      ["--home", "x", "help", ...verb, "--json"],
      ["help", "--home", "x", ...verb],
    ])
      expect([args, await home.run(args)]).toEqual([args, help]);
  }
  expect(await home.run(["help", "help"])).toEqual(await home.run(["--help"]));
  for (const verb of [["lss"], ["block", "reed"], ["nosuch", "read"]]) {
    const refused = await home.run(["help", ...verb]);
    expect(refused).toEqual(await home.run(verb));
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("error: unknown command");
  }
  expect(await home.json(["help", "nosuch"])).toMatchObject({
    ok: false,
    error: { facts: { usage: "commander.unknownCommand" } },
  });
});

describe("what is not here", () => {
  test("where no folder is mounted, it is said how to mean one that is", async () => {
    using home = temporaryHome();
    await home.run(["kernel", "new", "work"]);
    const { code, err } = await home.run(["search", "x"]);
    expect(code).toBe(2);
    expect(err).toContain("There is no kernel main in ");
    expect(err).toContain("Other folders' files are meant by their paths, or with --kernel: work.");
  });

  test("is looked for in the other kernels, main first, when a folder got one of its own", async () => {
    using home = temporaryHome();
    const folder = join(home.folder.path, "work");
    mkdirSync(folder);
    const run = (...args: string[]) => home.run(args, { folder });
    await run("context", "new", "talk");
    await run("block", "create", "user", "text", "--context", "talk", "--content", "a pelican\n");
    await run("kernel", "new", "own");
    await run("mount", ".", "--kernel", "own");
    const list = await run("context", "list");
    expect(list.out).toContain("No contexts yet in own");
    expect(list.out).toContain("main has some: --kernel main");
    expect(await home.json(["context", "list"], { folder })).toMatchObject({ elsewhere: "main" });
    for (const args of [
      ["block", "read", "talk~ann~1"],
      ["history", "talk~ann~1"],
      ["context", "show", "talk"],
      ["block", "list", "--context", "talk"],
    ]) {
      const refused = await run(...args);
      expect([args, refused.err]).toEqual([
        args,
        expect.stringContaining("main has it: --kernel main"),
      ]);
      expect(refused.err).not.toContain("context new");
    }
    const found = await run("search", "pelican");
    expect(found).toMatchObject({ code: 1, out: "nothing found\nmain has it: --kernel main\n" });
    expect((await run("search", "flamingo")).out).toBe("nothing found\n");
    expect(await run("search", "pelican", "--kernel", "main")).toMatchObject({ code: 0 });
    const none = await home.run(["search", "flamingo", "--json"], { folder });
    expect([none.code, JSON.parse(none.out)]).toEqual([1, expect.objectContaining({ ok: true })]);
    // Nowhere at all: what comes near, and where to look.
    const near = await run("block", "read", "talk~ann~2", "--kernel", "main");
    expect(near.err).toContain("Did you mean talk~ann~1? `kumiko block list --context talk`");
    const wrong = await run("block", "read", "tlk~ann~1", "--kernel", "main");
    expect(wrong.err).toContain("`kumiko context list` says what there is.");
    const help = (await run("search", "--help")).out;
    expect(help).not.toMatch(/files by\s+default/);
    expect(help).toMatch(/exit code is 1 when\s+nothing is found/);
  });
});

test("the log says what is wrong in kumiko.toml, and not where our parser stood", async () => {
  using home = temporaryHome();
  const folder = join(home.folder.path, "project");
  mkdirSync(folder);
  writeFileSync(join(folder, "kumiko.toml"), "[[rule]\n");
  const lines: string[] = [];
  const log = await openLog({
    level: "warn",
    readable: true,
    write: (line) => void lines.push(line),
  });
  const place = home.environment["KUMIKO_HOME"]!;
  await using _ = await startServer({ home: place, folder, mount: true, log });
  const said = lines.filter((line) => line.includes("trouble with a folder"));
  expect(said).toEqual([expect.stringMatching(/^[^\n]*kumiko\.toml line 1, column 8[^\n]*\n$/)]);
});
