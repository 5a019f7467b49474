import { hash } from "node:crypto";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Content } from "../src/files/content.ts";
import { KumikoError, Random } from "../src/base/index.ts";
import { Folder } from "../src/files/contained.ts";
import { move, readWhole, remove, save, stat } from "../src/files/disk-file.ts";
import { stage } from "../src/files/replacing.ts";
import { sweep } from "../src/files/sweep.ts";
import { isTemporaryName } from "../src/files/temporary-name.ts";
import { scaled, seed } from "./support/counts.ts";
import { root as repository, runProgram } from "./support/process.ts";
import { canMount } from "./support/programs.ts";
import { refusal } from "./support/refusal.ts";
import { roundOf, wholeContent } from "./support/saving-child.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const child = join(repository, "test/support/saving-child.ts");
const LONG = 15 * 60_000;
const isRoot = process.getuid?.() === 0;
const bytes = (text: string): Buffer => Buffer.from(text);

describe("saving a file", () => {
  it("refuses to run over a disk that moved, and leaves nothing behind", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { content: expected } = (await readWhole(place, 100))!;
    writeFileSync(path, "two");
    await expect(save(place, bytes("mine"), { expected })).rejects.toMatchObject({
      code: "disk_moved",
      facts: { path: "a.txt" },
    });
    expect(readFileSync(path, "utf8")).toBe("two");
    await expect(remove(place, { expected })).rejects.toMatchObject({ code: "disk_moved" });
    rmSync(path);
    await expect(save(place, bytes("mine"), { expected })).rejects.toMatchObject({
      code: "file_absent",
    });
    symlinkSync("/etc/passwd", path);
    await expect(save(place, bytes("mine"), { expected })).rejects.toMatchObject({
      code: "disk_moved",
    });
    expect(readdirSync(folder.path)).toEqual(["a.txt"]);
  });

  it("made ready beforehand is put in place whole, never over what moved since, or leaves nothing", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    chmodSync(path, 0o640);
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { content: expected } = (await readWhole(place, 100))!;
    const open = readdirSync("/proc/self/fd").length;
    {
      using given = stage(place, [bytes("given up")])!;
      expect(readdirSync(folder.path)).toHaveLength(2);
      expect(given).toBeDefined();
    }
    expect(readdirSync(folder.path)).toEqual(["a.txt"]);
    expect(readFileSync(path, "utf8")).toBe("one");
    {
      using staged = stage(place, [bytes("mine")])!;
      const saved = await save(place, bytes("mine"), { expected, staged });
      await saved.settled;
      expect(saved.stat).toEqual(stat(place));
    }
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["mine", 0o640]);
    const moves = [
      () => writeFileSync(path, "ours"),
      () => writeFileSync(path, "mine!"),
      () => rmSync(path),
      () => {
        rmSync(path);
        symlinkSync("/etc/passwd", path);
      },
    ];
    // By its bytes, or by their hash.
    for (const again of [Content.of(bytes("mine")), Content.known(hash("sha256", "mine"))]) {
      for (const happens of moves) {
        writeFileSync(path, "mine");
        using staged = stage(place, [bytes("else")])!;
        happens();
        const saving = save(place, bytes("else"), { expected: again, staged });
        await expect(saving).rejects.toBeInstanceOf(KumikoError);
        rmSync(path, { force: true });
      }
    }
    writeFileSync(path, "mine");
    linkSync(path, join(folder.path, "b.txt"));
    // One of two names is written in place.
    expect(stage(place, [bytes("else")])).toBeUndefined();
    expect(readdirSync(folder.path).toSorted()).toEqual(["a.txt", "b.txt"]);
    // Fewer, when what an earlier test left to be closed was among them.
    await vi.waitFor(() => expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(open));
  });

  it("is a program that can be run as soon as it is saved", async () => {
    using folder = temporaryFolder();
    const path = folder.write("run.sh", "#!/bin/sh\necho one\n");
    chmodSync(path, 0o755);
    using root = Folder.open(folder.path);
    const place = root.resolve("run.sh");
    for (const how of ["staged", "at once", "new"]) {
      const text = bytes(`#!/bin/sh\necho ${how}\n`);
      if (how === "new") rmSync(path);
      const expected = how === "new" ? "absent" : (await readWhole(place, 100))!.content;
      using staged = how === "staged" ? stage(place, [text]) : undefined;
      await save(place, text, { expected, staged, mode: 0o755 });
      expect(spawnSync(path, { encoding: "utf8" }).stdout).toBe(`${how}\n`);
    }
  });

  it("refuses to replace what became read-only since it was looked at", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    chmodSync(folder.path, 0o777);
    if (isRoot) chownSync(path, 65_534, 65_534);
    // In a process of its own, which may do less.
    const program = `
      import { chmodSync } from "node:fs";
      import { Folder } from "./src/files/contained.ts";
      import { readWhole, save } from "./src/files/disk-file.ts";
      import { stage } from "./src/files/replacing.ts";
      if (${isRoot}) { process.setgid(65534); process.setuid(65534); }
      using root = Folder.open(${JSON.stringify(folder.path)});
      const place = root.resolve("a.txt");
      const { content: expected } = await readWhole(place, 100);
      chmodSync(${JSON.stringify(path)}, 0o444);
      const bytes = Buffer.from("mine");
      using staged = stage(place, [bytes], place.seen);
      await save(place, bytes, { expected, staged }).catch((error) => console.log(error.code));
    `;
    const { stdout } = await runProgram(process.execPath, ["--input-type=module", "-e", program], {
      cwd: repository,
    });
    expect([stdout.trim(), readFileSync(path, "utf8")]).toEqual(["file_unwritable", "one"]);
    expect(readdirSync(folder.path)).toEqual(["a.txt"]);
  });

  it.runIf(isRoot)("opens what it writes to nobody who may not read the file", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    // What is made there belongs to the folder's group.
    chownSync(folder.path, 0, 100);
    chmodSync(folder.path, 0o2770);
    chownSync(path, 0, 0);
    chmodSync(path, 0o660);
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { content: expected } = (await readWhole(place, 100))!;
    const saving = save(place, Buffer.alloc(1_000_000, "x"), { expected });
    await Promise.resolve();
    const [name] = readdirSync(folder.path).filter((each) => each !== "a.txt");
    expect(statSync(join(folder.path, name!)).mode & 0o777).toBe(0o600);
    expect((await saving).stat).toMatchObject({ mode: 0o660, uid: 0, gid: 0 });
  });

  it("compares content, not times", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { content: expected } = (await readWhole(place, 100))!;
    utimesSync(path, 1, 1);
    const { stat: saved, settled } = await save(place, bytes("mine"), { expected });
    await settled;
    expect(saved).toEqual(stat(place));
    // The same size and time, but other bytes.
    const { content: again } = (await readWhole(place, 100))!;
    const { atime, mtime } = statSync(path);
    writeFileSync(path, "ours");
    utimesSync(path, atime, mtime);
    await expect(save(place, bytes("else"), { expected: again })).rejects.toMatchObject({
      code: "disk_moved",
    });
  });

  it("never makes a file over something", async () => {
    using folder = temporaryFolder();
    folder.write("a.txt", "one");
    symlinkSync("nowhere", join(folder.path, "dangling"));
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    await expect(save(place, bytes("mine"), { expected: "absent" })).rejects.toMatchObject({
      code: "already_exists",
    });
    folder.write("b.txt", "two");
    expect(() => move(place, root.resolve("b.txt"))).toThrow("already something at b.txt");
    expect(readFileSync(join(folder.path, "b.txt"), "utf8")).toBe("two");
    // What a link leads to is made; the link stays.
    await save(root.resolve("dangling"), bytes("made"), { expected: "absent" });
    expect(lstatSync(join(folder.path, "dangling")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder.path, "nowhere"), "utf8")).toBe("made");
  });

  it("lets only one of many make a file", async () => {
    using folder = temporaryFolder();
    using root = Folder.open(folder.path);
    for (let round = 0; round < scaled(50); round += 1) {
      const place = root.resolve(`new-${round}/file`);
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, (_, one) => save(place, bytes(`${one}`), { expected: "absent" })),
      );
      const made = results.findIndex((result) => result.status === "fulfilled");
      const codes = results.map((result) => codeOf(result));
      expect(codes.toSorted()).toEqual(["", ...Array.from({ length: 7 }, () => "already_exists")]);
      expect(readFileSync(join(folder.path, place.path), "utf8")).toBe(`${made}`);
      expect(readdirSync(join(folder.path, `new-${round}`))).toEqual(["file"]);
    }
  });

  it("makes the folders it needs and takes them back when it fails", async () => {
    using folder = temporaryFolder();
    using root = Folder.open(folder.path);
    const { settled } = await save(root.resolve("x/y/z.txt"), bytes("1"), { expected: "absent" });
    await settled;
    const there = (await readWhole(root.resolve("x/y/z.txt"), 9))!;
    move(root.resolve("x/y/z.txt"), root.resolve("p/q/r.txt"));
    expect(readFileSync(join(folder.path, "p/q/r.txt"), "utf8")).toBe("1");
    expect(() => move(root.resolve("x/y/z.txt"), root.resolve("n/e/w.txt"))).toThrow("no file");
    expect(readdirSync(folder.path).toSorted()).toEqual(["p", "x"]);
    move(root.resolve("p"), root.resolve("x/y/p"));
    await remove(root.resolve("x/y/p/q/r.txt"), { expected: there.content });
    expect(readdirSync(join(folder.path, "x/y/p/q"))).toEqual([]);
  });

  it("moves a link itself when asked to, never what it leads to", () => {
    using folder = temporaryFolder();
    folder.write("a.txt", "one");
    symlinkSync("a.txt", join(folder.path, "link"));
    using root = Folder.open(folder.path);
    const link = root.resolve("link", { follow: false });
    expect(link).toMatchObject({ path: "link", kind: "link" });
    move(link, root.resolve("renamed"));
    expect(readdirSync(folder.path)).toEqual(["a.txt", "renamed"]);
    expect(readlinkSync(join(folder.path, "renamed"))).toBe("a.txt");
  });

  it.runIf(isRoot)("keeps owner and all bits of the mode", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    chownSync(path, 65_534, 65_534);
    chmodSync(path, 0o6751);
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { stat: saved } = await save(place, bytes("two"), {
      expected: (await readWhole(place, 9))!.content,
    });
    expect(saved).toMatchObject({ mode: 0o6751, uid: 65_534, gid: 65_534 });
    expect(stat(place)).toEqual(saved);
  });

  it.runIf(!isRoot)("refuses a file that may not be written", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    chmodSync(path, 0o444);
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { content: expected } = (await readWhole(place, 9))!;
    await expect(save(place, bytes("two"), { expected })).rejects.toMatchObject({
      code: "file_unwritable",
      facts: { reason: "EACCES" },
    });
    chmodSync(path, 0o644);
    chmodSync(folder.path, 0o555);
    await expect(save(place, bytes("two"), { expected })).rejects.toMatchObject({
      code: "file_unwritable",
      facts: { reason: "EACCES" },
    });
    chmodSync(folder.path, 0o755);
    expect(readFileSync(path, "utf8")).toBe("one");
    expect(readdirSync(folder.path)).toEqual(["a.txt"]);
  });

  it("halts when the root is replaced or gone", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "root");
    mkdirSync(path);
    writeFileSync(join(path, "a.txt"), "one");
    using root = Folder.open(path);
    const place = root.resolve("a.txt");
    renameSync(path, join(folder.path, "elsewhere"));
    const gone = expect.objectContaining({ code: "root_gone" });
    expect(() => root.check()).toThrow(gone);
    mkdirSync(path);
    expect(() => root.resolve("a.txt")).toThrow(gone);
    await expect(save(place, bytes("x"), { expected: "absent" })).rejects.toEqual(gone);
    expect(() => stat(place)).toThrow(gone);
    rmSync(path, { recursive: true });
    renameSync(join(folder.path, "elsewhere"), path);
    root.check();
    expect(stat(place)?.size).toBe(3);
  });
});

