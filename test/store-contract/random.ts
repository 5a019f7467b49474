import fc from "fast-check";
import { expect, it } from "vitest";
import type { Batch, BlockRow, Lease, Rewrite, Store } from "../../src/kernel/ports.ts";
import { fcOptions } from "../support/counts.ts";
import { expectSameEdits } from "./edits.ts";
import { StoreModel } from "./model.ts";
import { encode, type NewWorld, readAll } from "./support.ts";

const block = fc.constantFrom("main~ann~1", "main~ann~2", "main~bob~1", "side~bob~7");
const actor = fc.constantFrom("ann", "bob");
const owned = fc.constantFrom("ann-1", "ann-2", "bob-1", "bob-2");
const text = fc.string({ unit: "grapheme", maxLength: 8 });

/** Versions are given as how far they lie from the true one: mostly right, sometimes behind or ahead. */
const commits = fc.record({
  do: fc.constant("commit" as const),
  writer: fc.nat(1),
  touched: fc.uniqueArray(
    fc.record({
      block,
      lag: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.integer({ min: -1, max: 3 })),
      count: fc.integer({ min: 1, max: 12 }),
      actor,
      message: fc.option(text, { nil: undefined }),
      body: fc.uint8Array({ maxLength: 40 }),
      undo: fc.oneof(
        fc.constant(undefined),
        fc.record({ kind: fc.constant("text" as const), edit: fc.constantFrom(1, 2) }),
        fc.record({ kind: fc.constant("flip" as const), edit: owned, active: fc.boolean() }),
      ),
      row: fc.option(
        fc.record({
          parent: fc.option(block, { nil: null }),
          order: fc.constantFrom("a", "b", "c", "d"),
          status: fc.constantFrom("pending", "done"),
          attributes: text,
        }),
        { nil: undefined },
      ),
    }),
    { selector: (one) => one.block, maxLength: 3 },
  ),
  call: fc.option(fc.constantFrom("c1", "c2", "c3", "c4", "c5"), { nil: undefined }),
  fence: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 5 }),
});

const anyStep = fc.oneof(
  { weight: 6, arbitrary: commits },
  fc.record({ do: fc.constant("compact" as const), block, upTo: fc.nat(60) }),
  fc.record({ do: fc.constant("keyframe" as const), block, version: fc.nat(9), text }),
  fc.record({
    do: fc.constant("put" as const),
    key: text,
    value: fc.option(text, { nil: undefined }),
  }),
  fc.record({ do: fc.constant("acquire" as const), holder: actor, now: fc.nat(100) }),
  fc.record({ do: fc.constant("release" as const), token: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    do: fc.constant("rewrite" as const),
    block,
    versions: fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 6 }),
    body: fc.uint8Array({ maxLength: 20 }),
    message: fc.option(text, { nil: undefined }),
    status: fc.option(fc.constantFrom("pending", "done"), { nil: undefined }),
  }),
  fc.record({
    do: fc.constant("forget" as const),
    which: fc.oneof(
      fc.record({ before: fc.nat(40) }),
      fc.record({ containing: fc.constantFrom("1", "3", "x") }),
    ),
  }),
  fc.record({ do: fc.constant("vacuum" as const) }),
  fc.record({ do: fc.constant("reopen" as const), writer: fc.nat(1) }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer Value> ? Value : never;

export function randomTests(newWorld: NewWorld, fullRuns: number): void {
  it(
    "answers like the model, with two writers, compaction and reopening",
    { timeout: 15 * 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 30 }), async (steps) => {
          await using world = await newWorld();
          const stores = [await world.open(), await world.open()];
          await using closing = new AsyncDisposableStack();
          closing.defer(async () => {
            for (const store of stores) await store[Symbol.asyncDispose]();
          });
          const model = new StoreModel();
          for (const [index, one] of steps.entries()) {
            if (one.do === "reopen") {
              await stores[one.writer]![Symbol.asyncDispose]();
              stores[one.writer] = await world.open();
            } else {
              await takeStep(stores[index % 2]!, model, one);
            }
          }
          for (const store of stores) await expectSame(store, model);
          expect(await stores[0]!.verify()).toEqual([]);
        }),
        fcOptions(fullRuns),
      );
    },
  );
}

