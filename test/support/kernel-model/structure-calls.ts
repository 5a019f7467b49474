import { expect } from "vitest";
import { type Call, type Effect, type Expected, refused, unchanged } from "./call.ts";
import type { Dice } from "./dice.ts";
import { callOf, checkSince, editing } from "./editing-calls.ts";
import { type Facts, factsOf, type Model, type ModelEdit, type Stream } from "./model.ts";
import { patched } from "./unified-diff.ts";

const KINDS = ["text", "file", "tool_call", "tool_result", "thinking"];
const STATUSES = ["pending", "running", "done", "error"];
const LIFE: { readonly [status: string]: readonly string[] } = {
  pending: ["running", "done", "error"],
  running: ["done", "error"],
  done: [],
  error: [],
};

interface FlippedBlock {
  readonly block_id: string;
  readonly version: number;
  readonly diff: string;
}

export function createCall(dice: Dice, model: Model, contexts: readonly string[]): Call {
  const caller = dice.caller();
  const parent = model.all.length > 0 ? dice.maybe(0.4, () => dice.block()) : undefined;
  const context = dice.chance(0.9) && parent ? parent.context : dice.pick(contexts);
  const kind = dice.pick(
    parent?.kind === "tool_call" || dice.chance(0.1) ? KINDS : ["text", "file", "tool_call"],
  );
  const content = dice.maybe(0.7, () => dice.text());
  const flags = dice.maybe(0.2, () => ({ pinned: true }));
  const metadata = dice.maybe(0.4, () => ({ path: `src/${dice.below(3)}.ts`, note: 1 }));
  const status = content === undefined ? "pending" : "done";
  const facts: Facts = { status, flags: flags ?? {}, metadata: metadata ?? {} };
  return {
    tool: "block_create",
    caller,
    input: {
      role: "user",
      kind,
      context,
      parent_id: parent?.id,
      content,
      flags,
      metadata,
      reader: caller.reader,
      call_id: dice.maybe(0.3, () => dice.name("call")),
    },
    expected: () => {
      if (kind === "tool_result" && parent?.kind !== "tool_call") return refused("wrong_parent");
      if (parent !== undefined && parent.context !== context) return refused("wrong_parent");
      const wanted = (content ?? "").split("");
      return { kind: "written", effects: new Map([["new", { wanted, facts }]]) };
    },
    check: ({ block_id, version }, now) => {
      const made = now.block(String(block_id));
      expect({ ...made, version }).toMatchObject({ context, kind, role: "user", version: 1 });
      expect(made.parent).toBe(parent?.id ?? null);
      expect(made.id).toMatch(new RegExp(`^${context}~${caller.actor}~\\d+$`));
    },
    shows: ({ block_id, version }, now) =>
      now.advance(caller.sight, String(block_id), Number(version)),
  };
}

export function statusCall(dice: Dice, model: Model): Call {
  const edit = editing(dice, model);
  const { block } = edit;
  const status = dice.maybe(0.6, () => dice.pick(STATUSES));
  const flags = dice.maybe(0.3, () => ({ [dice.pick(["pinned", "excluded"])]: dice.chance(0.5) }));
  const metadata = dice.maybe(0.3, () => ({
    [dice.pick(["path", "note"])]: dice.pick([null, "src/moved.ts", 7]),
  }));
  const change = { status, flags, metadata };
  const call = callOf("block_status", edit, change, (): Expected => {
    if (Object.values(change).every((each) => each === undefined))
      return refused("invalid_argument");
    const before = factsOf(block);
    if (status !== undefined && status !== before.status && !LIFE[before.status]!.includes(status))
      return refused("wrong_status");
    const entries = Object.entries({ ...before.metadata, ...metadata });
    const facts: Facts = {
      status: status ?? before.status,
      flags: { ...before.flags, ...flags },
      metadata: Object.fromEntries(entries.filter(([, value]) => value !== null)),
    };
    if (JSON.stringify(facts) === JSON.stringify(before)) return unchanged;
    const effect: Effect = { wanted: block.text.visible(), facts };
    return { kind: "written", effects: new Map([[block.id, effect]]) };
  });
  return {
    ...call,
    ends: (stream) =>
      stream.block === block.id && Object.values(change).some((each) => each !== undefined),
    check: (answer, now, before) => {
      checkSince(call.bases!)(answer, now, before);
      expect(answer).toMatchObject({ status: factsOf(block).status });
      expect(answer["flags"]).toEqual(factsOf(block).flags);
      expect(answer["metadata"]).toEqual(factsOf(block).metadata);
    },
  };
}

