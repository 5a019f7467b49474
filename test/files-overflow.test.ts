import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { scaled } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import { root as repository } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { shell, Watched } from "./support/writers.ts";

/** So many events the system keeps for a watcher that does not read them. */
const KEPT = Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"));

/** Says when it watches, and what it knows when that is as much as is there. */
const WATCHER = `
  import { subscribe } from "./src/files/subscription.ts";
  import { Watched } from "./test/support/writers.ts";
  const [root, count] = process.argv.slice(-2);
  let heard = 0;
  const watched = await Watched.start(root, {
    subscribe: (folder, options) => subscribe(folder, {
      ...options,
      onHints: (hints) => { heard += hints.length; options.onHints(hints); },
    }),
  });
  console.log("ready");
  const known = () => [...watched.watch.stamps()].length;
  await watched.until("everything", () => known() === Number(count));
  await watched.until("the change", () => watched.last("old/d7/f7") === "new\\n");
  const { gone, troubles } = watched;
  console.log(JSON.stringify({ heard, gone, troubles }));
  await watched.watch.close();
`;

describe("more happens than the system tells", () => {
  test.runIf(KEPT <= 65_536)(
    "a queue that overflows loses nothing and deletes nothing",
    async () => {
      using folder = temporaryFolder();
      for (let at = 0; at < 300; at++) folder.write(`old/d${at % 30}/f${at}`, "old");
      folder.write("new/first", "");
      const files = KEPT + 1_000;
      // Of the old files, 10 will be gone.
      const count = files + 1 + 290;
      const child = spawn(
        process.execPath,
        ["--input-type=module", "-e", WATCHER, folder.path, String(count)],
        { cwd: repository, stdio: ["ignore", "pipe", "inherit"] },
      );
      const ended = once(child, "close");
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe("ready");
      // While it stands still, the system keeps what it can and drops the rest.
      child.kill("SIGSTOP");
      try {
        await shell(join(folder.path, "new"), `seq 1 ${files} | xargs touch`);
        await shell(folder.path, "for f in old/d7/*; do echo new > $f; done; rm -r old/d3");
      } finally {
        child.kill("SIGCONT");
      }
      const told = JSON.parse(String((await lines.next()).value)) as {
        heard: number;
        gone: string[];
        troubles: unknown[];
      };
      expect(await ended).toEqual([0, null]);
      // Otherwise nothing was dropped, and nothing is proven.
      expect(told.heard).toBeLessThan(files);
      expect(told.gone.toSorted()).toEqual(
        Array.from({ length: 10 }, (_, at) => `old/d3/f${at * 30 + 3}`).toSorted(),
      );
      expect(told.troubles).toEqual([]);
    },
  );

  test("a burst of many thousand files is found whole", async () => {
    using folder = temporaryFolder();
    folder.write("kept", "old");
    await using watched = await Watched.start(folder.path);
    const files = scaled(50_000);
    await shell(
      folder.path,
      `for d in 1 2 3 4; do mkdir $d; (cd $d; seq 1 ${files / 4} | xargs touch) & done; wait`,
    );
    await watched.until("all", () => [...watched.watch.stamps()].length === files + 1);
    expect(watched.gone).toEqual([]);
    expect(watched.troubles).toEqual([]);
  });
});

describe("another folder in the place of a root", () => {
  const FILES = { "a.txt": "one\ntwo\n", "b/c.txt": "three\n" };

  test("deletes nothing, is not written, and is left when the root is back", async () => {
    await using mounted = await Mounted.with(FILES, { watch: true });
    await mounted.mounts.watched();
    for (const path of Object.keys(FILES)) await mounted.text(path);
    const away = `${mounted.folder}-away`;
    renameSync(mounted.folder, away);
    mkdirSync(mounted.folder);
    writeFileSync(mounted.path("other.txt"), "other\n");
    const halted = (): boolean =>
      mounted.mounts.troubles().some(({ error }) => error.code === "root_gone");
    await until("the halt", halted);
    const edit = { block_id: "a.txt", old: "two", new: "TWO" };
    await expect(mounted.call("block_replace", edit)).rejects.toMatchObject({ code: "root_gone" });
    writeFileSync(join(away, "b/c.txt"), "THREE\n");
    await until("another look", () => halted());
    rmSync(mounted.folder, { recursive: true });
    renameSync(away, mounted.folder);
    await until("the root", () => !halted());
    expect(await mounted.text("b/c.txt")).toBe("THREE\n");
    await mounted.call("block_replace", edit);
    expect(mounted.read("a.txt")).toBe("one\nTWO\n");
    const { files } = await mounted.call<{ files: { status: string }[] }>("file_status", {});
    expect(files.map(({ status }) => status)).toEqual(["synced", "synced"]);
  });

  test("that is a clone of it is taken for it, and rescanned", async () => {
    using above = temporaryFolder();
    for (let at = 0; at < 20; at++) above.write(`root/d${at % 4}/f${at}`, `${at}`);
    const root = join(above.path, "root");
    await using watched = await Watched.start(root);
    await shell(
      above.path,
      "cp -r root clone; echo new > clone/d1/new; echo changed > clone/d2/f2; rm clone/d3/f3; mv root away; mv clone root",
    );
    await watched.until("the new file", () => watched.last("d1/new") === "new\n");
    await watched.until("the change", () => watched.last("d2/f2") === "changed\n");
    await watched.until("the deletion", () => watched.gone.length > 0);
    expect(watched.gone).toEqual(["d3/f3"]);
    expect(watched.troubles.map(({ kind }) => kind)).toEqual(["root_gone", "root_back"]);
    // It is the clone that is watched, not what was moved away.
    writeFileSync(join(above.path, "away/d1/f1"), "not ours");
    await shell(root, "echo later > d1/f1");
    await watched.until("later", () => watched.last("d1/f1") === "later\n");
  });
});

async function until(what: string, holds: () => boolean): Promise<void> {
  const end = Date.now() + 30_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
