import { expect, test } from "vitest";
import { Content } from "./content.ts";
import type { Synced } from "./ledger.ts";
import { MountedFile } from "./mounted-file.ts";
import { type Came, findRenames } from "./renames.ts";

interface Told {
  readonly path: string;
  readonly inode: number;
  readonly content: string;
  /** When it was last changed; when it was made. */
  readonly time: number;
}

/** Whose block goes where, when these went and these came. */
async function renamed(
  went: readonly Told[],
  came: readonly Told[],
  isNew = true,
): Promise<string[]> {
  const files = went.map(({ path, inode, content, time }): [MountedFile, Synced] => {
    const synced: Synced = {
      base: { version: 1 },
      content: Content.known(content),
      identity: { inode, device: 1, size: content.length, nanoseconds: BigInt(time) },
      form: { encoding: "utf-8", bom: false, crlf: false },
    };
    return [new MountedFile(`@src~file~${inode}`, { path, synced }, 1), synced];
  });
  const looks = came.map(({ path, inode, content }): Came => ({
    path,
    inode,
    size: content.length,
  }));
  const at = (path: string) => came.find((each) => each.path === path)!;
  const found = await findRenames(new Map(files), looks, {
    born: (path) => BigInt(at(path).time),
    isNew: () => isNew,
    content: async (path) => Content.known(at(path).content),
  });
  return found.map(({ from, to }) => `${from.path} ${to}`);
}

test("the same inode is the same file, whatever it says; a number that was given away again is not", async () => {
  const went = [{ path: "a", inode: 1, content: "one", time: 10 }];
  const still = { path: "b", inode: 1, content: "changed", time: 5 };
  expect(await renamed(went, [still])).toEqual(["a b"]);
  expect(await renamed(went, [{ ...still, time: 11 }])).toEqual([]);
  // The file system does not know when it was made.
  expect(await renamed(went, [{ ...still, time: 0 }])).toEqual([]);
});

test("a number that may have been given away is the same file's with the same bytes, unless there are none", async () => {
  const went = [{ path: "a", inode: 1, content: "one", time: 10 }];
  const still = { path: "b", inode: 1, content: "one", time: 11 };
  expect(await renamed(went, [still], false)).toEqual(["a b"]);
  expect(await renamed(went, [{ ...still, time: 0 }], false)).toEqual(["a b"]);
  expect(await renamed(went, [{ ...still, content: "two" }])).toEqual([]);
  const empty = went.map((each) => ({ ...each, content: "" }));
  expect(await renamed(empty, [{ ...still, content: "" }])).toEqual([]);
});

test("the same bytes are the same file, by its name if several are; nothing is", async () => {
  const went = ["x/a", "x/b", "x/c"].map((path, inode) => ({
    path,
    inode,
    content: "same",
    time: 10,
  }));
  const came = ["y/c", "y/a"].map((path, inode) => {
    return { path, inode: 10 + inode, content: "same", time: 20 };
  });
  expect(await renamed(went, came)).toEqual(["x/c y/c", "x/a y/a"]);
  // Copies that may have been there before.
  expect(await renamed(went, came, false)).toEqual([]);
  const another = { path: "y/b", inode: 20, content: "diff", time: 20 };
  expect(await renamed(went, [another])).toEqual([]);
  const empty = { path: "e", inode: 30, content: "", time: 10 };
  expect(await renamed([empty], [{ ...empty, path: "f", inode: 31, time: 20 }])).toEqual([]);
});