async function takeStep(store: Store, model: StoreModel, step: Step): Promise<void> {
  switch (step.do) {
    case "commit": {
      const batch = batchOf(model, step);
      const wanted = model.commit(batch);
      if (wanted === "ahead") {
        await expect(store.commit(batch)).rejects.toMatchObject({ code: "out_of_range" });
      } else if (wanted === "unknown_edit") {
        await expect(store.commit(batch)).rejects.toMatchObject({ code: wanted });
      } else {
        expect(await store.commit(batch)).toEqual(wanted);
      }
      return;
    }
    case "compact":
      return store.compact(step.block, step.upTo);
    case "keyframe":
      model.putKeyframe(step.block, { version: step.version, text: step.text });
      return store.putKeyframe(step.block, { version: step.version, text: step.text });
    case "put":
      if (step.value === undefined) model.values.delete(step.key);
      else model.values.set(step.key, step.value);
      return store.put("space", step.key, step.value);
    case "acquire": {
      const wanted = model.acquire("lease", step.holder, step.now, 20);
      expect(await store.acquire("lease", step.holder, step.now, 20)).toEqual(wanted);
      return;
    }
    case "release": {
      const lease: Lease = { name: "lease", holder: "any", token: step.token, expires: 0 };
      model.release(lease);
      return store.release(lease);
    }
    case "rewrite": {
      const rewrite = rewriteOf(model, step);
      model.rewrite(rewrite);
      return store.rewrite(rewrite);
    }
    case "forget":
      expect(await store.forgetCalls(step.which)).toBe(model.forgetCalls(step.which));
      return;
    case "vacuum":
      return store.vacuum();
    case "reopen":
      throw new Error("not a step of one store");
  }
}

function rewriteOf(model: StoreModel, step: Extract<Step, { do: "rewrite" }>): Rewrite {
  const there = model.rows.find((one) => one.block === step.block);
  const { version: _, position: __, created: ___, ...row } = there ?? ({} as BlockRow);
  return {
    block: step.block,
    commits: step.versions
      .filter((version) => version <= model.of(step.block).length)
      .map((version) => ({ version, body: step.body, message: step.message })),
    row: there && step.status ? { ...row, status: step.status } : undefined,
    note: { space: "space", key: "gap", value: String(step.versions.length) },
  };
}

function batchOf(model: StoreModel, step: Extract<Step, { do: "commit" }>): Batch {
  const places = new Set<string>();
  return {
    commits: step.touched.flatMap(
      ({ block: name, lag, count, actor: who, message, body, undo }) => {
        const first = Math.max(0, model.of(name).length - lag);
        return Array.from({ length: count }, (_, index) => ({
          block: name,
          expectedVersion: first + index,
          edit: undo?.kind === "text" ? `${who}-${undo.edit}` : `edit-${model.journal.length}`,
          undo: undo?.kind === "text" ? { kind: undo.kind } : undo,
          actor: who,
          time: 1000 - model.journal.length,
          message,
          body: index === 0 ? body : encode(`${name} ${index}`),
        }));
      },
    ),
    rows: step.touched.flatMap(({ block: name, row }) => {
      if (row === undefined || places.has(`${row.parent} ${row.order}`)) return [];
      places.add(`${row.parent} ${row.order}`);
      return [{ block: name, context: "main", kind: "text", role: "user", ...row }];
    }),
    calls:
      step.call === undefined
        ? []
        : [
            {
              actor: "ann",
              call: step.call,
              fingerprint: "f",
              answer: `${model.journal.length}`,
              time: model.journal.length,
            },
          ],
    fence: step.fence === undefined ? undefined : { lease: "lease", token: step.fence },
  };
}

async function expectSame(store: Store, model: StoreModel): Promise<void> {
  expect(await store.head()).toBe(model.journal.length);
  expect(await readAll(store, 5)).toEqual(model.journal);
  for (const name of ["main~ann~1", "main~ann~2", "main~bob~1", "side~bob~7", "main~cid~1"]) {
    const all = model.of(name);
    expect(await store.commitsOf(name, 0)).toEqual(all);
    expect(await store.commitsOf(name, 7)).toEqual(all.slice(7));
    expect(await store.row(name)).toEqual(model.rows.find((one) => one.block === name));
    expect(await store.keyframe(name)).toEqual(model.keyframes.get(name));
    const children = model.rows
      .filter((one) => one.parent === name)
      .toSorted((left, right) => (left.order < right.order ? -1 : 1));
    expect(await store.children({ context: "main", parent: name, limit: 9 })).toEqual(children);
  }
  expect(await store.rows({ limit: 100 })).toEqual(model.rows);
  const done = model.rows.filter((one) => one.status === "done");
  expect(await store.rowsWithStatus("done")).toEqual(done);
  for (const call of model.calls) expect(await store.call(call.actor, call.call)).toEqual(call);
  await expectSameEdits(store, model, ["ann-1", "ann-2", "bob-1", "bob-2", "edit-0"]);
  const listed = await store.list("space");
  expect(new Map(listed.map(({ key, value }) => [key, value]))).toEqual(model.values);
}
