import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Random } from "../src/base/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import type { ToldOfFiles } from "./support/mounted-child.ts";
import { root } from "./support/process.ts";
import { canMount } from "./support/programs.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 15 * 60_000;
const PATIENCE = 20_000;
const SLOTS = Array.from({ length: 20 }, (_, slot) => `slot ${slot}`);
const START = `${SLOTS.join("\n")}\n`;
const PATHS = ["a.txt", "b.txt", "src/c.txt", "src/d.txt", "src/deep/e.txt", "equal.txt"];

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`${what} did not happen`);
    await passing(10);
  }
}

function count(text: string, token: string): number {
  return text.split(token).length - 1;
}

function leftovers(folder: string): string[] {
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return all.filter((name) => name.includes(".kumiko-"));
}

describe("a kernel with a mounted folder that is killed", () => {
  it(
    "leaves no torn file, and has everything that was acknowledged in blocks and on disk",
    { timeout: LONG },
    async () => {
      using place = temporaryFolder();
      const folder = join(place.path, "project");
      for (const path of PATHS) {
        mkdirSync(join(folder, path, ".."), { recursive: true });
        writeFileSync(join(folder, path), START);
      }
      linkSync(join(folder, "equal.txt"), join(place.path, "second name"));
      const random = new Random(seed());
      const acknowledged: ToldOfFiles[] = [];
      const begun: ToldOfFiles[] = [];
      const foreign: { token: string; path: string }[] = [];
      for (let life = 0; life < scaled(100); life++) {
        const told = await killed(place.path, { life: String(life), time: 1 + random.below(400) });
        acknowledged.push(...told.filter((each) => each.acknowledged === true));
        begun.push(...told.filter((each) => each.token !== undefined));
        // One with two names is written in place: it is made whole at the next start.
        for (const path of PATHS.filter((each) => each !== "equal.txt")) expectWhole(folder, path);
        if (life % 3 === 2) {
          const path = random.pick(PATHS.filter((each) => each !== "equal.txt"));
          const token = `<foreign-${life}>`;
          appendFileSync(join(folder, path), `${token}\n`);
          foreign.push({ token, path });
        }
        await expectKept(place.path, { acknowledged, begun, foreign });
      }
      expect(acknowledged.length).toBeGreaterThan(scaled(100));
      expect(acknowledged.filter(({ paths }) => paths!.length > 1).length).toBeGreaterThan(
        scaled(100) / 5,
      );
    },
  );
});

describe("a kernel that is killed right after a file was loaded", () => {
  it.each(["nobody", "somebody"])(
    "has what was typed into it, when %s changed the file meanwhile",
    { timeout: LONG },
    async (who) => {
      using place = temporaryFolder();
      const folder = join(place.path, "project");
      const read = (): string => readFileSync(join(folder, "a.txt"), "utf8");
      // On a busy machine it may live until the text is saved: then it is another's turn.
      for (let attempt = 1; attempt === 1 || read() !== START; attempt++) {
        expect(attempt).toBeLessThan(20);
        rmSync(place.path, { recursive: true });
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, "a.txt"), START);
        const [, , told] = await killed(place.path, { life: "typing", time: 0, paths: ["a.txt"] });
        expect(told).toEqual({ token: "<typed>", paths: ["a.txt"], acknowledged: true });
      }
      if (who === "somebody") writeFileSync(join(folder, "a.txt"), `first\n${START}`);
      await using mounted = await Mounted.at(place.path);
      const wanted = `${who === "somebody" ? "first\n" : ""}${START}<typed>\n`;
      await until("the save", () => mounted.read("a.txt") === wanted);
      expect(await mounted.text("a.txt")).toBe(wanted);
    },
  );
});

describe.runIf(process.platform === "linux")(
  "a kernel that is killed right after agents edited a file",
  () => {
    const both = START.replace("slot 3\n", "<slot 3><again>\n");
    const writers: readonly [string, (path: string) => void, string][] = [
      ["puts back what was there before", (path) => putInPlace(path, START), START],
      ["writes what was there before", (path) => writeFileSync(path, START), START],
      [
        "changes another line of it",
        (path) => putInPlace(path, START.replace("slot 9\n", "<nine>\n")),
        START.replace("slot 9\n", "<nine>\n"),
      ],
      [
        "goes on with the same line",
        (path) => writeFileSync(path, both.replace("<again>", "<again> more")),
        both.replace("<again>", "<again> more"),
      ],
      ["touches nothing", () => undefined, both],
    ];

    it.each(writers)(
      "knows what it had saved when somebody %s then",
      { timeout: LONG },
      async (_, write, wanted) => {
        using place = temporaryFolder();
        const folder = join(place.path, "project");
        mkdirSync(folder);
        const path = join(folder, "a.txt");
        writeFileSync(path, START);
        await killed(place.path, { life: "editing", time: 0, paths: ["a.txt"] });
        expect(readFileSync(path, "utf8")).toBe(both);
        write(path);
        await using mounted = await Mounted.at(place.path);
        expect(await mounted.text("a.txt")).toBe(wanted);
        expect(mounted.read("a.txt")).toBe(wanted);
        expect(await mounted.call("file_status", {})).toMatchObject({
          files: [{ status: "synced" }],
          conflicts: [],
        });
        const { versions } = await mounted.call<{ versions: { actor: string }[] }>(
          "block_history",
          { block_id: "a.txt" },
        );
        const actors = ["codex", "claude", "disk"];
        expect(versions.map(({ actor }) => actor)).toEqual(
          wanted === both ? actors : ["disk", ...actors],
        );
        // What the next process had to know is written down.
        await mounted.restart();
        expect(await mounted.text("a.txt")).toBe(wanted);
        expect(mounted.read("a.txt")).toBe(wanted);
      },
    );
  },
);

