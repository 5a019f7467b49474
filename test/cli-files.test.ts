import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { type RunningServer, startServer } from "../src/app/server.ts";
import { KumikoError } from "../src/base/index.ts";
import { connect } from "../src/client/index.ts";
import { Disk } from "../src/files/disk.ts";
import { type Home, temporaryHome } from "./support/kumiko.ts";
import { asOrdinaryUser } from "./support/ordinary-user.ts";

const THREE = "one\ntwo\nthree\n";

/** A project with a source folder and the command over it, with a server or without. */
class Project implements AsyncDisposable {
  readonly home: Home;
  readonly folder: string;
  readonly src: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(owned: AsyncDisposableStack, home: Home, folder: string) {
    this.#owned = owned;
    this.home = home;
    this.folder = folder;
    this.src = join(folder, "src");
  }

  static async make(way: Way): Promise<Project> {
    await using making = new AsyncDisposableStack();
    const home = making.use(temporaryHome());
    const folder = join(home.folder.path, "project");
    const project = new Project(making, home, folder);
    project.write("src/main.ts", THREE);
    project.write("README.md", "# Project\n");
    project.write(".env", "TOKEN=1\n");
    project.write(".gitignore", "build/\n*.log\n");
    project.write("a.log", "log\n");
    project.write("build/out.js", "out\n");
    if (way === "server") await project.serve(making);
    return new Project(making.move(), home, folder);
  }

  get place(): string {
    return this.home.environment["KUMIKO_HOME"]!;
  }

  async serve(owned = this.#owned): Promise<RunningServer> {
    return owned.use(await startServer({ home: this.place, actor: "ann" }));
  }

