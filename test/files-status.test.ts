import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { timeText } from "../src/files/file-stat.ts";
import { type FileStatus, fileStatuses } from "../src/files/file-status.ts";
import { type Answer, Mounted } from "./support/mounted.ts";
import { asOrdinaryUser } from "./support/ordinary-user.ts";
import { refusalOf } from "./support/refusal.ts";

const FIVE = "1\n2\n3\n4\n5\n";
const MANUAL = '[mount]\nsave = "manual"\n';
const ann = { actor: "ann", kind: "person" } as const;

async function files(mounted: Mounted, input: object = {}): Promise<Answer[]> {
  return (await mounted.call<{ files: Answer[] }>("file_status", input, ann)).files;
}

describe("a file that is no text says why, with a block and without", () => {
  const cases = [
    ["binary", new Uint8Array([1, 0, 2])],
    ["binary", new Uint8Array([65, 0xff, 66])],
    ["too_large", "x".repeat(200)],
  ] as const;

  test.each(cases)("%s", async (status, content) => {
    const rules = "[mount]\nlargest = 100\n";
    await using mounted = await Mounted.with({ "a.txt": "1\n", "kumiko.toml": rules });
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    for (const path of ["a.txt", "new.txt"]) mounted.write(path, content);
    const why = expect.any(String) as string;
    const disk_mtime = expect.any(String) as string;
    const known = { path: "a.txt", block_id, status, disk_mtime, why };
    expect(await files(mounted, { path: "a.txt" })).toEqual([known]);
    const without = { path: "new.txt", status, disk_mtime, why };
    expect(await files(mounted, { path: "new.txt" })).toEqual([without]);
    expect(await files(mounted)).toEqual([known]);
    const listed = await mounted.call<{ files: Answer[] }>("file_list", {});
    expect(listed.files.map((file) => [file["path"], file["status"]])).toEqual([
      ["a.txt", status],
      ["kumiko.toml", "not_loaded"],
      ["new.txt", status],
    ]);
  });

  test("text in odd forms is text, also where its first bytes are cut", async () => {
    await using mounted = await Mounted.with({
      "long.txt": "ä".repeat(9_000),
      "odd.txt": `x${"ä".repeat(9_000)}`,
      "utf16.txt": Buffer.from("\uFEFFone\n", "utf16le"),
      "empty.txt": "",
    });
    const listed = await mounted.call<{ files: Answer[] }>("file_list", {});
    expect(new Set(listed.files.map(({ status }) => status))).toEqual(new Set(["not_loaded"]));
  });
});

test("a file that is on disk says when it was changed there, as its diff does", async () => {
  const texts = { "a.txt": "a\n", "b.bin": new Uint8Array(3), "c.txt": "c\n", "d.txt": "d\n" };
  await using mounted = await Mounted.with({ ...texts, "kumiko.toml": MANUAL });
  const times: { [path: string]: string } = {};
  for (const [path, milliseconds] of [
    ["a.txt", 1_766_917_800_000],
    ["b.bin", 1_000_000_000_250],
    ["c.txt", -2_000],
  ] as const) {
    const time = new Date(milliseconds);
    utimesSync(mounted.path(path), time, time);
    times[path] = time.toISOString();
  }
  expect(times["a.txt"]).toBe("2025-12-28T10:30:00.000Z");
  symlinkSync("a.txt", mounted.path("link"));
  symlinkSync("nothing", mounted.path("nowhere"));
  for (const [path, time] of Object.entries(times))
    expect(await files(mounted, { path })).toMatchObject([{ path, disk_mtime: time }]);
  expect(await files(mounted, { path: "link" })).toMatchObject([{ disk_mtime: times["a.txt"] }]);
  const listed = await mounted.call<{ files: Answer[] }>("file_list", {});
  const said = Object.fromEntries(listed.files.map((each) => [each["path"], each["disk_mtime"]]));
  expect(said).toMatchObject({ ...times, link: times["a.txt"], nowhere: undefined });
  await mounted.call("block_replace", { block_id: "a.txt", old: "a", new: "A" });
  const { diff } = await mounted.call<{ diff: string }>("file_diff", { path: "a.txt" });
  expect(diff).toContain(`\ndisk_mtime: ${times["a.txt"]!}\n`);
  await mounted.text("d.txt");
  rmSync(mounted.path("d.txt"));
  const known = await files(mounted);
  expect(known).toMatchObject([
    { path: "a.txt", status: "block_ahead", disk_mtime: times["a.txt"] },
    { path: "d.txt", status: "deleted" },
  ]);
  expect(known[1]).not.toHaveProperty("disk_mtime");
});

