import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HomeFolder } from "../src/app/index.ts";
import { openWorld } from "../src/app/world.ts";
import { Random } from "../src/base/index.ts";
import { median } from "../bench/harness.ts";
import { diagnose, type Kernel } from "../src/kernel/index.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { blockTools, ToolRegistry } from "../src/tools/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { compileFaults, pointsAmong } from "./support/fault-library.ts";
import type { Retried, Told } from "./support/kernel-child.ts";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const child = join(root, "test/support/kernel-child.ts");
const registry = new ToolRegistry(blockTools);
const LONG = 15 * 60_000;
const READY = 2_000;
/** However busy the machine is with something else. */
const READY_AT_LAST = 10_000;

describe("a kernel whose process is killed", () => {
  it(
    "has every acknowledged edit of three clients, and is ready again in 2 s",
    { timeout: LONG },
    async () => {
      using folder = temporaryFolder();
      const random = new Random(seed());
      const told: Told[] = [];
      const ready: number[] = [];
      let unanswered = 0;
      let wanted = 0;
      let begun: Retried[] = [];
      for (let life = 0; life < scaled(100); life++) {
        // At any moment, and in every other life after so many answers, however slow the machine is.
        const answers = life % 2 === 0 ? 0 : 20 + random.below(40);
        wanted += answers;
        const now = await killedAfter(folder.path, { answers, time: 1 + random.below(300) }, begun);
        ready.push(now[0]!.ready!);
        expectSameAnswers([...told, ...now]);
        const answered = new Set(told.map(({ call }) => call));
        unanswered += begun.filter(({ input }) => !answered.has(input.call_id)).length;
        told.push(...now);
        begun = lastCalls(now);
        await expectKept(folder.path, now);
      }
      await expectKept(folder.path, told);
      expect(told.filter(({ note }) => note !== undefined)).toEqual([]);
      // Calls that were cut off by the death of the process are what retries are for.
      expect(unanswered).toBeGreaterThan(scaled(100) / 4);
      // From the start of the process. One life may meet a machine that is busy with something else.
      expect(median(ready)).toBeLessThan(READY);
      expect(Math.max(...ready)).toBeLessThan(READY_AT_LAST);
      const acknowledged = told.filter(({ blocks }) => blocks !== undefined);
      expect(acknowledged.length).toBeGreaterThanOrEqual(wanted);
      expect(told.filter(({ undone }) => undone === true).length).toBeGreaterThan(scaled(100) / 2);
    },
  );
});

describe("a kernel whose disk fails", () => {
  it.each(["EIO", "ENOSPC"] as const)(
    "acknowledges nothing that is not there, at any call that answers %s, and goes on when it can",
    { timeout: LONG },
    async (name) => {
      using folder = temporaryFolder();
      const data = join(folder.path, "data");
      mkdirSync(data);
      const points = pointsAmong(200, scaled(200), name === "EIO" ? 3 : 7);
      const env = {
        ...process.env,
        LD_PRELOAD: compileFaults(folder.path),
        FAULT_CONTROL: folder.write("control", "\0".repeat(24)),
        FAULT_FOLDER: data,
      };
      const errno = String(constants.errno[name]);
      const args = [child, "faults", data, errno, points.join(",")];
      const ended = await runProgram(process.execPath, args, { env });
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      const told = linesOf(ended.stdout);
      const wrong = told.filter(({ note = "" }) => /did not resume|a retry of/.test(note));
      expect(wrong).toEqual([]);
      let opened = 0;
      for (const point of points) {
        const mine = told.filter((each) => each.point === point);
        expect(mine.length).toBeGreaterThan(0);
        const home = join(data, `point-${point}`);
        if (mine.some(({ note }) => note?.startsWith("not opened") === true)) {
          expect(mine.filter(({ blocks }) => blocks !== undefined)).toEqual([]);
          await expectOpens(home);
        } else {
          opened++;
        }
        await expectKept(home, mine);
      }
      expect(opened).toBeGreaterThan(points.length / 8);
      // Faults that strike nobody would prove nothing.
      const struck = new Set(
        told
          .filter(({ refused, note }) => (refused ?? note) !== undefined)
          .map(({ point }) => point),
      );
      expect(struck.size).toBeGreaterThan(points.length * 0.6);
    },
  );
});

