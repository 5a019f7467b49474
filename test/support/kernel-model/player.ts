import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { KumikoError } from "../../../src/base/index.ts";
import { Kernel, type Store } from "../../../src/kernel/index.ts";
import { errorBody, type FeedEvent } from "../../../src/protocol/index.ts";
import { blockTools, ToolRegistry } from "../../../src/tools/index.ts";
import { FakeTime } from "../kernel-workshop.ts";
import type { Answer, Call, Effect, Expected } from "./call.ts";
import { textOf } from "./characters.ts";
import { CONTEXTS, type Dice } from "./dice.ts";
import { Follower } from "./follower.ts";
import { factsOf, type Model, type ModelBlock } from "./model.ts";

const registry = new ToolRegistry(blockTools);
const outputs = new Map(registry.list().map(({ name, output }) => [name, output]));

type Outcome = { readonly answer: Answer } | { readonly refusal: KumikoError };

/** Makes calls of a kernel's tools and compares what comes of them with the model. */
export class Player {
  readonly #model: Model;
  readonly #dice: Dice;
  readonly #open: () => Promise<Store>;
  readonly #time = new FakeTime();
  readonly #follower: Follower;
  #kernel: Kernel | undefined;
  #peers = 100;
  readonly trace: string[] = [];
  /** How often each tool answered, each refusal was given, and what else came about. */
  readonly counts = new Map<string, number>();