export function appendCall(dice: Dice): Call {
  const caller = dice.caller();
  const block = dice.block();
  const text = dice.pick(["and ", "so\n", "🪵", "x".repeat(60), dice.name("then")]);
  const flush = dice.pick([true, false, undefined, undefined]);
  const call_id = dice.maybe(0.15, () => dice.name("call"));
  return {
    tool: "block_append",
    caller,
    input: { block_id: block.id, text, flush, reader: caller.reader, call_id },
    appended: { block: block.id, text },
    expected: () => ({ kind: "read" }),
    check: ({ accepted, durable_version }, model) => {
      const { pending, accepted: all, edit } = model.streams.get(`${caller.actor} ${block.id}`)!;
      expect(accepted).toBe(all);
      expect(durable_version).toBeLessThanOrEqual(block.versions.length);
      if (flush !== true && call_id === undefined) return;
      expect(pending).toBe("");
      const last = block.versions.findLast(({ entry }) => entry.edit === edit)!.entry;
      expect(durable_version).toBe(last.version);
      if (call_id !== undefined) expect(last.inserted).toBe(text.length);
    },
  };
}

/** Undo or redo of the newest, or of an Edit or an undo that is named. */
export function flipCall(dice: Dice, model: Model): Call {
  const caller = dice.caller();
  const what = dice.chance(0.6) ? "undo" : "redo";
  const ids = [...model.edits.keys(), ...model.flips.keys()];
  const edit = ids.length > 0 ? dice.maybe(0.35, () => dice.pick(ids)) : undefined;
  const actor = dice.maybe(0.15, () => dice.pick(["ann", "ben", "claude"]));
  return flipOf(model, what, { edit, actor }, caller, {
    call_id: dice.maybe(0.2, () => dice.name("call")),
  });
}

export function flipOf(
  known: Model,
  what: "undo" | "redo",
  { edit, actor }: { edit?: string | undefined; actor?: string | undefined },
  caller: Call["caller"],
  more: object = {},
): Call {
  const choose = (model: Model): { target: ModelEdit; active: boolean } | string => {
    if (edit === undefined) {
      const whose = actor ?? caller.actor;
      const target = what === "undo" ? model.newestEdit(whose) : model.newestUndone(whose);
      return target === undefined ? "nothing_to_undo" : { target, active: what === "redo" };
    }
    const flip = model.flips.get(edit);
    const target = model.edits.get(flip?.target ?? edit);
    if (target === undefined) return "unknown_edit";
    if (actor !== undefined && actor !== target.actor) return "invalid_argument";
    const active = flip === undefined ? what === "redo" : (what === "redo") === flip.active;
    return target.active === active ? "nothing_to_undo" : { target, active };
  };
  const named = edit === undefined ? undefined : (known.flips.get(edit)?.target ?? edit);
  let stayed: { block_id: string; stayed: number }[] = [];
  return {
    tool: `block_${what}`,
    caller,
    input: { edit, actor, reader: caller.reader, ...more },
    ends: (stream: Stream) =>
      edit === undefined ? stream.actor === (actor ?? caller.actor) : stream.edit === named,
    expected: (model) => {
      const chosen = choose(model);
      if (typeof chosen === "string") return refused(chosen);
      const { target, active } = chosen;
      const flipped = [...target.blocks].toSorted().map((id) => {
        const block = model.block(id);
        return { block, ...block.text.ifFlipped(target.id, active) };
      });
      stayed = flipped.map(({ block, stayed: units }) => ({ block_id: block.id, stayed: units }));
      return {
        kind: "written",
        effects: new Map(
          flipped.map(({ block, wanted }) => [block.id, { wanted, facts: factsOf(block) }]),
        ),
      };
    },
    check: (answer, model) => {
      expect(answer["blocks"]).toMatchObject(stayed);
      expect(answer["actor"]).toBe(model.edits.get(String(answer["flipped"]))!.actor);
      for (const { block_id, version, diff } of answer["blocks"] as FlippedBlock[]) {
        const { text } = model.block(block_id);
        expect(version).toBe(text.version);
        expect(patched(text.read(version - 1), diff)).toBe(text.read());
      }
    },
    shows: (answer, model) => {
      for (const { block_id, version } of answer["blocks"] as FlippedBlock[]) {
        if (model.shown(caller.sight, block_id) === version - 1)
          model.advance(caller.sight, block_id, version);
      }
    },
  };
}