describe("a sweep", () => {
  it("removes files of ours that are older than a minute, and nothing else", async () => {
    using folder = temporaryFolder();
    const ours = [".kumiko-0123456789abcdef.tmp", ".kumiko-0123456789abcdef.redo.tmp"];
    const others = [".kumiko-notes.tmp", "kumiko-0123456789abcdef.tmp", ".kumiko", "a.tmp"];
    for (const name of [...ours, ...others]) folder.write(name, "x");
    mkdirSync(join(folder.path, ".kumiko-0123456789abcdee.tmp"));
    using root = Folder.open(folder.path);
    const now = Date.now();
    expect(await sweep(root, "", { now })).toMatchObject({ removed: 0 });
    expect(await sweep(root, "", { now: now + 61_000 })).toEqual({
      removed: 2,
      finished: [],
      overtaken: [],
    });
    expect(readdirSync(folder.path).toSorted()).toEqual(
      [...others, ".kumiko-0123456789abcdee.tmp"].toSorted(),
    );
    expect(() => root.resolve(ours[0]!)).toThrow("Kumiko's own");
  });

  it("finishes what was half-written in place, unless somebody else wrote since", async () => {
    const before = Buffer.from("old ".repeat(3_000));
    const random = new Random(seed());
    for (let round = 0; round < scaled(100); round += 1) {
      using folder = temporaryFolder();
      const after = Buffer.from(
        `new${round % 2 === 0 ? "er" : ""} `.repeat(3_000 - random.below(900)),
      );
      const size = Math.max(before.length, after.length);
      const torn = Buffer.alloc(size);
      before.copy(torn);
      // As a process that was killed leaves it: first behind the old end, then from the beginning.
      if (after.length > before.length) after.copy(torn, before.length, before.length);
      after.copy(torn, 0, 0, random.below(Math.min(before.length, after.length)) + 1);
      const foreign = round % 5 === 0;
      if (foreign) torn[random.below(50)] = 0x21;
      const path = folder.write("a", "");
      writeFileSync(path, torn);
      writeFileSync(join(folder.path, REDO), redoOf(path, before, after));
      using root = Folder.open(folder.path);
      const swept = await sweep(root, "", { now: Date.now(), age: -1_000 });
      expect(swept).toEqual({
        removed: 1,
        finished: foreign ? [] : ["a"],
        overtaken: foreign ? ["a"] : [],
      });
      expect(readFileSync(path).equals(foreign ? torn : after)).toBe(true);
      expect(readdirSync(folder.path)).toEqual(["a"]);
    }
  });

  it("does not follow a name out of its folder that somebody wrote down", async () => {
    using folder = temporaryFolder();
    const path = folder.write("outside", "old");
    const redo = redoOf(path, bytes("ol"), bytes("oldest"), "../outside");
    folder.write(`root/${REDO}`, redo.toString());
    using root = Folder.open(join(folder.path, "root"));
    await sweep(root, "", { now: Date.now(), age: -1_000 });
    expect(readFileSync(path, "utf8")).toBe("old");
  });
});

