import { expect } from "vitest";
import { type Answer, type Call, type Expected, refused, written } from "./call.ts";
import type { Caller, Dice } from "./dice.ts";
import type { Model, ModelBlock } from "./model.ts";
import { type Hunk, linesOf, placeHunks, placeRanges, type Range, startOf } from "./placing.ts";
import { patched, patchOf } from "./unified-diff.ts";

/** What every call that edits one block's text has. */
interface Editing {
  readonly block: ModelBlock;
  readonly caller: Caller;
  /** The base version that is named, if one is. */
  readonly named: number | undefined;
  /** What the caller's positions mean; undefined when it was shown nothing. */
  readonly base: number | undefined;
  readonly common: { readonly [name: string]: unknown };
}

export function editing(dice: Dice, model: Model, block = dice.block()): Editing {
  let caller = dice.caller();
  // Most know the block they edit.
  for (let tries = 0; tries < 5 && model.shown(caller.sight, block.id) === undefined; tries++)
    caller = dice.caller();
  const named = dice.maybe(0.45, () => dice.below(block.text.version + 1));
  return {
    block,
    caller,
    named,
    base: named ?? model.shown(caller.sight, block.id),
    common: {
      block_id: block.id,
      reader: caller.reader,
      base_version: named,
      call_id: dice.maybe(0.2, () => dice.name("call")),
      message: dice.maybe(0.2, () => dice.name("why")),
    },
  };
}

/** The answer of an edit: its version, and what others had done since the base. */
export function checkSince(bases: Call["bases"] & object): NonNullable<Call["check"]> {
  return (answer, model, before) => {
    const files = (answer["files"] ?? [answer]) as Answer[];
    for (const { block_id, version, since } of files) {
      const { text } = model.block(String(block_id));
      expect(version).toBe(text.version);
      const base = bases.get(String(block_id));
      const now = before.get(String(block_id)) ?? text.read();
      if (base === undefined) expect(since).toBe("");
      else expect(patched(text.read(Math.min(base, text.version)), String(since))).toBe(now);
    }
  };
}

export function callOf(
  tool: string,
  { block, caller, base, common }: Editing,
  own: object,
  expected: (model: Model) => Expected,
): Call {
  const bases = new Map([[block.id, base]]);
  return { tool, caller, input: { ...common, ...own }, bases, expected, check: checkSince(bases) };
}

interface Operation extends Hunk {
  readonly expected?: string | undefined;
}

export function editCall(dice: Dice, model: Model): Call {
  const edit = editing(dice, model);
  const { block, base } = edit;
  const read = block.text.read(base);
  const operations = Array.from({ length: dice.pick([1, 1, 2, 3]) }, (): Operation => {
    const hunk = dice.hunk(linesOf(read).length);
    const lines = read.slice(startOf(read, hunk.start), startOf(read, hunk.end));
    if (hunk.start === hunk.end || !dice.chance(0.25)) return hunk;
    return { ...hunk, expected: dice.chance(0.8) ? lines : "something else" };
  });
  const input = { operations: operations.map(toInput) };
  return callOf("block_edit", edit, input, () => expectedEdit(block, base, operations));
}

function toInput({ start, end, lines, expected }: Operation): object {
  const content = `${lines.join("\n")}\n`;
  if (start === end) return { op: "insert", line: start, content };
  const range = { start_line: start, end_line: end, expected_text: expected };
  return lines.length === 0 ? { op: "delete", ...range } : { op: "replace", ...range, content };
}

function expectedEdit(
  block: ModelBlock,
  base: number | undefined,
  operations: readonly Operation[],
): Expected {
  if (base === undefined && operations.some(({ expected }) => expected === undefined))
    return refused("base_required");
  const now = block.text.visible();
  const then = block.text.visible(base);
  const past = base !== undefined && base !== block.text.version;
  const text = block.text.read(base);
  const hunks = joinTouching(operations);
  if (hunks === undefined) return refused("overlapping_operations");
  const guarded = operations.some(({ expected }) => expected !== undefined);
  const wrong = operations.some(
    ({ start, end, expected }) =>
      expected !== undefined && expected !== text.slice(startOf(text, start), startOf(text, end)),
  );
  if (wrong && !past) return refused("conflict");
  const placed = placeHunks(past ? then : now, now, hunks);
  // What is expected may stand there again.
  const doubtful = past && guarded && (wrong || placed === "refused");
  return written([[block, doubtful ? "unsure" : placed]]);
}

/** Operations that touch are one; those that overlap are none. */
function joinTouching(operations: readonly Hunk[]): Hunk[] | undefined {
  const joined: Hunk[] = [];
  for (const next of operations.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const last = joined.at(-1);
    if (last !== undefined && next.start < last.end) return undefined;
    if (last === undefined || next.start > last.end) joined.push(next);
    else
      joined[joined.length - 1] = {
        start: last.start,
        end: next.end,
        lines: [...last.lines, ...next.lines],
      };
  }
  return joined;
}

