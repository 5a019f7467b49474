import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { answering, printJson } from "../src/cli/answer.ts";
import type { Terminal } from "../src/cli/terminal.ts";
import { tools, verbOf } from "../src/cli/home/tools.ts";
import { inVerbs } from "../src/cli/home/verb-names.ts";
import { command, type Home, temporaryHome } from "./support/kumiko.ts";
import { root, runProgram } from "./support/process.ts";

const B = "demo~ann~1";

/** A home with one context and one block of three lines. */
async function furnished(): Promise<Home> {
  const home = temporaryHome();
  expect((await home.run(["context", "new", "demo"])).code).toBe(0);
  const create = ["block", "create", "--context", "demo", "--role", "user", "--kind", "text"];
  const made = await home.json([...create, "--content", "one\ntwo\nthree\n"]);
  expect(made).toMatchObject({ ok: true, block_id: B, version: 1 });
  return home;
}

function edit(line: number, content: string): string {
  return JSON.stringify([{ op: "replace", start_line: line, end_line: line + 1, content }]);
}

async function textOf(home: Home, ...more: string[]): Promise<string> {
  return (await home.run(["block", "read", B, "--no-line-numbers", ...more])).out;
}

describe("the home folder", () => {
  test("is made by the first context, private, laid out as promised", async () => {
    using home = temporaryHome();
    const before = await home.run(["context", "list"]);
    expect(before).toMatchObject({ code: 2, out: "" });
    expect(before.err).toContain("There is no kernel main in");
    expect(before.err).toContain("kumiko context new <name>");
    expect(existsSync(join(home.folder.path, "home"))).toBe(false);
    const place = join(home.folder.path, "home");
    expect((await home.run(["context", "new", "demo"])).out).toMatch(
      new RegExp(
        `^Made the kernel main in ${place}, for every folder that has none of its own\\.\ndemo is ready\\.`,
      ),
    );
    expect((await home.run(["context", "new", "second"])).out).toMatch(/^second is ready\./);
    const made = await home.json(["context", "new", "first", "--home", "another"]);
    expect(made).toMatchObject({ kernel: "main", kernel_made: true });
    const after = await home.json(["context", "new", "next", "--home", "another"]);
    expect(after).toMatchObject({ kernel: "main", kernel_made: false });
    const { contexts } = await home.json(["context", "list", "--home", "another"]);
    expect(contexts).toMatchObject([{ context: "first" }, { context: "next" }]);
    expect(readdirSync(place)).toEqual(["archives", "kernels"]);
    expect(readdirSync(join(place, "kernels"))).toEqual(["main"]);
    expect(readdirSync(join(place, "kernels", "main"))).toContain("state.db");
    expect(readdirSync(join(place, "kernels", "main"))).toContain("scratch");
    for (const part of ["", "kernels", "kernels/main", "kernels/main/scratch", "archives"])
      expect(statSync(join(place, part)).mode & 0o777).toBe(0o700);
  });

  test("is --home, else $KUMIKO_HOME, else the XDG data folder, else below ~", async () => {
    using home = temporaryHome();
    const at = (name: string): string => join(home.folder.path, name);
    const chosen: [string[], { [name: string]: string }, string][] = [
      [["--home", "a"], { KUMIKO_HOME: at("b") }, at("a")],
      [[], { KUMIKO_HOME: at("b"), XDG_DATA_HOME: at("c") }, at("b")],
      [[], { KUMIKO_HOME: "", XDG_DATA_HOME: at("c") }, at("c/kumiko")],
      [[], { KUMIKO_HOME: "", XDG_DATA_HOME: "c", HOME: at("d") }, at("d/.local/share/kumiko")],
    ];
    for (const [args, environment, place] of chosen) {
      expect(await home.json(["kernel", "list", ...args], { environment })).toMatchObject({
        home: place,
      });
    }
    const before = await home.json(["--home", "a", "kernel", "list"]);
    expect(before).toEqual({ ok: true, home: at("a"), kernels: [] });
  });

  test("has several kernels, which know nothing of each other", async () => {
    using home = await furnished();
    expect((await home.run(["kernel", "new", "two"])).code).toBe(0);
    expect((await home.json(["kernel", "new", "two"]))["error"]).toMatchObject({
      code: "already_exists",
    });
    expect((await home.json(["kernel", "new", "Two"]))["error"]).toMatchObject({
      code: "invalid_argument",
    });
    const { kernels } = await home.json(["kernel", "list"]);
    expect(kernels).toMatchObject([{ kernel: "main" }, { kernel: "two" }]);
    expect((await home.run(["kernel", "list"])).out).toMatch(/^main .*\ntwo .*\n$/);
    expect(await home.json(["context", "list", "--kernel", "two"])).toMatchObject({ contexts: [] });
    const environment = { KUMIKO_KERNEL: "three" };
    const missing = await home.run(["context", "list"], { environment });
    expect(missing.err).toContain("There is no kernel three");
    expect(missing.err).toContain("there are: main, two.");
  });

  test("names actors by --actor, $KUMIKO_ACTOR, or the Unix user", async () => {
    using home = temporaryHome();
    expect(await home.json(["context", "new", "a", "--actor", "bob"])).toMatchObject({ by: "bob" });
    expect(await home.json(["context", "new", "b"])).toMatchObject({ by: "ann" });
    const environment = { KUMIKO_ACTOR: "" };
    const named = await home.json(["context", "new", "c"], { environment });
    expect(named["by"]).toMatch(/^[a-z0-9-]{1,32}$/);
    const wrong = await home.run(["context", "new", "d", "--actor", "Bob B"]);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("lower-case") });
  });

  test("that cannot be used is said so", async () => {
    using home = temporaryHome();
    const file = home.folder.write("file", "");
    const run = await home.run(["context", "new", "demo", "--home", file]);
    expect(run).toMatchObject({ code: 2, out: "", err: expect.stringContaining("--home") });
  });
});

