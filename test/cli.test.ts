import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { main } from "../src/cli/main.ts";
import { processTerminal, type Terminal } from "../src/cli/terminal.ts";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder, type TemporaryFolder } from "./support/temporary-folder.ts";

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Setting {
  readonly input?: string;
  readonly colour?: boolean;
  /** Called when writing begins. */
  readonly onWriting?: () => void;
  /** The interruption is seen when it is looked for this often. */
  readonly interruptAt?: number;
}

async function kumiko(
  folder: TemporaryFolder,
  args: readonly string[],
  setting: Setting = {},
): Promise<Run> {
  let out = "";
  let err = "";
  const terminal: Terminal = {
    folder: folder.path,
    environment: {},
    colour: setting.colour ?? false,
    interactive: false,
    ask: () => Promise.resolve(""),
    readInput: () => Promise.resolve(Buffer.from(setting.input ?? "")),
    print: (text) => Promise.resolve(void (out += text)),
    complain: (text) => Promise.resolve(void (err += text)),
    interruption() {
      setting.onWriting?.();
      let looked = 0;
      const { signal } = new AbortController();
      Object.defineProperty(signal, "aborted", { get: () => ++looked === setting.interruptAt });
      return { signal, [Symbol.dispose]() {} };
    },
  };
  const code = await main(args, terminal);
  return { code, out, err };
}

function json(
  run: Run,
): Record<string, unknown> & { error?: { code: string; facts: Record<string, unknown> } } {
  expect(run.out.trim().split("\n")).toHaveLength(1);
  return JSON.parse(run.out);
}

function bytes(folder: TemporaryFolder, name: string): string {
  return readFileSync(join(folder.path, name), "latin1");
}

/** Every file below the folder, so that a test sees what was left behind. */
function listing(folder: TemporaryFolder): string[] {
  return readdirSync(folder.path, { recursive: true, encoding: "utf8" }).toSorted();
}

function edit(name: string, from = "b", to = "B"): string {
  return `--- a/${name}\n+++ b/${name}\n@@ -1,3 +1,3 @@\n a\n-${from}\n+${to}\n c\n`;
}