test("a time that no calendar has is left out, and keeps nobody from the rest", () => {
  expect(timeText(10n ** 23n)).toBeUndefined();
  expect(timeText(-(10n ** 23n))).toBeUndefined();
});

describe("a file that cannot be looked at", () => {
  test("says why, and keeps nobody from the others", async () => {
    await asOrdinaryUser(async () => {
      await using mounted = await Mounted.with({ "closed/a.txt": "a\n", "b.txt": "b\n" });
      const a = (await mounted.call("file_load", { path: "closed/a.txt" }))["block_id"];
      await mounted.text("b.txt");
      await mounted.stop();
      mounted.write("b.txt", "b changed\n");
      chmodSync(mounted.path("closed"), 0o000);
      try {
        await mounted.start();
        const { source } = mounted.mounts.first();
        await source.takingIn.catchUp();
        expect((await mounted.kernel.read(source.files.at("b.txt")!.block)).text).toBe(
          "b changed\n",
        );
        expect(await files(mounted)).toMatchObject([
          { path: "b.txt", status: "synced" },
          { path: "closed/a.txt", status: "unreadable", why: expect.stringContaining("EACCES") },
        ]);
        const read = await mounted.call("block_read", { block_id: a, line_numbers: false });
        expect(read).toMatchObject({ content: "a\n", unsaved: [{ unread: true }] });
        // What went on in the one epoch with it is taken in as well.
        mounted.write("b.txt", "b again\n");
        const changed = ["closed/a.txt", "b.txt"];
        await source.takingIn.changed({ changed, gone: [], renamed: [] });
        expect(await mounted.text("b.txt")).toBe("b again\n");
      } finally {
        chmodSync(mounted.path("closed"), 0o755);
      }
      expect(await files(mounted)).toMatchObject([{ status: "synced" }, { status: "synced" }]);
    });
  });

  test("is listed as such", async () => {
    await asOrdinaryUser(async () => {
      await using mounted = await Mounted.with({ "a.txt": "a\n" });
      chmodSync(mounted.path("a.txt"), 0o000);
      const listed = await mounted.call<{ files: Answer[] }>("file_list", {});
      expect(listed.files).toMatchObject([{ path: "a.txt", status: "unreadable" }]);
      const [known] = await files(mounted, { path: "a.txt" });
      expect(known).toMatchObject({ status: "unreadable", why: expect.stringContaining("EACCES") });
    });
  });
});

describe("every status", () => {
  const pathOf = (status: FileStatus): string => `${status}.txt`;

  /** A file in each, named after it; all but one with a block. */
  async function inEach(): Promise<Mounted> {
    const texts = fileStatuses.map((status) => [pathOf(status), FIVE]);
    const rules = `${MANUAL}largest = 100\n`;
    const mounted = await Mounted.with({ ...Object.fromEntries(texts), "kumiko.toml": rules });
    for (const status of fileStatuses)
      if (status !== "not_loaded") await mounted.call("file_load", { path: pathOf(status) });
    for (const status of ["block_ahead", "both_changed", "conflict"] as const) {
      const edit = { block_id: pathOf(status), old: "1\n", new: "BLOCK\n" };
      await mounted.call("block_replace", edit);
    }
    for (const status of ["disk_ahead", "both_changed", "conflict"] as const)
      mounted.write(pathOf(status), "DISK\n2\n3\n4\n5\n");
    await mounted.text(pathOf("conflict"));
    mounted.write(pathOf("binary"), new Uint8Array([1, 0, 2]));
    mounted.write(pathOf("too_large"), "x".repeat(200));
    chmodSync(mounted.path(pathOf("unreadable")), 0o000);
    rmSync(mounted.path(pathOf("deleted")));
    return mounted;
  }

  test("is told by file_status, of one file and of all that have blocks", async () => {
    await asOrdinaryUser(async () => {
      await using mounted = await inEach();
      const told = fileStatuses.toSorted().map((status) => ({ path: pathOf(status), status }));
      for (const one of told)
        expect(await files(mounted, { path: one.path }), one.path).toMatchObject([one]);
      const all = (await files(mounted)).map(({ path, status }) => ({ path, status }));
      expect(all).toEqual(told.filter(({ status }) => status !== "not_loaded"));
    });
  });

  test("is told by file_list, with what else is known, of every file that is there", async () => {
    await asOrdinaryUser(async () => {
      await using mounted = await inEach();
      const listed = await mounted.call<{ files: Answer[] }>("file_list", { pattern: "*.txt" });
      const rest = { permission: "read_write", loaded: true, dirty: false, conflict: false };
      const one = (status: FileStatus, size: number, otherwise: Partial<typeof rest> = {}) => ({
        path: pathOf(status),
        size,
        disk_mtime: expect.any(String),
        ...rest,
        ...otherwise,
        status,
      });
      expect(listed.files).toEqual([
        one("binary", 3),
        one("block_ahead", 10, { dirty: true }),
        one("both_changed", 13, { dirty: true }),
        one("conflict", 13, { conflict: true }),
        one("disk_ahead", 13),
        one("not_loaded", 10, { loaded: false }),
        one("synced", 10),
        one("too_large", 200),
        one("unreadable", 10),
      ]);
    });
  });
});