describe("contexts", () => {
  test("are made, listed, shown, joined and left", async () => {
    using home = await furnished();
    expect((await home.run(["context", "list"])).out).toMatch(/^demo {2}since .* by ann\n$/);
    expect(
      await home.json(["context", "join", "demo", "--nick", "amy", "--instance", "laptop"]),
    ).toEqual({ ok: true, context: "demo", kernel: "main", nick: "amy", instance: "laptop" });
    expect((await home.run(["context", "join", "demo"])).out).toMatch(
      /^ann \(.+\) is in demo\.\n$/,
    );
    expect(await home.json(["context", "show", "demo"])).toMatchObject({
      context: "demo",
      by: "ann",
      members: [{ nick: "amy", instance: "laptop" }, { nick: "ann" }],
      blocks: [{ block_id: B, summary: "one\ntwo\nthree\n" }],
      truncated: false,
    });
    expect((await home.run(["context", "show", "demo"])).out).toContain(
      `${B}  user text  one ⏎ two`,
    );
    const leave = ["context", "leave", "demo", "--nick", "amy", "--instance", "laptop"];
    expect((await home.run(leave)).out).toBe("amy (laptop) has left demo.\n");
    expect(await home.json(leave)).toMatchObject({ ok: true, left: false });
    const again = await home.run(["context", "new", "demo"]);
    const there =
      "kumiko: There is already a context demo.\n`kumiko context show demo` shows it.\n";
    expect(again).toMatchObject({ code: 2, err: there });
    for (const verb of ["show", "join", "leave"]) {
      const run = await home.run(["context", verb, "none"]);
      expect([run.code, run.out]).toEqual([2, ""]);
      expect(run.err).toContain("kumiko context new none");
    }
  });
});

