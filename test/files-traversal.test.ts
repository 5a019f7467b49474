import { hash } from "node:crypto";
import { symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { Content } from "../src/files/content.ts";
import { KumikoError, Random } from "../src/base/index.ts";
import { Folder, type Place } from "../src/files/contained.ts";
import { move, readWhole, remove, save, stat } from "../src/files/disk-file.ts";
import { hasHandles } from "../src/files/folder-handle.ts";
import { scaled, seed } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import { stage } from "../src/files/replacing.ts";
import { SpareFiles } from "../src/files/spare-files.ts";
import { refusalCode } from "./support/refusal.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import {
  allPayloads,
  CANARY,
  makeOutside,
  makeRoot,
  memory,
  seen,
  waysOut,
} from "./support/ways-out.ts";

const LONG = 15 * 60_000;
const canary = Content.known(hash("sha256", CANARY));
/** What the swapper writes inside. */
const notes = Content.known(hash("sha256", "notes"));
const FULL = 1_200;

describe("a path that somebody gives", () => {
  it.each([true, false])(
    "never leads out, whatever it is and whatever is done there (handles: %s)",
    { timeout: LONG },
    async (handles) => {
      using folder = temporaryFolder(memory());
      const outside = makeOutside(folder.path);
      const before = seen(outside);
      const root = join(outside, "root");
      let refused = 0;
      const payloads = allPayloads(root, scaled(FULL));
      for (const payload of payloads) {
        makeRoot(root);
        using opened = Folder.open(root, { handles });
        refused += await attack(opened, payload);
        expect([payload, seen(outside)]).toEqual([payload, before]);
      }
      expect(payloads.length).toBeGreaterThanOrEqual(scaled(FULL));
      expect(refused).toBeGreaterThan(payloads.length);
    },
  );

  it.each([true, false])("is refused when it leads out (handles: %s)", (handles) => {
    using folder = temporaryFolder();
    const root = join(makeOutside(folder.path), "root");
    makeRoot(root);
    using opened = Folder.open(root, { handles });
    for (const payload of waysOut(root)) {
      const code = refusalCode(() => opened.resolve(payload));
      // Nothing is told about what is outside: the same for what is there and what is not.
      const odd = /^$|\0|notes\.txt|circle/.test(payload);
      expect([payload, code]).toEqual([payload, odd ? expect.any(String) : "outside"]);
    }
  });

  it.each([true, false])("means the file it always meant (handles: %s)", (handles) => {
    using folder = temporaryFolder();
    const root = join(makeOutside(folder.path), "root");
    makeRoot(root);
    symlinkSync(root, join(folder.path, "alias"));
    using opened = Folder.open(join(folder.path, "alias"), { handles });
    const meanings: Record<string, string> = {
      "notes.txt": "notes.txt",
      "./notes.txt": "notes.txt",
      ".//sub/./../notes.txt": "notes.txt",
      "sub/in.txt": "sub/in.txt",
      "inside/in.txt": "sub/in.txt",
      "inside/../notes.txt": "notes.txt",
      "sub/": "sub",
      ".": "",
      "chain-in": "notes.txt",
      "dangling-in": "sub/not-yet",
      "back-in": "notes.txt",
      "absolute-in": "notes.txt",
      "new/deep/file": "new/deep/file",
      [join(root, "sub/in.txt")]: "sub/in.txt",
      [join(folder.path, "alias/inside/new")]: "sub/new",
      [root]: "",
    };
    for (const [given, path] of Object.entries(meanings)) {
      expect([given, opened.resolve(given).path]).toEqual([given, path]);
    }
  });

  it("is refused when it names a pipe, a socket, a device, or goes through a file", async () => {
    using folder = temporaryFolder();
    makeRoot(join(folder.path, "root"));
    const root = join(folder.path, "root");
    execFileSync("mkfifo", [join(root, "pipe")]);
    const server = createServer().listen(join(root, "socket"));
    await once(server, "listening");
    try {
      using opened = Folder.open(root);
      const code = (given: string) => refusalCode(() => opened.resolve(given));
      expect([code("pipe"), code("socket")]).toEqual(["file_unreadable", "file_unreadable"]);
      expect(code("notes.txt/x")).toBe("invalid_argument");
      expect(code("notes.txt/")).toBe("invalid_argument");
      for (const absent of ["new/", "sub/new/", "new/."])
        expect([absent, code(absent)]).toEqual([absent, "invalid_argument"]);
      expect(code("notes.txt/..")).toBe("invalid_argument");
      expect(code("circle")).toBe("file_unreadable");
      expect(code("x".repeat(256))).toBe("invalid_argument");
      expect(code("é".repeat(128))).toBe("invalid_argument");
      expect(code("new/".repeat(2_000))).toBe("invalid_argument");
      expect(code("x".repeat(255))).toBeUndefined();
      // A pipe put in the place of a file is neither waited for nor written to.
      const place: Place = { folder: opened, path: "pipe", kind: "file" };
      await expect(readWhole(place, 100)).rejects.toMatchObject({ code: "file_unreadable" });
      await expect(save(place, Buffer.of(1), { expected: canary })).rejects.toMatchObject({
        code: "disk_moved",
      });
    } finally {
      server.close();
    }
    using devices = Folder.open("/dev");
    expect(refusalCode(() => devices.resolve("null"))).toBe("file_unreadable");
  });
});