  constructor(model: Model, dice: Dice, open: () => Promise<Store>) {
    this.#model = model;
    this.#dice = dice;
    this.#open = open;
    this.#follower = new Follower(model);
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
    const known = (await this.#kernel.contexts.list()).map(({ context }) => context);
    for (const context of CONTEXTS)
      if (!known.includes(context)) await this.#kernel.contexts.create(context, "ann");
  }

  async stop(): Promise<void> {
    await this.#kernel![Symbol.asyncDispose]();
  }

  /** Closes the kernel and opens it again. What ran is over as soon as anyone writes. */
  async restart(): Promise<void> {
    this.trace.push("restart");
    await this.stop();
    await this.start();
    this.#follower.restarted = true;
    await this.#follow();
    for (const { pending } of this.#model.streams.values()) expect(pending).toBe("");
    this.#model.restart();
    const facts = { status: "pending", flags: {}, metadata: {} };
    await this.play({
      tool: "block_create",
      caller: { actor: "ann", reader: undefined, sight: "ann" },
      input: { role: "system", kind: "text", context: "main" },
      expected: () => ({ kind: "written", effects: new Map([["new", { wanted: [], facts }]]) }),
    });
    this.#follower.restarted = false;
    expect(this.#model.all.filter((block) => factsOf(block).status === "running")).toEqual([]);
  }

  /** Time that passes: what waits for a silence is written then. */
  async pass(milliseconds: number): Promise<void> {
    this.trace.push(`${milliseconds} ms pass`);
    this.#time.pass(milliseconds);
    await setImmediate();
    await this.#follow();
  }

  /** Makes one call, twice at once if it may be retried and chance will have it. */
  async play(call: Call): Promise<void> {
    const { tool, caller, input } = call;
    this.trace.push(`${caller.actor} ${tool} ${JSON.stringify(input)}`);
    const early = call.expected(this.#model);
    const times = input["call_id"] !== undefined && this.#dice.chance(0.2) ? 2 : 1;
    const made = Array.from({ length: times }, () => this.#execute(call));
    const [outcome, again] = await Promise.all(made);
    if (again !== undefined) expect(again).toEqual(outcome);
    const what = "refusal" in outcome! ? outcome.refusal.code : tool;
    this.trace.push(`  ${what}`);
    this.#count(what);
    if ("refusal" in outcome!) await this.#refused(call, early, outcome.refusal);
    else await this.#answered(call, early, outcome!.answer);
    for (const [key, stream] of this.#model.streams) {
      const { settles } = call;
      const ends = call.ends?.(stream) === true;
      if (ends || settles === "all" || settles?.includes(stream.block) === true)
        expect(stream.pending).toBe("");
      if (ends) this.#model.streams.delete(key);
    }
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

  /** Nothing of it may have happened; only text that had been waiting may have been written. */
  async #refused(call: Call, early: Expected, refusal: KumikoError): Promise<void> {
    const { head } = this.#model;
    await this.#follow();
    const codes = [early, call.expected(this.#model)].map((expected) =>
      expected.kind === "unsure" ? "conflict" : expected.kind === "refused" && expected.code,
    );
    if (!codes.includes(refusal.code))
      throw new Error("it was refused without a reason", { cause: refusal });
    if (refusal.code !== "conflict") return;
    for (const id of call.bases!.keys()) {
      const version = Number(refusal.facts["version"]);
      if (this.#model.head === head) expect(version).toBe(this.#model.block(id).text.version);
      this.#model.advance(call.caller.sight, id, version);
    }
  }

  async #answered(call: Call, early: Expected, answer: Answer): Promise<void> {
    const { caller, appended } = call;
    if (appended !== undefined) this.#takeIn(caller.actor, appended.block, appended.text);
    const before = new Map<string, string>();
    const left = new Map<string, Effect>();
    let expected: Expected | undefined;
    const own = early.kind === "read" ? undefined : answer["edit"];
    await this.#follow(own, (event) => {
      if (expected === undefined) {
        expected = call.expected(this.#model);
        if (!("effects" in expected)) throw new Error(`it should be ${JSON.stringify(expected)}`);
        for (const [name, effect] of expected.effects) {
          left.set(name, effect);
          before.set(name, this.#model.blocks.get(name)?.text.read() ?? "");
        }
      }
      const name = this.#model.blocks.has(event.block) ? event.block : "new";
      const effect = left.get(name);
      if (effect === undefined) throw new Error(`${event.block} should not have been changed`);
      left.delete(name);
      this.#checkEffect(this.#model.apply(event, call.tool), effect, event.edit);
    });
    if (expected === undefined) this.#checkUnchanged(call, early);
    expect([...left.keys()]).toEqual([]);
    call.check?.(answer, this.#model, before);
    this.#tellReader(call, answer, before);
    const repeated = early.kind === "read" && appended === undefined;
    if (call.input["call_id"] !== undefined && !repeated)
      this.#model.calls.push({ ...call, actor: caller.actor, answer });
  }

  #checkEffect(block: ModelBlock, { wanted, facts }: Effect, edit: string): void {
    expect(factsOf(block)).toEqual(facts);
    if (wanted === undefined) return this.#count("undecided");
    expect(block.text.read()).toBe(textOf(wanted));
    const other = block.text.visible().findIndex((character, index) => {
      const want = wanted[index];
      return character !== want && (character.text !== want || character.edit !== edit);
    });
    expect(other, "the first character that is not the one it should be").toBe(-1);
  }

  /** It was answered and changed nothing: then there was nothing to change. */
  #checkUnchanged(call: Call, early: Expected): void {
    const late = call.expected(this.#model);
    const idle = [early, late].some(
      (expected) =>
        expected.kind === "read" || ("effects" in expected && expected.effects.size === 0),
    );
    if (!idle) throw new Error(`nothing was changed, and it should be ${late.kind}`);
  }

  #tellReader(call: Call, answer: Answer, before: ReadonlyMap<string, string>): void {
    const { sight } = call.caller;
    for (const [block, base] of call.bases ?? []) {
      if (base === undefined) continue;
      const { version } = this.#model.block(block).text;
      if (before.has(block) && base < version - 1) this.#count("merged");
      this.#model.advance(sight, block, version);
    }
    call.shows?.(answer, this.#model);
  }

  #takeIn(actor: string, block: string, text: string): void {
    const key = `${actor} ${block}`;
    const stream = this.#model.streams.get(key) ?? { actor, block, pending: "", accepted: 0 };
    this.#model.streams.set(key, stream);
    stream.pending += text;
    stream.accepted += text.length;
  }

  async #follow(own?: unknown, done: (event: FeedEvent) => void = () => undefined): Promise<void> {
    // What was appended may be written just while this is asked for.
    while (this.#kernel!.feed.head !== this.#model.head) {
      const { head } = this.#kernel!.feed;
      // Not by a tool: that would have everything written that waits.
      const { events, position } = await this.#kernel!.feed.page(this.#model.head, 1000);
      expect(position).toBeGreaterThanOrEqual(head);
      this.#follower.follow(events, own, done);
    }
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