test("a diff from disk to block says whose it is, how both stand, since when, and of which version", async () => {
  await using mounted = await Mounted.with({ "src/a.txt": FIVE, "kumiko.toml": MANUAL });
  const path = "src/a.txt";
  const modified = new Date("2025-12-28T10:30:00.250Z");
  utimesSync(mounted.path(path), modified, modified);
  const { block_id } = await mounted.call("file_load", { path });
  expect(await mounted.call("file_diff", { path })).toEqual({ path, status: "synced", diff: "" });
  await mounted.call("block_replace", { block_id: path, old: "1\n", new: "one\n" });
  await mounted.call("block_replace", { block_id: path, old: "5\n", new: "5\nsix\n" });
  const header = [
    `[file:${String(block_id)}:src/a.txt]`,
    "status: block_ahead",
    "disk_mtime: 2025-12-28T10:30:00.250Z",
    "block_version: 3",
    "---",
  ];
  const lines = ["--- disk", "+++ block", "@@ -1,5 +1,6 @@", "-1", "+one", " 2", " 3", " 4", " 5"];
  expect(await mounted.call("file_diff", { path })).toEqual({
    path,
    status: "block_ahead",
    diff: [...header, ...lines, "+six", ""].join("\n"),
  });
});

test("of a folder it tells of all in it that have blocks, whichever folder of them is mounted", async () => {
  await using mounted = await Mounted.with({
    "a.txt": "a\n",
    "src/b.txt": "b\n",
    "src/in/c.txt": "c\n",
    "srcs.txt": "s\n",
  });
  for (const path of ["src/in/c.txt", "srcs.txt", "a.txt", "src/b.txt"])
    await mounted.call("file_load", { path });
  const paths = async (path: string): Promise<unknown[]> =>
    (await files(mounted, { path })).map((file) => file["path"]);
  expect(await paths("src")).toEqual(["src/b.txt", "src/in/c.txt"]);
  expect(await paths("src/in/")).toEqual(["src/in/c.txt"]);
  const all = ["a.txt", "src/b.txt", "src/in/c.txt", "srcs.txt"];
  const { name } = mounted.mounts.first();
  const roots = [".", mounted.folder, `${mounted.folder}/`, `@${name}`, `@${name}/`, `@${name}/.`];
  for (const root of roots) expect([root, await paths(root)]).toEqual([root, all]);
  expect(await paths("a.txt")).toEqual(["a.txt"]);
  expect(await paths(`@${name}/src`)).toEqual(["src/b.txt", "src/in/c.txt"]);
});

test("of a folder it tells of every conflict about what was in it or in its place, also of what is no file now", async () => {
  await using mounted = await Mounted.with({
    "in/a.txt": "a\n",
    "in/b.txt": "b\n",
    "c.txt": "c\n",
    "kumiko.toml": MANUAL,
  });
  for (const path of ["in/a.txt", "c.txt"]) {
    const old = path.at(-5)!;
    await mounted.call("block_replace", { block_id: path, old, new: "STAGED" }, ann);
    rmSync(mounted.path(path));
    await mounted.text(path);
  }
  const conflicts = async (input: object): Promise<unknown[]> => {
    const answer = await mounted.call<{ conflicts: Answer[] }>("file_status", input, ann);
    return answer.conflicts.map(({ path }) => path);
  };
  await mounted.call("file_move", { path: "in/b.txt", to: "in/a.txt" }, ann);
  mkdirSync(mounted.path("c.txt"));
  expect(await conflicts({})).toEqual(["in/a.txt", "c.txt"]);
  expect(await conflicts({ path: "in" })).toEqual(["in/a.txt"]);
  expect(await conflicts({ path: "in/a.txt" })).toEqual(["in/a.txt"]);
  expect(await conflicts({ path: "c.txt" })).toEqual(["c.txt"]);
  expect(await files(mounted, { path: "c.txt" })).toMatchObject([{ path: "c.txt" }]);
});

