import {
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeSync,
  closeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Random } from "../src/base/index.ts";
import { Folder } from "../src/files/contained.ts";
import { readWhole, save } from "../src/files/disk-file.ts";
import { readText, type TextFile, writeText } from "../src/files/text-form.ts";
import { scaled, seed } from "./support/counts.ts";
import { boundary, commonEnd, commonStart, timesOf } from "./support/edited-bytes.ts";
import { makeOddFiles, type OddFile } from "./support/odd-files.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LIMIT = 16 * 1024 * 1024;

describe("odd files", () => {
  it("stay byte for byte without an edit, and change only where they are edited", async () => {
    using folder = temporaryFolder();
    const files = makeOddFiles(folder.path, scaled(336), seed());
    using root = Folder.open(folder.path);
    const random = new Random(seed());
    const met = new Set<string>();
    for (const file of files) {
      met.add(`${file.reads} ${file.second?.kind ?? ""}`);
      await expectUntouched(root, file);
      if (file.reads === "text") await expectRegional(root, file, random);
    }
    expect(met.size).toBeGreaterThan(4);
  });

  it("with names that differ only in form are kept apart where the file system does", async () => {
    using folder = temporaryFolder();
    using root = Folder.open(folder.path);
    if (root.folding.ignoresForm) return;
    for (const name of ["caf\u00e9", "cafe\u0301"]) {
      await save(root.resolve(name), Buffer.from(name), { expected: "absent" });
    }
    expect(readFileSync(join(folder.path, "caf\u00e9"), "utf8")).toBe("caf\u00e9");
    expect(readFileSync(join(folder.path, "cafe\u0301"), "utf8")).toBe("cafe\u0301");
  });

  it("of 100 MB are refused unread, and are read whole where the limit allows", async () => {
    using folder = temporaryFolder();
    const size = 100_000_000;
    const piece = Buffer.from(`${"0123456789".repeat(99)}abcdefghi\n`);
    const path = folder.write("large", "");
    const descriptor = openSync(path, "w");
    for (let at = 0; at < size; at += piece.length * 1000) {
      writeSync(descriptor, Buffer.concat(Array.from({ length: 1000 }, () => piece)));
    }
    closeSync(descriptor);
    const before = timesOf(path);
    using root = Folder.open(folder.path);
    const place = root.resolve("large");
    await expect(readWhole(place, LIMIT)).rejects.toMatchObject({
      code: "too_large",
      facts: { path: "large", size, limit: LIMIT },
    });
    const whole = (await readWhole(place, size))!;
    const text = readText(whole.bytes, size) as TextFile;
    expect(text.text).toHaveLength(size);
    const written = writeText(text.text, text.form);
    expect(Buffer.compare(written, whole.bytes)).toBe(0);
    expect(timesOf(path)).toEqual(before);
    await save(place, written, { expected: whole.content });
    expect(Buffer.compare(readFileSync(path), whole.bytes)).toBe(0);
  });
});

async function expectUntouched(root: Folder, { name, bytes, reads, mode }: OddFile): Promise<void> {
  const place = root.resolve(name);
  expect(place).toMatchObject({ path: name, kind: "file" });
  const whole = (await readWhole(place, LIMIT))!;
  expect(Buffer.compare(whole.bytes, bytes)).toBe(0);
  expect(whole.stat.mode).toBe(mode);
  const read = readText(whole.bytes, LIMIT);
  expect("why" in read ? read.why : "text").toBe(reads);
  if ("why" in read) return;
  expect(Buffer.compare(writeText(read.text, read.form), bytes)).toBe(0);
}

/** Through its second name, if it has one: what is saved is the file, and both names stay what they are. */
async function expectRegional(root: Folder, file: OddFile, random: Random): Promise<void> {
  const { name, bytes, mode, second } = file;
  const path = join(root.path, name);
  const place = root.resolve(second?.name ?? name);
  if (second?.kind === "link") expect(place.path).toBe(name);
  const { text, form } = readText(bytes, LIMIT) as TextFile;
  const at = boundary(text, random.below(text.length + 1));
  const edited = writeText(`${text.slice(0, at)}edited\nhere${text.slice(at)}`, form);
  const before = statSync(path);
  const whole = (await readWhole(place, LIMIT))!;
  const { stat, settled } = await save(place, edited, { expected: whole.content });
  await settled;
  const after = readFileSync(path);
  expect(Buffer.compare(after, edited)).toBe(0);
  // Every byte that was there is still there, in its order: before or behind what was inserted.
  expect(commonStart(bytes, after) + commonEnd(bytes, after)).toBeGreaterThanOrEqual(bytes.length);
  expect(after.length - bytes.length).toBeLessThanOrEqual(24);
  const now = statSync(path);
  expect([now.mode & 0o7777, now.uid, now.gid]).toEqual([mode, before.uid, before.gid]);
  expect([stat.inode, stat.size]).toEqual([now.ino, now.size]);
  if (second === undefined) return;
  const other = join(root.path, second.name);
  expect(lstatSync(other).isSymbolicLink()).toBe(second.kind === "link");
  if (second.kind === "link") expect(name.endsWith(`/${readlinkSync(other)}`)).toBe(true);
  else expect([now.ino, now.nlink]).toEqual([before.ino, 2]);
  expect(Buffer.compare(readFileSync(other), edited)).toBe(0);
}
