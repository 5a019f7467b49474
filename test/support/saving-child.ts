/**
 * Saves files again and again until its parent (test/files-saving.test.ts) kills it, and prints what was saved.
 *
 *   saving-child.ts save <folder> <first round>
 *   saving-child.ts tear <folder> <size>          kills itself when the file "equal" is half-written
 */

import { existsSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Content } from "../../src/files/content.ts";
import { Folder } from "../../src/files/contained.ts";
import { move, readWhole, remove, save } from "../../src/files/disk-file.ts";

/** A content that shows whether it is whole: as long as its first line says, and of one round from end to end. */
export function wholeContent(round: number): Buffer {
  const size = 40 + ((round * 7919) % 400_000);
  const line = `round ${round} size ${size}\n`;
  return Buffer.from(line.repeat(Math.ceil(size / line.length)).slice(0, size));
}

/** The round of a content; undefined when it is torn. */
export function roundOf(bytes: Uint8Array): number | undefined {
  const found = /^round (\d+) size/.exec(Buffer.from(bytes.subarray(0, 40)).toString());
  if (found === null) return undefined;
  const round = Number(found[1]);
  return wholeContent(round).equals(bytes) ? round : undefined;
}

async function untilKilled(path: string, first: number): Promise<void> {
  using folder = Folder.open(path);
  for (let round = first; ; round += 1) {
    const bytes = wholeContent(round);
    // A plain file, one reached by a link, and one with two names, which is written in place.
    for (const name of ["plain", "link", "equal"]) {
      const place = folder.resolve(name);
      const there = await readWhole(place, Infinity);
      await save(place, bytes, { expected: there?.content ?? "absent" });
      // Synchronous: what was acknowledged must be out before the process can die.
      writeSync(1, `${name} ${round}\n`);
    }
    const fresh = folder.resolve(`fresh/deep/${round}`);
    await save(fresh, bytes, { expected: "absent" });
    move(fresh, folder.resolve(`fresh/moved-${round}`));
    const older = folder.resolve(`fresh/moved-${round - 1}`);
    if (existsSync(join(path, older.path))) {
      await remove(older, { expected: Content.of(wholeContent(round - 1)) });
    }
  }
}

/** Replaces an "o" everywhere by an "n" in a file with two names, and dies when the first is new and the last is old. */
async function untilTorn(path: string, size: number): Promise<void> {
  using folder = Folder.open(path);
  const place = folder.resolve("equal");
  const old = (await readWhole(place, Infinity))!;
  const last = Math.min(size, old.bytes.length) - 1;
  const file = openSync(join(path, "equal"), "r");
  const byte = Buffer.alloc(1);
  const at = (position: number) => {
    readSync(file, byte, 0, 1, position);
    return byte.toString();
  };
  const look = () => {
    if (at(0) === "n" && at(last) === "o") process.kill(process.pid, "SIGKILL");
    setImmediate(look);
  };
  look();
  await save(place, Buffer.alloc(size, "n"), { expected: old.content });
  throw new Error("it was never seen half-written");
}

if (process.argv[1]?.endsWith("saving-child.ts") === true) {
  const [mode, path, number] = process.argv.slice(2);
  if (mode === "tear") await untilTorn(path!, Number(number));
  else await untilKilled(path!, Number(number));
}