describe("a process that is killed while it saves", () => {
  it(
    "leaves no empty or torn file and nothing that the sweep does not remove",
    { timeout: LONG },
    async () => {
      using folder = temporaryFolder();
      for (const name of ["plain", "target", "equal"]) {
        writeFileSync(join(folder.path, name), wholeContent(0));
      }
      symlinkSync("target", join(folder.path, "link"));
      linkSync(join(folder.path, "equal"), join(folder.path, "second"));
      const random = new Random(seed());
      const stood = new Map<string, number>();
      let next = 1;
      for (let life = 0; life < scaled(100); life += 1) {
        const first = next;
        const said = await killedAfter(folder.path, first, 1 + random.below(12), random.below(6));
        using root = Folder.open(folder.path);
        // One that is written in place is whole after the sweep; all others at every moment.
        const rounds = { plain: roundAt("plain"), link: roundAt("link") };
        const torn = roundAt("equal") === undefined;
        const swept = await sweep(root, "", { now: Date.now(), age: -1_000 });
        expect(swept.overtaken).toEqual([]);
        if (torn) expect(swept.finished).toEqual(["equal"]);
        const all: Record<string, number | undefined> = { ...rounds, equal: roundAt("equal") };
        for (const [name, round] of Object.entries(all)) {
          const last = said.get(name) ?? stood.get(name) ?? 0;
          const begun = said.has(name) ? last + 1 : first;
          expect([name, life, [last, begun].includes(round!)]).toEqual([name, life, true]);
          stood.set(name, round!);
          next = Math.max(next, round! + 1);
        }
        expect(readFileSync(join(folder.path, "second")).equals(wholeContent(all["equal"]!))).toBe(
          true,
        );
        expect(lstatSync(join(folder.path, "link")).isSymbolicLink()).toBe(true);
        for (const inside of ["fresh", "fresh/deep"]) await sweepIfThere(root, inside);
        for (const name of readdirSync(folder.path, { recursive: true, encoding: "utf8" })) {
          expect(isTemporaryName(name.split("/").at(-1)!)).toBe(false);
          if (statSync(join(folder.path, name)).isFile()) {
            expect([name, roundAt(name)]).not.toEqual([name, undefined]);
          }
        }
        rmSync(join(folder.path, "fresh"), { recursive: true, force: true });
      }
      expect(next).toBeGreaterThan(scaled(100));

      function roundAt(name: string): number | undefined {
        return roundOf(readFileSync(join(folder.path, name)));
      }
    },
  );
});

