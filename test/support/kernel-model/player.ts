import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { KumikoError } from "../../../src/base/index.ts";
import { Kernel, type Store } from "../../../src/kernel/index.ts";
import { errorBody, type FeedEvent } from "../../../src/protocol/index.ts";
import { blockTools, ToolRegistry } from "../../../src/tools/index.ts";
import { FakeTime } from "../kernel-workshop.ts";
import type { Answer, Call, Effect, Expected } from "./call.ts";
import { whenWritten } from "./call.ts";
import { CONTEXTS, type Dice } from "./dice.ts";
import { factsOf, type Model, type ModelBlock } from "./model.ts";
import { blameCall, historyCall, listCall, readCall } from "./reading-calls.ts";

const registry = new ToolRegistry(blockTools);
const outputs = new Map(registry.list().map(({ name, output }) => [name, output]));

/** Makes calls and compares what comes of them with the model, which follows by the feed. */
export class Player {
  readonly #model: Model;
  readonly #dice: Dice;
  readonly #time = new FakeTime();
  readonly #open: () => Promise<Store>;
  /** Whether blocks may be found whose owner is gone. */
  #restarted = false;
  #kernel: Kernel | undefined;
  #peers = 100;
  readonly trace: string[] = [];
  readonly counts = new Map<string, number>();

  constructor(model: Model, dice: Dice, open: () => Promise<Store>) {
    this.#model = model;
    this.#dice = dice;
    this.#open = open;
  }

