/**
 * A kernel with a mounted folder and three clients that edit its files, until its parent (test/files-crash.test.ts)
 * kills it. Prints what each client begins and was told: one line of JSON each.
 *
 *   mounted-child.ts <place> <life> <paths, by commas>
 *   mounted-child.ts <place> typing <path>               types once, right after it was loaded
 *   mounted-child.ts <place> editing <path>              edits twice, as two agents
 */

import { writeSync } from "node:fs";
import { Random } from "../../src/base/index.ts";
import { Mounted } from "./mounted.ts";

export interface ToldOfFiles {
  readonly ready?: true;
  readonly token?: string;
  /** The files in which the token is when the call succeeds: in all of them or in none. */
  readonly paths?: readonly string[];
  readonly acknowledged?: boolean;
}

function tell(told: ToldOfFiles): void {
  // Synchronous: what was acknowledged must be out before the process can die.
  writeSync(1, `${JSON.stringify(told)}\n`);
}

async function client(
  mounted: Mounted,
  { number, life, paths }: { number: number; life: number; paths: readonly string[] },
): Promise<void> {
  const random = new Random(life * 10 + number);
  const by = { actor: `client-${number}`, kind: "agent" } as const;
  for (let round = 0; ; round++) {
    const token = `<${life}-${number}-${round}>`;
    const count = round % 3 === 0 ? 2 + random.below(2) : 1;
    const chosen = Array.from({ length: count }, () => random.pick(paths));
    const files = [...new Set(chosen)];
    tell({ token, paths: files, acknowledged: false });
    const [first] = files as [string];
    if (files.length > 1) {
      const slot = random.below(20);
      // Drifted lines are searched by their context.
      const patch = files
        .map(
          (path) =>
            `--- a/${path}\n+++ b/${path}\n@@ -${slot + 1},1 +${slot + 1},2 @@\n slot ${slot}\n+${token}\n`,
        )
        .join("");
      await mounted.call("block_apply_patch", { patch }, by);
    } else if (number === 2) {
      const text = `${token}\n`;
      await mounted.call("block_append", { block_id: first, text, flush: true }, by);
    } else {
      const { line_count: lines } = await mounted.call<{ line_count: number }>(
        "block_read",
        { block_id: first },
        by,
      );
      const operations = [{ op: "insert", line: random.below(lines + 1), content: token }];
      await mounted.call("block_edit", { block_id: first, operations }, by);
    }
    tell({ token, paths: files, acknowledged: true });
  }
}

if (process.argv[1]?.endsWith("mounted-child.ts") === true) {
  const [place, life, paths] = process.argv.slice(2) as [string, string, string];
  await using mounted = await Mounted.at(place);
  tell({ ready: true });
  if (life === "typing") await typeOnce(mounted, paths);
  if (life === "editing") await editTwice(mounted, paths);
  const numbers = [0, 1, 2];
  await Promise.all(
    numbers.map((number) =>
      client(mounted, { number, life: Number(life), paths: paths.split(",") }),
    ),
  );
}

async function typeOnce(mounted: Mounted, path: string): Promise<void> {
  const by = { actor: "ann", kind: "person" } as const;
  await mounted.call("file_load", { path }, by);
  const told = { token: "<typed>", paths: [path] };
  tell({ ...told, acknowledged: false });
  await mounted.call("block_append", { block_id: path, text: "<typed>\n", flush: true }, by);
  tell({ ...told, acknowledged: true });
  await untilKilled();
}

async function editTwice(mounted: Mounted, path: string): Promise<void> {
  await mounted.text(path);
  for (const [actor, old, token] of [
    ["claude", "slot 3", "<slot 3>"],
    ["codex", "<slot 3>", "<slot 3><again>"],
  ]) {
    const by = { actor: actor!, kind: "agent" } as const;
    await mounted.call("block_replace", { block_id: path, old, new: token }, by);
  }
  tell({ token: "<again>", paths: [path], acknowledged: true });
  await untilKilled();
}

async function untilKilled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 60_000));
}
