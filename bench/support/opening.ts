/** How soon a kernel of ten thousand blocks can be read, from the start of the process. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { median, row, type Row } from "../harness.ts";
import { benchKernel } from "./bench-kernel.ts";
import { Words } from "./words.ts";

const BLOCKS = 10_000;
const CHARACTERS = 500;
const ROUNDS = 7;

export async function* openingMeasures(): AsyncGenerator<Row> {
  await using bench = await benchKernel();
  const words = new Words(9);
  for (let made = 0; made < BLOCKS; made += 100) {
    const together = Array.from({ length: 100 }, () => bench.create(words.text(CHARACTERS)));
    await Promise.all(together);
  }
  await bench.rest();
  const script = join(import.meta.dirname, "open-kernel.ts");
  // As bin/kumiko does: what was compiled is kept. The first run, which compiles it, is not counted.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(bench.home, "compiled") };
  const measured = Array.from({ length: ROUNDS + 1 }, () => {
    const printed = execFileSync(process.execPath, [script, bench.home], { encoding: "utf8", env });
    const first = JSON.parse(printed) as {
      milliseconds: number;
      megabytes: number;
      blocks: number;
      characters: number;
    };
    if (first.blocks !== 50 || first.characters < 50 * CHARACTERS) {
      throw new Error(`the process read something else: ${printed}`);
    }
    return first;
  }).slice(1);
  const name = "open a kernel of 10,000 blocks, 5 MB, and read the last 50";
  yield row({
    name: `${name}, ms from the start of the process`,
    ours: median(measured.map(({ milliseconds }) => milliseconds)),
    goal: "< 300 ms",
  });
  yield row({
    name: `${name}, resident MB`,
    ours: median(measured.map(({ megabytes }) => megabytes)),
    goal: "< 150 MB",
  });
}
