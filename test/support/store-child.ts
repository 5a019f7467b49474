/**
 * Writes into SQLite stores while its parent (test/store-faults.test.ts) makes writing fail or kills it, and
 * prints what it was told: one line of JSON each.
 *
 *   store-child.ts kill <file>
 *   store-child.ts rewrite <file>
 *   store-child.ts full <file>
 *   store-child.ts die <file>                                       with FAULT_CONTROL
 *   store-child.ts faults <folder> <errno> <points, by commas>      with FAULT_CONTROL
 */

import { mkdirSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { KumikoError } from "../../src/base/index.ts";
import type { Store } from "../../src/kernel/ports.ts";
import { openSqliteStore } from "../../src/store/index.ts";
import { batch, commit, encode } from "../store-contract/support.ts";
import { controlFaults, faultsAt, noFaults } from "./fault-library.ts";

const CLIENTS = 3;
const REWRITTEN = "main~ann~1";
const [mode, path, errno, points] = process.argv.slice(2) as [string, string, string, string];

export interface Said {
  readonly point: number;
  readonly edit?: string;
  readonly positions?: readonly number[];
  readonly outcome?: string;
  readonly resumed?: boolean;
  readonly note?: string;
}

function say(line: Said): void {
  // Synchronous: what was acknowledged must be out before the process can die.
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** One batch of two commits in two blocks, either of them at the version the store shows. */
async function write(store: Store, point: number, client: number, edit: string): Promise<boolean> {
  const blocks = [`main~left~${client}`, `main~right~${client}`];
  const body = encode(`${edit} ${"x".repeat(300)}`);
  const commits = await Promise.all(
    blocks.map(async (block) => {
      const seen = await store.commitsOf(block, 0);
      return commit(block, seen.length, { edit, body, undo: { kind: "text" } });
    }),
  );
  try {
    const outcome = await store.commit(batch(commits));
    if (outcome.kind !== "committed") throw new Error(`${edit}: ${outcome.kind}`);
    say({ point, edit, positions: outcome.positions });
    return true;
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "journal_unwritable") throw error;
    say({
      point,
      edit,
      outcome: error.facts["outcome"] as string,
      resumed: error.facts["resumed"] === true,
    });
    return false;
  }
}

async function untilKilled(store: Store): Promise<void> {
  const life = process.pid;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let round = 0; ; round += 1) {
      await write(store, 0, client + 1, `${life}-${client}-${round}`);
      if (round % 20 === 19) await store.compact(`main~left~${client + 1}`, round * 1000);
    }
  });
  await Promise.all(clients);
}

/** Fills a block once, part of it compacted, and gives all of it new contents again and again. */
async function untilKilledRewriting(store: Store): Promise<void> {
  if ((await store.head()) === 0) {
    for (let version = 0; version < 60; version += 1) {
      await store.commit(batch([commit(REWRITTEN, version, { body: encode("first") })]));
    }
    await store.compact(REWRITTEN, 40);
  }
  for (let round = 0; ; round += 1) {
    // With an end: one must not be found in another that only begins like it.
    const generation = `${"generation ".repeat(10)}${process.pid}-${round}.`;
    await store.rewrite({
      block: REWRITTEN,
      commits: Array.from({ length: 60 }, (_, index) => ({
        version: index + 1,
        body: encode(generation),
        message: generation,
      })),
      note: { space: "gaps", key: REWRITTEN, value: generation },
    });
    say({ point: 0, note: generation });
  }
}

async function untilFull(store: Store): Promise<void> {
  for (let round = 0; round < 20_000; round += 1) {
    if (await write(store, 0, 1, `full-${round}`)) continue;
    say({ point: 0, note: `head ${await store.head()}` });
    return;
  }
  throw new Error("it was never full");
}

/** Fails at one point, first once, then for good, then with a write cut short, as the point goes. */
async function atPoint(point: number): Promise<void> {
  const folder = join(path, `point-${point}`);
  mkdirSync(folder);
  faultsAt(point, Number(errno));
  let store: Store;
  try {
    // On the thread; through the kernel (kernel-crash) most is written on the main one.
    store = await openSqliteStore(join(folder, "state.db"), { held: 0 });
  } catch (error) {
    noFaults();
    say({ point, note: `not opened: ${String(error)}` });
    return;
  }
  await using closing = new AsyncDisposableStack();
  closing.use(store);
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let round = 0; round < 12; round += 1) {
      await write(store, point, client + 1, `${point}-${client}-${round}`);
    }
  });
  await Promise.all(clients);
  try {
    await store.compact("main~left~1", 100);
    const commits = [{ version: 1, body: encode("rewritten"), message: "rewritten" }];
    const note = { space: "gaps", key: "main~left~1", value: "rewritten" };
    await store.rewrite({ block: "main~left~1", commits, note });
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
  }
  // The disk works again: so must the store, without being opened anew by anyone else.
  noFaults();
  if (!(await write(store, point, 1, `${point}-last`))) say({ point, note: "did not resume" });
}

/** Dies at the moment it is told that a batch was not kept because its fsync had failed. */
async function untilRefused(store: Store): Promise<void> {
  for (let round = 0; round < 3; round += 1) await write(store, 0, 1, `good-${round}`);
  controlFaults([0, 1, constants.errno.EIO, 0, 0, 1]);
  await write(store, 0, 1, "refused");
  process.kill(process.pid, "SIGKILL");
}

if (mode === "faults") {
  for (const point of points.split(",")) await atPoint(Number(point));
} else {
  await using store = await openSqliteStore(path);
  if (mode === "kill") await untilKilled(store);
  else if (mode === "rewrite") await untilKilledRewriting(store);
  else if (mode === "die") await untilRefused(store);
  else await untilFull(store);
}
