import { expect } from "vitest";
import type { FeedEvent } from "../../../src/protocol/index.ts";
import { type Answer, type Call, read, refused } from "./call.ts";
import type { Dice } from "./dice.ts";
import { factsOf, type Model, type ModelBlock, spliced, versionAt } from "./model.ts";
import { linesOf, startOf } from "./placing.ts";
import { patched } from "./unified-diff.ts";

type Reading = Pick<Call, "tool" | "input" | "check" | "settles" | "shows"> &
  Partial<Pick<Call, "expected">>;

function reading(caller: Call["caller"], call: Reading): Call {
  return { caller, expected: () => read, ...call };
}

/** A block now, at a version or at a position. */
export function readCall(dice: Dice, model: Model, block = dice.block()): Call {
  const caller = dice.caller();
  const version = dice.maybe(0.25, () => dice.below(block.text.version + 1));
  const position =
    version === undefined ? dice.maybe(0.2, () => dice.below(model.head + 1)) : undefined;
  const range = dice.maybe(0.3, () => ({ start: dice.below(8), end: dice.below(8) }));
  const line_numbers = dice.pick([undefined, false]);
  const reader = caller.reader;
  return reading(caller, {
    tool: "block_read",
    input: { block_id: block.id, version, position, range, line_numbers, reader },
    ...(position === undefined && { settles: [block.id] }),
    expected: () =>
      position !== undefined && versionAt(block, position) === 0 ? refused("unknown_block") : read,
    check: (answer) => {
      const then = position === undefined ? block.text.version : versionAt(block, position);
      const shown = version ?? then;
      const { status, metadata } = block.versions[then - 1]!.facts;
      const lines = linesOf(block.text.read(shown));
      const { start, end } = range ?? { start: 0, end: lines.length };
      const chosen = lines.slice(start, Math.max(start, end));
      expect(answer).toMatchObject({ version: shown, status, line_count: lines.length });
      expect(answer["metadata"]).toEqual(metadata);
      const text = String(answer["content"]);
      const ended = line_numbers === false && text.endsWith("\n");
      const last = start + chosen.length === lines.length;
      if (line_numbers === false && chosen.length > 0)
        expect(ended).toBe(!last || block.text.read(shown).endsWith("\n"));
      const content = (ended ? text.slice(0, -1) : text).split("\n");
      const told =
        line_numbers === false ? content : content.map((line) => line.replace(/^ *\d+ /, ""));
      expect(told).toEqual(chosen.length === 0 ? [""] : chosen);
      const numbers = content.map((line) => Number.parseInt(line, 10));
      if (line_numbers !== false && chosen.length > 0)
        expect(numbers).toEqual(chosen.map((_, index) => start + index));
    },
    shows: (answer) => model.show(caller.sight, block.id, Number(answer["version"])),
  });
}