describe("kumiko", () => {
  test("prints its version and its help", async () => {
    using folder = temporaryFolder();
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(await kumiko(folder, ["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
    for (const args of [
      ["--help"],
      ["patch", "--help"],
      ["patch", "apply", "--help"],
      ["diff", "--help"],
    ]) {
      expect(await kumiko(folder, args)).toMatchObject({
        code: 0,
        out: expect.stringContaining("Usage: kumiko"),
      });
    }
  });

  test("names the nearest verb and option, and exits with 2", async () => {
    using folder = temporaryFolder();
    const near: [string[], string][] = [
      [["pach"], "patch"],
      [["patch", "aply"], "apply"],
      [["diff", "a", "b", "--contxt", "3"], "--context"],
      [["patch", "check", "x", "--fuz", "1"], "--fuzz"],
    ];
    for (const [args, meant] of near) {
      const run = await kumiko(folder, args);
      expect([run.code, run.out]).toEqual([2, ""]);
      expect(run.err).toContain(`Did you mean ${meant}?`);
    }
    for (const args of [
      ["patch"],
      ["diff", "a"],
      ["patch", "check", "x", "--fuzz", "-1"],
      ["diff", "a", "b", "c"],
    ]) {
      expect((await kumiko(folder, args)).code).toBe(2);
    }
    const asJson = await kumiko(folder, ["diff", "--json", "--contxt"]);
    expect(json(asJson)).toMatchObject({ ok: false, error: { code: "invalid_argument" } });
  });

  test("runs as a program, reads standard input, ends a pipe quietly", async () => {
    using folder = temporaryFolder();
    folder.write("x", "a\nb\nc\n");
    const command = join(root, "bin", "kumiko");
    const diff = await runProgram(process.execPath, [command, "diff", "x", "-"], {
      cwd: folder.path,
      input: "a\nB\nc\n",
    });
    expect(diff).toMatchObject({
      code: 1,
      stderr: "",
      stdout: expect.stringContaining("-b\n+B\n"),
    });
    const patch = await runProgram(
      process.execPath,
      [command, "patch", "apply", "-", "--file", "x"],
      {
        cwd: folder.path,
        input: diff.stdout,
      },
    );
    expect(patch).toMatchObject({ code: 0, stderr: "" });
    expect(bytes(folder, "x")).toBe("a\nB\nc\n");
    folder.write("long", "line\n".repeat(200_000));
    const piped = await runProgram(
      "bash",
      ["-c", `"${process.execPath}" "${command}" diff x long | head -n 1`],
      { cwd: folder.path },
    );
    expect(piped).toMatchObject({ stdout: "--- x\n", stderr: "" });
  });

  test("says as much at once as it has to, without a word of its own", async () => {
    const terminal = JSON.stringify(pathToFileURL(join(root, "src", "cli", "terminal.ts")));
    const program = `
      const { processTerminal } = await import(${terminal});
      const terminal = await processTerminal();
      await Promise.all(Array.from({ length: 30 }, (_, at) => terminal.complain(at + " ")));`;
    const args = ["--input-type=module", "-e", program];
    const said = Array.from({ length: 30 }, (_, at) => `${at} `).join("");
    expect(await runProgram(process.execPath, args)).toMatchObject({ code: 0, stderr: said });
    const closed = ["-c", `"$0" "$@" 2>&1 >/dev/null | true`, process.execPath, ...args];
    expect(await runProgram("bash", closed)).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("kumiko diff", () => {
  test("exits with 0 for equal texts, 1 for different ones, 2 for trouble", async () => {
    using folder = temporaryFolder();
    folder.write("x", "a\nb\n");
    folder.write("y", "a\nc");
    folder.write("latin", "");
    writeFileSync(join(folder.path, "latin"), Buffer.from([0xe9, 0x0a]));
    expect(await kumiko(folder, ["diff", "x", "x"])).toEqual({ code: 0, out: "", err: "" });
    expect(await kumiko(folder, ["diff", "x", "y"])).toEqual({
      code: 1,
      out: "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
      err: "",
    });
    for (const pair of [
      ["x", "none"],
      ["x", "."],
      ["x", "latin"],
      ["-", "-"],
    ]) {
      const run = await kumiko(folder, ["diff", ...pair]);
      expect([run.code, run.out]).toEqual([2, ""]);
      expect(run.err).toMatch(/^kumiko: /);
    }
    expect((await kumiko(folder, ["diff", "latin", "latin"])).code).toBe(0);
  });

  test("takes context, labels and --json", async () => {
    using folder = temporaryFolder();
    folder.write("x", "a\nb\nc\n");
    const run = await kumiko(
      folder,
      ["diff", "x", "-", "--context", "0", "--label", "a/f", "--label", "b/f"],
      { input: "a\nB\nc\n" },
    );
    expect(run.out).toBe("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+B\n");
    const asJson = await kumiko(folder, ["diff", "x", "x", "--json"]);
    expect(json(asJson)).toEqual({ ok: true, different: false, diff: "", coarse: false });
    const failed = await kumiko(folder, ["diff", "x", "none", "--json"]);
    expect([failed.code, json(failed)]).toEqual([
      2,
      { ok: false, error: expect.objectContaining({ code: "file_unreadable" }) },
    ]);
  });

  test("is in colour only where asked", async () => {
    using folder = temporaryFolder();
    folder.write("x", "a\n");
    folder.write("y", "b\n");
    expect((await kumiko(folder, ["diff", "x", "y"], { colour: true })).out).toContain(
      "\u001b[31m-a\u001b[39m",
    );
    expect((await kumiko(folder, ["diff", "x", "y"])).out).not.toContain("\u001b");
  });
});

describe("kumiko patch", () => {
  test("check says where each hunk fits and writes nothing; apply writes", async () => {
    using folder = temporaryFolder();
    folder.write("x", "new\na\nb\nc\n");
    const patch = folder.write("p", edit("x"));
    const checked = await kumiko(folder, ["patch", "check", patch]);
    expect(checked).toEqual({
      code: 0,
      out: "fits x (1 hunk)\n  hunk 1 at line 2: 1 line below its number\n",
      err: "",
    });
    expect((await kumiko(folder, ["patch", "apply", "--dry-run", patch])).out).toBe(checked.out);
    expect(bytes(folder, "x")).toBe("new\na\nb\nc\n");
    const applied = await kumiko(folder, ["patch", "apply", "p", "--json"]);
    expect([applied.code, json(applied)]).toEqual([
      0,
      {
        ok: true,
        applied: true,
        counted_from: 1,
        notes: [],
        files: [
          {
            path: "x",
            kind: "modify",
            notes: [],
            hunks: [{ hunk: 1, requestedLine: 1, line: 2, offset: 1, fuzz: 0 }],
          },
        ],
      },
    ]);
    expect(bytes(folder, "x")).toBe("new\na\nB\nc\n");
    expect((await kumiko(folder, ["patch", "apply", "-R", "p"])).code).toBe(0);
    expect(bytes(folder, "x")).toBe("new\na\nb\nc\n");
  });

  test("a rejected hunk exits with 1, shows the closest text counting from 1, and nothing is written", async () => {
    using folder = temporaryFolder();
    folder.write("x", "a\nb\nc\n");
    folder.write("y", "0\na\nbb\nc\n");
    const input = edit("x") + edit("y");
    const run = await kumiko(folder, ["patch", "apply", "-"], { input });
    expect([run.code, run.out]).toEqual([1, ""]);
    expect(run.err).toContain("kumiko: y: Hunk 1");
    expect(run.err).toContain(
      "the text has, from line 2\n       2 | a\n       3 | bb\n       4 | c\n",
    );
    const asJson = await kumiko(folder, ["patch", "check", "-", "--json"], { input });
    expect(json(asJson)).toMatchObject({
      ok: false,
      error: {
        code: "patch_rejected",
        facts: {
          path: "y",
          hunk: 1,
          requested_line: 1,
          counted_from: 1,
          closest: { line: 2, text: "a\nbb\nc" },
        },
      },
    });
    expect([bytes(folder, "x"), bytes(folder, "y")]).toEqual(["a\nb\nc\n", "0\na\nbb\nc\n"]);
    const twice = await kumiko(folder, ["patch", "check", "-", "--file", "z", "--json"], {
      input: "@@\n-a\n+b\n",
    });
    expect(twice.code).toBe(2);
    folder.write("z", "a\n0\na\n");
    const ambiguous = await kumiko(folder, ["patch", "check", "-", "--file", "z", "--json"], {
      input: "@@\n-a\n+b\n",
    });
    expect([ambiguous.code, json(ambiguous).error]).toEqual([
      1,
      expect.objectContaining({
        code: "ambiguous",
        facts: expect.objectContaining({ candidates: [1, 3] }),
      }),
    ]);
  });

  test("creates, deletes, renames and makes executable, as the patch says", async () => {
    using folder = temporaryFolder();
    folder.write("old", "a\nb\nc\n");
    folder.write("gone", "x\n");
    folder.write("run", "a\n");
    chmodSync(join(folder.path, "run"), 0o640);
    const input =
      "diff --git a/old b/sub/new\nsimilarity index 50%\nrename from old\nrename to sub/new\n--- a/old\n+++ b/sub/new\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" +
      "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
      "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n" +
      "diff --git a/deep/er/made b/deep/er/made\nnew file mode 100755\n--- /dev/null\n+++ b/deep/er/made\n@@ -0,0 +1 @@\n+hi\n" +
      "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n";
    const run = await kumiko(folder, ["patch", "apply", "-"], { input });
    expect(run).toMatchObject({ code: 0, err: "" });
    expect(run.out).toContain("renamed sub/new (1 hunk)\ndeleted gone (1 hunk)\n");
    expect(listing(folder)).toEqual([
      "deep",
      "deep/er",
      "deep/er/made",
      "empty",
      "run",
      "sub",
      "sub/new",
    ]);
    expect([
      bytes(folder, "sub/new"),
      bytes(folder, "deep/er/made"),
      bytes(folder, "empty"),
    ]).toEqual(["a\nB\nc\n", "hi\n", ""]);
    expect(statSync(join(folder.path, "run")).mode & 0o777).toBe(0o750);
    expect(statSync(join(folder.path, "deep/er/made")).mode & 0o100).toBe(0o100);
  });

  test("two parts for one file apply one after the other", async () => {
    using folder = temporaryFolder();
    folder.write("x", "a\nb\nc\n");
    expect(
      (await kumiko(folder, ["patch", "apply", "-"], { input: edit("x") + edit("x", "B", "BB") }))
        .code,
    ).toBe(0);
    expect(bytes(folder, "x")).toBe("a\nBB\nc\n");
  });

  test("finds the file as GNU patch does, or exactly with --strip, or by --file", async () => {
    using folder = temporaryFolder();
    folder.write("src/x", "a\nb\nc\n");
    const input = "--- old/src/x\n+++ new/src/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
    expect((await kumiko(folder, ["patch", "check", "-"], { input })).code).toBe(0);
    expect((await kumiko(folder, ["patch", "check", "-", "--strip", "1"], { input })).code).toBe(0);
    expect((await kumiko(folder, ["patch", "check", "-", "--strip", "0"], { input })).code).toBe(2);
    expect(
      (await kumiko(folder, ["patch", "check", "-", "--dir", "src", "--strip", "2"], { input }))
        .code,
    ).toBe(0);
    expect(
      (await kumiko(folder, ["patch", "check", "-", "--dir", "src", "--file", "x"], { input }))
        .code,
    ).toBe(0);
    expect(
      (await kumiko(folder, ["patch", "check", "-", "--file", "src/x"], { input: input + input }))
        .code,
    ).toBe(2);
    const bare = await kumiko(folder, ["patch", "check", "-"], { input: "@@\n-b\n+B\n" });
    expect([bare.code, bare.err]).toEqual([2, expect.stringContaining("--file")]);
  });

  test("keeps BOM, CRLF, missing final newline and mode, byte for byte", async () => {
    using folder = temporaryFolder();
    const bom = "\uFEFF";
    const kept: [string, string, string][] = [
      ["bom", `${bom}a\nb\nc\n`, `${bom}a\nB\nc\n`],
      ["crlf", "a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"],
      ["both", `${bom}a\r\nb\r\nc`, `${bom}a\r\nB\r\nc`],
      ["mixed", "a\nb\nc\r\nd\n", "a\nB\nc\r\nd\n"],
      ["unended", "a\nb\nc", "a\nB\nc"],
    ];
    for (const [name, before, after] of kept) {
      const file = folder.write(name, before);
      chmodSync(file, 0o604);
      expect(await kumiko(folder, ["patch", "apply", "-"], { input: edit(name) })).toMatchObject({
        code: 0,
      });
      expect([name, readFileSync(file, "utf8")]).toEqual([name, after]);
      expect(statSync(file).mode & 0o777).toBe(0o604);
    }
    folder.write("first", `${bom}a\nb\n`);
    const first = "--- a/first\n+++ b/first\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n";
    expect((await kumiko(folder, ["patch", "apply", "-"], { input: first })).code).toBe(0);
    expect(readFileSync(join(folder.path, "first"), "utf8")).toBe(`${bom}A\nb\n`);
    folder.write("shown", `${bom}a\nb\n`);
    const input = `--- a/shown\n+++ b/shown\n@@ -1,2 +1,2 @@\n-${bom}a\n+a\n b\n`;
    expect((await kumiko(folder, ["patch", "apply", "-"], { input })).code).toBe(0);
    expect(readFileSync(join(folder.path, "shown"), "utf8")).toBe("a\nb\n");
    expect(listing(folder).filter((name) => name.includes("tmp"))).toEqual([]);
  });

  test("refuses what is not UTF-8 text, untouched", async () => {
    using folder = temporaryFolder();
    const odd = {
      latin: [0x61, 0x0a, 0xe9, 0x0a],
      nul: [0x61, 0x0a, 0, 0x0a],
      utf16: [0xff, 0xfe, 0x61, 0],
    };
    for (const [name, content] of Object.entries(odd)) {
      const file = join(folder.path, name);
      writeFileSync(file, Buffer.from(content));
      const run = await kumiko(folder, ["patch", "apply", "-", "--json"], { input: edit(name) });
      expect([run.code, json(run).error?.code]).toEqual([2, "file_unreadable"]);
      expect([...readFileSync(file)]).toEqual(content);
    }
  });

  test("refuses names that lead out of the folder or into git", async () => {
    using outside = temporaryFolder();
    using folder = temporaryFolder();
    outside.write("x", "a\nb\nc\n");
    mkdirSync(join(folder.path, ".git"));
    folder.write(".git/config", "a\nb\nc\n");
    symlinkSync(outside.path, join(folder.path, "link"));
    symlinkSync(join(outside.path, "x"), join(folder.path, "x"));
    symlinkSync(join(folder.path, ".git"), join(folder.path, "inner"));
    symlinkSync(join(outside.path, "none"), join(folder.path, "dangling"));
    const escapes = [
      "../x",
      "sub/../../x",
      `${outside.path}/x`,
      "link/x",
      "x",
      "link/new",
      ".git/config",
      ".GIT/config",
      "inner/config",
      "dangling",
      "link",
    ];
    for (const name of escapes) {
      const made = `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+made\n`;
      for (const input of [edit(name), made]) {
        const run = await kumiko(folder, ["patch", "apply", "-", "--strip", "1"], { input });
        expect([name, run.code]).toEqual([name, 2]);
      }
    }
    expect(listing(outside)).toEqual(["x"]);
    expect(bytes(outside, "x")).toBe("a\nb\nc\n");
    expect(bytes(folder, ".git/config")).toBe("a\nb\nc\n");
  });

  test("a link inside the folder stays a link, and its file is patched", async () => {
    using folder = temporaryFolder();
    folder.write("real", "a\nb\nc\n");
    symlinkSync("real", join(folder.path, "link"));
    expect((await kumiko(folder, ["patch", "apply", "-"], { input: edit("link") })).code).toBe(0);
    expect(bytes(folder, "real")).toBe("a\nB\nc\n");
    expect(realpathSync(join(folder.path, "link"))).toBe(realpathSync(join(folder.path, "real")));
  });

  test("says what was written and what not when a file changes meanwhile", async () => {
    using folder = temporaryFolder();
    for (const name of ["x", "y", "z"]) folder.write(name, "a\nb\nc\n");
    const input = edit("x") + edit("y") + edit("z");
    const onWriting = () => folder.write("y", "someone else's\n");
    const run = await kumiko(folder, ["patch", "apply", "-", "--json"], { input, onWriting });
    expect([run.code, json(run).error]).toEqual([
      2,
      expect.objectContaining({
        code: "file_unwritable",
        facts: expect.objectContaining({ path: "y", written: ["x"], not_written: ["y", "z"] }),
      }),
    ]);
    expect([bytes(folder, "x"), bytes(folder, "y"), bytes(folder, "z")]).toEqual([
      "a\nB\nc\n",
      "someone else's\n",
      "a\nb\nc\n",
    ]);
    expect(listing(folder)).toEqual(["x", "y", "z"]);
  });

  test("does not write over a file that appeared meanwhile", async () => {
    using folder = temporaryFolder();
    const input = "--- /dev/null\n+++ b/sub/x\n@@ -0,0 +1 @@\n+made\n";
    const onWriting = () => folder.write("sub/x", "someone else's\n");
    const run = await kumiko(folder, ["patch", "apply", "-"], { input, onWriting });
    expect([run.code, run.err]).toEqual([2, expect.stringContaining("Nothing was written.")]);
    expect(bytes(folder, "sub/x")).toBe("someone else's\n");
  });

  test.each([
    [1, [], ["x"]],
    [2, [], ["x"]],
    [3, [], ["x"]],
    [4, ["deep/made"], ["deep", "deep/made", "x"]],
  ])(
    "an interruption at step %i leaves nothing temporary behind",
    async (interruptAt, written, left) => {
      using folder = temporaryFolder();
      folder.write("x", "a\nb\nc\n");
      const input = `--- /dev/null\n+++ b/deep/made\n@@ -0,0 +1 @@\n+made\n${edit("x")}`;
      const run = await kumiko(folder, ["patch", "apply", "-", "--json"], { input, interruptAt });
      expect(run.code).toBe(130);
      expect(json(run).error?.facts).toMatchObject({ interrupted: true, written });
      expect(bytes(folder, "x")).toBe("a\nb\nc\n");
      expect(listing(folder)).toEqual(left);
    },
  );

  test("Ctrl-C aborts while files are written, and ends the process again afterwards", async () => {
    const listening = () => process.listenerCount("SIGINT") + process.listenerCount("SIGTERM");
    const before = listening();
    {
      using interruption = (await processTerminal()).interruption();
      expect(interruption.signal.aborted).toBe(false);
      process.emit("SIGINT");
      expect(interruption.signal.aborted).toBe(true);
    }
    expect(listening()).toBe(before);
  });
});
