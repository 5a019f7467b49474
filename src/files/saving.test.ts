import { expect, test } from "vitest";
import { KeyedQueue } from "../base/index.ts";
import { Content } from "./content.ts";
import type { Synced } from "./ledger.ts";
import { MountedFile } from "./mounted-file.ts";
import { Saving, type SavingPorts } from "./saving.ts";

const BLOCK = "@src~file~1";

function synced(version: number): Synced {
  const identity = { inode: 1, device: 1, size: 1, nanoseconds: 1n };
  const form = { encoding: "utf-8", bom: false, crlf: false } as const;
  return { base: { version }, content: Content.known("0"), identity, form };
}

test("what is written to a block while its file is saved for somebody else is saved as well", async () => {
  const file = new MountedFile(BLOCK, { path: "a.txt", synced: synced(1) }, 1);
  const timers: (() => void)[] = [];
  const saving: (() => void)[] = [];
  let now = 0;
  const ports = {
    kernel: { announce: () => undefined },
    files: { of: () => file, hasPath: () => true, queue: new KeyedQueue() },
    rules: () => ({ decide: () => ({ decision: "allow" }) }),
    writing: {
      // As the disk does: it has what the block said when the save began.
      save: async () => {
        const { version } = file;
        await new Promise<void>((resolve) => saving.push(resolve));
        file.synced = synced(version);
      },
    },
    timers: {
      after: (_: number, run: () => void) => {
        timers.push(run);
        return { cancel: () => undefined };
      },
    },
    clock: { now: () => now },
    manual: false,
  };
  const source = new Saving(ports as unknown as SavingPorts);
  source.committed(BLOCK, 2, "agent");
  const answered = source.saveAll([BLOCK]);
  source.committed(BLOCK, 3, "agent");
  saving.shift()!();
  await answered;
  expect(file.ahead).toBe(true);
  now = 10_000;
  timers.shift()!();
  for (const finish of saving.splice(0)) finish();
  await source[Symbol.asyncDispose]();
  expect(file.ahead).toBe(false);
});