/** As git and most editors do. */
function putInPlace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** Every line is one that somebody wrote, and those of the beginning are all there in their order. */
function expectWhole(folder: string, path: string): void {
  const text = readFileSync(join(folder, path), "utf8");
  const lines = text.split("\n");
  expect([path, lines.pop()]).toEqual([path, ""]);
  expect([path, lines.filter((line) => !/^(slot \d+|<[^>]+>)$/.test(line))]).toEqual([path, []]);
  expect([path, lines.filter((line) => line.startsWith("slot"))]).toEqual([path, SLOTS]);
}

async function expectKept(
  place: string,
  {
    acknowledged,
    begun,
    foreign,
  }: {
    acknowledged: readonly ToldOfFiles[];
    begun: readonly ToldOfFiles[];
    foreign: readonly { token: string; path: string }[];
  },
): Promise<void> {
  await using mounted = await Mounted.at(place);
  const { source } = mounted.mounts.first();
  const texts = new Map<string, string>();
  let different: string[] = [];
  // Without anybody asking for them.
  await until("blocks and files being equal", async () => {
    different = [];
    for (const path of PATHS) {
      const file = source.files.at(path);
      if (file === undefined) continue;
      const { text } = await mounted.kernel.read(file.block);
      texts.set(path, text);
      if (text !== mounted.read(path)) different.push(path);
    }
    return different.length === 0;
  });
  for (const path of PATHS) {
    texts.set(path, await mounted.text(path));
    expectWhole(mounted.folder, path);
    expect(mounted.read(path)).toBe(texts.get(path));
  }
  const lost = mounted.mounts.conflicts.list().map((each) => each.lost);
  const times = (path: string, token: string): number => count(texts.get(path)!, token);
  const wrong: unknown[] = [];
  for (const { token, paths } of acknowledged) {
    for (const path of paths!) {
      const found = times(path, token!);
      const isKept = found === 1 || (found === 0 && lost.some((text) => text.includes(token!)));
      if (!isKept) wrong.push([token, path, found]);
    }
  }
  for (const { token, path } of foreign)
    if (times(path, token) !== 1) wrong.push([token, path, times(path, token)]);
  // What nobody was told of happened in all its files or in none.
  for (const { token, paths } of begun) {
    const found = new Set(paths!.map((path) => times(path, token!)));
    if (found.size > 1) wrong.push([token, paths, "half"]);
  }
  expect(wrong).toEqual([]);
  expect(leftovers(mounted.folder)).toEqual([]);
}

/** What a kernel told before it was killed, so many milliseconds after it was ready and had something acknowledged. */
async function killed(
  place: string,
  { life, time, paths = PATHS }: { life: string; time: number; paths?: readonly string[] },
): Promise<ToldOfFiles[]> {
  const { promise, resolve, reject } = Promise.withResolvers<ToldOfFiles[]>();
  const child = join(root, "test/support/mounted-child.ts");
  const args = [child, place, life, paths.join(",")];
  const running = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const SIGN = life === "0" ? '"ready"' : '"acknowledged":true';
  let stdout = "";
  let stderr = "";
  running.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  running.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const began = stdout.includes(SIGN);
    stdout += chunk;
    if (!began && stdout.includes(SIGN)) setTimeout(() => running.kill("SIGKILL"), time);
  });
  running.on("error", reject);
  running.on("close", (_code, signal) => {
    if (signal !== "SIGKILL") return reject(new Error(`The kernel ended by itself: ${stderr}`));
    const whole = stdout.slice(0, stdout.lastIndexOf("\n") + 1);
    const lines = whole.split("\n").filter((line) => line !== "");
    resolve(lines.map((line) => JSON.parse(line) as ToldOfFiles));
  });
  return promise;
}