describe("verbs of tools", () => {
  test("every tool has one, with its description, arguments and examples from the definition", async () => {
    using home = temporaryHome();
    for (const tool of tools) {
      const { family, verb } = verbOf(tool);
      const { code, out } = await home.run([family, verb, "--help"]);
      expect([tool.name, code]).toEqual([tool.name, 0]);
      const flat = out.replaceAll(/\s+/g, " ");
      // Where lines come only by flags, what is said of them is for people too.
      expect(flat.replaceAll("counted from 1", "counted from 0")).toContain(
        inVerbs(tool.description).replaceAll("counted from 1", "counted from 0"),
      );
      if (tool.name === "block_read") expect(flat).toContain("with line numbers counted from 1");
      for (const name of Object.keys(tool.input.properties)) {
        const flag = `--${name.replaceAll("_", "-")}`;
        expect(flat.includes(flag) || flat.includes(flag.replace("--", "--of-"))).toBe(true);
      }
      for (const { when } of tool.examples) expect(flat).toContain(`# ${when}`);
    }
  });

  test("read, list, history, diff, blame: for people and for programs", async () => {
    using home = await furnished();
    const change = ["block", "edit", B, "--base-version", "1", "--message", "louder"];
    const edited = await home.run([...change, "--operations", edit(1, "TWO")]);
    expect(edited.out).toMatch(/^demo~ann~1 is now version 2 edit e\d+-1\n$/);
    const same = ["block", "replace", B, "--old", "TWO", "--new", "TWO"];
    expect((await home.run(same)).out).toBe(
      "demo~ann~1 is still version 2: its text was that already\n",
    );
    expect((await home.run(["block", "read", B])).out).toBe(
      "demo~ann~1  user text, done  version 2, 3 lines, counted from 1\n1 one\n2 TWO\n3 three\n",
    );
    expect((await home.run(["block", "read", B, "--range", "2:3"])).out).toMatch(
      /\n2 TWO\n3 three\n$/,
    );
    expect((await home.run(["block", "read", B, "--range", ":1"])).out).toMatch(
      /counted from 1\n1 one\n$/,
    );
    expect(await home.json(["block", "read", B, "--range", "2:3"])).toMatchObject({
      ok: true,
      counted_from: 0,
      content: "1 TWO\n2 three",
      version: 2,
    });
    expect(await textOf(home, "--version", "1")).toBe("one\ntwo\nthree\n");
    expect((await home.run(["block", "list", "--context", "demo"])).out).toContain(B);
    const environment = { KUMIKO_CONTEXT: "demo" };
    expect(await home.json(["block", "list"], { environment })).toMatchObject({
      blocks: [{ block_id: B }],
    });
    expect((await home.run(["history", B])).out).toMatch(
      /^2 .*ann.* \+3 -3 {2}louder\n1 .*\+14\n$/,
    );
    expect(await home.json(["history", B, "--limit", "1"])).toMatchObject({
      versions: [{ version: 2, actor: "ann", message: "louder" }],
      before: 2,
    });
    const diff = await home.run(["diff", B, "1"]);
    expect([diff.code, diff.out]).toEqual([1, expect.stringContaining("-two\n+TWO\n")]);
    expect((await home.run(["diff", B, "2", "now"])).code).toBe(0);
    expect(await home.json(["diff", B, "1", "2"])).toMatchObject({ ok: true, different: true });
    expect((await home.run(["block", "diff", B, "1"])).out).toContain("+TWO");
    expect((await home.run(["blame", B])).out).toMatch(
      / 1 ann .*\| one\n.* 2 ann .*\| TWO\n.* 3 .*\| three\n$/,
    );
    expect(await home.json(["blame", B])).toMatchObject({ version: 2 });
    for (const range of ["3:", "3:70"])
      expect((await home.run(["blame", B, "--range", range])).out).toMatch(
        /counted from 1\n *3 ann .*\| three\n$/,
      );
  });

  test("undo takes back one's own Edit, redo brings it back, rollback a version", async () => {
    using home = await furnished();
    const change = ["block", "edit", B, "--base-version", "1", "--operations"];
    const first = await home.json([...change, edit(0, "ONE")]);
    await home.json([...change, edit(2, "THREE"), "--actor", "claude"]);
    expect(await textOf(home)).toBe("ONE\ntwo\nTHREE\n");
    expect((await home.run(["undo"])).out).toContain(`undid ${String(first["edit"])} of ann`);
    expect(await textOf(home)).toBe("one\ntwo\nTHREE\n");
    expect(await home.json(["redo"])).toMatchObject({ ok: true, flipped: first["edit"] });
    expect(await textOf(home)).toBe("ONE\ntwo\nTHREE\n");
    expect((await home.run(["undo", "--of-actor", "claude"])).code).toBe(0);
    expect(await textOf(home)).toBe("ONE\ntwo\nthree\n");
    expect((await home.run(["rollback", B, "1"])).code).toBe(0);
    expect(await textOf(home)).toBe("one\ntwo\nthree\n");
    // The last Edit in that block, a rollback too.
    expect((await home.run(["undo", B])).out).toContain("of ann");
    expect(await textOf(home)).toBe("ONE\ntwo\nthree\n");
  });

  test("append, replace, splice, apply-patch and status change the block", async () => {
    using home = await furnished();
    const said = ["block", "create", "model", "text", "--context", "demo"];
    const made = await home.json([...said, "--actor", "claude"]);
    expect(made).toMatchObject({ block_id: "demo~claude~1" });
    const append = ["block", "append", "demo~claude~1", "-"];
    expect((await home.run(append, { input: "so far\n" })).out).toBe(
      "demo~claude~1 is now version 2 7 characters added\n",
    );
    // A process a call: the stream goes on with the next one, until somebody says that it is done.
    await home.run(append, { input: "and on" });
    const read = await home.json(["block", "read", "demo~claude~1", "--no-line-numbers"]);
    expect(read).toMatchObject({ content: "so far\nand on", status: "running" });
    const exact = await home.run(["block", "read", "demo~claude~1", "--no-line-numbers"]);
    expect(exact.out).toBe("so far\nand on");
    expect((await home.run(["block", "status", "demo~claude~1", "done"])).code).toBe(0);
    expect((await home.run(["block", "replace", B, "two", "2"])).code).toBe(0);
    expect(
      (await home.run(["block", "splice", B, "0", "3", "--insert", "1", "--base-version", "2"]))
        .code,
    ).toBe(0);
    const patch = "@@\n 1\n-2\n+zwei\n";
    expect((await home.run(["block", "apply-patch", B, "-"], { input: patch })).out).toContain(
      "hunk 1 at line 1 (counted from 1)",
    );
    expect(await textOf(home)).toBe("1\nzwei\nthree\n");
    const empty = await home.json(["block", "create", "tool", "text", "--context", "demo"]);
    const id = String(empty["block_id"]);
    expect(await home.json(["block", "status", id, "done"])).toMatchObject({ status: "done" });
    expect(await home.json(["block", "status", id, "error"])).toMatchObject({
      ok: false,
      error: { code: "wrong_status" },
    });
  });

  test("search finds text in the kernel and in a block", async () => {
    using home = await furnished();
    const inKernel = await home.run(["search", "two"]);
    expect(inKernel).toMatchObject({ code: 0, err: "" });
    expect(inKernel.out).toContain(B);
    expect(inKernel.out).toContain("two");
    const inBlock = await home.run(["search", B, "tw."]);
    expect(inBlock).toMatchObject({ code: 0, out: expect.stringContaining("two") });
    expect(await home.json(["kernel", "search", "two"])).toMatchObject({ ok: true });
  });

  test("texts come from arguments, files and standard input, byte for byte", async () => {
    using home = await furnished();
    home.folder.write("text", "from a file\r\n");
    const create = ["block", "create", "user", "text", "--context", "demo", "--content"];
    const contents: [string, string][] = [
      ["@text", "from a file\r\n"],
      ["-", "from input"],
      ["@@literal", "@literal"],
      ["", ""],
    ];
    for (const [given, kept] of contents) {
      const made = await home.json([...create, given], { input: "from input" });
      const whole = { block_id: made["block_id"], line_numbers: false };
      const input = JSON.stringify(whole);
      const read = await home.json(["block", "read", "--input", "-"], { input });
      expect(read["content"]).toBe(kept);
    }
    const missing = await home.run([...create, "@nope"]);
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("@@") });
    home.folder.write("call.json", JSON.stringify({ role: "user", kind: "text", content: "x" }));
    const whole = await home.json([
      "block",
      "create",
      "--context",
      "demo",
      "--input",
      "@call.json",
    ]);
    expect(whole).toMatchObject({ ok: true });
  });

  test("what is wrong is refused with a typed error, and nothing changes", async () => {
    using home = await furnished();
    const before = await home.json(["history", B]);
    const operations = ["--operations", edit(1, "x")];
    const base = await home.run(["block", "edit", B, ...operations]);
    expect([base.code, base.out]).toEqual([2, ""]);
    expect(base.err).toContain("pass --base-version 1");
    await home.run(["block", "edit", "demo~ann~2", "--base-version", "1", ...operations]);
    const refused: [string[], string, number][] = [
      [["block", "edit", B, ...operations], "base_required", 2],
      [["block", "edit", B, "--base-version", "9", ...operations], "out_of_range", 2],
      [["block", "edit", B, "--base-version", "x", ...operations], "invalid_argument", 2],
      [["block", "edit", B, "--operations", "[{]"], "invalid_argument", 2],
      [["block", "edit", B, "--operations", "[]"], "invalid_argument", 2],
      [["block", "edit", B], "invalid_argument", 2],
      [["block", "replace", B, "nowhere", "x"], "not_found", 1],
      [["block", "read", "nonsense"], "invalid_argument", 2],
      [["block", "read", "demo~ann~7"], "unknown_block", 2],
      [["block", "read", B, "--range", "3:1"], "invalid_argument", 2],
      [["block", "read", B, "extra"], "invalid_argument", 2],
      [["block", "read", B, "--input", `{"block_id":"${B}"}`], "invalid_argument", 2],
      [["block", "read", "--input", `{"block_id":"${B}","colour":1}`], "invalid_argument", 2],
      [["block", "create", "user", "text", "--context", "none"], "unknown_context", 2],
      [["block", "create", "user", "text"], "invalid_argument", 2],
      [["block", "create", "usr", "text", "--context", "demo"], "invalid_argument", 2],
      [["block", "create", "--role", "usr", "--kind", "text"], "invalid_argument", 2],
      [["block", "create", "--content", "-", "--input", "-"], "invalid_argument", 2],
      [["diff", B, "one"], "invalid_argument", 2],
      [["diff", B, "1", "--context", "2"], "invalid_argument", 2],
      [["diff", "x", "y", "--kernel", "main"], "invalid_argument", 2],
      [["undo", "e9-9"], "unknown_edit", 2],
    ];
    for (const [args, code, exit] of refused) {
      const run = await home.run([...args, "--json"]);
      const { error } = JSON.parse(run.out) as { error: { code: string; message: string } };
      expect([args, error.code, run.code, run.err]).toEqual([args, code, exit, ""]);
      expect(error.message).toMatch(/[.)…]$/m);
    }
    expect(await home.json(["history", B])).toEqual(before);
  });

  test("a conflict shows what is there now, counted from 1, and who did it", async () => {
    using home = await furnished();
    const change = ["block", "edit", B, "--base-version", "1", "--operations"];
    await home.json([...change, edit(1, "TWO"), "--actor", "claude"]);
    const run = await home.run([...change, edit(1, "zwei")]);
    expect([run.code, run.out]).toEqual([1, ""]);
    const [sentence, ...texts] = run.err.split("\n");
    expect(sentence).toBe(
      "kumiko: Operation 1 was not made: the text there was changed since version 1. Make it again for version 2.",
    );
    expect(texts).toEqual([
      "",
      "  the edit expects, for version 1",
      "         | two",
      "",
      "  version 2 has, lines counted from 1",
      "       1 | one",
      " >     2 | TWO",
      "       3 | three",
      "",
      expect.stringMatching(/^ {2}changed by claude, 20[-\d]+ [:\d]+, version 2, edit e\S+$/),
      "If that is still what you want: --base-version 2, with its lines (in JSON counted from 0).",
      "",
    ]);
    const program = await home.json([...change, edit(1, "zwei")]);
    expect(program).toMatchObject({
      error: {
        facts: { line: 1, counted_from: 0, changed_by: [{ time: expect.any(Number) as unknown }] },
      },
    });
    const merged = await home.run([...change, edit(2, "drei")]);
    expect(merged.code).toBe(0);
    expect(merged.out).toContain("Others had changed meanwhile, and it was merged:");
    expect(merged.out).toContain("+TWO");
  });

  test("history and blame stay in their columns, however narrow the terminal", async () => {
    using home = await furnished();
    const actor = "a-research-assistant-of-somebody";
    const message = "louder, because the reader at the back could not hear it well enough";
    const long =
      "a line that is a good deal longer than the terminal on which it is shown, is it not";
    const change = ["block", "edit", B, "--base-version", "1", "--operations"];
    await home.json([...change, edit(1, long), "--actor", actor, "--message", message]);
    await home.json([...change, edit(0, "ONE")]);
    await home.json(["undo", "--of-actor", actor]);
    await home.json(["block", "rollback", B, "3"]);
    for (const columns of [80, 100, 132]) {
      const history = (await home.run(["history", B], { columns })).out.trimEnd().split("\n");
      const blame = (await home.run(["blame", B], { columns })).out.trimEnd().split("\n");
      for (const line of [...history, ...blame]) expect(line.length).toBeLessThanOrEqual(columns);
      // What is in a column begins where it does in every other line.
      const rows = history.filter((line) => /^\d/.test(line));
      expect(rows).toHaveLength(5);
      expect(new Set(rows.map((line) => line.search(/(?<= )e\d+-\d+/))).size).toBe(1);
      expect(
        new Set(rows.map((line) => line.search(/(?<= )(create|edit|undo|rollback)\b/))).size,
      ).toBe(1);
      expect(new Set(blame.slice(1).map((line) => line.indexOf("|"))).size).toBe(1);
      const said = history.join("").replaceAll(/ {2,}/g, "");
      expect(said).toContain(message.replaceAll(/ {2,}/g, ""));
      const shown = blame.map((line) => line.slice(line.indexOf("|") + 2)).join("");
      expect(shown).toContain(long);
    }
    const whole = (await home.run(["history", B])).out;
    expect(whole).toContain(actor);
    expect(whole).toContain(`  ${message}\n`);
  });

  test("every refusal counts from 1 for people and from 0 for programs", async () => {
    using home = await furnished();
    const refused: [args: string[], people: string[], facts: object][] = [
      [
        ["block", "edit", B, "--base-version", "1", "--operations", edit(9, "x")],
        ["Operation 1 names line 10, but it must be one from 1 to 4: the text has 3 lines."],
        { operation: 0, line: 9, counted_from: 0 },
      ],
      [
        ["block", "replace", B, "twö", "x", "--base-version", "1"],
        [
          "the closest is at line 2 (counted from 1)",
          "  the edit looks for\n         | twö\n",
          "  the text has, from line 2\n       2 | two\n",
        ],
        { closest: { line: 1, counted_from: 0 } },
      ],
      [
        ["block", "replace", B, "e", "x", "--base-version", "1"],
        ["it occurs on line 1, 3, 3 (counted from 1)"],
        { lines: [0, 2, 2], counted_from: 0 },
      ],
      [
        [
          "block",
          "edit",
          B,
          "--base-version=1",
          "--operations",
          '[{"op":"delete","start_line":0,"end_line":1,"expected_text":"uno"}]',
        ],
        [
          "Operation 1 was not made: the text there is not what the edit expects.",
          "  the edit expects\n         | uno\n",
          " >     1 | one\n",
        ],
        { operation: 0, line: 0, counted_from: 0 },
      ],
    ];
    for (const [args, people, facts] of refused) {
      const { err } = await home.run(args);
      for (const line of people) expect(err).toContain(line);
      expect(err.replace("(in JSON counted from 0)", "")).not.toContain("counted from 0");
      expect(await home.json(args)).toMatchObject({ error: { facts } });
    }
  });

  test("a file whose name is a block's is written ./…", async () => {
    using home = await furnished();
    home.folder.write(B, "a\n");
    home.folder.write("other", "b\n");
    expect((await home.run(["diff", `./${B}`, "other"])).out).toContain("-a\n+b\n");
    expect((await home.run(["diff", B, "1"])).code).toBe(0);
  });

  test("misspelt verbs are recognised", async () => {
    using home = temporaryHome();
    const near: [string[], string][] = [
      [["contxt", "new"], "context"],
      [["context", "lst"], "list"],
      [["block", "reed"], "read"],
      [["hystory", B], "history"],
      [["retention", "sett"], "set"],
      [["block", "edit", B, "--base-vrsion", "1"], "--base-version"],
    ];
    for (const [args, meant] of near) {
      const run = await home.run(args);
      expect([run.code, run.out]).toEqual([2, ""]);
      expect(run.err).toContain(`Did you mean ${meant}?`);
    }
  });
});

