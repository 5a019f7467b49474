import { existsSync, renameSync, rmSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const THREE = "one\ntwo\nthree\n";
const MANUAL = '[mount]\nsave = "manual"\n';
const HUMAN = '[[rule]]\npath = "a.txt"\nlevel = "human"\n';
const ann = { actor: "ann", kind: "person" } as const;
const ben = { actor: "ben", kind: "person" } as const;
const claude = { actor: "claude", kind: "agent" } as const;

const replaced = (old: string, by: string) => ({ block_id: "a.txt", old, new: by });
const status = async (mounted: Mounted): Promise<{ files: Answer[]; conflicts: Answer[] }> =>
  mounted.call("file_status", { path: "a.txt" }, ann);

describe("a file that went while its block had something unsaved", () => {
  async function gone(): Promise<Mounted> {
    const mounted = await Mounted.with({ "a.txt": THREE, "kumiko.toml": MANUAL });
    await mounted.call("block_replace", replaced("one", "STAGED"));
    rmSync(mounted.path("a.txt"));
    expect(await mounted.text("a.txt")).toBe("STAGED\ntwo\nthree\n");
    expect((await status(mounted)).conflicts).toMatchObject([{ conflict: "c1", gone: true }]);
    return mounted;
  }

  test("and comes back is merged with it: nobody has to decide, and nothing new is written over", async () => {
    await using mounted = await gone();
    mounted.write("a.txt", `${THREE}new work\n`);
    expect(await mounted.text("a.txt")).toBe("STAGED\ntwo\nthree\nnew work\n");
    expect((await status(mounted)).conflicts).toEqual([]);
    expect(mounted.read("a.txt")).toBe(`${THREE}new work\n`);
  });

  test.each(["mine", "both"])(
    "is merged with what is there by now when somebody decides %s",
    async (choice) => {
      await using mounted = await gone();
      mounted.write("a.txt", `${THREE}new work\n`);
      await mounted.call("file_resolve", { conflict: "c1", choice });
      expect(await mounted.text("a.txt")).toBe("STAGED\ntwo\nthree\nnew work\n");
      // Saved by hand: a decision writes nothing.
      expect(mounted.read("a.txt")).toBe(`${THREE}new work\n`);
      await mounted.call("file_save", { path: "a.txt" });
      expect(mounted.read("a.txt")).toBe("STAGED\ntwo\nthree\nnew work\n");
    },
  );

  test.each([{ choice: "disk" }, { choice: "text", text: "else\n" }])(
    "refuses $choice when it is there again: there is nothing left to decide",
    async (decided) => {
      await using mounted = await gone();
      mounted.write("a.txt", `${THREE}new work\n`);
      const error = await refusalOf(mounted.call("file_resolve", { conflict: "c1", ...decided }));
      expect(error.code).toBe("conflict");
      expect(await mounted.text("a.txt")).toBe("STAGED\ntwo\nthree\nnew work\n");
    },
  );

  test("is made again by mine, but not before it is saved where files are saved by hand", async () => {
    await using mounted = await gone();
    await mounted.call("file_resolve", { conflict: "c1", choice: "mine" });
    expect(existsSync(mounted.path("a.txt"))).toBe(false);
    expect(await status(mounted)).toMatchObject({
      files: [{ status: "block_ahead" }],
      conflicts: [],
    });
    await mounted.restart();
    await mounted.call("file_save", {});
    expect(mounted.read("a.txt")).toBe("STAGED\ntwo\nthree\n");
  });

  test("stays away by disk, and what was given up is not merged when it comes back", async () => {
    await using mounted = await gone();
    await mounted.call("file_resolve", { conflict: "c1", choice: "disk" });
    expect((await status(mounted)).files).toMatchObject([{ status: "deleted" }]);
    mounted.write("a.txt", THREE);
    expect(await mounted.text("a.txt")).toBe(THREE);
  });

  test("and was made anew by another is merged by mine, or refused where both wrote", async () => {
    await using mounted = await gone();
    await mounted.call("file_create", { path: "a.txt", content: `${THREE}new work\n` }, ann);
    expect(mounted.read("a.txt")).toBe(`${THREE}new work\n`);
    await mounted.call("block_replace", replaced("one", "ANEW"), ann);
    const decided = { conflict: "c1", choice: "mine" };
    expect((await refusalOf(mounted.call("file_resolve", decided))).message).toContain(
      "choice now",
    );
    await mounted.call("block_replace", replaced("ANEW", "one"), ann);
    await mounted.call("file_resolve", decided);
    expect(await mounted.text("a.txt")).toBe("STAGED\ntwo\nthree\nnew work\n");
    expect((await status(mounted)).conflicts).toEqual([]);
  });
});

describe("a conflict whose lines were edited since", () => {
  /** Both sides changed the second line, at a level where nobody's stands. */
  async function waiting(rules = HUMAN): Promise<Mounted> {
    const mounted = await Mounted.with({ "a.txt": THREE, "kumiko.toml": rules });
    await mounted.text("a.txt");
    const { block } = mounted.mounts.first().source.files.at("a.txt")!;
    // What is on its way to the disk when somebody else writes there.
    await mounted.kernel.editFiles(ann, {
      blocks: [block],
      operation: "change",
      translate: () => [{ at: 4, remove: 3, insert: "ANN" }],
      answer: () => undefined,
    });
    mounted.write("a.txt", "one\nDISK\nthree\n");
    await mounted.call("file_load", { path: "a.txt" }, ann);
    return mounted;
  }

  test.each([
    ["human", HUMAN, "ANN"],
    ["read_write", "", "DISK"],
  ])("at level %s is closed with the block as it is now, and saved", async (_, rules, stands) => {
    await using mounted = await waiting(rules);
    await mounted.call("block_replace", replaced(stands, "BETTER"), ann);
    for (const choice of ["disk", "mine", "both"]) {
      const error = await refusalOf(mounted.call("file_resolve", { conflict: "c1", choice }, ann));
      expect(error.message).toContain("choice now");
    }
    await mounted.call("file_resolve", { conflict: "c1", choice: "now" }, ann);
    expect(mounted.read("a.txt")).toBe("one\nBETTER\nthree\n");
    expect(await status(mounted)).toMatchObject({ files: [{ status: "synced" }], conflicts: [] });
  });

  test("goes with a reload, after which the file is saved again", async () => {
    await using mounted = await waiting();
    await mounted.call("block_replace", replaced("ANN", "BETTER"), ann);
    await mounted.call("file_reload", { path: "a.txt" }, ann);
    expect(await mounted.text("a.txt")).toBe("one\nDISK\nthree\n");
    expect((await status(mounted)).conflicts).toEqual([]);
    await mounted.call("block_replace", replaced("three", "THREE"), ann);
    expect(mounted.read("a.txt")).toBe("one\nDISK\nTHREE\n");
  });

  test("that was decided when the process died can be closed", async () => {
    await using mounted = await waiting();
    const { block } = mounted.mounts.first().source.files.at("a.txt")!;
    // All of a decision but its last step.
    await mounted.kernel.editFiles(ann, {
      blocks: [block],
      operation: "change",
      translate: () => [{ at: 4, remove: 3, insert: "DISK" }],
      answer: () => undefined,
    });
    await mounted.restart();
    const again = mounted.call("file_resolve", { conflict: "c1", choice: "disk" }, ann);
    expect((await refusalOf(again)).message).toContain("choice now");
    await mounted.call("file_resolve", { conflict: "c1", choice: "now" }, ann);
    expect(await status(mounted)).toMatchObject({ files: [{ status: "synced" }], conflicts: [] });
    await mounted.call("block_replace", replaced("three", "THREE"), ann);
    expect(mounted.read("a.txt")).toBe("one\nDISK\nTHREE\n");
  });

  test("does not keep a file from being made anew, also after a restart", async () => {
    for (const restarts of [false, true]) {
      await using mounted = await waiting();
      rmSync(mounted.path("a.txt"));
      expect(await mounted.text("a.txt")).toBe("one\nANN\nthree\n");
      if (restarts) await mounted.restart();
      await mounted.call("file_create", { path: "a.txt", content: "fresh\n" }, ann);
      expect(mounted.read("a.txt")).toBe("fresh\n");
      await mounted.call("block_replace", replaced("fresh", "FRESH"), ann);
      expect(mounted.read("a.txt")).toBe("FRESH\n");
      // Both sides are in what was kept when it went.
      const { conflicts } = await status(mounted);
      expect(conflicts).toMatchObject([
        { gone: true, base: { text: "one\nDISK\nthree\n" }, memory: { text: "one\nANN\nthree\n" } },
      ]);
    }
  });

  test("waits again when the file comes back as it was, and keeps it from being deleted", async () => {
    await using mounted = await waiting();
    rmSync(mounted.path("a.txt"));
    await mounted.text("a.txt");
    mounted.write("a.txt", "one\nDISK\nthree\n");
    expect(await mounted.text("a.txt")).toBe("one\nANN\nthree\n");
    expect(mounted.read("a.txt")).toBe("one\nDISK\nthree\n");
    const error = await refusalOf(mounted.call("file_delete", { path: "a.txt" }, ann));
    expect(error).toMatchObject({ code: "conflict", facts: { conflicts: ["c1"] } });
    await mounted.call("file_resolve", { conflict: "c1", choice: "both" }, ann);
    expect(mounted.read("a.txt")).toBe("one\nDISK\nANN\nthree\n");
  });
});

test("a reload gives up what was not saved, also when the disk moved", async () => {
  await using mounted = await Mounted.with({ "a.txt": THREE });
  await mounted.text("a.txt");
  await mounted.call("block_append", { block_id: "a.txt", text: "unsaved\n", flush: true });
  mounted.write("a.txt", "DISK\ntwo\nthree\n");
  await mounted.call("file_reload", { path: "a.txt" });
  expect(await mounted.text("a.txt")).toBe("DISK\ntwo\nthree\n");
  expect(mounted.read("a.txt")).toBe("DISK\ntwo\nthree\n");
  rmSync(mounted.path("a.txt"));
  expect((await refusalOf(mounted.call("file_reload", { path: "a.txt" }))).code).toBe(
    "not_on_disk",
  );
  expect(await mounted.text("a.txt")).toBe("DISK\ntwo\nthree\n");
});

describe("what happens to files unasked", () => {
  /** What was announced since, as those hear it who listen to a kernel's resources. */
  async function heard(mounted: Mounted, during: () => Promise<void>): Promise<unknown[]> {
    const stop = new AbortController();
    const told: unknown[] = [];
    const notices = mounted.kernel.flow.subscribe("resource", { signal: stop.signal });
    const listening = (async () => {
      for await (const events of notices) told.push(...events);
    })();
    await during();
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(0));
    stop.abort();
    await listening;
    return told;
  }

  test("is announced: a conflict when it arises, is resolved, and opened again by an undo", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "kumiko.toml": MANUAL });
    await mounted.call("block_replace", replaced("two", "BLOCK"));
    mounted.write("a.txt", "one\nDISK\nthree\n");
    const conflict = { kind: "conflict", conflict: "c1", path: "a.txt", theirs: "disk" };
    const arose = await heard(mounted, async () => void (await mounted.text("a.txt")));
    expect(arose).toMatchObject([
      { notice: { ...conflict, state: "arose", stood: "disk", mine: ["claude"] } },
    ]);
    let edit = "";
    const resolved = await heard(mounted, async () => {
      const input = { conflict: "c1", choice: "mine" };
      ({ edit } = await mounted.call<{ edit: string }>("file_resolve", input));
    });
    expect(resolved).toMatchObject([{ notice: { ...conflict, state: "resolved" } }]);
    const again = await heard(
      mounted,
      async () => void (await mounted.call("block_undo", { edit })),
    );
    expect(again).toMatchObject([{ notice: { ...conflict, state: "arose" } }]);
  });

  test("is announced: a file that cannot be written, once for each reason", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const { block_id } = await mounted.call<{ block_id: string }>("file_load", { path: "a.txt" });
    const away = `${mounted.folder}-away`;
    renameSync(mounted.folder, away);
    const edit = (insert: string): Promise<void> =>
      mounted.kernel.editText(ann, {
        blocks: [block_id],
        operation: "change",
        translate: () => [{ at: 0, remove: 3, insert }],
        answer: () => undefined,
      });
    const told = await heard(mounted, async () => {
      await edit("ONE");
      await edit("1ne");
    });
    renameSync(away, mounted.folder);
    expect(told).toMatchObject([{ notice: { kind: "unsaved", block: block_id, path: "a.txt" } }]);
    expect(mounted.read("a.txt")).toBe(THREE);
    await mounted.call("file_save", { path: "a.txt" });
    expect(mounted.read("a.txt")).toBe("1ne\ntwo\nthree\n");
  });
});

