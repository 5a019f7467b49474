import { expect, test } from "vitest";
import { Content } from "./content.ts";
import type { Synced } from "./ledger.ts";
import { MountedFile } from "./mounted-file.ts";

const SYNCED: Synced = {
  base: { version: 1 },
  content: Content.known("x"),
  identity: { inode: 1, device: 1, size: 1, nanoseconds: 1n },
  form: { encoding: "utf-8", bom: false, crlf: false },
};

test("a file that others took away is known as it was for a while, unless it is to be made again", () => {
  const file = new MountedFile("@src~file~1", { path: "a", synced: undefined }, 1);
  expect(file.lastKnown(0)).toBeUndefined();
  file.went = { synced: SYNCED, at: 1000 };
  expect(file.lastKnown(10_999)).toBe(SYNCED);
  expect(file.lastKnown(11_000)).toBeUndefined();
  file.wanted = true;
  expect(file.lastKnown(1001)).toBeUndefined();
});