describe("a process that is killed while it writes in place", () => {
  it("leaves what the sweep needs to finish it", { timeout: LONG }, async () => {
    const random = new Random(seed());
    for (let life = 0; life < scaled(20); life += 1) {
      using folder = temporaryFolder();
      const path = folder.write("equal", "o".repeat(6_000_000 + random.below(2_000_000)));
      linkSync(path, join(folder.path, "second"));
      const after = Buffer.alloc(5_000_000 + random.below(4_000_000), "n");
      const ended = await runProgram(process.execPath, [
        child,
        "tear",
        folder.path,
        String(after.length),
      ]);
      expect(ended).toMatchObject({ signal: "SIGKILL", stderr: "" });
      expect(readFileSync(path).equals(after)).toBe(false);
      using root = Folder.open(folder.path);
      const swept = await sweep(root, "", { now: Date.now(), age: -1_000 });
      expect(swept).toEqual({ removed: 1, finished: ["equal"], overtaken: [] });
      expect(readFileSync(join(folder.path, "second")).equals(after)).toBe(true);
      expect(readdirSync(folder.path)).toEqual(["equal", "second"]);
    }
  });
});

describe("a file system that cannot be written", () => {
  const mountable = canMount();

  it.runIf(mountable)("being full leaves the file whole and nothing behind", async () => {
    using folder = temporaryFolder();
    using mounted = mountedDisk(folder.path);
    const old = Buffer.alloc(300_000, "a");
    writeFileSync(join(mounted.path, "plain"), old);
    writeFileSync(join(mounted.path, "equal"), Buffer.alloc(100_000, "a"));
    linkSync(join(mounted.path, "equal"), join(mounted.path, "second"));
    using root = Folder.open(mounted.path);
    const full = { code: "file_unwritable", facts: { reason: "ENOSPC" } };
    const listed = readdirSync(mounted.path);
    const large = Buffer.alloc(900_000, "b");
    for (const name of ["plain", "equal"]) {
      const place = root.resolve(name);
      const { content: expected, stat: before } = (await readWhole(place, 1e6))!;
      await expect(save(place, large, { expected })).rejects.toMatchObject(full);
      expect((await readWhole(place, 1e6))!.content.equals(expected)).toBe(true);
      expect(stat(place)).toEqual(before);
    }
    const fresh = root.resolve("new/folder/file");
    await expect(save(fresh, large, { expected: "absent" })).rejects.toMatchObject(full);
    expect(readdirSync(mounted.path)).toEqual(listed);
    execFileSync("mount", ["-o", "remount,size=8m", mounted.path]);
    for (const name of ["plain", "equal"]) {
      const place = root.resolve(name);
      await save(place, large, { expected: (await readWhole(place, 1e6))!.content });
      expect(readFileSync(join(mounted.path, name)).equals(large)).toBe(true);
    }
    expect(readFileSync(join(mounted.path, "second")).equals(large)).toBe(true);
  });

  it.runIf(mountable)("being read-only is said, and works again afterwards", async () => {
    using folder = temporaryFolder();
    using mounted = mountedDisk(folder.path);
    writeFileSync(join(mounted.path, "plain"), "one");
    execFileSync("mount", ["-o", "remount,ro", mounted.path]);
    using root = Folder.open(mounted.path);
    const place = root.resolve("plain");
    const { content: expected } = (await readWhole(place, 100))!;
    const readOnly = { code: "file_unwritable", facts: { reason: "EROFS" } };
    await expect(save(place, bytes("two"), { expected })).rejects.toMatchObject(readOnly);
    await expect(remove(place, { expected })).rejects.toMatchObject(readOnly);
    expect(refusal(() => move(place, root.resolve("new/other")))).toMatchObject(readOnly);
    const fresh = root.resolve("new/file");
    await expect(save(fresh, bytes("two"), { expected: "absent" })).rejects.toMatchObject(readOnly);
    expect(readFileSync(join(mounted.path, "plain"), "utf8")).toBe("one");
    execFileSync("mount", ["-o", "remount,rw", mounted.path]);
    await save(place, bytes("two"), { expected });
    expect(readdirSync(mounted.path)).toEqual(["plain"]);
  });
});