describe.runIf(canMount())("a folder on a disk that cannot be written", () => {
  const reasons: readonly [string, string, string[], string[]][] = [
    ["full", "ENOSPC", ["size=1m"], ["remount,size=8m"]],
    ["read-only", "EROFS", ["remount,ro"], ["remount,rw,size=8m"]],
  ];

  it.each(reasons)(
    "because it is %s keeps the edit, says why, and writes it when it can",
    { timeout: LONG },
    async (_, reason, worse, better) => {
      using place = temporaryFolder();
      using disk = mountedDisk(place.path);
      const old = `${START}${"x".repeat(300_000)}\n`;
      writeFileSync(join(disk.path, "a.txt"), old);
      await using mounted = await Mounted.with({}, { folder: disk.path });
      await mounted.text("a.txt");
      if (reason === "EROFS") disk.remount(worse[0]!);
      const large = `${"y".repeat(900_000)}\n`;
      const content = reason === "ENOSPC" ? large : "short";
      const operations = [{ op: "insert", line: 3, content }];
      const input = { block_id: "a.txt", operations, call_id: "once" };
      const { version, edit, ...answer } = await mounted.call("block_edit", input);
      expect(version).toBe(2);
      const why = expect.stringContaining(reason);
      const unsaved = [{ path: "a.txt", block_id: answer["block_id"], why }];
      expect(answer["unsaved"]).toEqual(unsaved);
      // The same call hears it again, and so does whoever changes it by other tools.
      expect((await mounted.call("block_edit", input))["unsaved"]).toEqual(unsaved);
      const others: [string, object][] = [
        ["block_undo", { edit }],
        ["block_redo", {}],
        ["block_replace", { block_id: "a.txt", old: "slot 0", new: "SLOT 0" }],
        ["block_replace", { block_id: "a.txt", old: "SLOT 0", new: "slot 0" }],
        ["block_append", { block_id: "a.txt", text: "end", flush: true }],
        ["block_apply_patch", { block_id: "a.txt", patch: "@@\n slot 1\n-slot 2\n+SLOT 2\n" }],
        ["block_rollback", { block_id: "a.txt", version: 2 }],
      ];
      for (const [tool, each] of others) {
        // What was taken back is what is on disk: nothing is unsaved then.
        const expected = tool === "block_undo" ? undefined : unsaved;
        expect([tool, (await mounted.call(tool, each))["unsaved"]]).toEqual([tool, expected]);
      }
      expect(mounted.read("a.txt")).toBe(old);
      expect(leftovers(disk.path)).toEqual([]);
      const status = await mounted.call<{ files: { status: string; why: string }[] }>(
        "file_status",
        { path: "a.txt" },
      );
      expect(status.files[0]).toMatchObject({
        status: "block_ahead",
        why: expect.stringContaining(reason),
      });
      // It is read and edited meanwhile, and made nowhere else.
      await mounted.call("block_edit", {
        block_id: "a.txt",
        operations: [{ op: "insert", line: 0, content: "first" }],
      });
      const text = await mounted.text("a.txt");
      expect(text.startsWith("first\nslot 0\n")).toBe(true);
      const making = mounted.call("file_create", { path: "new/b.txt", content: large });
      await expect(making).rejects.toMatchObject({ code: "file_unwritable" });
      expect(readdirSync(disk.path)).toEqual(["a.txt"]);
      disk.remount(better[0]!);
      await until("the save", () => mounted.read("a.txt") === text);
      const after = await mounted.call<{ files: object[] }>("file_status", { path: "a.txt" });
      expect(after.files[0]).toMatchObject({ status: "synced" });
      expect(after.files[0]).not.toHaveProperty("why");
      const last = { block_id: "a.txt", old: "first", new: "FIRST" };
      expect(await mounted.call("block_replace", last)).not.toHaveProperty("unsaved");
      await mounted.call("file_create", { path: "new/b.txt", content: large });
      expect(mounted.read("new/b.txt")).toBe(large);
    },
  );

  it("has it after a restart", { timeout: LONG }, async () => {
    using place = temporaryFolder();
    using disk = mountedDisk(place.path);
    writeFileSync(join(disk.path, "a.txt"), START);
    await using mounted = await Mounted.with({}, { folder: disk.path, watch: true });
    await mounted.text("a.txt");
    disk.remount("remount,ro");
    const operations = [{ op: "insert", line: 3, content: "kept" }];
    await mounted.call("block_edit", { block_id: "a.txt", operations });
    await mounted.stop();
    expect(mounted.read("a.txt")).toBe(START);
    disk.remount("remount,rw");
    await mounted.start();
    await until("the save", () => mounted.read("a.txt").includes("slot 2\nkept\n"));
  });
});

interface MountedDisk extends Disposable {
  readonly path: string;
  remount(options: string): void;
}

/** A disk of one megabyte. */
function mountedDisk(place: string): MountedDisk {
  const path = join(place, "disk");
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "kumiko-test", path]);
  return {
    path,
    remount: (options) => void execFileSync("mount", ["-o", options, path]),
    [Symbol.dispose]: () => void execFileSync("umount", ["-l", path]),
  };
}
