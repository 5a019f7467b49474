/** One file's block cannot be read any more, and all others can. */
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { expect, test, vi } from "vitest";
import { Mounted } from "./support/mounted.ts";

const LONG = 60_000;
const SOON = { timeout: 30_000, interval: 20 };

/** Changes what the journal has of a block. */
function damage(home: string, block: string): void {
  const kernels = join(home, "kernels");
  for (const name of readdirSync(kernels, { recursive: true }).map(String)) {
    if (!name.endsWith(".db")) continue;
    const database = new BetterSqlite(join(kernels, name));
    try {
      const isJournal = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'commits'");
      if (isJournal.get() === undefined) continue;
      const ofBlock = "block = (SELECT id FROM names WHERE text = ?)";
      database.prepare(`UPDATE commits SET body = x'00' WHERE ${ofBlock}`).run(block);
    } finally {
      database.close();
    }
  }
}

function blockAt(mounted: Mounted, path: string): string | undefined {
  return mounted.mounts.first().source.files.at(path)?.block;
}

/** What was taken in without being asked for. */
async function taken(mounted: Mounted, path: string): Promise<string> {
  return (await mounted.kernel.read(blockAt(mounted, path)!)).text;
}

async function newestEdit(mounted: Mounted, path: string): Promise<string> {
  const history = await mounted.call<{ versions: { edit: string }[] }>("block_history", {
    block_id: path,
  });
  return history.versions[0]!.edit;
}

test(
  "a damaged block keeps no other file from what happens on disk",
  { timeout: LONG },
  async () => {
    const names = ["a.txt", "b.txt", "c.txt", "d.txt"];
    await using mounted = await Mounted.with(
      {
        ...Object.fromEntries(names.map((name) => [name, `${name}\n`])),
        "kumiko.toml": '[mount]\nsave = "manual"\n',
      },
      { watch: true },
    );
    await mounted.mounts.watched();
    for (const name of names) await mounted.text(name);
    await mounted.call("block_append", { block_id: "d.txt", text: "staged\n", flush: true });
    const block = blockAt(mounted, "a.txt")!;
    await mounted.stop();

    damage(mounted.home, block);
    const damages: object[] = [];
    mounted.onDamage = (report) => damages.push(report);
    for (const name of ["a.txt", "b.txt", "c.txt"]) mounted.write(name, `${name}\nmeanwhile\n`);
    rmSync(mounted.path("kumiko.toml"));
    await mounted.start();
    await mounted.mounts.watched();
    expect(await taken(mounted, "b.txt")).toBe("b.txt\nmeanwhile\n");
    expect(await newestEdit(mounted, "b.txt")).toBe(await newestEdit(mounted, "c.txt"));
    // What was ahead at the start is saved.
    expect(mounted.read("d.txt")).toBe("d.txt\nstaged\n");
    const { files } = await mounted.call<{ files: object[] }>("file_status", { path: "a.txt" });
    expect(files).toMatchObject([
      { block_id: block, status: "unreadable", why: expect.stringContaining("quarantined") },
    ]);

    for (const name of ["a.txt", "b.txt", "c.txt"]) mounted.write(name, `${name}\nlater\n`);
    await vi.waitFor(
      async () => expect(await taken(mounted, "c.txt")).toBe("c.txt\nlater\n"),
      SOON,
    );
    expect(await taken(mounted, "b.txt")).toBe("b.txt\nlater\n");
    const moved = blockAt(mounted, "b.txt");
    for (const name of ["a", "b"]) renameSync(mounted.path(`${name}.txt`), mounted.path(name));
    await vi.waitFor(() => expect(blockAt(mounted, "b")).toBe(moved), SOON);
    rmSync(mounted.path("a"));
    renameSync(mounted.path("c.txt"), mounted.path("c"));
    await vi.waitFor(() => expect(blockAt(mounted, "c")).toBeDefined(), SOON);
    expect(mounted.mounts.troubles()).toEqual([]);
    expect(damages).toMatchObject([{ block, effect: "quarantined" }]);
  },
);

test("files go and come although a damaged block's file went with them", async () => {
  const names = ["a.txt", "b.txt", "c.txt"];
  await using mounted = await Mounted.with(
    Object.fromEntries(names.map((name) => [name, `${name}\n`])),
    { watch: true },
  );
  await mounted.mounts.watched();
  for (const name of names) await mounted.text(name);
  const [damaged, moved, gone] = names.map((name) => blockAt(mounted, name)!);
  await mounted.stop();
  damage(mounted.home, damaged!);
  mounted.onDamage = () => undefined;
  rmSync(mounted.path("a.txt"));
  rmSync(mounted.path("c.txt"));
  renameSync(mounted.path("b.txt"), mounted.path("moved.txt"));
  await mounted.start();
  await mounted.mounts.watched();
  // Those that went with it were looked at.
  expect(blockAt(mounted, "moved.txt")).toBe(moved);
  const { files } = mounted.mounts.first().source;
  expect(files.of(gone!)!.isAway).toBe(true);
  renameSync(mounted.path("moved.txt"), mounted.path("a.txt"));
  mounted.write("c.txt", "anew\n");
  await vi.waitFor(async () => expect(await taken(mounted, "c.txt")).toBe("anew\n"), SOON);
  expect(mounted.mounts.troubles()).toEqual([]);
});