test("whoever asks about conflicts is shown all of them, by their paths, and hears of others later", async () => {
  await using mounted = await Mounted.with({
    "a.txt": THREE,
    "b.txt": THREE,
    "kumiko.toml": MANUAL,
  });
  for (const [path, by] of [
    ["a.txt", "claude"],
    ["b.txt", "codex"],
  ] as const) {
    const who = { actor: by, kind: "agent" } as const;
    await mounted.call("block_replace", { block_id: path, old: "two", new: by }, who);
    mounted.write(path, "one\nDISK\nthree\n");
    await mounted.call("block_read", { block_id: path }, ann);
  }
  const asked = (input: object) =>
    mounted.call<{ conflicts: Answer[] }>("file_status", input, { actor: "claude", kind: "agent" });
  const all = [
    { conflict: "c1", path: "a.txt" },
    { conflict: "c2", path: "b.txt" },
  ];
  expect((await asked({})).conflicts).toMatchObject(all);
  expect((await asked({})).conflicts).toMatchObject(all);
  expect((await asked({ path: "b.txt" })).conflicts).toMatchObject([all[1]!]);
  const next = await mounted.call("block_read", { block_id: "b.txt" });
  expect(next["conflicts"]).toMatchObject([{ conflict: "c1", lost: "claude\n" }]);
});

