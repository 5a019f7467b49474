import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { Folder, type Place } from "./contained.ts";
import { Content } from "./content.ts";
import { readWhole, save, stat } from "./disk-file.ts";
import type { FileStat } from "./file-stat.ts";
import { stage } from "./replacing.ts";
import { SpareFiles } from "./spare-files.ts";

// As on a file system that cannot exchange names.
vi.mock(import("./extensions.ts"), () => ({ exchange: () => false, attributeNames: () => [] }));

const bytes = (text: string): Buffer => Buffer.from(text);

/** Saves as whoever keeps what is replaced. */
async function saveOver(place: Place, text: string, expected: string, identity: FileStat) {
  const keep = vi.fn<(replaced: Disposable) => void>((replaced) => replaced[Symbol.dispose]());
  using staged = stage(place, [bytes(text)], identity)!;
  const how = { expected: Content.of(bytes(expected)), staged, keeping: { identity, keep } };
  return { saved: await save(place, bytes(text), how), keep };
}

it.runIf(process.platform === "linux")(
  "replaces a file by a rename where names cannot be exchanged",
  async () => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "one");
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    const { saved, keep } = await saveOver(place, "two", "one", stat(place)!);
    expect([readFileSync(path, "utf8"), saved.stat]).toEqual(["two", stat(place)]);
    expect(keep).toHaveBeenCalledOnce();
    expect(readdirSync(folder.path)).toEqual(["a.txt"]);
  },
);

it.runIf(process.platform === "linux")(
  "makes the new file beside the old one then, whatever lies ready elsewhere",
  async () => {
    using folder = temporaryFolder();
    const path = folder.write("root/a.txt", "one");
    using spares = new SpareFiles(join(folder.path, "staging"));
    using root = Folder.open(join(folder.path, "root"), { spares });
    const place = root.resolve("a.txt");
    await saveOver(place, "two", "one", stat(place)!);
    await saveOver(place, "three", "two", stat(place)!);
    expect(readFileSync(path, "utf8")).toBe("three");
    expect(root.spares).toBeUndefined();
    expect(readdirSync(root.path)).toEqual(["a.txt"]);
    expect(readdirSync(join(folder.path, "staging"))).toEqual([]);
  },
);

it.runIf(process.platform === "linux")(
  "compares before that, also what was written within one tick of the clock",
  async () => {
    using folder = temporaryFolder();
    folder.write("a.txt", "one");
    using root = Folder.open(folder.path);
    const place = root.resolve("a.txt");
    // What was written in the same tick as what was seen: no time tells the two apart.
    const seen = stat(place)!;
    await expect(saveOver(place, "mine", "ONE", seen)).rejects.toMatchObject({
      code: "disk_moved",
    });
    expect((await readWhole(place, 10))?.bytes.toString()).toBe("one");
    expect(readdirSync(folder.path)).toEqual(["a.txt"]);
  },
);
