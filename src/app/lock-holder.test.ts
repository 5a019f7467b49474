import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { FolderLock } from "../store/sqlite/lock.ts";
import { listedHolder } from "./lock-holder.ts";

test.runIf(existsSync("/proc/locks"))(
  "the holder of a lock is the process that has it, and nobody when it was given back",
  async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "server");
    {
      using _ = FolderLock.take(file, false);
      expect(await listedHolder(`${file}.lock`)).toBe(process.pid);
    }
    expect(await listedHolder(`${file}.lock`)).toBeUndefined();
  },
);
