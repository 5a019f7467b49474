import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { monotonicClock, realTimers } from "../base/index.ts";
import { Folder } from "./contained.ts";
import { Disk } from "./disk.ts";

/** The disk of a folder, and the paths of which it was told that a power cut leaves them. */
function settling(root: Folder): { disk: Disk; settled: string[] } {
  const settled: string[] = [];
  const onSettled = (path: string, error?: unknown): void => {
    expect(error).toBeUndefined();
    settled.push(path);
  };
  const disk = new Disk(root, { timers: realTimers, clock: monotonicClock, onSettled });
  return { disk, settled };
}

test("whoever waits for what was saved waits for what was made as well", async () => {
  using folder = temporaryFolder();
  using root = Folder.open(folder.path);
  const { disk, settled } = settling(root);
  await disk.save("src/new.txt", Buffer.from("new\n"), "absent");
  await disk.settle();
  expect(settled).toEqual(["src/new.txt"]);
});

test("what an earlier process saved is waited for with the folders above it, as far as they are there", async () => {
  using folder = temporaryFolder();
  folder.write("src/deep/a.txt", "one\n");
  folder.write("b.txt", "two\n");
  using root = Folder.open(folder.path);
  const { disk, settled } = settling(root);
  for (const path of ["src/deep/a.txt", "b.txt", "gone/c.txt"]) disk.unsettled(path);
  await disk.settle();
  expect(settled.toSorted()).toEqual(["gone", "gone/c.txt", "src/deep", "src/deep/a.txt"]);
});