interface Found {
  readonly line: number;
  readonly match_start: number;
  readonly match_end: number;
  readonly content: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** One result per line, at its first match. */
function foundIn(text: string, query: string, around: number): Found[] {
  const lines = linesOf(text);
  return lines.flatMap((content, line) => {
    const match_start = content.indexOf(query);
    if (match_start < 0) return [];
    const match_end = match_start + query.length;
    const before = lines.slice(Math.max(0, line - around), line);
    const after = lines.slice(line + 1, line + 1 + around);
    return [{ line, match_start, match_end, content, before, after }];
  });
}

/** A query as it stands, or as an expression, which needs a thread. */
function queryOf(dice: Dice, threads: boolean): { word: string; input: object } {
  const word = dice.pick(["one", "two", "new", "x", "🪵", "ï"]);
  return threads && dice.chance(0.5)
    ? { word, input: { query: `(?:${word})` } }
    : { word, input: { query: word, literal: true } };
}

export function searchCall(dice: Dice, threads: boolean): Call {
  const block = dice.block();
  const { word, input } = queryOf(dice, threads);
  const version = dice.maybe(0.3, () => dice.below(block.text.version + 1));
  const context_lines = dice.pick([0, 1, undefined]);
  const max_matches = dice.pick([undefined, 1, 2]);
  return reading(dice.caller(), {
    tool: "block_search",
    input: { block_id: block.id, ...input, version, context_lines, max_matches },
    settles: [block.id],
    check: (answer) => {
      const all = foundIn(block.text.read(version), word, context_lines ?? 2);
      expect(answer["matches"]).toEqual(all.slice(0, max_matches ?? 20));
      expect(answer["truncated"]).toBe(all.length > (max_matches ?? 20));
      expect(answer).toMatchObject({ version: version ?? block.text.version, timed_out: false });
    },
  });
}

export function kernelSearchCall(dice: Dice, contexts: readonly string[]): Call {
  const { word, input } = queryOf(dice, true);
  const kinds = dice.pick([["text"], ["text", "file", "thinking"], undefined]);
  const context = dice.maybe(0.4, () => dice.pick(contexts));
  const path_prefix = dice.maybe(0.2, () => "src/1");
  const max_blocks = dice.pick([undefined, 1]);
  const path = (block: ModelBlock): unknown => factsOf(block).metadata["path"];
  return reading(dice.caller(), {
    tool: "kernel_search",
    input: { ...input, kinds, context, path_prefix, max_blocks },
    settles: "all",
    check: (answer, model) => {
      const found = contexts
        .toSorted()
        .filter((each) => context === undefined || each === context)
        .flatMap((each) => model.list({ context: each, depth: 100 }))
        .filter(({ kind }) => (kinds ?? ["file"]).includes(kind))
        .filter((block) => path_prefix === undefined || String(path(block)).startsWith(path_prefix))
        .map((block) => ({ block, all: foundIn(block.text.read(), word, 0) }))
        .filter(({ all }) => all.length > 0);
      const most = max_blocks ?? 20;
      expect(answer["blocks"]).toMatchObject(
        found.slice(0, most).map(({ block, all }) => ({
          block_id: block.id,
          version: block.text.version,
          matches: all.slice(0, 10),
          truncated: all.length > 10,
        })),
      );
      expect(answer).toMatchObject({
        truncated: found.length > most,
        timed_out: false,
        unreadable: [],
      });
      expect((answer["blocks"] as object[]).length).toBe(Math.min(most, found.length));
    },
  });
}

/** A list now or at a position; `everything` asks for all of it. */
export function listCall(
  dice: Dice,
  model: Model,
  context: string,
  everything?: { readonly position?: number },
): Call {
  const free = everything === undefined;
  const parent = free ? dice.maybe(0.2, () => dice.block()) : undefined;
  const calm = !model.all.some(({ id }) => model.isWaiting(id));
  const input = {
    context: parent?.context ?? context,
    parent_id: parent?.id,
    depth: free ? 1 + dice.below(3) : 100,
    newest_first: free ? dice.maybe(0.4, () => true) : undefined,
    // What is filtered is looked at as it is on disk.
    kind: free ? dice.maybe(0.2, () => dice.pick(["text", "file"])) : undefined,
    status: free && calm ? dice.maybe(0.2, () => dice.pick(["done", "running"])) : undefined,
    limit: free ? dice.pick([undefined, 1, 3]) : 1000,
    position: free ? dice.maybe(0.2, () => dice.below(model.head + 1)) : everything.position,
  };
  const { depth, position, limit = 100 } = input;
  return reading(dice.caller(), {
    tool: "block_list",
    input,
    check: (answer, now) => {
      const listed = now
        .list({
          context: input.context,
          parent: parent?.id ?? null,
          depth,
          newestFirst: input.newest_first ?? false,
          position,
        })
        .map((block) => entryOf(block, position))
        .filter(({ kind }) => input.kind === undefined || kind === input.kind)
        .filter(({ status }) => input.status === undefined || status === input.status);
      expect(answer["blocks"]).toEqual(listed.slice(0, limit));
      expect(answer["truncated"]).toBe(listed.length > limit);
      expect(answer["after"]).toBe(listed.length > limit ? listed[limit - 1]!.block_id : undefined);
    },
  });
}

function entryOf(block: ModelBlock, position = Infinity) {
  const version = versionAt(block, position);
  const { status, metadata } = block.versions[version - 1]!.facts;
  const text = block.text.read(version);
  const lines = linesOf(text).length;
  return {
    block_id: block.id,
    parent_id: block.parent,
    role: block.role,
    kind: block.kind,
    status,
    ...(typeof metadata["path"] === "string" && { path: metadata["path"] }),
    summary: text.length <= 80 ? text : `${text.slice(0, 80).toWellFormed()}… (${lines} lines)`,
    version,
    dirty: false,
  };
}

export function historyCall(dice: Dice, block = dice.block(), all = false): Call {
  const before = all ? undefined : dice.maybe(0.3, () => 1 + dice.below(block.versions.length));
  const limit = all ? 1000 : dice.pick([undefined, 1, 3]);
  return reading(dice.caller(), {
    tool: "block_history",
    input: { block_id: block.id, before, limit },
    settles: [block.id],
    check: (answer) => {
      const older = block.versions
        .map(({ entry }) => entry)
        .filter(({ version }) => before === undefined || version < before)
        .toReversed();
      const page = older.slice(0, limit ?? 50);
      expect(answer["versions"]).toEqual(page);
      const next = older.length > page.length ? page.at(-1)!.version : undefined;
      expect(answer["before"]).toBe(next);
    },
  });
}

export function diffCall(dice: Dice): Call {
  const block = dice.block();
  const from = dice.below(block.text.version + 1);
  const to = dice.pick([undefined, "now" as const, dice.below(block.text.version + 1)]);
  return reading(dice.caller(), {
    tool: "block_diff",
    input: { block_id: block.id, from, to },
    settles: [block.id],
    check: (answer) => {
      const end = typeof to === "number" ? to : block.text.version;
      expect(answer).toMatchObject({ from, to: end });
      expect(patched(block.text.read(from), String(answer["diff"]))).toBe(block.text.read(end));
    },
  });
}

interface Run {
  readonly start_line: number;
  readonly end_line: number;
  readonly text: string;
  readonly actor: string;
  readonly edit: string;
}

export function blameCall(dice: Dice, model: Model, block = dice.block(), all = false): Call {
  const lines = linesOf(block.text.read()).length;
  // Also behind the last line, where there is nothing.
  const start = dice.below(lines + 3);
  const range =
    all || model.isWaiting(block.id)
      ? undefined
      : dice.maybe(0.4, () => ({ start, end: start + dice.below(lines + 3) }));
  return reading(dice.caller(), {
    tool: "block_blame",
    input: { block_id: block.id, range },
    settles: [block.id],
    check: (answer, now) => {
      const text = block.text.read();
      const from = range === undefined ? 0 : startOf(text, range.start);
      const to = range === undefined ? text.length : startOf(text, range.end);
      const runs: Run[] = [];
      let at = from;
      for (const { text: unit, edit } of block.text.visible().slice(from, to)) {
        const line = text.slice(0, at++).split("\n").length - 1;
        const last = runs.at(-1);
        const { actor } = now.edits.get(edit)!;
        if (last?.edit === edit)
          runs[runs.length - 1] = { ...last, text: last.text + unit, end_line: line };
        else runs.push({ start_line: line, end_line: line, text: unit, actor, edit });
      }
      const told = (answer["runs"] as Run[]).map(
        ({ start_line, end_line, text: content, actor, edit }) => ({
          start_line,
          end_line,
          text: content,
          actor,
          edit,
        }),
      );
      expect(told).toEqual(runs);
      expect(answer["version"]).toBe(block.text.version);
    },
  });
}

interface Synced extends Answer {
  readonly events: readonly FeedEvent[];
  readonly whole: readonly { block_id: string; version: number; text: string; state: object }[];
  readonly versions: readonly { block_id: string; version: number }[];
}

/** What somebody lacks who holds some versions, or has seen everything up to a position. */
export function syncCall(dice: Dice, model: Model): Call {
  const limit = dice.pick([undefined, 1, 4]);
  if (dice.chance(0.4)) {
    const position = dice.below(model.head + 1);
    const context = dice.maybe(0.3, () => dice.pick(["main", "side"]));
    return reading(dice.caller(), {
      tool: "block_sync",
      input: { position, context, limit },
      settles: "all",
      check: (answer, now) => {
        expect(answer["position"]).toBe(Math.min(now.head, position + (limit ?? 1000)));
        const told = (answer as Synced).events.map((event) => event.position);
        const positions = now.all
          .filter((block) => context === undefined || block.context === context)
          .flatMap(({ versions }) => versions.map((each) => each.position))
          .filter((each) => each > position && each <= Number(answer["position"]));
        expect(told).toEqual(positions.toSorted((a, b) => a - b));
        checkEvents(now, (answer as Synced).events);
      },
    });
  }
  const held = model.all
    .filter(() => dice.chance(0.5))
    .map(({ id, text }) => ({ block_id: id, version: dice.below(text.version + 1) }));
  if (held.length === 0) held.push({ block_id: dice.block().id, version: 0 });
  return reading(dice.caller(), {
    tool: "block_sync",
    input: { versions: held, limit },
    settles: held.map(({ block_id }) => block_id),
    check: (answer, now) => checkSynced(answer as Synced, now, held),
  });
}

function checkSynced(
  answer: Synced,
  model: Model,
  held: readonly { block_id: string; version: number }[],
): void {
  expect(answer["unavailable"]).toEqual([]);
  checkEvents(model, answer.events);
  const left = new Map(answer.versions.map(({ block_id, version }) => [block_id, version]));
  for (const { block_id, version } of held) {
    const block = model.block(block_id);
    const whole = answer.whole.find((each) => each.block_id === block_id);
    const events = answer.events.filter((event) => event.block === block_id);
    if (whole !== undefined) {
      expect(events).toEqual([]);
      expect(whole).toMatchObject({ version: block.text.version, text: block.text.read() });
      expect(whole.state).toMatchObject({ ...factsOf(block), parent: block.parent });
      continue;
    }
    const until = left.get(block_id) ?? block.text.version;
    const wanted = Array.from({ length: until - version }, (_, index) => version + 1 + index);
    expect(events.map((event) => event.version)).toEqual(wanted);
  }
}

/** Each makes the version before it into its own. */
function checkEvents(model: Model, events: readonly FeedEvent[]): void {
  for (const { block: id, version, edit, actor, change, state } of events) {
    const block = model.block(id);
    const { entry, facts } = block.versions[version - 1]!;
    expect({ edit, actor }).toEqual({ edit: entry.edit, actor: entry.actor });
    const splices = "splices" in change ? change.splices : [];
    expect(spliced(block.text.read(version - 1), splices)).toBe(block.text.read(version));
    if (state !== undefined) expect(state).toMatchObject(facts);
  }
}
