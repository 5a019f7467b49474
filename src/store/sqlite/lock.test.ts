import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../../test/support/process.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { FolderLock } from "./lock.ts";

describe("one process per database", () => {
  it("names the process that has it, and lets others in when that is killed", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const script = `
      const { FolderLock } = await import(${JSON.stringify(join(root, "src/store/sqlite/lock.ts"))});
      FolderLock.take(${JSON.stringify(file)}, false);
      console.log("held");
      setInterval(() => {}, 1000);`;
    const holder = spawn(process.execPath, ["--input-type=module", "-e", script]);
    await once(holder.stdout, "data");
    for (const shared of [false, true]) {
      expect(() => FolderLock.take(file, shared)).toThrow(
        expect.objectContaining({
          code: "in_use",
          message: expect.stringContaining(`process ${holder.pid}, running since 20`),
        }),
      );
    }
    holder.kill("SIGKILL");
    await once(holder, "close");
    FolderLock.take(file, false)[Symbol.dispose]();
  });

  it("is shared within one process only when both ask for it", () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const refused = expect.objectContaining({
      code: "in_use",
      facts: expect.objectContaining({ pid: process.pid }),
    });
    const alone = FolderLock.take(file, false);
    expect(() => FolderLock.take(file, false)).toThrow(refused);
    expect(() => FolderLock.take(file, true)).toThrow(refused);
    alone[Symbol.dispose]();
    using first = FolderLock.take(file, true);
    using second = FolderLock.take(file, true);
    expect(() => FolderLock.take(file, false)).toThrow(refused);
    first[Symbol.dispose]();
    expect(() => FolderLock.take(file, false)).toThrow(refused);
    second[Symbol.dispose]();
    FolderLock.take(file, false)[Symbol.dispose]();
  });
});