/** So many operations must have met a link that led out, or a folder that was put in another's place. */
const MET = { operations: 200, calls: 20 };
/** For as long as one waits for that at most, in milliseconds. */
const PATIENCE = 180_000;

describe.runIf(hasHandles)("links and folders that are swapped meanwhile", () => {
  it.each(["beside files", "in the home"])(
    "never lead out of saves made %s",
    { timeout: LONG },
    async (where) => {
      using folder = temporaryFolder(memory());
      using home = temporaryFolder(memory());
      using spares = where === "in the home" ? new SpareFiles(home.path) : undefined;
      const outside = makeOutside(folder.path);
      const root = join(outside, "root");
      makeRoot(root);
      const before = seen(outside);
      using opened = Folder.open(root, { spares });
      const random = new Random(seed());
      const outcomes = await whileSwapped(outside, {
        races: scaled(2_000),
        race: (number) => raced(opened, number, random),
        isEnough: (all) => met(all) >= MET.operations && all.has("staged"),
      });
      expect(seen(outside)).toEqual(before);
      // Both happened, or there was no race: what was inside was reached, and what led out was refused.
      expect(outcomes.get("done") ?? 0).toBeGreaterThan(0);
      expect(met(outcomes)).toBeGreaterThanOrEqual(MET.operations);
      expect(opened.spares).toBe(spares);
    },
  );

  it("never lead out by any tool", { timeout: LONG }, async () => {
    using folder = temporaryFolder(memory());
    const outside = makeOutside(folder.path);
    const root = join(outside, "root");
    makeRoot(root);
    writeFileSync(join(root, "kumiko.toml"), '[[rule]]\npath = "**"\nlevel = "admin"\n');
    const before = seen(outside);
    await using mounted = await Mounted.with({}, { folder: root });
    const random = new Random(seed());
    const outcomes = await whileSwapped(outside, {
      races: scaled(1_000),
      race: (number) => called(mounted, number, random),
      isEnough: (all) => met(all) >= MET.calls && TOOLS.every((tool) => all.has(tool)),
    });
    expect(seen(outside)).toEqual(before);
    // Each of them reached what was inside.
    expect(TOOLS.filter((tool) => !outcomes.has(tool))).toEqual([]);
    expect(met(outcomes)).toBeGreaterThanOrEqual(MET.calls);
  });
});

function met(outcomes: ReadonlyMap<string, number>): number {
  return (outcomes.get("outside") ?? 0) + (outcomes.get("disk_moved") ?? 0);
}