  path(path: string): string {
    return join(this.folder, path);
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.path(path), ".."), { recursive: true });
    writeFileSync(this.path(path), text);
  }

  read(path: string): string {
    return readFileSync(this.path(path), "utf8");
  }

  run(args: readonly string[], folder = this.folder, environment: Environment = {}) {
    return this.home.run(args, { folder, environment });
  }

  json(args: readonly string[], folder = this.folder, environment: Environment = {}) {
    return this.home.json(args, { folder, environment });
  }

  async fine(args: readonly string[], folder = this.folder): Promise<string> {
    const { code, out, err } = await this.run(args, folder);
    expect({ args, code, err }).toEqual({ args, code: 0, err: "" });
    return out;
  }

  /** An editor that is a program: a shell script which is given the file. */
  editor(name: string, script: string): Environment {
    const file = this.home.folder.write(name, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return { VISUAL: file };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

type Environment = { readonly [name: string]: string };
type Way = "server" | "process";
const ways: readonly Way[] = ["server", "process"];

const replace = (path: string, old: string, by: string, actor = "claude"): string[] => [
  "block",
  "replace",
  path,
  "--old",
  old,
  "--new",
  by,
  "--actor",
  actor,
];

describe.each(ways)("files by the command line (%s)", (way) => {
  test("a folder is mounted, listed, and let go", async () => {
    await using project = await Project.make(way);
    const mounted = await project.json(["mount", "."]);
    const { folder } = project;
    expect(mounted).toMatchObject({ ok: true, kernel: "main", mount: "project", folder, files: 0 });
    // Again is the same.
    expect(await project.json(["mount", "."])).toEqual(mounted);
    await project.fine(["cat", "src/main.ts"]);
    expect(await project.json(["mounts"])).toMatchObject({
      mounts: [{ mount: "project", folder, files: 1, conflicts: 0, manual: false }],
    });
    const paths = async (args: string[], at = folder): Promise<unknown[]> =>
      ((await project.json(["ls", ...args], at))["files"] as { path: string }[]).map(
        ({ path }) => path,
      );
    expect(await paths([])).toEqual([".env", ".gitignore", "README.md", "src/main.ts"]);
    expect(await paths(["--ignored"])).toContain("a.log");
    expect(await paths([], project.src)).toEqual(["main.ts"]);
    expect(await paths(["*.ts"])).toEqual(["src/main.ts"]);
    expect(await paths(["*.ts"], project.src)).toEqual(["main.ts"]);
    expect(await paths(["src"])).toEqual(["src/main.ts"]);
    expect(await paths([".."], project.src)).toEqual([
      join(folder, ".env"),
      join(folder, ".gitignore"),
      join(folder, "README.md"),
      "main.ts",
    ]);
    expect(await project.fine(["ls"])).toBe(
      "secret               8 B  .env\n" +
        "read_write          13 B  .gitignore\n" +
        "read_write          10 B  README.md\n" +
        "read_write  synced  14 B  src/main.ts\n",
    );
    const other = project.home.folder.path;
    expect(await project.home.json(["unmount", "project"])).toMatchObject({ folder });
    expect(await project.json(["mounts"])).toMatchObject({ mounts: [] });
    const gone = await project.json(["ls"], other);
    expect(gone).toMatchObject({ ok: false, error: { code: "not_on_disk" } });
    await project.fine(["mount", folder]);
    expect(await project.fine(["history", "src/main.ts"])).toContain("disk");
  });

  test("ls says what it cannot look into", async () => {
    await asOrdinaryUser(async () => {
      await using project = await Project.make(way);
      project.write("closed/deep/in.txt", "in\n");
      await project.fine(["mount", "."]);
      chmodSync(project.path("closed"), 0o000);
      try {
        const run = await project.run(["ls"]);
        expect(run).toMatchObject({ code: 0, out: expect.stringContaining("README.md") });
        expect(run.err).toBe("not listed, because it cannot be looked into: closed (EACCES)\n");
        expect(await project.json(["ls", "*.css"])).toMatchObject({
          files: [],
          unlisted: [{ path: "closed", reason: "EACCES" }],
        });
        expect(await project.fine(["ls", "src"])).toContain("src/main.ts");
        for (const given of ["closed", "closed/", "./closed/deep", "closed/deep/in.txt"]) {
          const { code, out, err } = await project.run(["ls", "README.md", given]);
          expect({ code, out }).toEqual({ code: 2, out: "" });
          expect(err).toContain(`${given} cannot be looked into (EACCES)`);
        }
      } finally {
        chmodSync(project.path("closed"), 0o755);
      }
    });
  });

  test("ls lists all that is named, in that order and each file once", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    const { folder } = project;
    const own = { mount: "project", folder };
    const list = async (...args: string[]) => {
      const { files, ...rest } = await project.json(["ls", ...args]);
      return { paths: (files as { path: string }[]).map(({ path }) => path), ...rest };
    };
    expect(await list("src/main.ts", "README.md", "src", "*.md", "./README.md")).toEqual({
      ok: true,
      ...own,
      mounts: [own],
      paths: ["src/main.ts", "README.md"],
    });
    expect(await project.fine(["ls", "src/main.ts", "README.md"])).toBe(
      "read_write    14 B  src/main.ts\nread_write    10 B  README.md\n",
    );
    // One that is not there is told before anything is listed.
    for (const args of [
      ["README.md", "src/man.ts"],
      ["src/man.ts", "README.md"],
    ])
      expect(await project.run(["ls", ...args])).toEqual({
        code: 2,
        out: "",
        err: "kumiko: There is nothing called src/man.ts. Did you mean src/main.ts?\n",
      });
    expect(await project.run(["ls", "*.css"])).toEqual({
      code: 0,
      out: "",
      err: "no such files\n",
    });
    expect(await project.run(["ls", "*.css", "README.md"])).toEqual({
      code: 0,
      out: "read_write    10 B  README.md\n",
      err: "no such files: *.css\n",
    });
    const notes = { mount: "notes", folder: project.path("../notes") };
    project.write("../notes/a.md", "a\n");
    await project.fine(["mount", notes.folder]);
    expect(await list("@notes", "README.md")).toEqual({
      ok: true,
      mounts: [notes, own],
      paths: [join(notes.folder, "a.md"), "README.md"],
    });
  });

  test("an export has the files too, also those that are gone from disk", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    await project.fine(["context", "new", "talk"]);
    await project.fine(["block", "create", "user", "text", "--context", "talk", "--content", "hi"]);
    await project.fine(["cat", "src/main.ts"]);
    await project.fine(replace("README.md", "Project", "Programme"));
    await project.fine(["file", "delete", "src/main.ts"]);
    const out = project.path("../out");
    expect(await project.json(["export", out])).toMatchObject({ ok: true, blocks: 3 });
    const index = JSON.parse(project.read("../out/index.json")) as {
      files: string[];
      contexts: { context: string; blocks: { file: string; metadata: { path?: string } }[] }[];
    };
    expect(index.contexts.map(({ context }) => context)).toEqual(["talk", "@project"]);
    const files = index.contexts[1]!.blocks.map(({ file, metadata }) => [
      metadata.path,
      project.read(`../out/${file}`),
    ]);
    expect(Object.fromEntries(files)).toEqual({
      "README.md": "# Programme\n",
      "src/main.ts": THREE,
    });
    const one = project.path("../one");
    expect(await project.json(["export", one, "--context", "@project"])).toMatchObject({
      blocks: 2,
    });
    const none = await project.run(["export", project.path("../none"), "--context", "@notes"]);
    expect(none.code).toBe(2);
    expect(none.err).toContain("There is no folder @notes; there are: @project.");
    expect(none.err).not.toContain("context new");
    // Nobody knows the rules of a folder that is not mounted: it is said what is missing.
    await project.fine(["unmount", "."]);
    const away = await project.run(["export", project.path("../away")], project.home.folder.path);
    expect(away.code).toBe(1);
    expect(away.err.match(/was left out: .*not mounted now/g)).toHaveLength(2);
  });

  test("a patch says which files it deletes and moves, and undoing it what became of them", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    const patch = project.home.folder.write(
      "patch",
      "diff --git a/src/main.ts b/src/kernel.ts\nrename from src/main.ts\nrename to src/kernel.ts\n" +
        "--- a/README.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# Project\n",
    );
    const apply = ["block", "apply-patch", "--patch", `@${patch}`];
    expect(await project.fine([...apply, "--dry-run"])).toMatch(
      /^src\/main\.ts can be patched and moved to src\/kernel\.ts\nREADME\.md can be patched and deleted\n/,
    );
    expect(await project.fine(apply)).toMatch(
      /is now version 2 and was moved to src\/kernel\.ts\nREADME\.md is now version 2 and was deleted;/,
    );
    expect([existsSync(project.path("README.md")), project.read("src/kernel.ts")]).toEqual([
      false,
      THREE,
    ]);
    expect(await project.fine(["history", "src/kernel.ts"])).toContain(
      "moves src/main.ts to src/kernel.ts",
    );
    const undone = await project.fine(["undo", "src/kernel.ts"]);
    expect(undone).toContain("src/main.ts is now version 3\n  the file was moved back\n");
    expect(undone).toContain("README.md is now version 3\n  the file is back\n");
    expect([project.read("README.md"), project.read("src/main.ts")]).toEqual([
      "# Project\n",
      THREE,
    ]);
    // What is printed of an Edit names it.
    const [edit] = /e\S+-patches/.exec(undone)!;
    expect(await project.fine(["redo", edit])).toContain("the file was moved again");
    expect(await project.fine(["undo", edit])).toContain("the file was moved back");
  });

  test("paths are meant from where one stands, and shown from there", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    const { src } = project;
    expect(await project.fine(replace("main.ts", "two", "TWO"), src)).toMatch(
      /^main\.ts is now version 2/,
    );
    expect(project.read("src/main.ts")).toBe("one\nTWO\nthree\n");
    expect(await project.fine(["blame", "main.ts"], src)).toMatch(/2 claude .*\| TWO/);
    expect(await project.fine(["blame", "src/main.ts"])).toContain("claude");
    expect(await project.fine(["blame", "../src/main.ts"], src)).toContain("claude");
    expect(await project.fine(["blame", "@project/src/main.ts"], src)).toContain("claude");
    expect(await project.fine(["search", "TWO"], src)).toMatch(/^main\.ts {2}version 2/);
    expect(await project.fine(["search", "main.ts", "TWO"], src)).toMatch(/2: TWO/);
    expect(await project.fine(["cat", "main.ts", "--version", "1"], src)).toBe(THREE);
    const diff = await project.run(["diff", "main.ts", "1"], src);
    expect(diff).toMatchObject({ code: 1, err: "" });
    expect(diff.out).toContain("-two\n+TWO");
    await project.fine(replace("main.ts", "one", "ONE", "ann"), src);
    expect(await project.fine(["undo", "main.ts", "--of-actor", "claude"], src)).toMatch(
      /^undid \S+ of claude/,
    );
    expect(project.read("src/main.ts")).toBe("ONE\ntwo\nthree\n");
    const none = await project.json(["undo", "main.ts", "--of-actor", "claude"], src);
    expect(none).toMatchObject({ error: { code: "nothing_to_undo", facts: { path: "main.ts" } } });
    await project.fine(["rollback", "main.ts", "1"], src);
    expect(project.read("src/main.ts")).toBe(THREE);
    for (const outside of ["../../elsewhere", "/etc/passwd"]) {
      const { error } = await project.json(["cat", outside], src);
      expect(error).toMatchObject({ code: "outside" });
    }
  });

  test("whoever stands in a folder that another kernel has means that kernel", async () => {
    await using project = await Project.make(way);
    await project.fine(["kernel", "new", "work"]);
    await project.fine(["mount", ".", "--kernel", "work", "--name", "code"]);
    expect(await project.fine(["cat", "main.ts"], project.src)).toBe(THREE);
    expect(await project.json(["mounts"], project.src)).toMatchObject({
      kernel: "work",
      mounts: [{ mount: "code" }],
    });
    await project.fine(["unmount", ".", "--kernel", "work"]);
    expect(await project.json(["mounts"], project.src)).toMatchObject({
      error: { code: "unknown_kernel" },
    });
  });

  test("a path means its own folder's kernel, wherever one stands", async () => {
    await using project = await Project.make(way);
    project.write("../other/o.txt", "o\n");
    await project.fine(["kernel", "new", "work"]);
    await project.fine(["mount", ".", "--kernel", "work"]);
    const other = project.path("../other");
    const outside = project.path("..");
    await project.fine(["mount", "."], other);
    symlinkSync(project.folder, project.path("../link"));
    for (const [here, file] of [
      [outside, "project/src/main.ts"],
      [other, "../project/src/main.ts"],
      [other, project.path("src/main.ts")],
      [outside, "link/src/main.ts"],
    ] as const) {
      const fine = (...args: string[]) => project.fine(args, here);
      expect(await fine("cat", file)).toBe(THREE);
      expect(await fine("status", file)).toMatch(/^synced/);
      expect(await fine("diff", file)).toBe("");
      expect(await fine("diff", file, "1")).toBe("");
      expect(await fine("conflicts", file)).toBe("Nothing is in conflict.\n");
      expect(await fine("rules", "test", file)).toContain("is read_write in @project");
      expect(await fine("ls", file)).toMatch(/^read_write\s+synced.*main\.ts$/m);
      expect(await fine("search", file, "two")).toContain("2: two");
      await fine(...replace(file, "two", "TWO", "ann"));
      expect(await fine("blame", file)).toMatch(/2 ann .*\| TWO/);
      const environment = project.editor("shout", 'sed -i s/one/ONE/ "$1"');
      expect(await project.run(["edit", file], here, environment)).toMatchObject({ code: 0 });
      expect(project.read("src/main.ts")).toBe("ONE\nTWO\nthree\n");
      expect(await fine("undo", file)).toMatch(/^undid /);
      await fine("rollback", file, "1");
      expect(project.read("src/main.ts")).toBe(THREE);
    }
    // One that is not there is missed in its own folder, and one of no folder where one stands.
    expect((await project.run(["cat", "../project/src/mian.ts"], other)).err).toContain(
      "Did you mean src/main.ts?",
    );
    const nowhere = await project.json(["cat", "../none.txt"], other);
    expect(nowhere).toMatchObject({ error: { code: "outside" } });
    // Who names a kernel means it.
    const named = await project.json(["cat", "../project/src/main.ts", "--kernel", "main"], other);
    expect(named).toMatchObject({ error: { code: "outside" } });
  });

  test("rules of the command line go first, stay, and are explained", async () => {
    await using project = await Project.make(way);
    project.write("kumiko.toml", '[[rule]]\npath = "src/**"\nlevel = "append"\n');
    await project.fine(["mount", ".", "--rule", "README.md=read_only", "--manual-save"]);
    const readme = await project.json(["rules", "test", "README.md"]);
    expect(readme).toMatchObject({ level: "read_only", path: "README.md", mount: "project" });
    const looked = readme["looked"] as object[];
    expect(looked).toEqual([
      { pattern: "README.md", from: "flag", level: "read_only", matched: true },
    ]);
    expect(await project.fine(["rules", "test", "main.ts"], project.src)).toMatch(
      /^main\.ts is append in @project, by "src\/\*\*" \(kumiko\.toml line 2\)/,
    );
    const denied = await project.json(replace("README.md", "Project", "P", "ann"));
    expect(denied).toMatchObject({ error: { code: "denied" } });
    // What is not said again stays.
    const held = { manual: true, rules: ["README.md=read_only"] };
    expect(await project.json(["mount", "."])).toMatchObject(held);
    await project.fine(["unmount", "."]);
    expect(await project.json(["mount", "."])).toMatchObject(held);
    const again = await project.fine(["mount", "."]);
    expect(again).toContain("files are saved when you say so");
    expect(again).toContain("--rule README.md=read_only\n");
    expect(await project.fine(["mounts"])).toMatch(
      /saved by hand\n {2}--rule README\.md=read_only\n/,
    );
    // Another rule takes the place of the first.
    await project.fine(["mount", ".", "--rule", "README.md=admin", "--no-manual-save"]);
    await project.fine(replace("README.md", "Project", "P", "ann"));
    expect(project.read("README.md")).toBe("# P\n");
    const none = await project.json(["mount", ".", "--without-rules"]);
    expect(none).toMatchObject({ manual: false, rules: [] });
    await project.fine(["mount", ".", "--rule", "README.md=admin"]);
    const wrong = await project.json(["mount", ".", "--rule", "README.md=reed_only"]);
    expect(wrong).toMatchObject({ error: { code: "invalid_argument" } });
    expect(await project.json(["rules", "test", "README.md"])).toMatchObject({ level: "admin" });
    for (const place of [".", "src"])
      expect(await project.fine(["rules", "check", place])).toMatch(/^kumiko\.toml is fine/);
    expect(await project.fine(["rules", "check"], project.src)).toContain(
      `${project.path("kumiko.toml")} is fine`,
    );
    project.write("kumiko.toml", '[[rule]]\npath = "src/**"\nlevel = "apend"\n');
    const { code, err } = await project.run(["rules", "check"]);
    expect(code).toBe(2);
    expect(err).toMatch(/kumiko\.toml.*line 3.*column 9/s);
  });

  test("a rule of the command line says what asks whatever its level, and that is explained", async () => {
    await using project = await Project.make(way);
    const flag = "src/**=read_write!change,delete";
    const wrong = await project.run(["mount", ".", "--rule", "src/**=read_write!chang"]);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('Did you mean "change"?');
    await project.fine(["mount", ".", "--rule", flag]);
    expect(await project.fine(["mounts"])).toContain(`--rule '${flag}'\n`);
    expect(await project.json(["rules", "test", "src/main.ts"])).toMatchObject({
      level: "read_write",
      looked: [{ pattern: "src/**", from: "flag", escalate: ["change", "delete"], matched: true }],
    });
    const told = await project.fine(["rules", "test", "src/main.ts"]);
    expect(told).toContain("> src/**  read_write!change,delete  flag\n");
    expect(told).toMatch(/append +allow +allow\n/);
    expect(told).toMatch(/change +ask +allow\n/);
    expect(told).toContain('"src/**" is read_write and escalates it (flag)');
    for (const verb of ["mount", "serve"])
      expect(await project.fine([verb, "--help"])).toMatch(/'src\/\*\*=read_write!delete'/);
  });

  test("a rule for everything opens nothing that is protected, and that is told", async () => {
    await using project = await Project.make(way);
    project.write("kumiko.toml", '[[rule]]\npath = "**"\nlevel = "admin"\n');
    await project.fine(["mount", "."]);
    const env = await project.fine(["rules", "test", ".env"]);
    expect(env).toMatch(/^\.env is secret in @project, by "\.env\*" \(built in\)/);
    expect(env).toContain(
      '".env*" is secret (built in); "**" (kumiko.toml line 2) does not have .env in its path: it is passed over',
    );
    expect(await project.json(["rules", "test", ".env"])).toMatchObject({
      level: "secret",
      looked: [{ pattern: "**", matched: true }],
      protections: [{ pattern: ".env*", word: ".env", named: false }],
    });
    expect(await project.fine(["rules", "check"])).toMatch(
      /warning .*line 2, "\*\*": It also matches what is protected/,
    );
    expect(await project.json(["rules", "check"])).toMatchObject({
      warnings: [{ pattern: "**", from: expect.stringContaining("line 2") }],
    });
  });

  test("a secret with another name is found by checking the rules", async () => {
    await using project = await Project.make(way);
    project.write("kumiko.toml", '[[rule]]\npath = "keys/**"\nlevel = "secret"\n');
    project.write(".gitignore", ".env\nout/\n");
    project.write(".env", "TOKEN=1\n");
    project.write("keys/a", "a\n");
    project.write("keys/alone", "alone\n");
    project.write("out/x", "x\n");
    const none = await project.json(["rules", "check"]);
    expect(none).toMatchObject({ ok: true, links: [] });
    for (const [from, to] of [
      [".env", "src/settings.txt"],
      ["keys/a", "keys/b"],
      ["keys/alone", "out/copy"],
      ["README.md", "src/readme.md"],
    ] as const)
      linkSync(project.path(from), project.path(to));
    symlinkSync("../keys/a", project.path("src/link"));
    const { links } = await project.json(["rules", "check"], project.src);
    expect(links).toMatchObject([
      { path: ".env", names: [{ path: "src/settings.txt", level: "read_write" }], elsewhere: 0 },
      { path: "keys/alone", names: [], elsewhere: 1 },
    ]);
    const told = await project.fine(["rules", "check"]);
    expect(told).toContain(
      'warning ".env" is secret, and the same file as "src/settings.txt" (read_write): rules are by path,',
    );
    expect(told).toMatch(/warning "keys\/alone" is secret and has 1 more name/);
    expect(told).not.toContain("keys/b");
    // Without a file the built-in rules hold for what is below.
    rmSync(project.path("kumiko.toml"));
    expect((await project.json(["rules", "check"]))["links"]).toMatchObject([{ path: ".env" }]);
  });

  test("saved by hand, a file and its block differ until somebody saves", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", ".", "--manual-save"]);
    await project.fine(replace("src/main.ts", "two", "TWO"));
    expect(project.read("src/main.ts")).toBe(THREE);
    const { code, out } = await project.run(["diff", "main.ts"], project.src);
    expect(code).toBe(1);
    expect(out).toContain("status: block_ahead");
    expect(out).toContain("-two\n+TWO");
    expect(await project.json(["mounts"])).toMatchObject({ mounts: [{ unsaved: 1 }] });
    await project.fine(["file", "save", "main.ts"], project.src);
    expect(project.read("src/main.ts")).toBe("one\nTWO\nthree\n");
    expect(await project.run(["diff", "src/main.ts"])).toMatchObject({ code: 0, out: "" });
  });

  test("of a folder it is said how the files below it stand", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", ".", "--manual-save"]);
    project.write("src/deep/low.ts", THREE);
    expect(await project.fine(["status", "src"])).toBe("no file there has a block yet\n");
    for (const path of ["README.md", "src/deep/low.ts"]) await project.fine(["cat", path]);
    await project.fine(replace("src/main.ts", "two", "BLOCK"));
    project.write("src/main.ts", "one\nDISK\nthree\n");
    await project.fine(["file", "load", "src/main.ts"]);
    const paths = async (args: readonly string[], folder?: string) => {
      const { files, conflicts } = (await project.json(args, folder)) as {
        readonly [list: string]: { readonly path: string }[] | undefined;
      };
      return [files, conflicts].map((list) => list?.map(({ path }) => path));
    };
    const below = ["src/deep/low.ts", "src/main.ts"];
    expect(await paths(["status", "src"])).toEqual([below, ["src/main.ts"]]);
    expect(await paths(["status", "."])).toEqual([["README.md", ...below], ["src/main.ts"]]);
    expect(await paths(["status", "deep"], project.src)).toEqual([["src/deep/low.ts"], []]);
    expect((await project.fine(["status", "."], project.src)).split("\n").slice(0, 2)).toEqual([
      expect.stringMatching(/^synced +deep\/low\.ts/),
      expect.stringMatching(/^conflict +main\.ts/),
    ]);
    expect(await paths(["conflicts", "."], project.src)).toEqual([undefined, ["main.ts"]]);
    expect(await paths(["conflicts", "src"])).toEqual([undefined, ["src/main.ts"]]);
    expect(await project.fine(["conflicts", "src/deep"])).toBe("Nothing is in conflict.\n");
  });

  test("a slash at the end of a path says that it is no file", async () => {
    await using project = await Project.make("process");
    await project.fine(["mount", "."]);
    for (const made of [
      ["file", "create", "new/"],
      ["file", "move", "README.md", "new/"],
    ]) {
      const { code, err } = await project.run(made);
      expect([code, err]).toEqual([
        expect.any(Number),
        expect.stringContaining("leave the slash out"),
      ]);
    }
    expect(existsSync(project.path("new"))).toBe(false);
    expect(await project.fine(["status", "src/"])).toContain("no file there has a block yet");
  });

  test("a conflict shows both sides and is resolved", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", ".", "--manual-save"]);
    expect(await project.fine(["conflicts"])).toBe("Nothing is in conflict.\n");
    for (const [choice, text] of [
      [["memory"], "one\nBLOCK\nthree\n"],
      [["disk"], "one\nDISK\nthree\n"],
      [["both"], "one\nDISK\nBLOCK\nthree\n"],
      [["--text", "lines"], "one\nOWN\nthree\n"],
    ] as const) {
      project.write("lines", "OWN\n");
      project.write("src/main.ts", THREE);
      await project.fine(["cat", "src/main.ts"]);
      await project.fine(replace("src/main.ts", "two", "BLOCK"));
      project.write("src/main.ts", "one\nDISK\nthree\n");
      await project.fine(["file", "load", "src/main.ts"]);
      const { code, out } = await project.run(["conflicts", "main.ts"], project.src);
      expect(code).toBe(1);
      const [, conflict] = /^(c\d+) {2}main\.ts/.exec(out)!;
      expect(out).toContain("  disk\n     2 | DISK");
      expect(out).toContain("  memory (claude)\n     2 | BLOCK");
      expect(await project.json(["mounts"])).toMatchObject({ mounts: [{ conflicts: 1 }] });
      const told = await project.fine(["resolve", conflict!, ...choice]);
      const stands = text.split("\n").slice(1, -2);
      expect(told).toContain(`:\n${stands.map((line) => `         | ${line}\n`).join("")}`);
      expect(await project.fine(["cat", "src/main.ts"])).toBe(text);
      await project.fine(["file", "save", "src/main.ts"]);
      expect(project.read("src/main.ts")).toBe(text);
    }
    const wrong = await project.json(["resolve", "c1", "theirs"]);
    expect(wrong).toMatchObject({ error: { code: "invalid_argument" } });
    const choices = expect.stringMatching(/disk, memory .*, mine .* or both; .* now; .*--text/);
    for (const [args, said] of [
      [["theirs"], '"theirs" is no choice. Say whose'],
      [["theirs", "--text", "x"], '"theirs" is no choice. Say whose'],
      [["mine", "--text", "x"], "mine and --text are two choices. Say whose"],
      [[], "kumiko: Say whose"],
    ] as const) {
      const { code, err } = await project.run(["resolve", "c1", ...args]);
      expect([code, err]).toEqual([2, choices]);
      expect(err).toContain(said);
    }
    for (const word of ["memory", "mine"]) {
      const gone = await project.json(["resolve", "c1", word]);
      expect(gone).toMatchObject({ error: { code: "unknown_conflict" } });
      expect(await project.run(["resolve", "c1", word])).toMatchObject({ code: 2 });
    }
  });

  test("a conflict whose lines were changed since says what is lost, and what closes it", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", ".", "--manual-save"]);
    await project.fine(["cat", "src/main.ts"]);
    await project.fine(replace("src/main.ts", "two", "BLOCK"));
    project.write("src/main.ts", "one\nDISK\nthree\n");
    await project.fine(["file", "load", "src/main.ts"]);
    await project.fine(replace("src/main.ts", "DISK", "BETTER"));
    const { code, err } = await project.run(["resolve", "c1", "memory"]);
    expect(code).toBe(1);
    expect(err).toContain("what does not stand there\n         | BLOCK\n");
    const [, command] = /: kumiko (resolve c1 now)\n/.exec(err)!;
    await project.fine(command!.split(" "));
    expect(await project.fine(["cat", "src/main.ts"])).toBe("one\nBETTER\nthree\n");
  });

  test("what is saved in an editor is the person's, and merged with what others wrote", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    const sed = project.editor("sed", `sed -i 's/three/THREE/' "$1"`);
    const edited = await project.run(["edit", "main.ts"], project.src, sed);
    expect(edited).toMatchObject({ code: 0, err: "" });
    expect(edited.out).toMatch(/^main\.ts is now version 2: yours\n/);
    expect(await project.fine(["blame", "src/main.ts"])).toMatch(/3 ann .*\| THREE/);

    const same = await project.run(["edit", "main.ts"], project.src, { EDITOR: "true" });
    expect(same.out).toBe("main.ts is as it was\n");

    const fresh = project.editor("fresh", `printf 'new\\n' > "$1"`);
    await project.run(["edit", "new.ts"], project.src, fresh);
    expect(await project.fine(["cat", "src/new.ts"])).toBe("new\n");
    expect(await project.fine(["blame", "src/new.ts"])).toMatch(/1 ann .*\| new/);

    const broken = await project.run(["edit", "main.ts"], project.src, { EDITOR: "false" });
    expect(broken).toMatchObject({ code: 2, out: "main.ts is as it was\n" });
    expect(broken.err).toContain("the editor (false) ended with 1; it saved nothing");
    const half = project.editor("half", `echo half >> "$1"; exit 1`);
    expect(await project.run(["edit", "half.ts"], project.src, half)).toMatchObject({
      code: 2,
      err: expect.stringContaining("ended with 1; what it saved is taken in"),
    });
    const unknown = { EDITOR: "nosucheditor" };
    const missing = await project.run(["edit", "main.ts"], project.src, unknown);
    expect(missing).toMatchObject({ code: 2 });
    expect(missing.err).toContain("the editor (nosucheditor) was not found");
    const none = await project.json(["edit", "main.ts"], project.src);
    expect(none).toMatchObject({ error: { code: "invalid_argument" } });
    const both = await project.json(["edit", "build/out.js"], project.folder);
    expect(both).toMatchObject({ error: { code: "denied" } });
    const marker = project.path("opened");
    const denied = await project.json(["edit", "build/out.js"], project.folder, {
      EDITOR: `touch ${marker} #`,
    });
    expect(denied).toMatchObject({ error: { code: "denied" } });
    const folder = await project.json(["edit", "src"], project.folder, {
      EDITOR: `touch ${marker} #`,
    });
    expect(folder).toMatchObject({ error: { message: expect.stringContaining("is a folder") } });
    expect(existsSync(marker)).toBe(false);
  });

  test("a person is told that the file was deleted while they edited it, and keeps the others' lines", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    const gone = `rm ${project.path("src/main.ts")}; sed -i 's/two/TWO/' "$1"`;
    const { out } = await project.run(["edit", "main.ts"], project.src, project.editor("a", gone));
    expect(out).toContain("main.ts had been deleted meanwhile: it is made again.\n");
    expect(project.read("src/main.ts")).toBe("one\nTWO\nthree\n");
    expect(await project.fine(["blame", "src/main.ts"])).toMatch(
      /1 disk .*\| one\n.*2 ann .*\| TWO\n.*3 disk .*\| three/,
    );
    const again = gone.replace("two/TWO", "TWO/2");
    const answer = await project.json(["edit", "main.ts"], project.src, project.editor("b", again));
    expect(answer).toMatchObject({ ok: true, remade: true });
  });

  test("an edit whose file could not be written is kept, and ends with 1", async () => {
    await asOrdinaryUser(async () => {
      await using project = await Project.make(way);
      await project.fine(["mount", "."]);
      chmodSync(project.path("src/main.ts"), 0o444);
      chmodSync(project.src, 0o555);
      const sed = project.editor("sed", `echo more >> "$1"`);
      try {
        for (const [args, environment] of [
          [replace("src/main.ts", "one", "ONE")],
          [replace("src/main.ts", "three", "THREE")],
          [["undo", "--of-actor", "claude"]],
          [["edit", "src/main.ts"], sed],
        ] as const) {
          const { code, out } = await project.run(args, project.folder, environment);
          expect([code, out]).toEqual([1, expect.stringContaining("is not on disk as it should")]);
        }
        const args = [...replace("src/main.ts", "two", "TWO"), "--json"];
        const { code, out } = await project.run(args);
        expect([code, JSON.parse(out)]).toMatchObject([1, { ok: true, unsaved: [{}] }]);
        // Who only reads changes nothing.
        expect(await project.fine(["cat", "src/main.ts"])).toBe("ONE\nTWO\nthree\nmore\n");
        expect(project.read("src/main.ts")).toBe(THREE);
      } finally {
        chmodSync(project.src, 0o755);
      }
    });
  });

  test("a conflict that is resolved and not written is told, and ends with 1", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    using _ = vi
      .spyOn(Disk.prototype, "save")
      .mockRejectedValue(new KumikoError("file_unwritable", "The disk is full.", {}));
    await project.run(replace("src/main.ts", "two", "TWO"));
    project.write("src/main.ts", THREE.replace("two", "zwei"));
    expect((await project.run(["conflicts", "src/main.ts"])).out).toMatch(/^c1 /);
    const { code, out } = await project.run(["resolve", "c1", "memory"]);
    expect(out).toMatch(/^c1 is resolved: .*\n(.*\n)*src\/main.ts is not on disk.*disk is full/);
    expect(code).toBe(1);
  });

  test("an edit of a file that is saved by hand waits as it was asked to, and ends with 0", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", ".", "--manual-save"]);
    await project.fine(replace("src/main.ts", "one", "ONE"));
    expect(project.read("src/main.ts")).toBe(THREE);
  });

  test("a person is told that what they saved in an editor is not on disk", async () => {
    await using project = await Project.make(way);
    await project.fine(["mount", "."]);
    using _ = vi
      .spyOn(Disk.prototype, "save")
      .mockRejectedValue(new KumikoError("file_unwritable", "The disk is full.", {}));
    const sed = project.editor("sed", `echo more >> "$1"`);
    const { out } = await project.run(["edit", "main.ts"], project.src, sed);
    expect(out).toContain("main.ts is not on disk as it should be: The disk is full.");
    expect(await project.json(["edit", "main.ts"], project.src, sed)).toMatchObject({
      unsaved: [{ why: "The disk is full." }],
    });
  });
});

