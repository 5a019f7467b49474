import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text as allOf } from "node:stream/consumers";
import { expect, it } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { Folder, type Place } from "../src/files/contained.ts";
import type { Content } from "../src/files/content.ts";
import type { FileStat } from "../src/files/file-stat.ts";
import { move, readWhole, remove, save } from "../src/files/disk-file.ts";
import { stage } from "../src/files/replacing.ts";
import { SpareFiles } from "../src/files/spare-files.ts";
import { scaled, seed } from "./support/counts.ts";
import { NOTHING } from "./support/exchanging-child.ts";
import { root as repository } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 15 * 60_000;
const child = join(repository, "test/support/exchanging-child.ts");

/** The version that is there, when it is one. */
async function versionAt(
  place: Place,
): Promise<{ round: number; content: Content; stat: FileStat } | undefined> {
  try {
    const found = await readWhole(place, 1_000);
    const round = /^version (\d+)\n$/.exec(String(found?.bytes ?? ""))?.[1];
    return found && round !== undefined ? { ...found, round: Number(round) } : undefined;
  } catch (error) {
    if (error instanceof KumikoError && error.code === "being_written") return undefined;
    throw error;
  }
}

/** Whether it happened; false when it was refused because something else was there. */
async function isDone(doing: Promise<unknown>): Promise<boolean> {
  try {
    await doing;
    return true;
  } catch (error) {
    if (error instanceof KumikoError && /moved|absent|written/.test(error.code)) return false;
    throw error;
  }
}

/** Moves what is there, whatever it is; the version that it was, undefined when it was refused. */
function movedAway(root: Folder, place: Place): number | undefined {
  const to = root.resolve("moved.txt");
  try {
    move(place, to);
  } catch (error) {
    if (error instanceof KumikoError && /moved|absent/.test(error.code)) return undefined;
    throw error;
  }
  const path = join(root.path, to.path);
  const moved = /^version (\d+)\n$/.exec(readFileSync(path, "utf8"))?.[1];
  rmSync(path);
  return moved === undefined ? undefined : Number(moved);
}

it.runIf(process.platform === "linux").each(["beside it", "in the home"])(
  "no save by a new file %s, no removal and no move takes away what another program put there a moment before",
  { timeout: LONG },
  async (where) => {
    using folder = temporaryFolder();
    const path = folder.write("a.txt", "mine\n");
    using home = temporaryFolder();
    using spares = where === "in the home" ? new SpareFiles(home.path) : undefined;
    using root = Folder.open(folder.path, { spares });
    const place = root.resolve("a.txt");
    const random = new Random(seed());
    const other = spawn(process.execPath, [child, path], { stdio: ["pipe", "pipe", "inherit"] });
    const printed = allOf(other.stdout);
    const rounds = scaled(3_000);
    /** By the version that a change of ours took away, what it left there. */
    const done = new Map<number, string>();
    let refused = 0;
    for (let round = 0; round < rounds;) {
      const found = await versionAt(place);
      if (found === undefined) continue;
      round += 1;
      const { content: expected } = found;
      if (random.below(4) === 0) {
        const moved = movedAway(root, place);
        if (moved === undefined) refused += 1;
        else done.set(moved, NOTHING);
        continue;
      }
      const mine = `mine ${round}\n`;
      const bytes = Buffer.from(mine);
      const isRemoval = random.below(4) === 0;
      // As the product saves: what is replaced is looked at by whoever keeps it.
      const { stat: identity } = found;
      const keep = (replaced: Disposable): void => replaced[Symbol.dispose]();
      using staged = isRemoval ? undefined : stage(place, [bytes], identity);
      const doing = isRemoval
        ? remove(place, { expected })
        : save(place, bytes, { expected, staged, keeping: { identity, keep } });
      if (await isDone(doing)) done.set(found.round, isRemoval ? NOTHING : mine);
      else refused += 1;
    }
    other.stdin.end();
    const [code] = (await once(other, "exit")) as [number];
    const before = JSON.parse(await printed) as string[];
    expect(code).toBe(0);
    // The one that came next found there what we had left in the place of its predecessor, whose place was nobody else's.
    const wrong = [...done].filter(([round, left]) => (before[round + 1] ?? left) !== left);
    expect(wrong).toEqual([]);
    // It saw others' versions as well, so something was at stake.
    expect(before.some((text) => text.startsWith("version "))).toBe(true);
    expect(refused).toBeGreaterThan(rounds / 100);
    expect(done.size).toBeGreaterThan(rounds / 100);
    expect(root.spares).toBe(spares);
  },
);
