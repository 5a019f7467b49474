import { join } from "node:path";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore, openSqliteStore } from "../src/store/index.ts";
import { blockTools } from "../src/tools/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { randomCall } from "./support/kernel-model/calls.ts";
import { Dice } from "./support/kernel-model/dice.ts";
import { Model } from "./support/kernel-model/model.ts";
import { Player } from "./support/kernel-model/player.ts";
import { compare, everything, settle, undoEverything } from "./support/kernel-model/whole-life.ts";
import { type Answer, Workshop } from "./support/kernel-workshop.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const CALLS = 32;
/** One seed in so many is played on SQLite, and one in so many searches with threads. */
const ON_DISK = 50;
const THREADED = 20;
/** Appended text waits no longer. */
const SILENCE = 100;
const LONG = 30 * 60_000;

class Life {
  readonly model = new Model();
  readonly dice: Dice;
  readonly player: Player;
  readonly #threads: boolean;
  readonly #onDisk: boolean;

  constructor(number: number, folder: string) {
    this.dice = new Dice(new Random(number), this.model);
    this.#threads = number % THREADED === 0;
    this.#onDisk = number % ON_DISK === 1;
    const disk = new MemoryDisk();
    this.player = new Player(this.model, this.dice, () =>
      this.#onDisk
        ? openSqliteStore(join(folder, `${number}.db`))
        : Promise.resolve(new MemoryStore({ disk })),
    );
  }

  async live(): Promise<void> {
    const { player, model, dice } = this;
    await player.start();
    for (let count = 0; count < CALLS; count++) await this.#step();
    await everything(player, model, dice);
    await undoEverything(player, model, dice, "and redo it");
    await player.restart();
    await everything(player, model, dice, 10);
    await undoEverything(player, model, dice);
    await player.stop();
  }

  async #step(): Promise<void> {
    const { player, model, dice } = this;
    const { head } = model;
    const call = randomCall(dice, model, this.#threads);
    if (typeof call === "number") await player.pass(call);
    else await player.play(call);
    if (!this.#onDisk && typeof call === "number" && call >= SILENCE)
      expect(model.all.filter(({ id }) => model.isWaiting(id))).toEqual([]);
    // When a thread has written what waited is for nobody to say: it is waited for.
    if (this.#onDisk) await settle(player, model, dice);
    const touched = model.all.find(({ versions }) => versions.at(-1)!.position > head);
    if (dice.chance(0.8)) await compare(player, model, dice, touched);
    if (dice.chance(0.02)) await player.restart();
  }
}

test(
  "every block tool does what a simple model says, whoever calls, and also after a restart",
  { timeout: LONG },
  async () => {
    const counts = new Map<string, number>();
    using folder = temporaryFolder();
    for (let number = seed(); number < seed() + scaled(1000); number++) {
      const life = new Life(number, folder.path);
      try {
        await life.live();
      } catch (error) {
        const last = life.player.trace.slice(-30).join("\n");
        throw new Error(`KUMIKO_SEED=${number} after\n${last}\n${String(error)}`, { cause: error });
      }
      for (const [what, times] of life.player.counts)
        counts.set(what, (counts.get(what) ?? 0) + times);
    }
    for (const { name } of blockTools) expect(counts.get(name), name).toBeGreaterThan(0);
    expect(counts.get("conflict")).toBeGreaterThan(scaled(500));
    expect(counts.get("merged")).toBeGreaterThan(scaled(2000));
  },
);

// What the model found.

test("readers of two actors are two, whatever they are called", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await shop.create("ann", "one\n");
  await shop.call("ann", "block_read", { block_id, reader: "left" });
  const operations = [{ op: "insert", line: 0, content: "zero" }];
  const refused = await shop.refusal("ben", "block_edit", { block_id, operations, reader: "left" });
  expect(refused.code).toBe("base_required");
});

test("lines mean the version that was read last, also when it is a past one", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await shop.create("ann", "one\ntwo\n");
  const edit = (operation: object): Promise<Answer> =>
    shop.call("ann", "block_edit", { block_id, operations: [operation] });
  await edit({ op: "insert", line: 0, content: "zero" });
  await shop.call("ann", "block_read", { block_id, version: 1 });
  await edit({ op: "delete", start_line: 0, end_line: 1 });
  expect(await shop.text(block_id)).toBe("zero\ntwo\n");
});

test("blame of a stretch that ends with a character of two units", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await shop.create("ann", "one\n🪵");
  const { runs } = await shop.call("ann", "block_blame", { block_id });
  expect(runs).toMatchObject([{ start_line: 0, end_line: 1, text: "one\n🪵" }]);
});
