import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Mounted } from "./support/mounted.ts";

const SECRET = "SEKRET-TOKEN-123";
const claude = { actor: "claude", kind: "agent" } as const;
const ann = { actor: "ann", kind: "person" } as const;

/** Files in which a text stands, byte for byte. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(text));
}

/** Both sides changed line two, and the one that lost it had a secret there. */
async function inConflict(level: string, secret: "block" | "disk"): Promise<Mounted> {
  const mounted = await Mounted.with({
    "a.txt": "one\ntwo\nthree\n",
    "kumiko.toml": `[mount]\nsave = "manual"\n[[rule]]\npath = "a.txt"\nlevel = "${level}"\n`,
  });
  const [block, disk] = secret === "block" ? [SECRET, "harmless"] : ["harmless", SECRET];
  await mounted.call("block_replace", { block_id: "a.txt", old: "two", new: block }, ann);
  await mounted.call("block_replace", { block_id: "a.txt", old: "three", new: "3" }, ann);
  mounted.write("a.txt", `one\n${disk}\nthree\n`);
  await mounted.call("file_load", { path: "a.txt" }, ann);
  const { conflicts } = await mounted.call<{ conflicts: object[] }>("file_status", {}, ann);
  expect(conflicts).toHaveLength(1);
  return mounted;
}

describe("a purge of a text", () => {
  test.each([
    // Whose lines stand there: disk's, the block's, nobody's.
    ["read_write", "block"],
    ["admin", "disk"],
    ["human", "disk"],
  ] as const)(
    "leaves nothing of it beside the blocks either (%s, lost by %s)",
    async (level, lost) => {
      await using mounted = await inConflict(level, lost);
      await mounted.kernel.purge(ann, { text: SECRET });
      const status = await mounted.call("file_status", {}, ann);
      expect(JSON.stringify(status)).not.toContain(SECRET);
      expect(status).toMatchObject({ conflicts: [{ path: "a.txt" }] });
      expect(
        JSON.stringify(await mounted.call("block_read", { block_id: "a.txt" }, claude)),
      ).not.toContain(SECRET);
      await mounted.stop();
      expect(filesWith(mounted.home, SECRET)).toEqual([]);
      // What stands in its place is as long, so that the conflict can still be resolved.
      await mounted.start();
      await mounted.call("file_resolve", { conflict: "c1", choice: "both" }, ann);
      expect(await mounted.text("a.txt")).toContain("harmless\n");
      expect(await mounted.text("a.txt")).toContain(`${"█".repeat(SECRET.length)}\n`);
    },
  );

  test("nor lines of it, nor what is known of folders that are not mounted", async () => {
    const key = `BEGIN OF A KEY\n${SECRET}\nEND OF A KEY`;
    await using mounted = await inConflict("human", "disk");
    await mounted.mounts.unmount("project");
    await mounted.kernel.purge(ann, { text: key });
    await mounted.stop();
    // Beside the blocks, where a few lines are quoted, each line goes by itself.
    await mounted.start();
    const kept = await mounted.kernel.named("conflicts").list();
    expect(JSON.stringify(kept)).not.toContain(SECRET);
    const records = await mounted.kernel.named("files-project").list();
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });

  test("or of a whole block", async () => {
    await using mounted = await inConflict("human", "disk");
    const { block_id: block } = await mounted.call("file_load", { path: "a.txt" }, ann);
    await mounted.kernel.purge(ann, { block: String(block) });
    expect(JSON.stringify(await mounted.call("file_status", {}, ann))).not.toContain(SECRET);
    await mounted.stop();
    expect(filesWith(mounted.home, SECRET)).toEqual([]);
    expect(filesWith(mounted.home, "harmless")).toEqual([]);
  });

  test("and is written over in the file at once, or its next change would bring it back", async () => {
    await using mounted = await Mounted.with({ "a.txt": `one\n${SECRET}\n` });
    await mounted.text("a.txt");
    await mounted.kernel.purge(ann, { text: SECRET });
    expect(mounted.read("a.txt")).toBe(`one\n${"█".repeat(SECRET.length)}\n`);
    mounted.write("a.txt", `${mounted.read("a.txt")}more\n`);
    expect(await mounted.text("a.txt")).not.toContain(SECRET);
  });
});
