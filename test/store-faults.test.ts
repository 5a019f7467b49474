import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Random } from "../src/base/index.ts";
import type { Store, StoredCommit } from "../src/kernel/ports.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { readAll } from "./store-contract/support.ts";
import { scaled, seed } from "./support/counts.ts";
import { compileFaults, pointsAmong } from "./support/fault-library.ts";
import { root, runProgram } from "./support/process.ts";
import { canMount } from "./support/programs.ts";
import { placesOf } from "./support/stored-bytes.ts";
import type { Said } from "./support/store-child.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const child = join(root, "test/support/store-child.ts");
const LONG = 15 * 60_000;

describe("the sqlite store when the disk fails", () => {
  it.each(["EIO", "ENOSPC"] as const)(
    "acknowledges nothing that is not there, at any call that answers %s",
    { timeout: LONG },
    async (name) => {
      using folder = temporaryFolder();
      const library = compileFaults(folder.path);
      const control = folder.write("control", "\0".repeat(24));
      const data = join(folder.path, "data");
      mkdirSync(data);
      const points = pointsAmong(200, scaled(200), name === "EIO" ? 0 : 5);
      const errno = String(constants.errno[name]);
      const args = [child, "faults", data, errno, points.join(",")];
      const env = {
        ...process.env,
        LD_PRELOAD: library,
        FAULT_CONTROL: control,
        FAULT_FOLDER: data,
      };
      const ended = await runProgram(process.execPath, args, { env });
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      const said = linesOf(ended.stdout);
      for (const point of points) {
        const mine = said.filter((one) => one.point === point);
        expect(mine.some((one) => one.note === "did not resume")).toBe(false);
        expect(mine.length).toBeGreaterThan(0);
        await expectWhole(join(data, `point-${point}`, "state.db"), mine);
      }
      // Faults that strike nobody would prove nothing.
      const struck = points.filter((point) =>
        said.some((one) => one.point === point && (one.outcome ?? one.note) !== undefined),
      );
      expect(struck.length).toBeGreaterThan(points.length * 0.6);
    },
  );

  it("never shows what it said was not kept, even if it dies at that moment", async () => {
    using folder = temporaryFolder();
    const env = {
      ...process.env,
      LD_PRELOAD: compileFaults(folder.path),
      FAULT_CONTROL: folder.write("control", "\0".repeat(24)),
      FAULT_FOLDER: folder.path,
    };
    const file = join(folder.path, "state.db");
    const ended = await runProgram(process.execPath, [child, "die", file], { env });
    expect(ended).toMatchObject({ signal: "SIGKILL", stderr: "" });
    const said = linesOf(ended.stdout);
    expect(said.at(-1)).toMatchObject({ edit: "refused", outcome: "not_written" });
    await expectWhole(file, said);
  });

  it(
    "keeps reading and says what to do on a file system that is really full",
    { timeout: LONG },
    async () => {
      using folder = temporaryFolder();
      const disk = join(folder.path, "disk");
      mkdirSync(disk);
      // Where mounting is not permitted, a limit on the size of files has to stand in for it.
      const mounted = canMount();
      if (mounted) execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "none", disk]);
      try {
        const file = join(disk, "state.db");
        const command = [process.execPath, child, "full", file];
        const ended = mounted
          ? await runProgram(command[0]!, command.slice(1))
          : await runProgram("bash", ["-c", 'ulimit -f 3000; exec "$@"', "limited", ...command]);
        expect(ended).toMatchObject({ code: 0, stderr: "" });
        const said = linesOf(ended.stdout);
        const acknowledged = said.filter((one) => one.positions !== undefined);
        expect(acknowledged.length).toBeGreaterThan(10);
        expect(said.at(-1)!.note).toBe(`head ${acknowledged.length * 2}`);
        if (mounted) execFileSync("mount", ["-o", "remount,size=20m", disk]);
        await expectWhole(file, said);
      } finally {
        if (mounted) execFileSync("umount", [disk]);
      }
    },
  );
});