describe("what is said of a path that is no file", () => {
  test("nothing stands there, and what comes near is named", async () => {
    await using mounted = await Mounted.with({ "src/main.ts": "a\n" });
    const refused = await refusalOf(mounted.call("file_status", { path: "src/mian.ts" }));
    expect(refused).toMatchObject({ code: "not_on_disk", facts: { near: "src/main.ts" } });
  });

  test("the mounted folder is a folder", async () => {
    await using mounted = await Mounted.with({ "a.txt": "a\n" });
    for (const path of [".", mounted.folder]) {
      const refused = await refusalOf(mounted.call("file_load", { path }));
      expect(refused.code).toBe("not_on_disk");
      expect(refused.message).toMatch(/ is a folder: give the path of a file in it\.$/);
    }
  });

  test("a file that was moved is where it is now", async () => {
    await using mounted = await Mounted.with({ "src/a.txt": "a\n", "src/b.txt": "b\n" });
    const missing = async (): Promise<string> =>
      (await refusalOf(mounted.call("block_read", { block_id: "src/a.txt" }))).message;
    await mounted.call("file_move", { path: "src/a.txt", to: "lib/c.txt" }, ann);
    expect(await missing()).toContain("It was moved: it is lib/c.txt now.");
    await mounted.call("file_move", { path: "lib/c.txt", to: "d.txt" }, ann);
    expect(await missing()).toContain("It was moved: it is d.txt now.");
    await mounted.call("file_delete", { path: "d.txt" }, ann);
    expect(await missing()).toContain("Did you mean src/b.txt?");
    mounted.write("src/a.txt", "new\n");
    expect(await mounted.text("src/a.txt")).toBe("new\n");
  });
});

describe("where files are saved by hand nothing is written before that", () => {
  test("by saying that a native tool changed the file", async () => {
    await using mounted = await Mounted.with({ "a.txt": FIVE, "kumiko.toml": MANUAL });
    await mounted.call("block_replace", { block_id: "a.txt", old: "1\n", new: "STAGED\n" });
    mounted.write("a.txt", "1\n2\n3\n4\nNATIVE\n");
    const answer = await mounted.call("file_changed", { path: "a.txt", tool: "Edit" });
    expect(answer["status"]).toBe("block_ahead");
    expect(mounted.read("a.txt")).toBe("1\n2\n3\n4\nNATIVE\n");
    expect(await mounted.text("a.txt")).toBe("STAGED\n2\n3\n4\nNATIVE\n");
  });

  test("by moving it, which leaves nothing unsaved that was not", async () => {
    await using mounted = await Mounted.with({ "a.txt": FIVE, "kumiko.toml": MANUAL });
    await mounted.text("a.txt");
    await mounted.call("file_move", { path: "a.txt", to: "b.txt" }, ann);
    expect(await files(mounted)).toMatchObject([{ path: "b.txt", status: "synced" }]);
    await mounted.call("block_replace", { block_id: "b.txt", old: "1\n", new: "STAGED\n" });
    await mounted.call("file_move", { path: "b.txt", to: "c.txt" }, ann);
    expect(mounted.read("c.txt")).toBe(FIVE);
    expect(await files(mounted)).toMatchObject([{ path: "c.txt", status: "block_ahead" }]);
    await mounted.call("file_save", {});
    expect(mounted.read("c.txt")).toBe("STAGED\n2\n3\n4\n5\n");
  });

  test("by deleting it after the disk moved", async () => {
    await using mounted = await Mounted.with({ "a.txt": FIVE, "kumiko.toml": MANUAL });
    await mounted.call("block_replace", { block_id: "a.txt", old: "1\n", new: "STAGED\n" });
    mounted.write("a.txt", "1\n2\n3\n4\nDISK\n");
    await mounted.call("file_delete", { path: "a.txt" }, ann);
    expect(await mounted.text("a.txt")).toBe("STAGED\n2\n3\n4\nDISK\n");
  });
});
