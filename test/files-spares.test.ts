import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Folder, type Place } from "../src/files/contained.ts";
import { Content } from "../src/files/content.ts";
import { save } from "../src/files/disk-file.ts";
import { stage } from "../src/files/replacing.ts";
import { SpareFiles } from "../src/files/spare-files.ts";
import { Mounted } from "./support/mounted.ts";
import { canMount } from "./support/programs.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
const bytes = (text: string): Buffer => Buffer.from(text);
/** Of a process that died. */
const LEFT = ".kumiko-0123456789abcdef-1.tmp";

/** A home, a folder with the file "a.txt", and what the two have in common. */
function workshop(): Disposable & {
  readonly home: string;
  readonly root: string;
  readonly path: string;
} {
  const folder = temporaryFolder();
  const path = folder.write("root/a.txt", "0");
  return {
    home: join(folder.path, "home/staging"),
    root: join(folder.path, "root"),
    path,
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** Saves what comes next, and says whether a spare file was made ready for it. */
async function saveNext(place: Place, { home, root, path }: ReturnType<typeof workshop>) {
  const before = readFileSync(path, "utf8");
  const after = String(Number(before) + 1);
  using staged = stage(place, [bytes(after)])!;
  const wasSpare = readdirSync(root).length === 1;
  // Nobody but its owner may look at what is made there.
  if (wasSpare) expect(statSync(home).mode & 0o777).toBe(0o700);
  await save(place, bytes(after), { expected: Content.of(bytes(before)), staged });
  expect(readFileSync(path, "utf8")).toBe(after);
  expect(readdirSync(root)).toEqual(["a.txt"]);
  return wasSpare;
}

/** Node has no way to attributes. */
function python(code: string, ...args: string[]): void {
  execFileSync("python3", ["-c", `import os, sys, struct\n${code}`, ...args]);
}

describe.runIf(process.platform === "linux")("a file that lies ready in the home", () => {
  it("takes the place of another, with its mode, and what was there goes", async () => {
    using place = workshop();
    const { home, root, path } = place;
    using spares = new SpareFiles(home);
    using opened = Folder.open(root, { spares });
    for (const mode of [0o644, 0o600, 0o4751, 0o640]) {
      chmodSync(path, mode);
      expect(await saveNext(opened.resolve("a.txt"), place)).toBe(true);
      expect(statSync(path).mode & 0o7777).toBe(mode);
    }
    // What was replaced is gone; what lies ready has nothing in it.
    await vi.waitFor(() => {
      const left = readdirSync(home).map((name) => statSync(join(home, name)).size);
      expect(left.length).toBeGreaterThan(0);
      expect(left).toEqual(left.map(() => 0));
    });
    spares[Symbol.dispose]();
    await vi.waitFor(() => expect(readdirSync(home)).toEqual([]));
  });

  it("is found by whoever comes after a process that died, and removed", () => {
    using place = workshop();
    mkdirSync(place.home, { recursive: true });
    writeFileSync(join(place.home, LEFT), "what was replaced");
    writeFileSync(join(place.home, "notes.txt"), "of somebody");
    using spares = new SpareFiles(place.home);
    expect(readdirSync(place.home)).toEqual(["notes.txt"]);
    expect(spares).toBeDefined();
  });

  it("is done without where none can be made", async () => {
    using place = workshop();
    mkdirSync(join(place.home, ".."), { recursive: true });
    writeFileSync(place.home, "a file");
    using spares = new SpareFiles(place.home);
    using opened = Folder.open(place.root, { spares });
    expect(await saveNext(opened.resolve("a.txt"), place)).toBe(false);
  });

  it.runIf(isRoot)("takes the place of none that belongs to somebody else", async () => {
    using place = workshop();
    const { home, root, path } = place;
    using spares = new SpareFiles(home);
    using opened = Folder.open(root, { spares });
    for (const [uid, gid] of [
      [65_534, 0],
      [0, 65_534],
    ] as const) {
      chownSync(path, uid, gid);
      expect(await saveNext(opened.resolve("a.txt"), place)).toBe(false);
      expect([statSync(path).uid, statSync(path).gid]).toEqual([uid, gid]);
    }
    chownSync(path, 0, 0);
    expect(await saveNext(opened.resolve("a.txt"), place)).toBe(true);
  });

  it("takes the place of none when the home gives it a list of who may read it", async () => {
    using place = workshop();
    mkdirSync(place.home, { recursive: true });
    python(
      `entries = [(1, 7, -1), (2, 7, 1234), (4, 7, -1), (16, 7, -1), (32, 0, -1)]
packed = struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *each) for each in entries)
os.setxattr(sys.argv[1], 'system.posix_acl_default', packed)`,
      place.home,
    );
    using spares = new SpareFiles(place.home);
    using opened = Folder.open(place.root, { spares });
    expect(await saveNext(opened.resolve("a.txt"), place)).toBe(false);
    expect(readdirSync(place.home)).toEqual([]);
  });

  it.runIf(isRoot)("takes the place of none that has a label of its folder", async () => {
    using place = workshop();
    using spares = new SpareFiles(place.home);
    using opened = Folder.open(place.root, { spares });
    const label = "os.setxattr(sys.argv[1], 'security.selinux', b'a_label')";
    python(label, place.path);
    const { ino } = statSync(place.path);
    // That is found only when the place is about to be taken; from then on it is known.
    expect(await saveNext(opened.resolve("a.txt"), place)).toBe(true);
    expect(opened.spares).toBeUndefined();
    expect(statSync(place.path).ino).not.toBe(ino);
    expect(await saveNext(opened.resolve("a.txt"), place)).toBe(false);
  });

  describe.runIf(canMount())("is of no use to another disk", () => {
    const mounts: readonly [string, (source: string) => string[]][] = [
      ["that has a number of its own", () => ["-t", "tmpfs", "none"]],
      ["that has the same number", (source) => ["--bind", source]],
    ];
    it.each(mounts)("%s", async (_, how) => {
      using place = workshop();
      using source = temporaryFolder();
      const { home, root, path } = place;
      execFileSync("mount", [...how(source.path), root]);
      try {
        writeFileSync(path, "0");
        using spares = new SpareFiles(home);
        using opened = Folder.open(root, { spares });
        await saveNext(opened.resolve("a.txt"), place);
        expect(await saveNext(opened.resolve("a.txt"), place)).toBe(false);
      } finally {
        execFileSync("umount", ["-l", root]);
      }
    });
  });
});

describe("a mounted folder", () => {
  it("is saved to as well when somebody empties the home's folder", async () => {
    await using mounted = await Mounted.with({ "a.txt": "0\n" });
    const staging = join(mounted.home, "kernels", mounted.kernel.id, "staging");
    for (let round = 0; round < 4; round++) {
      const change = { block_id: "a.txt", old: `${round}\n`, new: `${round + 1}\n` };
      expect(await mounted.call("block_replace", change)).not.toHaveProperty("unsaved");
      expect(mounted.read("a.txt")).toBe(`${round + 1}\n`);
      if (round === 1) await vi.waitFor(() => expect(readdirSync(staging)).toHaveLength(2));
      if (round === 1) rmSync(staging, { recursive: true });
    }
  });

  it("never shows how a file is saved, by whichever tool", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\n", "b.txt": "b\n" });
    const told: string[] = [];
    const { watch } = await import("node:fs");
    const watcher = watch(mounted.folder, (_, name) => told.push(String(name)));
    try {
      await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "ONE" });
      await mounted.call("block_append", { block_id: "a.txt", text: "three\n", flush: true });
      await mounted.call("file_save", { path: "a.txt" });
      const patch =
        "--- a/a.txt\n+++ b/a.txt\n@@\n-two\n+TWO\n--- a/b.txt\n+++ b/b.txt\n@@\n-b\n+B\n";
      await mounted.call("block_apply_patch", { patch });
      await vi.waitFor(() => expect(told).toContain("b.txt"));
    } finally {
      watcher.close();
    }
    expect(mounted.read("a.txt")).toBe("ONE\nTWO\nthree\n");
    expect(new Set(told)).toEqual(new Set(["a.txt", "b.txt"]));
  });
});
