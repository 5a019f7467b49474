/** A folder of 50,000 files: mounting it, what others save in it, taking back an edit. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kernelOfFolder } from "../../src/app/folders.ts";
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import { fileTools, Mounts } from "../../src/files/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { median, row, type Row } from "../harness.ts";
import { Words } from "./words.ts";

export const FILES = 50_000;
const PER_FOLDER = 100;
const SAVES = 40;
const UNDOS = 40;
const SNAPSHOTS = 3;

interface MountCost {
  readonly usable: number;
  readonly watched: number;
  readonly indexed: number;
  readonly megabytes: number;
  readonly peak: number;
}

export async function* treeMeasures(): AsyncGenerator<Row> {
  using place = temporaryFolder();
  const folder = join(place.path, "tree");
  const home = join(place.path, "home");
  mkdirSync(home);
  makeTree(folder);
  const first = mounted(home, folder);
  const again = mounted(home, folder);
  const name = `a folder of ${FILES} files`;
  yield row({
    name: `mounting ${name} until it is usable, ms`,
    ours: first.usable,
    goal: "< 2000 ms",
  });
  yield row({
    name: `memory of ${name}, watched and indexed, at rest, MB`,
    ours: first.megabytes,
    goal: "< 100 MB",
  });
  yield row({
    name: `opening ${name} again, unchanged, ms`,
    ours: again.usable,
    goal: "< 1000 ms",
  });
  process.stderr.write(
    `  everything watched after ${first.watched.toFixed(0)} and ${again.watched.toFixed(0)} ms, ` +
      `indexed after ${first.indexed.toFixed(0)} and ${again.indexed.toFixed(0)} ms; ` +
      `${first.peak.toFixed(0)} MB at most while indexed for the first time\n`,
  );
  yield* openMeasures(home, folder, name);
}

async function* openMeasures(home: string, folder: string, name: string): AsyncGenerator<Row> {
  const place = new HomeFolder(home, "bench");
  await using world = openWorld(
    place,
    (report) => {
      throw new Error(`damage in a bench: ${JSON.stringify(report)}`);
    },
    { watch: true },
  );
  const kernel = await world.openOrCreate((await kernelOfFolder(place, folder)).kernel);
  await Mounts.of(kernel).watched();
  const registry = new ToolRegistry([...blockTools, ...fileTools]);
  const agent = { actor: "claude", kind: "agent", reader: "claude" } as const;
  const call = (tool: string, input: object): Promise<unknown> =>
    registry.execute(kernel, tool, agent, input);
  const path = "d7/f7.txt";
  await call("block_read", { block_id: path });

  const delays: number[] = [];
  for (let count = 0; count < SAVES; count++) {
    const ended = new AbortController();
    const heard = Promise.withResolvers<number>();
    const following = (async () => {
      for await (const events of kernel.feed.subscribe({ signal: ended.signal }))
        if (events.some(({ actor }) => actor === "disk")) heard.resolve(performance.now());
    })();
    const text = readFileSync(join(folder, path), "utf8");
    const begun = performance.now();
    writeFileSync(join(folder, path), `${count} was saved by an editor.\n${text}`);
    delays.push((await heard.promise) - begun);
    ended.abort();
    await following;
  }
  yield row({
    name: `a save by an editor until a subscriber has it, p50, ms`,
    ours: median(delays),
    goal: "< 150 ms",
  });

  const inMemory: number[] = [];
  const onDisk: number[] = [];
  let heard = 0;
  const ended = new AbortController();
  const following = (async () => {
    for await (const _ of kernel.feed.subscribe({ signal: ended.signal }))
      heard = performance.now();
  })();
  for (let count = 0; count < UNDOS; count++) {
    await call("block_read", { block_id: path });
    await call("block_edit", {
      block_id: path,
      operations: [{ op: "insert", line: 0, content: `edit ${count}` }],
    });
    const begun = performance.now();
    await call("block_undo", {});
    onDisk.push(performance.now() - begun);
    inMemory.push(heard - begun);
  }
  ended.abort();
  await following;
  const snapshots = snapshotUndos(folder);
  yield row({
    name: `undo of an agent's edit in ${name}, in its block and told to all, ms`,
    ours: median(inMemory),
    goal: "< 10 ms",
  });
  yield row({
    name: `undo of an agent's edit in ${name}, on disk, ms`,
    ours: median(onDisk),
    goal: "< 50 ms",
  });
  yield row({
    name: `undo of an agent's edit in ${name}, on disk, peer a git snapshot of the tree, ms`,
    ours: median(onDisk),
    peer: median(snapshots),
    goal: "<= 0.1",
  });
}

function mounted(home: string, folder: string): MountCost {
  const script = join(import.meta.dirname, "mount-tree.ts");
  const out = execFileSync(process.execPath, ["--expose-gc", script, home, folder], {
    encoding: "utf8",
  });
  return JSON.parse(out) as MountCost;
}

/** Gives the words it is written with. */
export function makeTree(folder: string): Words {
  const words = new Words(7);
  for (let at = 0; at < FILES / PER_FOLDER; at++) {
    mkdirSync(join(folder, `d${at}`), { recursive: true });
    for (let file = 0; file < PER_FOLDER; file++)
      writeFileSync(join(folder, `d${at}`, `f${file}.txt`), words.text(600));
  }
  return words;
}

/** As tools do that keep no history of their own: a commit of everything before, a checkout to take back. */
function snapshotUndos(folder: string): number[] {
  const git = (...args: string[]): void =>
    void execFileSync("git", ["-c", "user.name=bench", "-c", "user.email=b@example.com", ...args], {
      cwd: folder,
      stdio: "ignore",
    });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "before");
  const times: number[] = [];
  for (let count = 0; count < SNAPSHOTS; count++) {
    writeFileSync(join(folder, "d9/f9.txt"), `edit ${count}\n`);
    const begun = performance.now();
    git("stash", "-q", "--include-untracked");
    times.push(performance.now() - begun);
  }
  return times;
}