describe("growth", () => {
  test("du says where the bytes are", async () => {
    using home = await furnished();
    await home.json([
      "block",
      "create",
      "user",
      "text",
      "--context",
      "demo",
      "--content",
      "x".repeat(500),
    ]);
    const usage = await home.json(["du", "--biggest", "1"]);
    expect(usage).toMatchObject({
      ok: true,
      kernel: "main",
      blocks: 2,
      versions: 2,
      unreadable: 0,
      contexts: [{ context: "demo", blocks: 2, versions: 2, text: 514 }],
      biggest: [{ block: "demo~ann~2", versions: 1, text: 500 }],
    });
    const bytes = usage["bytes"] as { [kind: string]: number };
    expect(Object.keys(bytes)).toEqual(expect.arrayContaining(["journal", "keyframes", "scratch"]));
    expect(usage["total"]).toBe(Object.values(bytes).reduce((sum, each) => sum + each));
    const { out } = await home.run(["du"]);
    expect(out).toContain("2 blocks, 2 versions");
    expect(out).toContain("demo~ann~2");
  });

  test("retention is shown, set and applied", async () => {
    using home = await furnished();
    expect(await home.json(["retention", "show"])).toMatchObject({ answered_calls_days: 30 });
    const set = ["retention", "set", "--answered-calls", "7", "--idle-snapshots", "forever"];
    expect(await home.json(set)).toMatchObject({
      answered_calls_days: 7,
      idle_snapshots_days: null,
    });
    expect((await home.run(["retention", "show"])).out).toContain("answered calls   7 days");
    expect((await home.run(["retention", "set"])).code).toBe(2);
    expect((await home.json(["retention", "set", "--answered-calls", "0"]))["error"]).toMatchObject(
      {
        code: "out_of_range",
      },
    );
    expect(await home.json(["retention", "apply"])).toMatchObject({ calls: 0, snapshots: 0 });
    expect((await home.run(["retention", "apply"])).out).toContain("forgot 0 answered calls");
  });

  test("export writes one file per block in conversation order, now or as it was", async () => {
    using home = await furnished();
    const call = [
      "block",
      "create",
      "model",
      "tool_call",
      "--context",
      "demo",
      "--content",
      "call",
    ];
    const { block_id } = await home.json([...call, "--actor", "claude"]);
    await home.json(["block", "create", "user", "text", "--context", "demo", "--content", "later"]);
    const result = [
      "block",
      "create",
      "tool",
      "tool_result",
      "--context",
      "demo",
      "--content",
      "r",
    ];
    const metadata = ["--metadata", `{"path":"src/a.ts"}`, "--parent-id", String(block_id)];
    await home.json([...result, ...metadata]);
    await home.json(["block", "replace", B, "two", "TWO", "--actor", "claude"]);
    expect(await home.json(["export", "out"])).toMatchObject({ ok: true, blocks: 4, position: 5 });
    const out = join(home.folder.path, "out");
    expect(readdirSync(join(out, "demo"))).toEqual([
      "0001-demo~ann~1.txt",
      "0002-demo~claude~1.txt",
      "0003-demo~ann~3.ts",
      "0004-demo~ann~2.txt",
    ]);
    expect(readFileSync(join(out, "demo", "0001-demo~ann~1.txt"), "utf8")).toBe(
      "one\nTWO\nthree\n",
    );
    const index = JSON.parse(readFileSync(join(out, "index.json"), "utf8")) as object;
    expect(index).toMatchObject({
      kernel: "main",
      position: 5,
      contexts: [
        {
          context: "demo",
          blocks: [
            { block_id: B, version: 2, actors: ["ann", "claude"], kind: "text", status: "done" },
            { block_id: "demo~claude~1", kind: "tool_call" },
            { block_id: "demo~ann~3", parent_id: "demo~claude~1", metadata: { path: "src/a.ts" } },
            { block_id: "demo~ann~2" },
          ],
        },
      ],
    });
    const again = await home.run(["export", "out"]);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("--force")]);
    home.folder.write("out/mine", "stays");
    expect((await home.run(["export", "out", "--force", "--at-position", "1"])).out).toContain(
      "1 block in",
    );
    expect(readdirSync(join(out, "demo"))).toEqual(["0001-demo~ann~1.txt"]);
    expect(readFileSync(join(out, "demo", "0001-demo~ann~1.txt"), "utf8")).toBe(
      "one\ntwo\nthree\n",
    );
    expect(readFileSync(join(out, "mine"), "utf8")).toBe("stays");
    expect((await home.run(["export", "x", "--at-position", "99"])).code).toBe(2);
    expect((await home.run(["export", "x", "--context", "none"])).code).toBe(2);
    expect(existsSync(join(home.folder.path, "x"))).toBe(false);
  });

  test("a folder that cannot be made is refused at once, and it is said why", async () => {
    using home = await furnished();
    home.folder.write("file", "mine");
    symlinkSync("nothing", join(home.folder.path, "gone"));
    const impossible = [
      ["file", "EEXIST"],
      ["file/out", "ENOTDIR"],
      ["file/deep/out", "ENOTDIR"],
      ["gone", "EEXIST"],
      // Whose folders only the system makes: it says ENOENT although the one above is there.
      ...(existsSync("/proc/self") ? ["/proc/kumiko", "/proc/self/kumiko/out"] : []).map(
        (path) => [path, "ENOENT"] as const,
      ),
    ] as const;
    for (const [path, reason] of impossible) {
      for (const verb of [["export"], ["doctor", "--export"]]) {
        const { code, out } = await home.run([...verb, path, "--force", "--json"]);
        expect([path, code, JSON.parse(out)]).toMatchObject([
          path,
          2,
          { error: { code: "file_unwritable", facts: { reason } } },
        ]);
      }
    }
    expect(readFileSync(join(home.folder.path, "file"), "utf8")).toBe("mine");
    const setting = { environment: { KUMIKO_HOME: join(home.folder.path, "file", "home") } };
    const nowhere = await home.run(["context", "new", "main", "--json"], setting);
    expect([nowhere.code, JSON.parse(nowhere.out)]).toMatchObject([
      2,
      { error: { code: "file_unwritable", facts: { reason: "ENOTDIR" } } },
    ]);
  });

  test("export --force neither writes nor removes anything outside its folder, whatever links are in it", async () => {
    using home = await furnished();
    home.folder.write("victim/0001-demo~ann~1.txt", "mine");
    home.folder.write("victim/old.txt", "mine");
    home.folder.write("victim/deep/old.txt", "mine");
    const victim = join(home.folder.path, "victim");
    const intact = (): void => {
      expect(readdirSync(victim).toSorted()).toEqual(["0001-demo~ann~1.txt", "deep", "old.txt"]);
      for (const name of ["0001-demo~ann~1.txt", "old.txt", "deep/old.txt"])
        expect(readFileSync(join(victim, name), "utf8")).toBe("mine");
    };
    const out = join(home.folder.path, "out");
    const force = ["export", "out", "--force"];
    expect((await home.run(["export", "out"])).code).toBe(0);
    const index = JSON.parse(readFileSync(join(out, "index.json"), "utf8")) as object;
    const files = ["old.txt", "deep/old.txt", "elsewhere/old.txt", "gone/old.txt"];
    const forged = [...files, ...files.map((name) => `../victim/${name}`), join(victim, "old.txt")];
    const forge = (): void =>
      writeFileSync(
        join(out, "index.json"),
        JSON.stringify({ ...index, files: [...forged, 7, ""] }),
      );
    forge();
    symlinkSync(victim, join(out, "elsewhere"));
    symlinkSync(join(victim, "deep"), join(out, "deep"));
    symlinkSync(join(victim, "nothing"), join(out, "gone"));
    expect((await home.run(force)).code).toBe(0);
    intact();

    // The folder of the context itself leads away: nothing is written, and it is said why.
    forge();
    rmSync(join(out, "demo"), { recursive: true });
    symlinkSync(victim, join(out, "demo"));
    const refused = await home.run([...force, "--json"]);
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.out)).toMatchObject({
      error: { code: "file_unwritable", facts: { reason: "link" } },
    });
    intact();
    rmSync(join(out, "demo"));
    symlinkSync(join(victim, "new"), join(out, "demo"));
    expect((await home.run(force)).code).toBe(2);
    expect((await home.run(["doctor", "--export", "out", "--force"])).code).toBe(2);
    intact();

    // A link to the folder itself, and a file that is a link: the link is replaced, not what it names.
    rmSync(join(out, "demo"));
    mkdirSync(join(out, "demo"));
    symlinkSync(join(victim, "old.txt"), join(out, "demo", "0001-demo~ann~1.txt"));
    symlinkSync(out, join(home.folder.path, "link"));
    expect((await home.run(["export", "link", "--force"])).code).toBe(0);
    expect(readFileSync(join(out, "demo", "0001-demo~ann~1.txt"), "utf8")).toContain("one");
    intact();
  });
});

