import { join } from "node:path";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import type { Store } from "../src/kernel/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore, openSqliteStore } from "../src/store/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { randomCall } from "./support/kernel-model/calls.ts";
import { Dice } from "./support/kernel-model/dice.ts";
import { Model } from "./support/kernel-model/model.ts";
import { Player } from "./support/kernel-model/player.ts";
import { everything, undoEverything } from "./support/kernel-model/whole-life.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const CALLS = 40;
/** One seed in so many is played on SQLite, and one in so many searches with threads. */
const ON_DISK = 20;
const THREADED = 10;

async function life(player: Player, model: Model, dice: Dice, threads: boolean): Promise<void> {
  await player.start();
  for (let count = 0; count < CALLS; count++) {
    const call = randomCall(dice, model, threads);
    if (typeof call === "number") await player.pass(call);
    else await player.play(call);
    const touched = model.all.find(({ versions }) => versions.at(-1)!.position === model.head);
    if (dice.chance(0.8)) await player.compare(touched);
    if (dice.chance(0.02)) await player.restart();
  }
  await everything(player, model, dice);
  await undoEverything(player, model, dice, "and redo it");
  await player.restart();
  await everything(player, model, dice);
  await undoEverything(player, model, dice);
  await player.stop();
}

test("every block tool does what a simple model says, whoever calls, and also after a restart", async () => {
  const counts = new Map<string, number>();
  using folder = temporaryFolder();
  for (let index = 0; index < scaled(1000); index++) {
    const number = seed() + index;
    const random = new Random(number);
    const disk = new MemoryDisk();
    const open = (): Promise<Store> =>
      index % ON_DISK === 1
        ? openSqliteStore(join(folder.path, `${index}.db`))
        : Promise.resolve(new MemoryStore({ disk }));
    const model = new Model();
    const dice = new Dice(random, model);
    const player = new Player(model, dice, open);
    try {
      await life(player, model, dice, index % THREADED === 1);
    } catch (error) {
      const last = player.trace.slice(-30).join("\n");
      throw new Error(`KUMIKO_SEED=${number} (${index}) after\n${last}\n${String(error)}`, {
        cause: error,
      });
    }
    for (const [what, times] of player.counts) counts.set(what, (counts.get(what) ?? 0) + times);
  }
  console.log(Object.fromEntries([...counts].toSorted()));
  expect(counts.get("conflict")).toBeGreaterThan(100);
});
