/** How soon a kernel of ten thousand blocks can be read, from the start of the process. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { bundled, publishedCommand } from "../../test/support/published.ts";
import { median, row, type Row } from "../harness.ts";
import { interleave } from "./rounds.ts";
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
  // As bin/kumiko does: what was compiled is kept.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(bench.home, "compiled") };
  const source = join(import.meta.dirname, "open-kernel.ts");
  using folder = await bundled(source);
  const published = join(folder.path, "open-kernel.js");
  const megabytes: number[] = [];
  // A first round, which compiles everything, is not counted.
  const taken = await interleave(ROUNDS, {
    source: () => openIn(source, bench.home, env).milliseconds,
    published: () => {
      const opened = openIn(published, bench.home, env);
      megabytes.push(opened.megabytes);
      return opened.milliseconds;
    },
  });
  const name = "open a kernel of 10,000 blocks, 5 MB, and read the last 50, as published";
  yield row({
    name: `${name}, ms from the start of the process`,
    ours: taken.published,
    goal: "< 300 ms",
  });
  yield row({ name: `${name}, resident MB`, ours: median(megabytes), goal: "< 150 MB" });
  yield row({
    name: `${name}, ms against the same from source`,
    ours: taken.published,
    peer: taken.source,
    goal: "<= 0.75",
  });
  yield* verbMeasures(env, ["context", "list", "--home", bench.home, "--kernel", "bench"]);
}

interface Opened {
  readonly milliseconds: number;
  readonly megabytes: number;
  readonly blocks: number;
  readonly characters: number;
}

function openIn(script: string, home: string, env: NodeJS.ProcessEnv): Opened {
  const printed = execFileSync(process.execPath, [script, home], { encoding: "utf8", env });
  const opened = JSON.parse(printed) as Opened;
  if (opened.blocks === 50 && opened.characters >= 50 * CHARACTERS) return opened;
  throw new Error(`the process read something else: ${printed}`);
}

/** How long a person waits for a simple verb of the command as it is published. */
async function* verbMeasures(env: NodeJS.ProcessEnv, verb: string[]): AsyncGenerator<Row> {
  using published = await publishedCommand();
  const run = (): void => {
    const printed = execFileSync(process.execPath, [published.command, ...verb], {
      encoding: "utf8",
      env,
    });
    if (!printed.startsWith("main "))
      throw new Error(`the verb printed something else: ${printed}`);
  };
  const { taken } = await interleave(ROUNDS, { taken: run });
  yield row({ name: "kumiko context list in that kernel, ms", ours: taken, goal: "< 250 ms" });
}