describe("purge", () => {
  const secret = "sk-12345";
  async function withSecret(): Promise<Home> {
    const home = await furnished();
    const patch = ["block", "replace", B, "two", `two ${secret}`, "--message", `key ${secret}`];
    expect((await home.run(patch)).code).toBe(0);
    expect((await home.run(["block", "replace", B, ` ${secret}`, ""])).code).toBe(0);
    return home;
  }

  test("removes a text from all of history, when that was meant", async () => {
    using home = await withSecret();
    const file = join(home.folder.path, "home/kernels/main/state.db");
    const before = await home.json(["history", B]);
    const dry = await home.run(["purge", "text", secret, "--dry-run"]);
    expect(dry).toMatchObject({ code: 0, out: expect.stringContaining(B) });
    expect(
      await home.json(["purge", "text", "-", "--dry-run"], { input: `${secret}\n` }),
    ).toMatchObject({ ok: true, dry_run: true, places: [{ block: B }] });
    for (const [args, setting] of [
      [["purge", "text", secret], {}],
      [["purge", "text", secret], { answers: ["no"] }],
      [["purge", "text", secret], { answers: [""] }],
      [["purge", "text", secret, "--json"], { answers: ["yes"] }],
      [["purge", "text", "x", "--yes"], {}],
    ] as const) {
      expect((await home.run(args, setting)).code).toBe(2);
    }
    expect(await home.json(["history", B])).toEqual(before);
    const done = await home.run(["purge", "text", secret], { answers: ["yes"] });
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining(`removed from ${B}`) });
    expect(done.err).toContain("It cannot be brought back.");
    expect(await textOf(home, "--version", "2")).toMatch(/^one\ntwo █{8}\nthree\n$/);
    expect((await home.run(["history", B])).out).not.toContain(secret);
    expect(readFileSync(file).includes(secret)).toBe(false);
    expect(await home.json(["purge", "text", secret, "--yes"])).toMatchObject({ gaps: [] });
    expect((await home.run(["purge", "text", secret, "--yes"])).out).toContain("occurs nowhere");
  });

  test("removes what one block said and leaves the others alone", async () => {
    using home = await withSecret();
    await home.json(["block", "create", "user", "text", "--context", "demo", "--content", "kept"]);
    const purged = await home.json(["purge", "block", B, "--yes", "--message", "asked to"]);
    expect(purged).toMatchObject({ ok: true, gaps: [{ block: B, by: "ann", why: "asked to" }] });
    expect(await textOf(home)).not.toMatch(/[a-z]/);
    expect((await home.run(["block", "read", "demo~ann~2"])).out).toContain("1 kept");
    expect((await home.run(["purge", "block", "nonsense", "--yes"])).code).toBe(2);
  });
});

