import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryHome } from "./support/kumiko.ts";
import { canMount } from "./support/programs.ts";

const B = "demo~ann~1";

/** A home on a disk that nobody can write to, with what a server leaves behind. */
async function snapshot() {
  const home = temporaryHome();
  expect((await home.run(["context", "new", "demo"])).code).toBe(0);
  const create = ["block", "create", "--context", "demo", "--role", "user", "--kind", "text"];
  expect((await home.run([...create, "--content", "one\ntwo\n"])).code).toBe(0);
  const disk = join(home.folder.path, "disk");
  mkdirSync(disk);
  execFileSync("mount", ["-t", "tmpfs", "kumiko-test", disk]);
  cpSync(join(home.folder.path, "home"), join(disk, "home"), { recursive: true });
  writeFileSync(join(disk, "home", "server.lock"), "");
  execFileSync("mount", ["-o", "remount,ro", disk]);
  const environment = { KUMIKO_HOME: join(disk, "home") };
  return {
    run: (args: readonly string[]) => home.run(args, { environment }),
    path: home.folder.path,
    [Symbol.dispose]() {
      execFileSync("umount", ["-l", disk]);
      home[Symbol.dispose]();
    },
  };
}

const copies = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith("kumiko-read-only-"));

describe.skipIf(!canMount())("a home that cannot be written", () => {
  test("is read as ever, and says that it is one", async () => {
    using home = await snapshot();
    const before = copies();
    const expected: [string[], string][] = [
      [["context", "list"], "demo"],
      [["context", "show", "demo"], B],
      [["block", "read", B], "two"],
      [["block", "list", "--context", "demo"], B],
      [["block", "search", B, "two"], "two"],
      [["history", B], "ann"],
      [["blame", B], "two"],
      [["search", "two"], "two"],
      [["du"], "1 block"],
      [["export", "out"], "1 block"],
    ];
    for (const [args, shown] of expected) {
      const { code, out, err } = await home.run(args);
      expect([args, code, out]).toEqual([args, 0, expect.stringContaining(shown)]);
      expect([args, err]).toEqual([args, expect.stringContaining("is read-only: ")]);
      expect(err.trim().split("\n")).toHaveLength(1);
    }
    expect(await home.run(["doctor", "--export", "saved"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 block whole"),
    });
    expect(existsSync(join(home.path, "saved/demo", `${B}.txt`))).toBe(true);
    expect(await home.run(["status"])).toMatchObject({
      code: 1,
      out: expect.stringContaining("No server runs"),
    });
    expect(copies()).toEqual(before);
  });

  test("refuses to be changed in one sentence", async () => {
    using home = await snapshot();
    const changes = [
      ["block", "append", B, "more", "--flush"],
      ["block", "replace", B, "two", "2"],
      ["context", "new", "side"],
      ["undo"],
      ["retention", "set", "--answered-calls", "7"],
      ["purge", "text", "two", "--yes"],
      ["mount", "."],
      ["kernel", "new", "other"],
      ["serve", "--port", "0"],
    ];
    for (const args of changes) {
      const { code, out, err } = await home.run(args);
      expect([args, code, out]).toEqual([args, 2, ""]);
      expect([args, err]).toEqual([
        args,
        expect.stringMatching(/is read-only here|cannot be used as Kumiko's home/),
      ]);
      expect([args, err]).not.toEqual([args, expect.stringContaining("    at ")]);
    }
    expect((await home.run(["block", "read", B])).out).toContain("two");
  });
});
