/**
 * Somebody who puts one version after the other in the place of a file, as fast as it can, and knows of each what was there
 * before: the two exchange their names. When its input ends it prints that: one line of JSON.
 *
 *   exchanging-child.ts <file>
 */

import { readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { setTimeout as passing } from "node:timers/promises";
import { exchange } from "../../src/files/extensions.ts";

function versionOf(round: number): string {
  return `version ${round}\n`;
}

export const NOTHING = "nothing";

/** Puts it there; gives what was there. */
function put(file: string, text: string): string {
  const own = `${file}.own`;
  writeFileSync(own, text);
  for (;;) {
    try {
      if (!exchange(file, own)) throw new Error("names cannot be exchanged here");
      const before = readFileSync(own, "utf8");
      unlinkSync(own);
      return before;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    try {
      // Not by a second name: what has two is written in place.
      writeFileSync(file, text, { flag: "wx" });
      return NOTHING;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

if (process.argv[1] === import.meta.filename) {
  const [file] = process.argv.slice(2) as [string];
  const before: string[] = [];
  process.stdin.resume();
  while (!process.stdin.readableEnded) {
    before.push(put(file, versionOf(before.length)));
    // As fast as it can, and now and then not.
    if (before.length % 100 < 95) await new Promise((resolve) => setImmediate(resolve));
    else await passing(2);
  }
  process.stdout.write(JSON.stringify(before));
}
