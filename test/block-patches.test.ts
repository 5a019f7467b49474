import { describe, expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { unifiedDiff } from "../src/blocks/index.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { scaled, seed } from "./support/counts.ts";
import { Workshop } from "./support/kernel-workshop.ts";

interface Patched {
  readonly success: boolean;
  readonly edit?: string;
  readonly files: readonly {
    path: string;
    block_id: string;
    hunks: readonly unknown[];
    error?: { code: string; facts: { path: string } };
  }[];
}

function randomText(random: Random): string {
  const count = 1 + random.below(30);
  return Array.from({ length: count }, (_, index) => `line ${index} ${random.below(5)}\n`).join("");
}

function changed(random: Random, text: string): string {
  const lines = text.split("\n");
  for (let count = 1 + random.below(4); count > 0; count--) {
    const insert = random.next() < 0.7 ? [`new ${random.below(1000)}`] : [];
    lines.splice(random.below(lines.length), random.below(3), ...insert);
  }
  return lines.join("\n");
}

function section(path: string, before: string, after: string): string {
  return unifiedDiff(before, after, { oldName: `a/${path}`, newName: `b/${path}` });
}

async function fileBlock(shop: Workshop, path: string, content: string): Promise<string> {
  const made = await shop.call("ann", "block_create", {
    role: "user",
    kind: "text",
    content,
    metadata: { path },
  });
  return made["block_id"] as string;
}

async function apply(shop: Workshop, input: object): Promise<Patched> {
  return (await shop.call("claude", "block_apply_patch", input)) as unknown as Patched;
}

describe("a patch for several blocks", () => {
  test("lands whole as one Edit or not at all, and undoes as one", async () => {
    const random = new Random(seed());
    for (let round = 0; round < scaled(200); round++) {
      await using shop = await Workshop.open(new MemoryStore());
      const files = Array.from({ length: 2 + random.below(4) }, (_, index) => {
        const before = randomText(random);
        return { path: `folder/file-${index}.txt`, before, after: changed(random, before) };
      });
      const blocks: string[] = [];
      for (const { path, before } of files) blocks.push(await fileBlock(shop, path, before));
      const touched = files.filter(({ before, after }) => before !== after);
      if (touched.length < 2) continue;
      const sections = touched.map(({ path, before, after }) => section(path, before, after));
      const versions = await Promise.all(blocks.map((block) => shop.kernel.read(block)));

      // One section that fits nowhere spoils all of them.
      const bad = "--- a/folder/file-0.txt\n+++ b/folder/file-0.txt\n@@ -1 +1 @@\n-nowhere\n+x\n";
      const rest = touched.slice(1).map(({ path, before, after }) => section(path, before, after));
      const patch = [...rest, bad].join("");
      if (touched[0]!.path === files[0]!.path) {
        const dry = await apply(shop, { patch, dry_run: true });
        expect(dry.success).toBe(false);
        expect(dry.files.filter(({ error }) => error !== undefined)).toMatchObject([
          { path: "folder/file-0.txt", error: { code: "patch_rejected" } },
        ]);
        const refused = await shop.refusal("claude", "block_apply_patch", { patch });
        expect(refused.code).toBe("patch_rejected");
        expect(refused.facts).toMatchObject({ path: "folder/file-0.txt", block: blocks[0] });
        for (const [index, block] of blocks.entries())
          expect(await shop.kernel.read(block)).toEqual(versions[index]);
      }

      const whole = await apply(shop, { patch: sections.join(""), call_id: "once" });
      expect(whole.files.map(({ path }) => path)).toEqual(touched.map(({ path }) => path));
      for (const [index, { hunks }] of whole.files.entries())
        expect(hunks).toHaveLength(sections[index]!.match(/^@@/gm)!.length);
      for (const [index, block] of blocks.entries())
        expect(await shop.text(block)).toBe(files[index]!.after);
      // A retry changes nothing and says the same, hunks included.
      expect(await apply(shop, { patch: sections.join(""), call_id: "once" })).toEqual(whole);
      const undone = await shop.call("claude", "block_undo", { edit: whole.edit });
      expect(undone["blocks"]).toHaveLength(touched.length);
      for (const [index, block] of blocks.entries())
        expect(await shop.text(block)).toBe(files[index]!.before);
    }
  });

  test("finds blocks by name, by blocks and by path, and says when it cannot", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const one = await fileBlock(shop, "one.txt", "one\n");
    const two = await fileBlock(shop, "two.txt", "two\n");
    const patch = section(one, "one\n", "ONE\n") + section("other.txt", "two\n", "TWO\n");
    const missing = await shop.refusal("claude", "block_apply_patch", { patch });
    expect(missing.code).toBe("unknown_block");
    expect(missing.facts["paths"]).toEqual(["one.txt", "two.txt"]);
    await apply(shop, { patch, blocks: { "other.txt": two } });
    expect(await shop.text(one)).toBe("ONE\n");
    expect(await shop.text(two)).toBe("TWO\n");

    await fileBlock(shop, "two.txt", "TWO\n");
    const again = section("two.txt", "TWO\n", "2\n");
    const ambiguous = await shop.refusal("claude", "block_apply_patch", { patch: again });
    expect(ambiguous.code).toBe("ambiguous");
    const twice = await shop.refusal("claude", "block_apply_patch", {
      patch: again + section("one.txt", "ONE\n", "1\n"),
      blocks: { "two.txt": two, "one.txt": two },
    });
    expect(twice.code).toBe("invalid_argument");
    const many = await shop.refusal("claude", "block_apply_patch", { block_id: one, patch });
    expect(many.code).toBe("invalid_argument");
  });

  test("a creation fills an empty block, a deletion empties one, a rename is refused", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const fresh = await fileBlock(shop, "fresh.txt", "");
    const old = await fileBlock(shop, "old.txt", "bye\n");
    await apply(shop, {
      patch:
        "--- /dev/null\n+++ b/fresh.txt\n@@ -0,0 +1 @@\n+hello\n" +
        "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n",
    });
    expect(await shop.text(fresh)).toBe("hello\n");
    expect(await shop.text(old)).toBe("");
    const rename = "diff --git a/fresh.txt b/new.txt\nrename from fresh.txt\nrename to new.txt\n";
    const refused = await shop.refusal("claude", "block_apply_patch", { patch: rename });
    expect(refused.code).toBe("patch_rejected");
  });
});