/** How often each outcome was had, of operations that are made while others swap what they mean. */
async function whileSwapped(
  outside: string,
  {
    races,
    race,
    isEnough,
  }: {
    readonly races: number;
    readonly race: (number: number) => Promise<string>;
    readonly isEnough: (outcomes: ReadonlyMap<string, number>) => boolean;
  },
): Promise<ReadonlyMap<string, number>> {
  const stop = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { root: join(outside, "root"), outside, stop };
  const swapper = new Worker(SWAPPER, { eval: true, workerData });
  await once(swapper, "message");
  const outcomes = new Map<string, number>();
  const end = Date.now() + PATIENCE;
  try {
    // As many swaps as operations, however the two share the processor.
    const isDone = (number: number): boolean =>
      number >= races && Atomics.load(stop, 1) > races && isEnough(outcomes);
    for (let number = 0; !isDone(number) && Date.now() < end; number += 1) {
      const outcome = await race(number);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  } finally {
    Atomics.store(stop, 0, 1);
    await once(swapper, "exit");
  }
  return outcomes;
}

/** Swaps a folder for a link out of the root, and a file for one to the canary, as fast as it can. */
const SWAPPER = `
  const fs = require("node:fs");
  const { join } = require("node:path");
  const { parentPort, workerData: { root, outside, stop } } = require("node:worker_threads");
  const folder = join(root, "sub"), file = join(root, "notes.txt"), lure = join(root, "lure");
  const attempt = (act) => { try { act(); } catch {} };
  parentPort.postMessage("ready");
  while (Atomics.load(stop, 0) === 0) {
    attempt(() => fs.renameSync(folder, folder + ".aside"));
    attempt(() => fs.symlinkSync(outside, folder));
    attempt(() => fs.symlinkSync(join(outside, "canary.txt"), lure));
    attempt(() => fs.renameSync(lure, file));
    attempt(() => fs.unlinkSync(folder));
    attempt(() => fs.renameSync(folder + ".aside", folder));
    // At rest: nobody waits for more of it.
    attempt(() => { fs.writeFileSync(lure, "notes"); fs.utimesSync(lure, 1000, 1000); fs.renameSync(lure, file); });
    Atomics.add(stop, 1, 1);
  }
`;

const TOOLS = [
  "block_read",
  "block_replace",
  "file_create",
  "file_move",
  "file_delete",
  "file_list",
  "kernel_search",
] as const;

/** What only is outside, by the names that it has there. */
const OUTSIDE = /canary\.txt|root-evil/;

/** One call about what is being swapped: the tool's name, or the code with which it was refused. */
async function called(mounted: Mounted, race: number, random: Random): Promise<string> {
  const tool = TOOLS[race % TOOLS.length]!;
  const path = random.pick(["sub/canary.txt", "sub/in.txt", "notes.txt", "inside/canary.txt"]);
  const inputs: { readonly [name in (typeof TOOLS)[number]]: object } = {
    block_read: { block_id: path },
    block_replace: { block_id: path, old: random.pick(["notes", "in", "what"]), new: "notes in" },
    file_create: { path: `sub/new-${race}`, content: "new" },
    file_move: { path: random.pick([path, `sub/new-${race - 1}`]), to: `sub/moved-${race}` },
    file_delete: { path: random.pick([path, `sub/moved-${race - 1}`]) },
    file_list: random.pick([{}, { pattern: "sub/**" }, { after: "sub" }]),
    kernel_search: { query: random.pick(["what no", "n"]), path_prefix: random.pick(["", "sub"]) },
  };
  try {
    const answer = await mounted.call(tool, inputs[tool], { actor: "ann", kind: "person" });
    const told = JSON.stringify(answer);
    expect([tool, inputs[tool], told]).not.toEqual([
      tool,
      inputs[tool],
      expect.stringContaining(CANARY),
    ]);
    const { files = [] } = answer as { files?: { path: string }[] };
    expect(files.filter(({ path: each }) => OUTSIDE.test(each))).toEqual([]);
    return tool;
  } catch (error) {
    if (error instanceof KumikoError && !error.message.includes(CANARY)) return error.code;
    throw error;
  }
}

/** One operation on what is being swapped: "done", or the code with which it was refused. */
async function raced(folder: Folder, race: number, random: Random): Promise<string> {
  const given = random.pick(["sub/canary.txt", "sub/in.txt", "notes.txt", "inside/canary.txt"]);
  const forged: Place = { folder, path: given, kind: "file" };
  try {
    const place = random.below(2) === 0 ? folder.resolve(given) : forged;
    const act = random.below(8);
    if (act === 0) expectOwn(await readWhole(place, 1_000));
    else if (act === 1) stat(place);
    else if (act === 2) await save(place, Buffer.from("ours"), { expected: canary });
    else if (act === 3) {
      await save({ ...place, path: `sub/new-${race}` }, Buffer.from("o"), { expected: "absent" });
    } else if (act === 4) await remove(place, { expected: canary });
    // As a tool's edit is saved: made ready beside the file, and put in place once it is in the journal.
    else if (act < 7) {
      using staged = stage(place, [Buffer.from("staged")]);
      if (act === 6) await new Promise((resolve) => setImmediate(resolve));
      await save(place, Buffer.from("staged"), { expected: random.pick([canary, notes]), staged });
      return staged === undefined ? "done" : "staged";
    } else move(place, { ...place, path: `sub/moved-${race}` });
    return "done";
  } catch (error) {
    if (error instanceof KumikoError) return error.code;
    throw error;
  }
}

/** Everything that can be done with a path. Gives how often it was refused. */
async function attack(folder: Folder, payload: string): Promise<number> {
  const bytes = Buffer.from("by an attacker");
  const inside = folder.resolve("sub/in.txt");
  const acts: (() => unknown)[] = [
    async () => expectOwn(await readWhole(folder.resolve(payload), 10_000)),
    () => stat(folder.resolve(payload)),
    () => save(folder.resolve(payload), bytes, { expected: canary }),
    () => save(folder.resolve(payload), bytes, { expected: "absent" }),
    () => remove(folder.resolve(payload), { expected: canary }),
    () => move(folder.resolve(payload), folder.resolve("taken")),
    () => move(inside, folder.resolve(payload)),
    // As a place that nobody resolved.
    () => save({ folder, path: payload, kind: "absent" }, bytes, { expected: "absent" }),
    () => save({ folder, path: payload, kind: "file" }, bytes, { expected: canary }),
    async () => expectOwn(await readWhole({ folder, path: payload, kind: "file" }, 10_000)),
  ];
  let refused = 0;
  for (const act of acts) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      refused += 1;
    }
  }
  return refused;
}

function expectOwn(found: { readonly bytes: Uint8Array } | undefined): void {
  if (found !== undefined) expect(Buffer.from(found.bytes).toString()).not.toContain(CANARY);
}