function codeOf(result: PromiseSettledResult<unknown>): string {
  if (result.status === "fulfilled") return "";
  return result.reason instanceof KumikoError ? result.reason.code : String(result.reason);
}

const REDO = ".kumiko-0123456789abcdef.redo.tmp";

/** What a save in place writes down before it begins. */
function redoOf(path: string, before: Buffer, after: Buffer, name = "a"): Buffer {
  const { ino, dev } = statSync(path);
  const header = {
    name,
    inode: ino,
    device: dev,
    old: { size: before.length, hash: hash("sha256", before) },
    fresh: { size: after.length, hash: hash("sha256", after) },
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), before, after]);
}

async function sweepIfThere(root: Folder, path: string): Promise<void> {
  if (root.resolve(path).kind !== "folder") return;
  await sweep(root, path, { now: Date.now(), age: -1_000 });
}

/** Runs a saver and kills it some milliseconds after so many answers. Gives the last round of each name it printed. */
async function killedAfter(
  path: string,
  first: number,
  answers: number,
  milliseconds: number,
): Promise<Map<string, number>> {
  const { promise, resolve, reject } = Promise.withResolvers<Map<string, number>>();
  const saver = spawn(process.execPath, [child, "save", path, String(first)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  let told = false;
  saver.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  saver.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    if (told || stdout.split("\n").length <= answers) return;
    told = true;
    setTimeout(() => saver.kill("SIGKILL"), milliseconds);
  });
  saver.on("error", reject);
  saver.on("close", (_code, signal) => {
    if (signal !== "SIGKILL") reject(new Error(`The saver ended by itself: ${stderr}`));
    const lines = stdout.split("\n").slice(0, -1);
    resolve(new Map(lines.map((line) => [line.split(" ")[0]!, Number(line.split(" ")[1])])));
  });
  return promise;
}