  async start(): Promise<void> {
    this.#kernel = await Kernel.open({
      id: "test",
      store: await this.#open(),
      clock: this.#time.clock,
      timers: this.#time.timers,
      newPeer: () => String(++this.#peers),
      liveDocuments: 2,
      search: { deadline: 60_000 },
    });
    for (const context of CONTEXTS) {
      const known = await this.#kernel.contexts.list();
      if (!known.some((each) => each.context === context))
        await this.#kernel.contexts.create(context, "ann");
    }
  }

  async stop(): Promise<void> {
    await this.#kernel![Symbol.asyncDispose]();
  }

  /** Closes the kernel and opens it again. What ran is over as soon as anyone writes. */
  async restart(): Promise<void> {
    this.trace.push("restart");
    const waiting = [...this.#model.streams.values()].filter(({ pending }) => pending !== "");
    await this.stop();
    await this.start();
    this.#restarted = true;
    await this.#follow(undefined, () => undefined);
    for (const stream of waiting) expect(stream.pending).toBe("");
    this.#model.restart();
    await this.play({
      tool: "block_create",
      caller: { actor: "ann", reader: undefined, sight: "ann/" },
      input: { role: "system", kind: "text", context: "main" },
      expected: () => ({
        kind: "written",
        effects: new Map([
          ["new", { wanted: [], facts: { status: "pending", flags: {}, metadata: {} } }],
        ]),
      }),
    });
    this.#restarted = false;
    expect(this.#model.all.filter((block) => factsOf(block).status === "running")).toEqual([]);
  }

  /** Time that passes: what waits for a silence is written then. */
  async pass(milliseconds: number): Promise<void> {
    this.trace.push(`${milliseconds} ms pass`);
    this.#time.pass(milliseconds);
    await setImmediate();
    await this.#follow(undefined, () => undefined);
    if (milliseconds < 100) return;
    for (const { pending } of this.#model.streams.values()) expect(pending).toBe("");
  }

  /** Makes one call, twice at once if it may be retried and chance will have it. */
  async play(call: Call): Promise<void> {
    const { tool, caller, input } = call;
    this.trace.push(`${caller.actor} ${tool} ${JSON.stringify(input)}`);
    const early = call.expected(this.#model);
    const times = input["call_id"] !== undefined && this.#dice.chance(0.2) ? 2 : 1;
    const made = Array.from({ length: times }, () => this.#execute(call));
    const [first, second] = await Promise.all(made);
    if (second !== undefined) expect(second).toEqual(first);
    const outcome = first!;
    this.trace.push(`  ${"refusal" in outcome ? outcome.refusal.code : "answered"}`);
    this.#count("refusal" in outcome ? outcome.refusal.code : tool);
    if ("refusal" in outcome) await this.#refused(call, early, outcome.refusal);
    else await this.#answered(call, early, outcome.answer);
    const ended = "refusal" in outcome && outcome.refusal.code === "invalid_argument";
    for (const [key, stream] of ended ? [] : this.#model.streams) {
      if (call.ends?.(stream, undefined) !== true) continue;
      expect(stream.pending).toBe("");
      this.#model.streams.delete(key);
    }
    this.#checkSettled(call);
  }

  /** Everything that can be seen of a block and its surroundings, without what waits to be written. */
  async compare(block: ModelBlock | undefined): Promise<void> {
    const dice = this.#dice;
    const calm = this.#model.all.filter(({ id }) => !this.#model.isWaiting(id));
    if (calm.length === this.#model.blocks.size) {
      for (const context of CONTEXTS) await this.play(listCall(dice, this.#model, context, {}));
    } else for (const each of calm) await this.play(readCall(dice, this.#model, each));
    if (block === undefined || this.#model.isWaiting(block.id)) return;
    await this.play(blameCall(dice, this.#model, block, true));
    await this.play(historyCall(dice, block, true));
  }

  async #execute({ tool, caller, input }: Call): Promise<Outcome> {
    const invocation = { actor: caller.actor, context: "main" };
    const given = JSON.parse(JSON.stringify(input)) as object;
    try {
      const answer = await registry.execute(this.#kernel!, tool, invocation, given);
      return { answer: outputs.get(tool)!.parse(answer) as Answer };
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      errorBody.parse(JSON.parse(JSON.stringify(error)));
      return { refusal: error };
    }
  }

  async #refused(call: Call, early: Expected, refusal: KumikoError): Promise<void> {
    const { head } = this.#model;
    await this.#follow(undefined, () => undefined);
    const codes = [early, call.expected(this.#model)].flatMap((expected) =>
      expected.kind === "refused"
        ? [expected.code]
        : expected.kind === "unsure"
          ? ["conflict"]
          : [],
    );
    if (!codes.includes(refusal.code))
      throw new Error("refused without a reason", { cause: refusal });
    if (refusal.code !== "conflict") return;
    for (const id of call.bases?.keys() ?? []) {
      const version = Number(refusal.facts["version"]);
      const block = this.#model.block(id);
      if (this.#model.head === head) expect(version).toBe(block.text.version);
      this.#model.show(call.caller.sight, id, version);
    }
  }

  async #answered(call: Call, early: Expected, answer: Answer): Promise<void> {
    if (call.appended !== undefined) this.#takeIn(call, call.appended);
    const before = new Map<string, string>();
    let expected: Expected | undefined;
    const left = new Map<string, Effect>();
    const own = early.kind === "read" ? undefined : answer["edit"];
    await this.#follow(own, (event) => {
      if (expected === undefined) {
        expected = call.expected(this.#model);
        if (expected.kind === "refused" || expected.kind === "read")
          throw new Error(`should have been ${expected.kind}: ${JSON.stringify(expected)}`);
        for (const [block, effect] of expected.effects) left.set(block, effect);
        for (const block of expected.effects.keys())
          if (block !== "new") before.set(block, this.#model.block(block).text.read());
      }
      const name = this.#model.blocks.has(event.block) ? event.block : "new";
      const effect = left.get(name);
      left.delete(name);
      const block = this.#model.apply(event);
      if (effect === undefined) throw new Error(`${event.block} should not have been changed`);
      this.#checkEffect(block, effect, event);
    });
    expected ??= this.#nothingOf(call, early);
    expect([...left.keys()]).toEqual([]);
    call.check?.(answer, this.#model, before);
    for (const [block, base] of call.bases ?? [])
      if (base !== undefined)
        this.#model.show(call.caller.sight, block, this.#model.block(block).text.version);
    call.shows?.(answer, this.#model);
    const { actor } = call.caller;
    const repeats = early.kind === "read" && call.appended === undefined;
    if (call.input["call_id"] !== undefined && !repeats)
      this.#model.calls.push({ actor, tool: call.tool, input: call.input, answer });
  }

  /** It was answered and changed nothing: then there was nothing to change. */
  #nothingOf(call: Call, early: Expected): Expected {
    const late = call.expected(this.#model);
    for (const expected of [early, late]) {
      if (expected.kind === "read") return expected;
      if (expected.kind !== "refused" && expected.effects.size === 0) return expected;
    }
    throw new Error(`nothing was changed, but it should have been ${late.kind}`);
  }

  #checkEffect(block: ModelBlock, { wanted, facts }: Effect, event: FeedEvent): void {
    expect(factsOf(block)).toEqual(facts);
    if (wanted === undefined) {
      this.#count("undecided");
      return;
    }
    const now = block.text.visible();
    const same = (index: number): boolean => {
      const [is, want] = [now[index]!, wanted[index]!];
      return is === want || (is.text === want && is.edit === event.edit);
    };
    expect(block.text.read()).toBe(
      wanted.map((one) => (typeof one === "string" ? one : one.text)).join(""),
    );
    expect(now.findIndex((_, index) => !same(index))).toBe(-1);
  }

  #takeIn({ caller }: Call, { block, text }: { block: string; text: string }): void {
    const { actor } = caller;
    const key = `${actor} ${block}`;
    const stream = this.#model.streams.get(key) ?? { actor, block, pending: "", accepted: 0 };
    this.#model.streams.set(key, stream);
    stream.pending += text;
    stream.accepted += text.length;
  }

  /** Takes in what has happened: what a call itself did, and text that had been waiting. */
  async #follow(own: unknown, done: (event: FeedEvent) => void): Promise<void> {
    const { head } = this.#model;
    const invocation = { actor: "eve" };
    const input = { position: head, limit: 1000 };
    const answer = await registry.execute(this.#kernel!, "block_sync", invocation, input);
    const { events, truncated } = answer as { events: FeedEvent[]; truncated: boolean };
    expect(truncated).toBe(false);
    for (const event of events) {
      if (event.edit === own) done(event);
      else if (this.#restarted && event.actor === "system") this.#orphan(event);
      else this.#flushed(event);
    }
  }

  #flushed(event: FeedEvent): void {
    const { block: id, actor, edit, change } = event;
    const stream = this.#model.streams.get(`${actor} ${id}`);
    if (stream === undefined || change.kind !== "text")
      throw new Error(`nobody did ${JSON.stringify(event)}`);
    const block = this.#model.block(id);
    const facts = whenWritten(factsOf(block));
    const [splice, ...more] = change.splices;
    const { insert, ...place } = splice!;
    expect(more).toEqual([]);
    expect(place).toEqual({ at: block.text.read().length, remove: 0 });
    expect(stream.pending.slice(0, insert.length)).toBe(insert);
    // All that an actor appends until the stream ends is one Edit.
    stream.edit ??= edit;
    expect(edit).toBe(stream.edit);
    stream.pending = stream.pending.slice(insert.length);
    this.#model.apply(event);
    expect(factsOf(block)).toEqual(facts);
  }

  #orphan(event: FeedEvent): void {
    const { status, flags, metadata } = factsOf(this.#model.block(event.block));
    expect(status).toBe("running");
    const block = this.#model.apply(event);
    expect(factsOf(block)).toEqual({ status: "error", flags, metadata });
    expect(event).toMatchObject({ actor: "system", change: { kind: "structure" } });
  }

  #checkSettled({ settles }: Call): void {
    for (const { block, pending } of this.#model.streams.values())
      if (settles === "all" || settles?.includes(block) === true) expect(pending).toBe("");
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

type Outcome = { readonly answer: Answer } | { readonly refusal: KumikoError };
