import { describe, expect, test } from "vitest";
import type { Level } from "../src/permission/index.ts";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const ann = { actor: "ann", kind: "person" } as const;
const MANUAL = '[mount]\nsave = "manual"\n';

type Change = "replaced" | "appended" | "continued";
interface Sides {
  readonly base: string;
  readonly block: string;
  readonly theirs: string;
}
interface Outcome {
  /** What the block says then. */
  readonly text: string;
  readonly conflicts: readonly Answer[];
}

/** What both sides make of one text: each replaces a line, adds one at the end, goes on with an unfinished one. */
const sides: { readonly [change in Change]: Sides } = {
  replaced: {
    base: "one\ntwo\nthree\n",
    block: "one\nBLOCK\nthree\n",
    theirs: "one\nDISK\nthree\n",
  },
  appended: { base: "one\n", block: "one\nBLOCK\n", theirs: "one\nDISK\n" },
  continued: { base: "one\ntwo", block: "one\ntwo, BLOCK\n", theirs: "one\nDISK" },
};
const changes = Object.keys(sides) as Change[];

/** Lines that both added are no conflict, whatever the level. */
const APPENDED: Outcome = { text: "one\nDISK\nBLOCK\n", conflicts: [] };
const replaced = { base: "two\n", memory: "BLOCK\n", disk: "DISK\n" };
const continued = { base: "two", memory: "two, BLOCK\n", disk: "DISK" };

function standing(stood: "disk" | "memory" | "nobody"): { readonly [change in Change]: Outcome } {
  const side = stood === "disk" ? "theirs" : "block";
  const lost = stood === "disk" ? "memory" : "disk";
  return {
    replaced: {
      text: sides.replaced[side],
      conflicts: [{ ...replaced, stood, lost: replaced[lost] }],
    },
    appended: APPENDED,
    continued: {
      text: sides.continued[side],
      conflicts: [{ ...continued, stood, lost: continued[lost] }],
    },
  };
}

/** The last column of the table of levels, written down by hand. */
const table: { readonly [level in Level]: ReturnType<typeof standing> } = {
  secret: standing("disk"),
  read_only: standing("disk"),
  partner: standing("nobody"),
  human: standing("nobody"),
  append: { ...standing("disk"), continued: { text: "one\nDISK, BLOCK\n", conflicts: [] } },
  read_write: standing("disk"),
  admin: standing("memory"),
};
const levels = Object.keys(table) as Level[];
/** Where nobody may change a file, a person neither, nobody's copy of it is merged. */
const unchangeable: readonly Level[] = ["read_only", "append"];

const pathOf = (level: Level, change: Change): string => `${level}/${change}.txt`;
const rules = levels
  .map((level) => `[[rule]]\npath = "${level}/**"\nlevel = "${level}"\n`)
  .join("");

/** Files in a folder of that level, whose blocks claude changed while no rule kept it from that. */
async function changed(level: Level, before: string): Promise<Mounted> {
  const files = changes.map((change) => [pathOf(level, change), sides[change].base]);
  const mounted = await Mounted.with({ ...Object.fromEntries(files), "kumiko.toml": before });
  for (const change of changes) {
    const { base, block } = sides[change];
    await mounted.call("block_replace", { block_id: pathOf(level, change), old: base, new: block });
  }
  await mounted.stop();
  mounted.write("kumiko.toml", rules);
  return mounted;
}

/** What became of a file, asked by a person: to agents secrets are nothing. */
async function outcome(mounted: Mounted, path: string): Promise<object> {
  const read = { block_id: path, line_numbers: false };
  const { content: text } = await mounted.call("block_read", read, ann);
  type Status = { files: Answer[]; conflicts: { [side: string]: { text: string } }[] };
  const { files, conflicts } = await mounted.call<Status>("file_status", { path }, ann);
  const lost = mounted.mounts.conflicts.list().filter((each) => each.path === path);
  return {
    text,
    disk: mounted.read(path),
    status: files[0]!["status"],
    conflicts: conflicts.map(({ base, memory, disk, stood, mine, theirs }, at) => ({
      base: base!.text,
      memory: memory!.text,
      disk: disk!.text,
      stood,
      mine,
      theirs,
      lost: lost[at]!.lost,
    })),
  };
}

/** The same as it should be; where somebody has to decide first, the file is what it was. */
function wanted({ text, conflicts }: Outcome, before: string, theirs: string): object {
  const isHeld = conflicts.some(({ stood }) => stood === "nobody");
  return {
    text,
    disk: isHeld ? before : text,
    status: conflicts.length > 0 ? "conflict" : "synced",
    conflicts: conflicts.map((conflict) => ({ ...conflict, mine: ["claude"], theirs })),
  };
}

describe.each(levels)("where a block and another both changed a file of level %s", (level) => {
  test("on disk, while the block was not saved", async () => {
    await using mounted = await changed(level, MANUAL);
    for (const change of changes) {
      expect(mounted.read(pathOf(level, change))).toBe(sides[change].base);
      mounted.write(pathOf(level, change), sides[change].theirs);
    }
    await mounted.start();
    for (const change of changes) {
      const after = wanted(table[level][change], sides[change].theirs, "disk");
      // What nobody may write any more stays in the block.
      const isKept = level === "read_only" && change === "appended";
      const kept = isKept && { disk: sides[change].theirs, status: "block_ahead" };
      expect(await outcome(mounted, pathOf(level, change)), change).toEqual({ ...after, ...kept });
    }
  });

  test("in a person's copy", async () => {
    await using mounted = await changed(level, "");
    await mounted.start();
    for (const change of changes) {
      const path = pathOf(level, change);
      const merging = mounted.call(
        "file_merge",
        { path, text: sides[change].theirs, base_version: 1 },
        ann,
      );
      if (unchangeable.includes(level)) {
        expect((await refusalOf(merging)).code, change).toBe("denied");
        expect(mounted.read(path)).toBe(sides[change].block);
        continue;
      }
      await merging;
      const after = wanted(table[level][change], sides[change].block, "ann");
      expect(await outcome(mounted, path), change).toEqual(after);
    }
  });
});
