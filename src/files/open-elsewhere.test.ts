import { closeSync, openSync, readdirSync, statSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import type { FileIdentity } from "./file-stat.ts";
import { isOpenForWriting } from "./open-elsewhere.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return { ...fs, readdirSync: vi.fn<typeof fs.readdirSync>(fs.readdirSync) };
});

/** How often all processes were looked at. */
function looks(): number {
  return vi.mocked(readdirSync).mock.calls.filter(([path]) => path === "/proc").length;
}

function identityOf(path: string): FileIdentity {
  const { ino: inode, dev: device, size } = statSync(path);
  return { inode, device, size, nanoseconds: 0n };
}

test.runIf(process.platform === "linux")(
  "one look is for all files that are asked for together, and none for who asks when it has begun",
  async () => {
    using folder = temporaryFolder();
    const paths = ["written", "read", "nobody's"].map((name) => folder.write(name, "text\n"));
    const [written, read, nobodys] = paths.map((path) => identityOf(path));
    const descriptors = [openSync(paths[0]!, "a"), openSync(paths[1]!, "r")];
    const before = looks();
    const together = Promise.all([written, read, nobodys].map((each) => isOpenForWriting(each!)));
    await vi.waitFor(() => expect(looks()).toBe(before + 1), { interval: 0 });
    descriptors.push(openSync(paths[2]!, "r+"));
    expect(await isOpenForWriting(nobodys!)).toBe(true);
    expect(await together).toMatchObject([true, false, expect.any(Boolean)]);
    expect(looks()).toBe(before + 2);
    descriptors.forEach((each) => closeSync(each));
    expect(await isOpenForWriting(written!)).toBe(false);
  },
);
