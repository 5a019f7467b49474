import fc from "fast-check";
import { expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { Autosave } from "./autosave.ts";

/** Blocks that are written to and saved in made-up time. A save keeps the version it began with. */
class Desk {
  now = 0;
  readonly versions = new Map<string, number>();
  readonly onDisk = new Map<string, number>();
  readonly saves: { block: string; at: number }[] = [];
  #timers: { at: number; run: () => void }[] = [];
  #finishing: (() => void)[] = [];
  readonly autosave = new Autosave({
    clock: { now: () => this.now },
    timers: {
      after: (milliseconds, run) => {
        const timer = { at: this.now + milliseconds, run };
        this.#timers.push(timer);
        return { cancel: () => (this.#timers = this.#timers.filter((each) => each !== timer)) };
      },
    },
    save: (block) => this.#begin(block),
  });

  get timers(): number {
    return this.#timers.length;
  }

  touch(block: string): void {
    this.versions.set(block, (this.versions.get(block) ?? 0) + 1);
    this.autosave.touched(block);
  }

  ahead(block: string): boolean {
    return (this.versions.get(block) ?? 0) > (this.onDisk.get(block) ?? 0);
  }

  /** Whoever waits for it saves it, and something may be written meanwhile. */
  saveNow(block: string, meanwhile: () => void): void {
    const version = this.versions.get(block) ?? 0;
    meanwhile();
    this.onDisk.set(block, version);
    this.autosave.saved(block, this.ahead(block));
  }

  /** Timers go by a clock of their own. */
  setBack(milliseconds: number): void {
    this.now -= milliseconds;
    for (const timer of this.#timers) timer.at -= milliseconds;
  }

  async finishSaves(): Promise<void> {
    for (const finish of this.#finishing.splice(0)) finish();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async passes(milliseconds: number): Promise<void> {
    const end = this.now + milliseconds;
    for (;;) {
      const [next] = this.#timers.toSorted((left, right) => left.at - right.at);
      if (next === undefined || next.at > end) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.now = next.at;
      next.run();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.now = end;
  }

  async #begin(block: string): Promise<boolean> {
    const version = this.versions.get(block) ?? 0;
    this.saves.push({ block, at: this.now });
    await new Promise<void>((resolve) => this.#finishing.push(resolve));
    this.onDisk.set(block, Math.max(version, this.onDisk.get(block) ?? 0));
    return true;
  }
}

test("what is written after 300 ms of quiet is saved once, and after 2 s in any case", async () => {
  const desk = new Desk();
  desk.touch("a");
  await desk.passes(299);
  expect(desk.saves).toEqual([]);
  desk.touch("a");
  await desk.passes(301);
  expect(desk.saves).toEqual([{ block: "a", at: 599 }]);
  await desk.finishSaves();
  for (let turn = 0; turn < 30; turn++) {
    desk.touch("b");
    await desk.passes(100);
  }
  expect(desk.saves[1]).toEqual({ block: "b", at: 600 + 2_000 });
});

test("what is written while a file is saved is saved too, whoever saves it and however it falls", async () => {
  const block = fc.constantFrom("a", "b");
  const step = fc.oneof(
    fc.record({ do: fc.constant("touch" as const), block }),
    fc.record({ do: fc.constant("pass" as const), milliseconds: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ do: fc.constant("finish" as const) }),
    fc.record({ do: fc.constant("saveNow" as const), block, typed: fc.boolean() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const desk = new Desk();
      for (const each of steps) {
        if (each.do === "touch") desk.touch(each.block);
        else if (each.do === "pass") await desk.passes(each.milliseconds);
        else if (each.do === "finish") await desk.finishSaves();
        else desk.saveNow(each.block, () => each.typed && desk.touch(each.block));
      }
      for (let turn = 0; turn < 3; turn++) {
        await desk.finishSaves();
        await desk.passes(2_000);
      }
      await desk.finishSaves();
      expect(["a", "b"].filter((each) => desk.ahead(each))).toEqual([]);
      expect(desk.timers).toBe(0);
    }),
    fcOptions(300),
  );
});

test("what was saved by who waited for it is not saved again, and no timer is set for each edit", async () => {
  const desk = new Desk();
  for (let turn = 0; turn < 100; turn++) {
    desk.touch("a");
    desk.saveNow("a", () => undefined);
    expect(desk.timers).toBe(1);
  }
  await desk.passes(3_000);
  expect(desk.saves).toEqual([]);
  expect(desk.timers).toBe(0);
});

test("a clock that is set back keeps nothing from being saved", async () => {
  const desk = new Desk();
  desk.now = 3_600_000;
  desk.touch("a");
  desk.setBack(3_600_000);
  desk.touch("b");
  await desk.passes(700);
  await desk.finishSaves();
  expect(["a", "b"].filter((each) => desk.ahead(each))).toEqual([]);
});
