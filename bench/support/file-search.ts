/** kernel_search in a folder of 50,000 files that nobody has loaded, against ripgrep in the same folder. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { kernelOfFolder } from "../../src/app/folders.ts";
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import { Mounts } from "../../src/files/index.ts";
import type { Kernel } from "../../src/kernel/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { row, type Row } from "../harness.ts";
import { interleave } from "./rounds.ts";
import { FILES, makeTree } from "./file-tree.ts";
import { hasRipgrep, ripgrep } from "./ripgrep.ts";

const ROUNDS = 9;

export async function* fileSearchMeasures(): AsyncGenerator<Row> {
  hasRipgrep();
  using place = temporaryFolder();
  const folder = join(place.path, "tree");
  const home = new HomeFolder(join(place.path, "home"), "bench");
  mkdirSync(home.place);
  const needle = makeTree(folder).rare(FILES / 1000, FILES / 200);
  await using world = openWorld(
    home,
    (report) => {
      throw new Error(`damage in a bench: ${JSON.stringify(report)}`);
    },
    { watch: true },
  );
  const kernel = await world.openOrCreate((await kernelOfFolder(home, folder)).kernel);
  const begun = performance.now();
  await Mounts.of(kernel).indexed();
  process.stderr.write(`  indexed after ${(performance.now() - begun).toFixed(0)} ms\n`);
  const name = `a mount of ${FILES} files, repeated`;
  yield await against(kernel, folder, `kernel_search of a literal over ${name}, ms`, needle);
  const regex = `\\w+ ${needle.slice(0, -1)}\\w\\b`;
  yield await against(kernel, folder, `kernel_search of a regex over ${name}, ms`, regex);
}

async function against(kernel: Kernel, folder: string, name: string, query: string): Promise<Row> {
  const registry = new ToolRegistry(blockTools);
  const input = { query, max_blocks: 1000, max_matches_per_block: 1000 };
  let ours = 0;
  let theirs = 0;
  const times = await interleave(ROUNDS, {
    ours: async () => {
      const answer = await registry.execute(kernel, "kernel_search", { actor: "bench" }, input);
      const { blocks, ...rest } = answer as {
        blocks: { matches: unknown[] }[];
        truncated: boolean;
        timed_out: boolean;
        indexing?: object;
      };
      if (rest.truncated || rest.timed_out || rest.indexing !== undefined)
        throw new Error(`"${query}" was not looked for everywhere: ${JSON.stringify(rest)}`);
      ours = blocks.reduce((sum, block) => sum + block.matches.length, 0);
    },
    ripgrep: () => {
      theirs = ripgrep(query, folder);
    },
  });
  if (ours !== theirs || ours < 20)
    throw new Error(`"${query}": ${ours} lines here, ${theirs} there`);
  return row({ name, ours: times.ours, peer: times.ripgrep, goal: "<= 1" });
}
