import { spawnSync } from "node:child_process";
import { afterAll, describe, expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { splitText } from "../src/blocks/index.ts";
import { type MergeRule, mergeTexts } from "../src/files/merge.ts";
import { scaled, seed } from "./support/counts.ts";
import { documentOf, stamp } from "./support/documents.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { threeTexts, type ThreeTexts } from "./support/three-texts.ts";

const DISK: MergeRule = { stands: "disk", keepsAppended: false };
const folder = temporaryFolder();

afterAll(() => folder[Symbol.dispose]());

/** What git makes of it, or nothing when it finds a conflict. */
function mergedByGit({ base, memory, disk }: ThreeTexts): string | undefined {
  const files = [
    folder.write("memory", memory),
    folder.write("base", base),
    folder.write("disk", disk),
  ];
  const { status, stdout, stderr } = spawnSync("git", ["merge-file", "-p", ...files], {
    encoding: "utf8",
  });
  // It exits with the number of conflicts, and above 127 when it failed.
  if (status === null || status > 127) throw new Error(`git merge-file: ${stderr}`);
  return status === 0 ? stdout : undefined;
}

describe("what git merges is merged in the same way", () => {
  // A missing final newline makes the last line another one for git and is a matter of its own here; with lines that
  // are written often, git may then find another of several equal lines changed.
  const kinds = [
    { name: "lines of their own", common: 0, ragged: false },
    { name: "lines of their own, final newlines missing", common: 0, ragged: true },
    { name: "some lines written often", common: 20, ragged: false },
    { name: "most lines written often", common: 60, ragged: false },
  ];
  test.each(kinds)("$name", ({ common, ragged }) => {
    const random = new Random(seed());
    const runs = scaled(1_000);
    let clean = 0;
    let ours = 0;
    for (let run = 0; run < runs; run++) {
      const changed = random.pick([5, 10, 20]);
      const texts = threeTexts(random, { common, changed, shared: random.pick([0, 20]), ragged });
      const { text, conflicts } = mergeTexts(texts, DISK);
      if (conflicts.length === 0) ours++;
      const expected = mergedByGit(texts);
      if (expected === undefined) continue;
      clean++;
      expect({ text, conflicts }, JSON.stringify(texts)).toEqual({
        text: expected,
        conflicts: [],
      });
    }
    expect(clean).toBeGreaterThan(runs / 3);
    expect(ours).toBeGreaterThanOrEqual(clean);
  });
});

test("a merge is a commit, and what it did not change keeps its blame", () => {
  const random = new Random(seed());
  for (let run = 0; run < scaled(2_000); run++) {
    const texts = threeTexts(random, { common: 10, changed: 30, shared: 10, ragged: true });
    using document = documentOf(texts.memory);
    const { splices, text } = mergeTexts(texts, DISK);
    document.commit(splices, stamp("disk", "merge"));
    expect(document.read()).toBe(text);
    let at = 0;
    let kept = "";
    for (const { length, edit } of document.blame(0, text.length)) {
      if (edit === "baseline") kept += text.slice(at, at + length);
      at += length;
    }
    for (const line of splitText(text).lines)
      if (/^m\d/.test(line)) expect(kept, JSON.stringify(texts)).toContain(line);
  }
});