test("a conflict is told to those whose lines do not stand, and to nobody else", async () => {
  await using mounted = await Mounted.with({
    "a.txt": `${THREE}four\nfive\n`,
    "kumiko.toml": MANUAL,
  });
  const bob = { actor: "bob", kind: "agent" } as const;
  await mounted.call("block_replace", replaced("one", "by claude"), claude);
  await mounted.call("block_replace", replaced("five", "by bob"), bob);
  mounted.write("a.txt", "by a person\ntwo\nthree\nfour\nfive\n");
  const read = { block_id: "a.txt" };
  expect(await mounted.call("block_read", read, bob)).not.toHaveProperty("conflicts");
  expect(await mounted.call("block_read", read, claude)).toMatchObject({
    conflicts: [{ lost: "by claude\n", theirs: "disk" }],
  });
  expect((await status(mounted)).conflicts).toMatchObject([{ mine: ["claude"] }]);
});

test("who wrote only other lines that are not saved is not told", async () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}\n`).join("");
  await using mounted = await Mounted.with({ "a.txt": lines, "kumiko.toml": MANUAL });
  await mounted.call("block_replace", replaced("line 12", "line 12 claude"), claude);
  mounted.run("sed", "-i", "s/^line 1$/Line 1/", "a.txt");
  await mounted.text("a.txt");
  await mounted.call("block_replace", replaced("Line 1\n", "line1ann\n"), ann);
  mounted.run("sed", "-i", "s/^Line 1$/Mine 1/", "a.txt");
  await mounted.text("a.txt");
  expect((await status(mounted)).conflicts).toMatchObject([{ mine: ["ann"] }]);
  const read = { block_id: "a.txt" };
  expect(await mounted.call("block_read", read, claude)).not.toHaveProperty("conflicts");
});

test("an agent's copy takes nobody's lines, a person's stands as the rules say", async () => {
  const answers: unknown[] = [];
  for (const by of [claude, ann]) {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    await mounted.text("a.txt");
    await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "ours" }, ben);
    const made = { path: "a.txt", text: "mine\ntwo\nTHREE\n", base_version: 1 };
    const { merged } = await mounted.call("file_merge", made, by);
    const lost = mounted.mounts.conflicts.list().map((each) => each.lost);
    answers.push({ text: mounted.read("a.txt"), lost, merged });
  }
  expect(answers).toEqual([
    { text: "ours\ntwo\nTHREE\n", lost: ["mine\n"], merged: true },
    { text: "mine\ntwo\nTHREE\n", lost: ["ours\n"], merged: false },
  ]);
});

describe("whoever's lines do not stand is told, and nobody else", () => {
  const codex = { actor: "codex", kind: "agent" } as const;
  const level = (named: string) => `[[rule]]\npath = "a.txt"\nlevel = "${named}"\n`;
  const told = async (mounted: Mounted, by: typeof claude | typeof codex | typeof ann) =>
    (await mounted.call("block_read", { block_id: "a.txt" }, by))["conflicts"];

  test("an agent whose merged copy gave way", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    await mounted.text("a.txt");
    await mounted.call("block_replace", replaced("two", "two by codex"), codex);
    const made = { path: "a.txt", text: "one\ntwo by claude\nthree\n", base_version: 1 };
    expect(await mounted.call("file_merge", made, claude)).toMatchObject({
      status: "conflict",
      conflicts: [{ stood: "memory", theirs: "claude", mine: ["codex"], lost: "two by claude\n" }],
    });
    expect(await told(mounted, codex)).toBeUndefined();
    expect(await told(mounted, claude)).toBeUndefined();
  });

  test.each([
    { by: "claude", announces: true },
    { by: "disk", announces: false },
  ])("at level admin what $by wrote on disk gives way", async ({ by, announces }) => {
    await using mounted = await Mounted.with({
      "a.txt": THREE,
      "kumiko.toml": `${MANUAL}${level("admin")}`,
    });
    await mounted.call("block_replace", replaced("two", "two by codex"), codex);
    mounted.write("a.txt", "one\ntwo on disk\nthree\n");
    const answer = announces
      ? await mounted.call("file_changed", { path: "a.txt" }, claude)
      : await mounted.call("block_read", { block_id: "a.txt" }, claude);
    const lost = [{ stood: "memory", theirs: by, lost: "two on disk\n" }];
    if (announces) expect(answer["conflicts"]).toMatchObject(lost);
    else expect(answer).not.toHaveProperty("conflicts");
    expect(await told(mounted, codex)).toBeUndefined();
    expect((await status(mounted)).conflicts).toMatchObject([{ stood: "memory", theirs: by }]);
  });

  test.each(["human", "partner"])("at level %s both, until somebody decides", async (named) => {
    await using mounted = await Mounted.with({
      "a.txt": THREE,
      "kumiko.toml": `${MANUAL}${level(named)}`,
    });
    await mounted.call("block_replace", replaced("two", "two by ann"), ann);
    mounted.write("a.txt", "one\ntwo on disk\nthree\n");
    const { conflicts } = await mounted.call("file_changed", { path: "a.txt" }, claude);
    const both = [{ stood: "nobody", theirs: "claude", mine: ["ann"] }];
    expect(conflicts).toMatchObject(both);
    expect(await told(mounted, ann)).toMatchObject(both);
    expect(await told(mounted, codex)).toBeUndefined();
  });
});