describe("doctor", () => {
  const database = (home: Home): string => join(home.folder.path, "home/kernels/main/state.db");

  test("says that all is well, saves everything, and touches nothing", async () => {
    using home = await furnished();
    const before = readFileSync(database(home));
    expect((await home.run(["doctor"])).out).toMatch(/^whole: /);
    expect(await home.json(["doctor", "--export", "saved"])).toMatchObject({
      ok: true,
      findings: [],
      rescued: { whole: 1, partly: 0, nothing: 0 },
    });
    expect(readFileSync(join(home.folder.path, "saved/demo", `${B}.txt`), "utf8")).toBe(
      "one\ntwo\nthree\n",
    );
    expect(readFileSync(database(home)).equals(before)).toBe(true);
  });

  test("finds a damaged row, and everything else goes on", async () => {
    using home = await furnished();
    for (const content of ["x", "y"])
      await home.json([
        "block",
        "create",
        "user",
        "text",
        "--context",
        "demo",
        "--content",
        content,
      ]);
    {
      const raw = new BetterSqlite(database(home));
      raw.prepare("UPDATE commits SET body = zeroblob(9) WHERE position = 2").run();
      raw.close();
    }
    const found = await home.run(["doctor", "--export", "saved"]);
    expect(found.code).toBe(1);
    expect(found.out).toMatch(/^lost {4}.* demo~ann~2 is quarantined/);
    expect(found.out).toContain("1 finding, 1 block quarantined. Nothing was changed.");
    expect(found.out).toContain("2 blocks whole, 1 not at all: ");
    const doctor = await home.run(["doctor", "--json", "--wait", "0"]);
    expect(JSON.parse(doctor.out)).toMatchObject({
      ok: false,
      findings: [{ block: "demo~ann~2", effect: "lost", table: "commits" }],
    });
    const read = await home.run(["block", "read", "demo~ann~2"]);
    expect(read).toMatchObject({ code: 2, out: "" });
    expect(read.err).toContain("demo~ann~2 is quarantined");
    expect(read.err.trim().split("\n")).toHaveLength(1);
    const list = await home.run(["block", "list", "--context", "demo"]);
    expect(list.out).toContain("demo~ann~2  user text  cannot be read");
    expect(list.out).toContain("demo~ann~3  user text  y");
    expect(list.err).toContain("run kumiko doctor");
    const exported = await home.run(["export", "out"]);
    expect(exported).toMatchObject({ code: 1, out: expect.stringContaining("2 blocks in") });
    expect(exported.err).toContain("demo~ann~2 was left out");
    expect(readdirSync(join(home.folder.path, "out/demo"))).toHaveLength(2);
    expect((await home.run(["du"])).out).toContain("1 commit could not be read");
    expect(await home.json(["du"])).toMatchObject({ blocks: 2, unreadable: 1 });
  });

  test("goes on behind a damaged setting, whichever it is, and says so beside the answer", async () => {
    using home = await furnished();
    await home.json(["context", "new", "side"]);
    await home.json(["context", "join", "demo", "--nick", "ann", "--instance", "here"]);
    await home.json(["retention", "set", "--answered-calls", "7"]);
    const rows = ["contexts demo", "members demo/ann/here", "settings retention-applied"];
    {
      const raw = new BetterSqlite(database(home));
      const named = raw.prepare("SELECT space || ' ' || key AS name FROM settings").all();
      expect(named).toEqual(expect.arrayContaining(rows.map((name) => ({ name }))));
      const sql = "UPDATE settings SET value = value || ' ' WHERE space || ' ' || key = ?";
      for (const name of rows) expect(raw.prepare(sql).run(name).changes).toBe(1);
      raw.close();
    }
    const told: string[] = [];
    const json = async (...args: string[]): Promise<{ [name: string]: unknown }> => {
      const run = await home.run([...args, "--json"]);
      expect([args, run.code, run.out.trim().split("\n").length]).toEqual([args, 0, 1]);
      told.push(run.err);
      return JSON.parse(run.out) as { [name: string]: unknown };
    };
    expect(await json("block", "read", B)).toMatchObject({ ok: true, version: 1 });
    // When it was last applied is known again by applying it.
    expect(told.at(-1)).toContain("settings retention-applied");
    await json("block", "read", B);
    expect(told.at(-1)).toBe("");
    const listed = await json("context", "list");
    expect(listed["contexts"]).toMatchObject([
      { context: "demo", created: null, by: null, damaged: expect.any(String) },
      { context: "side", by: "ann" },
    ]);
    expect(told.at(-1)).toContain("contexts demo");
    const shown = await json("context", "show", "demo");
    expect(shown).toMatchObject({ context: "demo", members: [{ nick: "ann", instance: "here" }] });
    expect(shown["blocks"]).toHaveLength(1);
    expect((await home.run(["context", "list"])).out).toContain("demo  its entry is damaged");
    expect(await json("export", "out")).toMatchObject({ ok: true, blocks: 1 });
    const leave = ["context", "leave", "demo", "--nick", "ann", "--instance", "here"];
    expect(await json(...leave)).toMatchObject({ left: true });
    expect((await home.run(["context", "new", "demo"])).err).toContain("There is already");

    {
      const raw = new BetterSqlite(database(home));
      raw.prepare("UPDATE settings SET value = '{}' WHERE key = 'retention'").run();
      raw.prepare("DELETE FROM settings WHERE key = 'retention-applied'").run();
      raw.close();
    }
    await json("block", "read", B);
    expect(told.at(-1)).toContain("settings retention");
    const part = await home.run(["retention", "set", "--answered-calls", "5", "--json"]);
    expect([part.code, JSON.parse(part.out)]).toMatchObject([2, { error: { code: "damaged" } }]);
    await json("retention", "set", "--answered-calls", "5", "--idle-snapshots", "forever");
    expect(await json("retention", "show")).toMatchObject({
      answered_calls_days: 5,
      idle_snapshots_days: null,
    });
    expect(told.at(-1)).toBe("");
  });

  test("explains a file that is garbage, cut off, empty or gone, and changes nothing", async () => {
    using home = await furnished();
    const file = database(home);
    const whole = readFileSync(file);
    const ruins: [string, () => void][] = [
      ["cannot be read as a database", () => writeFileSync(file, "no database".repeat(1000))],
      ["The structure of the database is damaged", () => truncateSync(file, 30_000)],
      ["is empty", () => truncateSync(file, 0)],
    ];
    for (const [sentence, ruin] of ruins) {
      writeFileSync(file, whole);
      ruin();
      const left = readFileSync(file);
      const run = await home.run(["doctor", "--json"]);
      // What is left of one that is cut off is looked at like any other.
      const parts = sentence.startsWith("The structure");
      expect([sentence, run.code]).toEqual([sentence, parts ? 1 : 2]);
      const told = parts
        ? { findings: expect.arrayContaining([expect.objectContaining({ table: "pages" })]) }
        : { error: { code: "damaged" } };
      expect(JSON.parse(run.out)).toMatchObject({ ok: false, ...told });
      expect(run.out).toContain(sentence);
      const used = await home.run(["context", "list"]);
      expect([used.code, used.out]).toEqual([2, ""]);
      expect(readFileSync(file).equals(left)).toBe(true);
    }
    using none = temporaryHome();
    expect((await none.run(["doctor"])).err).toContain("There is no kernel main");
  });
});

