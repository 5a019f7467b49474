import { describe, expect, test } from "vitest";
import { HomeFolder } from "../src/app/index.ts";
import { startServer } from "../src/app/server.ts";
import { openWorld } from "../src/app/world.ts";
import type { Timers } from "../src/base/index.ts";
import { connect } from "../src/client/index.ts";
import { Hall } from "../src/doors/hall.ts";
import type { World } from "../src/kernel/index.ts";
import { openHall } from "./support/hall.ts";
import { temporaryHome } from "./support/kumiko.ts";
import { serving } from "./support/serving.ts";

/** Time that passes at once, and what happens after so much of it. */
class QuickTimers implements Timers {
  passed = 0;
  waits = 0;
  readonly #at: number;
  readonly #happens: () => Promise<void>;

  constructor(at = Infinity, happens: () => Promise<void> = () => Promise.resolve()) {
    this.#at = at;
    this.#happens = happens;
  }

  after(milliseconds: number, run: () => void): { cancel(): void } {
    const before = this.passed;
    this.passed += milliseconds;
    this.waits += 1;
    const due = before < this.#at && this.passed >= this.#at;
    void (due ? this.#happens() : Promise.resolve()).then(() => setImmediate(run));
    return { cancel: () => undefined };
  }
}

/** A hall whose kernel `taken` is had by another command, and time of our own. */
async function busyHall(timers: Timers | undefined, patience: number | undefined) {
  await using opening = new AsyncDisposableStack();
  const workshop = opening.use(await openHall());
  const { hall, owner, home } = workshop;
  const other = opening.use(openWorld(new HomeFolder(home, "kumiko block edit"), () => undefined));
  await other.openOrCreate("taken");
  const { world, registry, tokens, log, metrics, clock, version } = hall;
  const closing = new AbortController();
  const parts = { world, registry, tokens, log, metrics, clock, version };
  const busy = new Hall({ ...parts, closing: closing.signal, timers, patience });
  const owned = opening.move();
  return {
    hall: busy,
    owner,
    other,
    mint: (kernel: string) => workshop.mint({ kernels: [kernel] }),
    stop: () => closing.abort(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe("a hall whose kernel a command has", () => {
  test("waits for it, once for all who ask", async () => {
    let other: World | undefined;
    const timers = new QuickTimers(1_000, async () => other?.close("taken"));
    await using busy = await busyHall(timers, 2_000);
    other = busy.other;
    const { principal } = busy.owner;
    const asked = Array.from({ length: 20 }, async () => busy.hall.kernelOf(principal, "taken"));
    const kernels = await Promise.all(asked);
    expect(new Set(kernels).size).toBe(1);
    expect(timers.passed).toBe(1_000);
    expect(timers.waits).toBe(20);
    expect((await busy.hall.openOrCreate("taken")).id).toBe("taken");
  });

  test("says after two seconds who has it, and is had afterwards all the same", async () => {
    const timers = new QuickTimers();
    await using busy = await busyHall(timers, 2_000);
    const { principal } = busy.owner;
    await expect(busy.hall.kernelOf(principal, "taken")).rejects.toMatchObject({
      code: "in_use",
      message: expect.stringMatching(
        new RegExp(`process ${process.pid} \\(kumiko block edit\\).* waited for 2 s\\.$`),
      ),
      facts: { pid: process.pid, command: "kumiko block edit", waited: 2_000 },
    });
    expect(timers.passed).toBe(2_000);
    await busy.other.close("taken");
    expect((await busy.hall.kernelOf(principal, "taken")).id).toBe("taken");
  });

  test("does not wait where the caller does, when it stops, or for what is not there", async () => {
    const timers = new QuickTimers();
    await using busy = await busyHall(timers, undefined);
    const { principal } = busy.owner;
    const refused = busy.hall.kernelOf(principal, "taken");
    await expect(refused).rejects.toMatchObject({ code: "in_use", facts: { pid: process.pid } });
    expect(timers.waits).toBe(0);

    let stop = (): void => undefined;
    const stopped = new QuickTimers(500, () => Promise.resolve(stop()));
    await using stopping = await busyHall(stopped, 2_000);
    ({ stop } = stopping);
    const asked = stopping.hall.kernelOf(stopping.owner.principal, "taken");
    await expect(asked).rejects.toMatchObject({ code: "in_use" });
    expect(stopped.passed).toBe(500);
    await using patient = await busyHall(timers, 2_000);
    const { principal: guest } = await patient.mint("main");
    await expect(async () => patient.hall.kernelOf(guest, "taken")).rejects.toMatchObject({
      code: "forbidden",
    });
    await expect(patient.hall.kernelOf(patient.owner.principal, "none")).rejects.toMatchObject({
      code: "unknown_kernel",
    });
    expect(timers.waits).toBe(0);
  });
});

describe("a server whose kernel a command has", () => {
  test("answers when the command is done, through the same call", async () => {
    using home = temporaryHome();
    const place = home.environment["KUMIKO_HOME"]!;
    const command = openWorld(new HomeFolder(place, "kumiko block edit"), () => undefined);
    await command.openOrCreate("main");
    const timers = new QuickTimers(1_500, () => command[Symbol.asyncDispose]());
    await using server = await startServer({ home: place, timers });
    await using client = connect({ url: server.url, token: server.ownerToken });
    expect(await client.kernel("main").position()).toBe(0);
    expect(timers.passed).toBe(1_500);
  });

  test("names the command to a verb that asks it", { timeout: 30_000 }, async () => {
    using home = temporaryHome();
    const place = home.environment["KUMIKO_HOME"]!;
    await using command = openWorld(new HomeFolder(place, "kumiko purge"), () => undefined);
    await command.openOrCreate("main");
    await using server = await serving(home);
    const { code, err } = await home.run("context list --kernel main --wait 0".split(" "));
    expect(code).toBe(2);
    expect(err).toContain(`process ${process.pid} (kumiko purge), running since 20`);
    expect(server.told.kernel).not.toBe("main");
  });
});

test("doctor waits for a command that has the kernel, as long as it is told", async () => {
  using home = temporaryHome();
  const place = home.environment["KUMIKO_HOME"]!;
  const command = openWorld(new HomeFolder(place, "kumiko block edit"), () => undefined);
  await command.openOrCreate("main");
  expect(await home.json(["doctor", "--wait", "0"])).toMatchObject({
    error: { code: "in_use", facts: { command: "kumiko block edit" } },
  });
  const looking = home.json(["doctor"]);
  await command[Symbol.asyncDispose]();
  expect(await looking).toMatchObject({ ok: true, kernel: "main" });
});