describe("the sqlite store when its process is killed", () => {
  it("has every acknowledged batch and is ready in 2 s", { timeout: LONG }, async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const random = new Random(seed());
    const said: Said[] = [];
    let wanted = 0;
    for (let life = 0; life < scaled(100); life += 1) {
      // At any moment, and in every other life after so many answers, however slow the machine is.
      const answers = life % 2 === 0 ? 1 : 6 + random.below(20);
      wanted += answers;
      said.push(...(await killedAfter("kill", file, 1 + random.below(250), answers)));
      const begun = performance.now();
      await expectWhole(file, said, () => expect(performance.now() - begun).toBeLessThan(2000));
    }
    expect(said.length).toBeGreaterThanOrEqual(wanted);
  });

  it("has all or nothing of a rewrite, and none of the old bytes", { timeout: LONG }, async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const random = new Random(seed());
    const generations = new Set<string>();
    for (let life = 0; life < scaled(50); life += 1) {
      const said = await killedAfter("rewrite", file, 1 + random.below(60));
      for (const { note } of said) generations.add(note!);
      await using store = await openSqliteStore(file);
      const stands = (await store.get("gaps", "main~ann~1"))!;
      const commits = await store.commitsOf("main~ann~1", 0);
      expect(commits).toHaveLength(60);
      for (const { body, message } of commits) {
        expect([Buffer.from(body).toString(), message]).toEqual([stands, stands]);
      }
      // Acknowledged, or what was being written when it died.
      if (stands !== said.at(-1)!.note) expect(generations.has(stands)).toBe(false);
      // A write waits until what the dead process left undone is done.
      await store.put("settings", "life", String(life));
      for (const generation of generations) {
        if (generation === stands) continue;
        expect([generation, placesOf(generation, folder.path, "state.db")]).toEqual([
          generation,
          [],
        ]);
      }
      generations.add(stands);
      expect(await store.verify()).toEqual([]);
    }
  });
});

/** Runs a writer and kills it some milliseconds after its first acknowledgement. */
async function killedAfter(
  mode: "kill" | "rewrite",
  file: string,
  milliseconds: number,
  answers = 1,
): Promise<Said[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Said[]>();
  const writer = spawn(process.execPath, [child, mode, file], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  writer.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  writer.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const begun = linesOf(stdout).length >= answers;
    stdout += chunk;
    if (!begun && linesOf(stdout).length >= answers)
      setTimeout(() => writer.kill("SIGKILL"), milliseconds);
  });
  writer.on("error", reject);
  writer.on("close", (_code, signal) => {
    if (signal === "SIGKILL") resolve(linesOf(stdout));
    else reject(new Error(`The writer ended by itself: ${stderr}`));
  });
  return promise;
}

/** Every acknowledged batch is there, none is half there, none that was refused is there, no gaps. */
async function expectWhole(
  file: string,
  said: readonly Said[],
  opened?: () => void,
): Promise<void> {
  if (!existsSync(file)) {
    expect(said.filter((one) => one.positions !== undefined)).toEqual([]);
    return;
  }
  await using store = await openSqliteStore(file);
  await store.head();
  opened?.();
  const all = await readAll(store, 500);
  expect(all.map((one) => one.position)).toEqual(all.map((_, index) => index + 1));
  const byEdit = Map.groupBy(all, (one) => one.edit);
  for (const commits of byEdit.values()) {
    const blocks = commits.map((one) => one.block);
    expect(blocks.map((block) => block.split("~")[1])).toEqual(["left", "right"]);
    const [first, last] = commits.map((one) => one.position);
    expect(await store.edit(commits[0]!.edit)).toMatchObject({ blocks, first, last, active: true });
  }
  for (const { edit, positions, outcome } of said) {
    const found = byEdit.get(edit ?? "")?.map((one) => one.position);
    if (positions !== undefined) expect([edit, found]).toEqual([edit, positions]);
    if (outcome !== "not_written") continue;
    expect([edit, found]).toEqual([edit, undefined]);
    expect(await store.edit(edit!)).toBeUndefined();
  }
  await expectBlocks(store, all);
}

async function expectBlocks(store: Store, all: readonly StoredCommit[]): Promise<void> {
  for (const [block, commits] of Map.groupBy(all, (one) => one.block)) {
    expect(await store.commitsOf(block, 0)).toEqual(commits);
  }
}

function linesOf(stdout: string): Said[] {
  // The last line of a killed process may be cut; it acknowledged nothing then.
  const whole = stdout.slice(0, stdout.lastIndexOf("\n") + 1);
  return whole.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Said]));
}