describe("with --json", () => {
  const failing = async (
    fail: (terminal: Terminal) => Promise<number>,
  ): Promise<{ code: number; out: string; err: string }> => {
    let [out, err] = ["", ""];
    const terminal: Terminal = {
      folder: ".",
      environment: {},
      colour: false,
      interactive: false,
      readInput: () => Promise.resolve(new Uint8Array()),
      print: (text) => Promise.resolve(void (out += text)),
      complain: (text) => Promise.resolve(void (err += text)),
      ask: () => Promise.resolve(""),
      interruption: () => ({ signal: new AbortController().signal, [Symbol.dispose]() {} }),
    };
    return { code: await answering(terminal, true, () => fail(terminal)), out, err };
  };
  const broken = (what: string): KumikoError => new KumikoError("damaged", `${what} is broken.`);

  test("there is one document, also when closing fails after it", async () => {
    const after = await failing(async (terminal) => {
      await using closing = new AsyncDisposableStack();
      closing.defer(() => Promise.reject(broken("closing")));
      await printJson(terminal, { ok: true });
      return 0;
    });
    expect([after.code, JSON.parse(after.out)]).toEqual([2, { ok: true }]);
    expect(after.err).toContain("closing is broken.");
    const both = await failing(async () => {
      await using closing = new AsyncDisposableStack();
      closing.defer(() => Promise.reject(broken("closing")));
      throw broken("the call");
    });
    expect(JSON.parse(both.out)).toMatchObject({
      ok: false,
      error: { message: "the call is broken." },
    });
    expect(both.err).toContain("closing is broken.");
    await expect(failing(() => Promise.reject(new Error("ours")))).rejects.toThrow("ours");
  });
});

