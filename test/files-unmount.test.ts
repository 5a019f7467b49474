import { existsSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import type { UnsavedFile } from "../src/kernel/index.ts";
import { Mounted } from "./support/mounted.ts";

test("a call that waits for a file to come to rest ends well when its folder is unmounted", async () => {
  await using mounted = await Mounted.with({ "a.txt": "one\n" });
  expect(await mounted.text("a.txt")).toBe("one\n");
  for (const path of ["a.txt", "new.txt"]) {
    mounted.write(path, "two\n");
    // Just written, so it is not believed yet.
    const call = mounted.text(path).catch((error: unknown) => error);
    await Promise.resolve();
    const { root } = mounted.mounts.named("project");
    await mounted.mounts.unmount("project");
    const ended = await call;
    if (ended instanceof KumikoError) expect(ended.message).toMatch(/mount/);
    else expect(ended).toBe("two\n");
    await mounted.mounts.mount("project", { root });
    expect(await mounted.text(path)).toBe("two\n");
  }
});

test("what was appended before a folder is unmounted, or mounted with other settings, is in its file", async () => {
  await using mounted = await Mounted.with({ "a.txt": "one\n" });
  const { mounts } = mounted;
  const { root } = mounts.named("project");
  await mounted.call("block_append", { block_id: "a.txt", text: "two;" });
  await mounts.unmount("project");
  expect(mounted.read("a.txt")).toBe("one\ntwo;");
  await mounts.mount("project", { root });
  await mounted.call("block_append", { block_id: "a.txt", text: "three;" });
  await mounts.mount("project", { root, rules: ["secret/**=secret"] });
  expect(mounted.read("a.txt")).toBe("one\ntwo;three;");
  expect(await mounted.text("a.txt")).toBe("one\ntwo;three;");
});

/** Calls that change a file, each with what the file must say then. */
const changes: { readonly [name: string]: (text: string) => readonly [string, object] } = {
  "an append": (text) => ["block_append", { block_id: "a.txt", text }],
  "an append that waits": (text) => ["block_append", { block_id: "a.txt", text, flush: true }],
  "an edit": (text) => ["block_replace", { block_id: "a.txt", old: "one", new: `one ${text}` }],
  "a patch": (text) => [
    "block_apply_patch",
    { patch: `--- a/a.txt\n+++ b/a.txt\n@@\n-end\n+${text}\n+end\n` },
  ],
};

test.each(Object.entries(changes))(
  "%s while its folder is unmounted is refused, on disk, or told not to be",
  async (_, change) => {
    await using mounted = await Mounted.with({ "a.txt": "one\nend\n" });
    const { mounts } = mounted;
    const { root } = mounts.named("project");
    for (let round = 0; round < 6; round++) {
      await mounted.text("a.txt");
      const calls = new Map<string, Promise<unknown>>();
      const begin = (): void => {
        const text = `<${round}.${calls.size}>`;
        calls.set(
          text,
          mounted.call(...change(text)).catch((error: unknown) => error),
        );
      };
      begin();
      for (let head = 0; head < round; head++) await turn();
      const unmounting = mounts.unmount("project");
      // From before it goes until it is gone.
      while (mounts.isMounted("project")) {
        begin();
        await turn();
      }
      await unmounting;
      await Promise.all(calls.values());
      const disk = mounted.read("a.txt");
      await mounts.mount("project", { root });
      const now = await mounted.text("a.txt");
      for (const [text, call] of calls) {
        const ended = await call;
        const isRefused = ended instanceof KumikoError;
        expect(now.includes(text)).toBe(!isRefused);
        if (isRefused) expect(ended.message).toMatch(/mount/);
        else expect(disk.includes(text) || JSON.stringify(ended).includes("unsaved")).toBe(true);
      }
    }
  },
);

test("whoever makes a file in a folder that has gone meanwhile is told that it is not there", async () => {
  await using mounted = await Mounted.with();
  const { mounts, kernel } = mounted;
  const { root } = mounts.named("project");
  const told: UnsavedFile[] = [];
  const ann = { actor: "ann", onUnsaved: (file: UnsavedFile) => void told.push(file) };
  // The two steps of a patch that makes one.
  const begun = await kernel.newFile(ann, "new.txt");
  const { block } = await begun!.create(ann, "new\n", undefined);
  await mounts.unmount("project");
  await kernel.makeFiles(ann, [block]);
  expect(existsSync(mounted.path("new.txt"))).toBe(false);
  expect(told).toMatchObject([{ block_id: block, why: expect.stringContaining("not mounted") }]);
  await mounts.mount("project", { root });
  expect(await mounted.text("new.txt")).toBe("new\n");
  expect(mounted.read("new.txt")).toBe("new\n");
});