/** Runs a kernel and kills it some milliseconds after it was ready and had answered so often. */
async function killedAfter(
  home: string,
  { answers, time }: { answers: number; time: number },
  retried: readonly Retried[],
): Promise<Told[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Told[]>();
  const args = [child, "kill", home, JSON.stringify(retried)];
  // As bin/kumiko does.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(home, "compiled") };
  const writer = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env });
  const seen = (sign: string): number => stdout.split(sign).length - 1;
  const enough = (): boolean => seen('"ready":') > 0 && seen('"blocks":') >= answers;
  let stdout = "";
  let stderr = "";
  writer.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  writer.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const begun = enough();
    stdout += chunk;
    if (!begun && enough()) setTimeout(() => writer.kill("SIGKILL"), time);
  });
  writer.on("error", reject);
  writer.on("close", (_code, signal) => {
    if (signal === "SIGKILL") resolve(linesOf(stdout));
    else reject(new Error(`The kernel ended by itself: ${stderr}`));
  });
  return promise;
}

/** What each client began last, answered or not. */
function lastCalls(told: readonly Told[]): Retried[] {
  const last = new Map<string, Retried>();
  for (const { began } of told) if (began !== undefined) last.set(began.actor, began);
  return [...last.values()];
}

/** However often a call is made, by whichever process, it is answered once and for all. */
function expectSameAnswers(told: readonly Told[]): void {
  const answers = new Map<string, Told>();
  for (const each of told) {
    if (each.call === undefined) continue;
    expect(each).toEqual(answers.get(each.call) ?? each);
    answers.set(each.call, each);
  }
}

/** A fault at opening leaves nothing behind that a disk that works would stumble over. */
async function expectOpens(home: string): Promise<void> {
  await using world = openWorld(new HomeFolder(home, "test"), (report) => {
    throw new Error(`damage: ${JSON.stringify(report)}`);
  });
  const kernel = await world.openOrCreate("main");
  if ((await kernel.contexts.list()).length === 0) await kernel.contexts.create("main", "test");
  expect(await blocksOf(kernel, {})).toEqual([]);
}

/** What was acknowledged is there as it was said, nothing refused for good is, and nothing is damaged. */
async function expectKept(home: string, told: readonly Told[]): Promise<void> {
  await expectAnswers(home, told);
  await using store = await openSqliteStore(join(home, "kernels", "main", "state.db"));
  expect(await diagnose(store)).toEqual({ findings: [], blocks: [] });
}

async function expectAnswers(home: string, told: readonly Told[]): Promise<void> {
  await using world = openWorld(new HomeFolder(home, "test"), (report) => {
    throw new Error(`damage: ${JSON.stringify(report)}`);
  });
  const kernel = await world.open("main");
  expect(await blocksOf(kernel, { status: "running" })).toEqual([]);
  for (const { blocks, token, edit, undone } of told) {
    for (const { block_id, version } of blocks ?? []) {
      const { text, by } = await at(kernel, block_id, version);
      const times = text.split(token!).length - 1;
      expect([block_id, version, times]).toEqual([block_id, version, undone === true ? 0 : 1]);
      if (edit !== undefined) expect(by).toBe(edit);
      // A retry that was taken for a new call would have said it twice.
      const { text: now } = await kernel.read(block_id);
      expect([block_id, now.split(token!).length - 1 <= 1]).toEqual([block_id, true]);
    }
  }
  const refused = told.filter(({ outcome }) => outcome === "not_written");
  for (const { block_id } of refused.length === 0 ? [] : await blocksOf(kernel, {})) {
    const { version } = await kernel.look(block_id, ({ document }) => document);
    for (let each = 1; each <= version; each++) {
      const { text } = await at(kernel, block_id, each);
      for (const { token } of refused) expect(text).not.toContain(token);
    }
  }
}

async function at(
  kernel: Kernel,
  block: string,
  version: number,
): Promise<{ text: string; by: string }> {
  return kernel.look(block, ({ document }) => ({
    text: document.read(version),
    by: document.entry(version).edit,
  }));
}

async function blocksOf(kernel: Kernel, filter: object): Promise<{ block_id: string }[]> {
  const input = { limit: 1000, ...filter };
  const invocation = { actor: "test", context: "main" };
  const listed = await registry.execute(kernel, "block_list", invocation, input);
  return (listed as { blocks: { block_id: string }[] }).blocks;
}

function linesOf(stdout: string): Told[] {
  // The last line of a killed process may be cut; it acknowledged nothing then.
  const whole = stdout.slice(0, stdout.lastIndexOf("\n") + 1);
  return whole.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Told]));
}
