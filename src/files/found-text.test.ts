import { expect, test } from "vitest";
import { Content } from "./content.ts";
import type { Disk } from "./disk.ts";
import type { FileStat } from "./file-stat.ts";
import { readAtRest } from "./found-text.ts";

const statAt = (nanoseconds: bigint, size: number): FileStat => ({
  inode: 1,
  device: 1,
  size,
  nanoseconds,
  mode: 0o644,
  links: 1,
  changed: nanoseconds,
  uid: 0,
  gid: 0,
});

/** A file at rest, and what is there by the time it is opened. */
function diskWith(steps: readonly { rested: FileStat; read: FileStat; text: string }[]): Disk {
  let step = -1;
  const disk = {
    atRest: async () => steps[Math.min(++step, steps.length - 1)]!.rested,
    read: async () => {
      const { read: stat, text } = steps[Math.min(step, steps.length - 1)]!;
      const bytes = Buffer.from(text);
      return { bytes, stat, content: Content.of(bytes) };
    },
    look: () => steps[Math.min(step, steps.length - 1)]!.read,
  };
  return disk as unknown as Disk;
}

test("a file that is emptied between the look and the reading is read again when it is at rest", async () => {
  const whole = statAt(3n, 4);
  const disk = diskWith([
    { rested: statAt(1n, 3), read: statAt(2n, 0), text: "" },
    { rested: statAt(2n, 0), read: statAt(3n, 2), text: "\0\0" },
    { rested: whole, read: whole, text: "two\n" },
  ]);
  const seen: bigint[] = [];
  const found = await readAtRest({ disk, largest: 100 }, "a.txt", {
    seen: ({ nanoseconds }) => seen.push(nanoseconds),
  });
  expect(found).toMatchObject({ kind: "text", text: "two\n", identity: whole });
  expect(seen).toEqual([3n]);
});

test("one that never comes to rest is taken as it is", async () => {
  const disk = diskWith([{ rested: statAt(1n, 1), read: statAt(2n, 2), text: "ab" }]);
  const found = await readAtRest({ disk, largest: 100 }, "a.txt", {});
  expect(found).toMatchObject({ kind: "text", text: "ab" });
});
