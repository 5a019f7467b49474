import { lstatSync, readlinkSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { readText, type TextFile } from "../src/files/text-form.ts";
import { isFull, seed } from "./support/counts.ts";
import { boundary, commonEnd, commonStart, timesOf } from "./support/edited-bytes.ts";
import { Mounted } from "./support/mounted.ts";
import { makeOddFiles, type OddFile } from "./support/odd-files.ts";

const COUNT = 336;
const WRITTEN = "edited here";

/** What is odd about it, beside its name. */
function kindOf({ reads, second, bytes, mode }: OddFile): string {
  const read = readText(bytes, Infinity);
  const form = "why" in read ? bytes.toString("hex") : JSON.stringify(read.form);
  const parts = second === undefined ? "one name" : second.kind;
  return [reads, parts, form, mode === 0o444 ? "read-only" : ""].join(" ");
}

/** All of them, or every tenth and the first of every kind. */
function tried(files: readonly OddFile[]): OddFile[] {
  const met = new Set<string>();
  return files.filter((file, index) => {
    const isFirst = !met.has(kindOf(file));
    met.add(kindOf(file));
    return isFull() || isFirst || index % 10 === 0;
  });
}

test("odd files change on disk only where they are edited, and are what they were when that is undone", async () => {
  await using mounted = await Mounted.with();
  const files = makeOddFiles(mounted.folder, COUNT, seed());
  const random = new Random(seed());
  const met: Record<OddFile["reads"], number> = { text: 0, binary: 0, undecodable: 0 };
  for (const file of tried(files)) {
    met[file.reads] += 1;
    if (file.reads === "text") await expectEdited(mounted, file, random);
    else await expectRefused(mounted, file);
  }
  expect(Math.min(...Object.values(met))).toBeGreaterThan(4);
  // Whoever edits one touches no other.
  for (const file of files) expectSame(mounted, file);
});

test.runIf(isFull())(
  "a file of 100 MB changes only where it is edited, where the limit allows it",
  { timeout: 10 * 60_000 },
  async () => {
    const line = `${"0123456789".repeat(99)}abcdefghi\n`;
    const bytes = Buffer.from(line.repeat(100_000));
    await using mounted = await Mounted.with({ "large.txt": bytes });
    const replace = { op: "replace", start_line: 50_000, end_line: 50_001, content: WRITTEN };
    const edit = { block_id: "large.txt", operations: [replace], base_version: 1 };
    await expect(mounted.call("block_edit", edit)).rejects.toMatchObject({ code: "too_large" });
    mounted.write("kumiko.toml", '[mount]\nlargest = "200 MiB"\n');
    await mounted.restart();
    const times = timesOf(mounted.path("large.txt"));
    await mounted.call("file_load", { path: "large.txt" });
    expect(timesOf(mounted.path("large.txt"))).toEqual(times);
    await mounted.call("block_edit", edit);
    const at = 50_000 * line.length;
    const wanted = [bytes.subarray(0, at), `${WRITTEN}\n`, bytes.subarray(at + line.length)];
    const after = Buffer.concat(wanted.map((each) => Buffer.from(each)));
    expect(Buffer.compare(mounted.bytes("large.txt"), after)).toBe(0);
    await mounted.call("block_undo", {});
    expect(Buffer.compare(mounted.bytes("large.txt"), bytes)).toBe(0);
  },
);

test.each([
  [
    "the only line that ends otherwise is deleted",
    "a\r\nb\nc\r\n",
    "a\r\nc\r\n",
    { op: "delete", start_line: 1, end_line: 2 },
  ],
  [
    "the only line that ends otherwise is replaced",
    "a\r\nb\nc\r\n",
    "a\r\nB\r\nc\r\n",
    { op: "replace", start_line: 1, end_line: 2, content: "B\r" },
  ],
  ["a line follows a last return", "a\rb\r", "a\rb\r\nc", { op: "insert", line: 1, content: "c" }],
])("line ends that become alike stay as they are: %s", async (_, before, after, operation) => {
  await using mounted = await Mounted.with({ "a.txt": before });
  await mounted.text("a.txt");
  const { edit } = await mounted.call("block_edit", { block_id: "a.txt", operations: [operation] });
  expect(mounted.read("a.txt")).toBe(after);
  await mounted.text("a.txt");
  expect(mounted.read("a.txt")).toBe(after);
  await mounted.call("block_undo", { edit });
  expect(mounted.read("a.txt")).toBe(before);
});

async function expectRefused(mounted: Mounted, file: OddFile): Promise<void> {
  const before = timesOf(mounted.path(file.name));
  const block_id = file.name;
  const operations = [{ op: "insert", line: 0, content: WRITTEN }];
  for (const [tool, input] of [
    ["block_read", {}],
    ["block_edit", { operations, base_version: 1 }],
    ["block_splice", { offset: 0, delete_count: 0, insert: WRITTEN, base_version: 1 }],
    ["block_append", { text: WRITTEN, flush: true }],
  ] as const)
    await expect(mounted.call(tool, { block_id, ...input })).rejects.toMatchObject({
      code: "file_unreadable",
      facts: { why: file.reads },
    });
  expect(timesOf(mounted.path(file.name))).toEqual(before);
  expectSame(mounted, file);
}

/** By its second name, if it has one: that stays what it is as well. */
async function expectEdited(mounted: Mounted, file: OddFile, random: Random): Promise<void> {
  const path = mounted.path(file.name);
  const block_id = file.second?.name ?? file.name;
  const before = timesOf(path);
  const text = await mounted.text(block_id);
  expect(text).toBe((readText(file.bytes, Infinity) as TextFile).text);
  expect(timesOf(path)).toEqual(before);
  const { tool, input, removed } = random.pick([splice, lines])(text, random);
  const { edit } = await mounted.call(tool, { block_id, ...input });
  const after = mounted.bytes(file.name);
  const removedBytes = sizeOf(removed, file.bytes);
  const kept = commonStart(file.bytes, after) + commonEnd(file.bytes, after);
  expect([file.name, kept >= file.bytes.length - removedBytes]).toEqual([file.name, true]);
  const grown = after.length - file.bytes.length + removedBytes;
  // A line of its own has an end, of two characters at most.
  const ended = sizeOf(`${WRITTEN}\r\n`, file.bytes);
  expect(grown).toBeGreaterThanOrEqual(sizeOf(WRITTEN, file.bytes));
  expect(grown).toBeLessThanOrEqual(ended);
  expect(await mounted.text(block_id)).toContain(WRITTEN);
  await mounted.call("block_undo", { edit });
  expect(await mounted.text(block_id)).toBe(text);
  expectSame(mounted, file);
}

interface Edit {
  readonly tool: string;
  readonly input: object;
  /** Of the text as it was. */
  readonly removed: string;
}

function splice(text: string, random: Random): Edit {
  const offset = boundary(text, random.below(text.length + 1));
  const end = boundary(text, Math.min(text.length, offset + random.below(6)));
  const input = { offset, delete_count: end - offset, insert: WRITTEN, unit: "utf16" };
  return { tool: "block_splice", input, removed: text.slice(offset, end) };
}

function lines(text: string, random: Random): Edit {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  const line = random.below(all.length + 1);
  const operation =
    line === all.length
      ? { op: "insert", line, content: WRITTEN }
      : { op: "replace", start_line: line, end_line: line + 1, content: WRITTEN };
  return { tool: "block_edit", input: { operations: [operation] }, removed: all[line] ?? "" };
}

/** Bytes, mode and both names. */
function expectSame(mounted: Mounted, { name, bytes, mode, second }: OddFile): void {
  const now = statSync(mounted.path(name));
  const isSame = Buffer.compare(mounted.bytes(name), bytes) === 0;
  expect([name, isSame, now.mode & 0o7777]).toEqual([name, true, mode]);
  if (second === undefined) return;
  const other = mounted.path(second.name);
  if (second.kind === "link") expect(name.endsWith(`/${readlinkSync(other)}`)).toBe(true);
  else expect([now.nlink, lstatSync(other).ino]).toEqual([2, now.ino]);
}

/** What a text takes in a file, beside what may be a return at each of its line ends. */
function sizeOf(text: string, bytes: Buffer): number {
  const { form } = readText(bytes, Infinity) as TextFile;
  const stored = form.crlf ? text.replaceAll(/\r?\n/g, "\r\n") : text;
  return Buffer.byteLength(stored, form.encoding === "utf-8" ? "utf8" : "utf16le");
}