describe("with a server", () => {
  /** An editor that has the file in its memory, and writes it back with another line when it is let go. */
  function stale(project: Project, ...saves: readonly (readonly [held: string, sed: string])[]) {
    const steps = saves.map(
      ([held, sed]) =>
        `touch ${held}; while [ -e ${held} ]; do sleep 0.02; done; ` +
        `buffer=$(printf '%s' "$buffer" | sed ${JSON.stringify(sed)}); printf '%s\\n' "$buffer" > "$1"`,
    );
    return project.editor("stale", [`buffer=$(cat "$1")`, ...steps].join("\n"));
  }

  async function appeared(path: string): Promise<void> {
    await expect.poll(() => existsSync(path), { timeout: 10_000 }).toBe(true);
  }

  test("an agent writes while the editor is open, and each keeps their lines", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", "."]);
    const held = join(project.home.folder.path, "held");
    const editor = stale(project, [held, "s/three/THREE/"]);
    const editing = project.run(["edit", "main.ts"], project.src, editor);
    await appeared(held);
    await project.fine(replace("src/main.ts", "one", "ONE"));
    rmSync(held);
    const { code, out, err } = await editing;
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/yours, merged with what claude wrote meanwhile/);
    expect(project.read("src/main.ts")).toBe("ONE\ntwo\nTHREE\n");
    const blame = await project.fine(["blame", "src/main.ts"]);
    expect(blame).toMatch(/1 claude .*\| ONE/);
    expect(blame).toMatch(/3 ann .*\| THREE/);
  });

  test("each save is merged when it is made, and undoes nothing of the one before it", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", "."]);
    const [first, second] = ["1", "2"].map((name) => join(project.home.folder.path, name));
    // What is saved first is changed by the person themselves in the second save; what the agent writes, never.
    const editor = stale(
      project,
      [first!, "s/three/drei/"],
      [second!, "s/drei/three/; s/two/zwei/"],
    );
    const editing = project.run(["edit", "main.ts"], project.src, editor);
    await appeared(first!);
    await project.fine(replace("src/main.ts", "one", "ONE"));
    rmSync(first!);
    const says = () => project.read("src/main.ts");
    await expect.poll(says, { timeout: 10_000 }).toBe("ONE\ntwo\ndrei\n");
    await appeared(second!);
    await project.fine(replace("src/main.ts", "ONE", "ONE!"));
    rmSync(second!);
    expect(await editing).toMatchObject({ code: 0, err: "" });
    expect(says()).toBe("ONE!\nzwei\nthree\n");
  });

  test("the same lines are a conflict that the person is shown, and the agent told", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", "."]);
    const held = join(project.home.folder.path, "held");
    const editor = stale(project, [held, "s/two/ANN/"]);
    const editing = project.run(["edit", "main.ts"], project.src, editor);
    await appeared(held);
    await project.fine(replace("src/main.ts", "two", "CLAUDE"));
    rmSync(held);
    const { code, out } = await editing;
    expect(code).toBe(1);
    expect(out).toMatch(/c1 {2}main\.ts/);
    expect(out).toContain("| CLAUDE");
    expect(out).toContain("| ANN");
    expect(project.read("src/main.ts")).toBe("one\nANN\nthree\n");
    const told = await project.json(["block", "read", "src/main.ts", "--actor", "claude"]);
    expect(told).toMatchObject({ conflicts: [{ theirs: "ann", mine: ["claude"] }] });
  });

  test("mine are the lines of whoever says so, on whichever side they are", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", "."]);
    const held = join(project.home.folder.path, "held");
    const editor = stale(project, [held, "s/two/ANN/"]);
    const editing = project.run(["edit", "main.ts"], project.src, editor);
    await appeared(held);
    await project.fine(replace("src/main.ts", "two", "CLAUDE"));
    rmSync(held);
    await editing;
    const text = () => project.read("src/main.ts").split("\n")[1];
    const message =
      "In c1 neither disk (ann) nor memory (claude) is known to be ben's: say which of them.";
    expect(await project.json(["resolve", "c1", "mine", "--actor", "ben"])).toMatchObject({
      error: { code: "invalid_argument", message, facts: { actor: "ben" } },
    });
    const mine = (actor: string) => project.fine(["resolve", "c1", "mine", "--actor", actor]);
    expect(await mine("claude")).toContain(
      "there stands now, by claude (you):\n         | CLAUDE\n",
    );
    expect(text()).toBe("CLAUDE");
    await project.fine(["undo", "--of-actor", "claude"]);
    expect(await mine("ann")).toContain("there stands now, by ann (you):\n         | ANN\n");
    expect(text()).toBe("ANN");
  });

  test("with folders saved by hand the editor has what is staged, and saves nothing", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", ".", "--manual-save"]);
    await project.fine(replace("src/main.ts", "one", "STAGED"));
    const editor = project.editor("sed", `sed -i 's/STAGED/STAGED!/' "$1"`);
    expect(await project.run(["edit", "main.ts"], project.src, editor)).toMatchObject({ code: 0 });
    expect(project.read("src/main.ts")).toBe(THREE);
    expect(await project.fine(["cat", "src/main.ts"])).toBe("STAGED!\ntwo\nthree\n");
  });

  test("what cannot be taken in stays where the editor wrote it, and the person is told where", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", "."]);
    const binary = project.editor("nul", `printf 'a\\0b' > "$1"`);
    const { code, err } = await project.run(["edit", "main.ts"], project.src, binary);
    expect(code).toBe(2);
    const [, kept] = /what you wrote is kept in (\S+)/.exec(err)!;
    expect(readFileSync(kept!, "utf8")).toBe("a\0b");
    rmSync(join(kept!, ".."), { recursive: true });
    expect(project.read("src/main.ts")).toBe(THREE);
    // Otherwise nothing is left behind.
    const seen = join(project.home.folder.path, "seen");
    const fine = project.editor("fine", `printf '%s' "$1" > ${seen}; echo more >> "$1"`);
    await project.run(["edit", "main.ts"], project.src, fine);
    expect(existsSync(readFileSync(seen, "utf8"))).toBe(false);
    // A file that somebody takes away meanwhile comes back with what the person made of it.
    const gone = project.editor("gone", `rm ${project.path("src/main.ts")}; echo new > "$1"`);
    expect(await project.run(["edit", "main.ts"], project.src, gone)).toMatchObject({ code: 0 });
    expect(project.read("src/main.ts")).toBe("new\n");
    // One that was gone before stays away when the person changes nothing.
    rmSync(project.path("src/main.ts"));
    const away = await project.run(["edit", "main.ts"], project.src, { EDITOR: "true" });
    expect(away).toMatchObject({ code: 0, out: "main.ts is as it was\n" });
    expect(existsSync(project.path("src/main.ts"))).toBe(false);
    const none = await project.run(["edit", "none.ts"], project.src, { EDITOR: "true" });
    expect(none).toMatchObject({ code: 0, out: "none.ts was not written\n" });
    expect(existsSync(project.path("src/none.ts"))).toBe(false);
  });

  test("status tells of folders and their conflicts", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", "."]);
    await project.fine(["cat", "src/main.ts"]);
    const status = await project.fine(["status"]);
    expect(status).toContain(`  @project  ${project.folder}  1 block`);
    expect(await project.json(["status"])).toMatchObject({
      kernels: [{ kernel: "main", mounts: [{ mount: "project", conflicts: 0 }] }],
    });
  });

  test("status tells of them without a server as well, and of kernels that have none", async () => {
    await using project = await Project.make("process");
    await project.fine(["mount", "."]);
    await project.fine(["cat", "src/main.ts"]);
    await project.fine(["kernel", "new", "other"]);
    const { code, out, err } = await project.run(["status"]);
    expect({ code, err }).toEqual({ code: 1, err: "" });
    expect(out).toContain("No server runs");
    expect(out).toContain(`  @project  ${project.folder}  1 block`);
    expect(out).toMatch(/^other +.*not open$/m);
    expect(await project.json(["status"])).toMatchObject({
      running: false,
      kernels: [
        { kernel: "main", mounts: [{ mount: "project", files: 1, conflicts: 0 }] },
        { kernel: "other", folder: null, mounts: [] },
      ],
    });
  });

  test("folders are chosen by persons, whatever an agent's token says", async () => {
    await using project = await Project.make("server");
    await project.fine(["mount", "."]);
    const made = await project.json([
      "token",
      "new",
      "--for",
      "claude",
      "--kind",
      "agent",
      "--scopes",
      "read,write,admin",
    ]);
    const status = await project.json(["status"]);
    const url = String(status["url"]);
    await using client = connect({ url, token: String(made["token"]) });
    const kernel = client.kernel("main");
    const refused = { code: "forbidden" };
    await expect(kernel.mounts()).rejects.toMatchObject(refused);
    await expect(kernel.mount({ folder: project.folder })).rejects.toMatchObject(refused);
    await expect(kernel.unmount({ mount: "project" })).rejects.toMatchObject(refused);
    const explained = await kernel.explainRules({ path: "src/main.ts" });
    expect(explained).toMatchObject({ level: "read_write", folder: project.folder });
  });
});

describe("which folders can be mounted", () => {
  test("no file is in two of them", async () => {
    await using project = await Project.make("process");
    await project.fine(["mount", "src"]);
    for (const folder of [".", "src/../src"]) {
      const { error } = await project.json(["mount", folder, "--name", "other"]);
      expect(error).toMatchObject({ code: "already_exists", facts: { mount: "src" } });
    }
    for (const folder of ["nowhere", "README.md"]) {
      const { error } = await project.json(["mount", folder]);
      expect(error).toMatchObject({ code: "invalid_argument" });
    }
  });

  test("one whose rules cannot be read is told of, and can be let go", async () => {
    await using project = await Project.make("process");
    await project.fine(["mount", "."]);
    project.write("kumiko.toml", "[[rule]]\n");
    const { mounts } = await project.json(["mounts"]);
    expect(mounts).toMatchObject([
      { mount: "project", trouble: expect.stringContaining("line 1") },
    ]);
    expect(await project.json(["cat", "README.md"])).toMatchObject({
      error: { code: "invalid_rules" },
    });
    await project.fine(["unmount", "project"]);
    expect(await project.json(["mounts"])).toMatchObject({ mounts: [] });
  });
});