/** A real file system of 1 MB. */
function mountedDisk(folder: string): { readonly path: string } & Disposable {
  const path = join(folder, "disk");
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", path]);
  return { path, [Symbol.dispose]: () => execFileSync("umount", ["-l", path]) };
}

describe("what was made ready", () => {
  it("is not put into a folder that was moved away since", async () => {
    using folder = temporaryFolder();
    for (const path of ["a.txt", "deep/a.txt"]) {
      const at = join(folder.path, "root");
      folder.write(`root/${path}`, "one");
      using root = Folder.open(at);
      const place = root.resolve(path);
      using staged = stage(place, [bytes("two")], place.seen)!;
      renameSync(at, join(folder.path, "moved"));
      folder.write(`root/${path}`, "one");
      const saving = save(place, bytes("two"), { expected: Content.of(bytes("one")), staged });
      await expect(saving).rejects.toMatchObject({ code: "root_gone" });
      for (const each of ["root", "moved"])
        expect(readFileSync(join(folder.path, each, path), "utf8")).toBe("one");
      for (const each of ["root", "moved"]) rmSync(join(folder.path, each), { recursive: true });
    }
  });
});

describe("a file with attributes of its own", () => {
  /** Node has no way to them. */
  const python = (code: string, ...args: string[]): string =>
    execFileSync("python3", ["-c", `import os, sys, struct\n${code}`, ...args], {
      encoding: "utf8",
    });
  const tag = (path: string, value: string): string =>
    python("os.setxattr(sys.argv[1], 'user.tag', sys.argv[2].encode())", path, value);
  /** One person more than the mode tells of, and the group may not write although the mode says so. */
  const share = (path: string): string =>
    python(
      `entries = [(1, 6, -1), (2, 6, 1234), (4, 4, -1), (16, 6, -1), (32, 0, -1)]
packed = struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *each) for each in entries)
os.setxattr(sys.argv[1], 'system.posix_acl_access', packed)`,
      path,
    );
  const attributes = (path: string): string =>
    python("print([(n, os.getxattr(sys.argv[1], n)) for n in os.listxattr(sys.argv[1])])", path);

  it.each([
    ["tag", (path: string) => tag(path, "mine")],
    ["access list", share],
  ])("keeps its %s, whenever it got it, and however it is saved", async (_, give) => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const replace = async (
      before: string,
      after: string,
      { isStaged = false, meanwhile = () => {} } = {},
    ): Promise<void> => {
      {
        using staged = isStaged ? stage(place, [bytes(after)]) : undefined;
        meanwhile();
        await save(place, bytes(after), { expected: Content.of(bytes(before)), staged });
      }
      expect(readFileSync(path, "utf8")).toBe(after);
      expect(readdirSync(folder.path)).toEqual(["a.txt"]);
    };
    await replace("one", "a new file");
    await replace("a new file", "another", { isStaged: true, meanwhile: () => void give(path) });
    const given = attributes(path);
    expect(given).toMatch(/user.tag|posix_acl_access/);
    const { ino, mode } = statSync(path);
    for (const [before, after, isStaged] of [
      ["another", "in place", true],
      ["in place", "again", false],
      ["again", "and again", true],
    ] as const) {
      await replace(before, after, { isStaged });
      expect(attributes(path)).toBe(given);
      expect([statSync(path).ino, statSync(path).mode]).toEqual([ino, mode]);
    }
  });

  it("is not taken for one because somebody changed its mode at the last moment", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "0");
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const inodes = new Set<number>();
    for (let round = 1; round <= 4; round++) {
      const [before, after] = [String(round - 1), String(round)];
      using staged = stage(place, [bytes(after)])!;
      const saving = save(place, bytes(after), { expected: Content.of(bytes(before)), staged });
      if (round === 1) chmodSync(path, 0o640);
      await saving;
      expect(readFileSync(path, "utf8")).toBe(after);
      inodes.add(statSync(path).ino);
    }
    expect(inodes.size).toBeGreaterThan(1);
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  it("that has none is replaced, also when somebody only touched it", async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { ino } = statSync(path);
    await save(place, bytes("two"), { expected: Content.of(bytes("one")) });
    expect(statSync(path).ino).not.toBe(ino);
    chmodSync(path, 0o640);
    using staged = stage(place, [bytes("three")])!;
    await save(place, bytes("three"), { expected: Content.of(bytes("two")), staged });
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(attributes(path)).toBe("[]\n");
  });
});