export function spliceCall(dice: Dice, model: Model): Call {
  const edit = editing(dice, model);
  const { block, base } = edit;
  const text = block.text.read(base);
  const start = dice.offset(text);
  const end = start + dice.piece(text.slice(start), dice.pick([0, 1, 3])).length;
  const insert = start === end || dice.chance(0.7) ? dice.word() || "y" : "";
  const unit = dice.pick(["byte", "utf16", "codepoint", undefined]);
  const measure = (piece: string): number =>
    unit === "utf16"
      ? piece.length
      : unit === "codepoint"
        ? [...piece].length
        : Buffer.byteLength(piece);
  const input = {
    offset: measure(text.slice(0, start)),
    delete_count: measure(text.slice(start, end)),
    insert,
    unit,
  };
  return callOf("block_splice", edit, input, () => {
    if (base === undefined) return refused("base_required");
    return written([
      [block, placeRanges(baseOf(block, base), block.text.visible(), [{ start, end, insert }])],
    ]);
  });
}

export function replaceCall(dice: Dice, model: Model, threads: boolean): Call {
  const edit = editing(dice, model);
  const { block, named } = edit;
  const text = block.text.read(named);
  const from = dice.offset(text);
  const found = dice.piece(text.slice(from), 1 + dice.below(4));
  const old = found === "" || dice.chance(0.1) ? "not there" : found;
  const insert = dice.word();
  const occurrence = dice.pick([undefined, undefined, "first", "all", 1, 2]);
  const regex = threads && dice.chance(0.4);
  const what = regex
    ? { regex: RegExp.escape(old), new: insert.replaceAll("$", "$$$$") }
    : { old, new: insert };
  return callOf("block_replace", edit, { ...what, occurrence }, () => {
    const ranges = rangesOf(block.text.read(named), old, insert);
    if (ranges.length === 0) return refused("not_found");
    if (occurrence === undefined && ranges.length > 1) return refused("ambiguous");
    if (typeof occurrence === "number" && occurrence > ranges.length)
      return refused("out_of_range");
    const chosen =
      typeof occurrence === "number"
        ? ranges.slice(occurrence - 1, occurrence)
        : ranges.slice(0, occurrence === "first" ? 1 : undefined);
    return written([[block, placeRanges(baseOf(block, named), block.text.visible(), chosen)]]);
  });
}

function rangesOf(text: string, old: string, insert: string): Range[] {
  const ranges: Range[] = [];
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + old.length))
    ranges.push({ start: at, end: at + old.length, insert });
  return ranges;
}

/** The characters that positions mean; the very ones of now when nothing was done since. */
function baseOf({ text }: ModelBlock, base: number | undefined) {
  return base === undefined || base === text.version ? text.visible() : text.visible(base);
}

export function patchCall(dice: Dice, model: Model): Call | undefined {
  const block = dice.calmBlock();
  if (block === undefined) return undefined;
  const edit = editing(dice, model, block);
  const { named } = edit;
  const text = block.text.read(named);
  const hunk = patchable(dice, text);
  const patch = patchOf(text, hunk);
  const dry = dice.chance(0.2);
  if (dry) {
    return {
      tool: "block_apply_patch",
      caller: edit.caller,
      input: { ...edit.common, patch, dry_run: true },
      settles: [block.id],
      expected: () => ({ kind: "read" }),
      check: (answer) => expect(answer["files"]).toMatchObject([{ version: block.text.version }]),
    };
  }
  return callOf("block_apply_patch", edit, { patch }, () =>
    written([[block, placeHunks(baseOf(block, named), block.text.visible(), [hunk])]]),
  );
}

/** One Edit of two blocks, which are found by `blocks`. */
export function wideEditCall(dice: Dice, model: Model): Call | undefined {
  const one = dice.calmBlock();
  const two = dice.calmBlock();
  if (one === undefined || two === undefined || one === two) return undefined;
  const { caller, common } = editing(dice, model, one);
  const { block_id: _, base_version: __, ...rest } = common;
  const edits = [one, two].map((block) => ({ block, hunk: patchable(dice, block.text.read()) }));
  const patch = edits
    .map(({ block, hunk }, index) => {
      const name = `folder/${index}.txt`;
      return `--- a/${name}\n+++ b/${name}\n${patchOf(block.text.read(), hunk)}`;
    })
    .join("");
  const blocks = { "folder/0.txt": one.id, "folder/1.txt": two.id };
  const bases = new Map([one, two].map(({ id }) => [id, model.shown(caller.sight, id)]));
  return {
    tool: "block_apply_patch",
    caller,
    input: { ...rest, patch, blocks },
    bases,
    expected: () =>
      written(
        edits.map(({ block, hunk }) => {
          const now = block.text.visible();
          return [block, placeHunks(now, now, [hunk])] as const;
        }),
      ),
    check: checkSince(bases),
  };
}

/**
 * A patch says more about a missing final newline than an edit can: such ends are left alone. No line is both
 * removed and added: it would stay.
 */
function patchable(dice: Dice, text: string): Hunk {
  const lines = linesOf(text).length;
  const chosen = dice.hunk(lines);
  const hunk = { ...chosen, lines: chosen.lines.map(() => dice.name("new")) };
  const bare = text !== "" && !text.endsWith("\n");
  if (!bare || hunk.end < lines) return hunk;
  const start = Math.min(hunk.start, lines - 1);
  return { start, end: lines, lines: hunk.lines.length === 0 ? [dice.name("new")] : hunk.lines };
}

export function rollbackCall(dice: Dice, model: Model): Call {
  const edit = editing(dice, model);
  const { block } = edit;
  const version = dice.below(block.text.version + 1);
  return callOf("block_rollback", edit, { version }, () =>
    written([[block, block.text.ifRolledBack(version)]]),
  );
}