describe("as a program", () => {
  test("--version and --help load neither tools nor kernel nor database", async () => {
    using home = temporaryHome();
    const hook = home.folder.write(
      "hook.mjs",
      `import { registerHooks } from "node:module";
       registerHooks({
         load(url, context, next) {
           if (/zod|better-sqlite3|loro-crdt|src.(kernel|tools|store|app)./.test(url)) throw new Error(url);
           return next(url, context);
         },
       });`,
    );
    for (const args of [["--version"], ["--help"], ["context", "--help"], ["export", "--help"]]) {
      const ended = await runProgram(process.execPath, ["--import", hook, command, ...args], {
        env: home.environment,
      });
      expect(ended).toMatchObject({ code: 0, stderr: "" });
    }
    const loading = await runProgram(
      process.execPath,
      ["--import", hook, command, "block", "--help"],
      { env: home.environment },
    );
    expect(loading.code).toBe(1);
  });

  test("the whole of a short session works", async () => {
    using home = temporaryHome();
    const session: [string[], RegExp, string?][] = [
      [["context", "new", "demo"], /demo is ready/],
      [
        ["block", "create", "user", "text", "--context", "demo", "--content", "-"],
        /^demo~ann~1 /,
        "a\nb\n",
      ],
      [
        ["block", "edit", B, "--base-version", "1", "--operations", edit(0, "A")],
        /is now version 2/,
      ],
      [["history", B], /^2 .*\n1 /],
      [["undo"], /-A\n\+a\n/],
      [["block", "read", B, "--no-line-numbers"], /^a\nb\n$/],
    ];
    for (const [args, printed, input] of session) {
      const ended = await home.program(args, input);
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      expect(ended.stdout).toMatch(printed);
    }
  });

  test("a second process is told who has the kernel, and that it waits", async () => {
    using home = await furnished();
    const script = `
      import { HomeFolder } from "./src/app/index.ts";
      const home = new HomeFolder(${JSON.stringify(home.environment["KUMIKO_HOME"])}, "kumiko test");
      const store = await home.openStore("main");
      process.stdin.on("data", () => store[Symbol.asyncDispose]().then(() => process.exit(0)));
      process.stdout.write("open");
    `;
    const holder = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: root });
    await once(holder.stdout, "data");
    const second = await home.program(["block", "read", B, "--wait", "0.1"]);
    expect([second.code, second.stdout]).toEqual([2, ""]);
    expect(second.stderr).toContain(`process ${holder.pid} (kumiko test), running since 20`);
    expect(second.stderr).not.toContain("waiting");
    const doctor = await home.program(["doctor", "--json"]);
    expect(JSON.parse(doctor.stdout)).toMatchObject({
      error: { code: "in_use", facts: { pid: holder.pid, command: "kumiko test" } },
    });
    // Whoever waits gets it when the other is done.
    const waiting = spawn(
      process.execPath,
      [command, "block", "read", B, "--no-line-numbers", "--wait", "60"],
      { cwd: home.folder.path, env: home.environment },
    );
    const [told] = (await once(waiting.stderr, "data")) as [Buffer];
    expect(told.toString()).toMatch(
      new RegExp(`^kumiko: waiting: .*process ${holder.pid} \\(kumiko test\\)`),
    );
    holder.stdin.write("close");
    expect(await once(waiting, "close")).toEqual([0, null]);
    // It would see nothing, and keep others from writing.
    const alone = await home.program(["block", "subscribe", "--from", "0", "--json"]);
    expect([alone.code, JSON.parse(alone.stdout)]).toMatchObject([
      2,
      { error: { code: "unreachable" } },
    ]);
    const third = await home.program(["block", "read", B, "--no-line-numbers"]);
    expect(third).toMatchObject({ code: 0, stdout: "one\ntwo\nthree\n", stderr: "" });
    const folder = join(home.folder.path, "home/kernels/main");
    expect(readdirSync(folder).filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
  });
});
