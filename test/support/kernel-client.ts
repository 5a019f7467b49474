import { type Fact, KumikoError, type Random } from "../../src/base/index.ts";
import { translateEdit } from "../../src/blocks/index.ts";
import type { Kernel } from "../../src/kernel/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { CONTEXT, type Life } from "./kernel-life.ts";

/** A call of a tool that can be made again. */
export interface Call {
  readonly actor: string;
  readonly tool: string;
  readonly token: string;
  readonly input: { readonly [name: string]: unknown; readonly block_id?: string };
}

export interface ClientWorld {
  readonly kernel: Kernel;
  readonly life: Life;
  readonly random: Random;
  readonly time: { now: number };
  readonly blocks: string[];
  readonly timers: { pass(milliseconds: number): void };
}

interface EditAnswer {
  readonly block_id: string;
  readonly version: number;
  readonly edit: string;
}

interface ReadAnswer {
  readonly content: string;
  readonly version: number;
  readonly line_count: number;
  readonly status: string;
}

const registry = new ToolRegistry(blockTools);

/** One actor who does what chance will have it, and writes down what it was told. */
export class KernelClient {
  readonly #actor: string;
  readonly #world: ClientWorld;

  constructor(actor: string, world: ClientWorld) {
    this.#actor = actor;
    this.#world = world;
  }

  async act(unanswered: Call[]): Promise<void> {
    const { random, blocks, time, timers } = this.#world;
    const token = `[${this.#actor}-${time.now++}]`;
    const chance = random.next();
    if (blocks.length === 0 || chance < 0.12) return this.#create(token, unanswered);
    if (chance < 0.26) return this.#flip();
    if (chance < 0.46) return this.#append(token, unanswered);
    if (chance < 0.54) return this.#change(token, unanswered);
    if (chance < 0.6) return timers.pass(random.below(250));
    if (chance < 0.61 && random.next() < 0.3) return timers.pass(12_000);
    if (chance < 0.8) return this.#editOne(token, unanswered);
    return this.#editMany(token);
  }

  /** Makes a call, perhaps once more; what nobody answered is left for later. */
  async make(call: Call, unanswered: Call[]): Promise<unknown> {
    const { random, life } = this.#world;
    const retriable = call.input["call_id"] !== undefined;
    if (retriable && call.input.block_id !== undefined)
      life.planned.push({ token: call.token, blocks: [call.input.block_id] });
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.#once(call);
        if (!retriable || random.next() < 0.6) return answer;
        const again = await this.#run(call);
        if (JSON.stringify(again) !== JSON.stringify(answer)) life.different.push(call.token);
        return answer;
      } catch (error) {
        if (retriable && attempt === 0 && random.next() < 0.5) continue;
        if (retriable) unanswered.push(call);
        throw error;
      }
    }
  }

  async #once(call: Call): Promise<unknown> {
    const { life, blocks } = this.#world;
    const answer = await this.#run(call);
    if (call.tool !== "block_append") {
      const { block_id, version, edit } = answer as EditAnswer;
      const text = call.input["metadata"] === undefined;
      life.acknowledged.push({ block: block_id, version, edit, token: call.token, text });
      life.trace.push(`ack ${block_id} ${version} ${edit} ${call.token}`);
      if (!blocks.includes(block_id)) blocks.push(block_id);
    } else if (call.input["call_id"] !== undefined) {
      const { actor, token } = call;
      life.appended.push({ block: call.input.block_id!, actor, token, fate: "kept" });
    }
    return answer;
  }

  async #run({ actor, tool, input }: Call): Promise<unknown> {
    const { kernel } = this.#world;
    try {
      return await registry.execute(kernel, tool, { actor, context: CONTEXT }, input);
    } catch (error) {
      if (error instanceof KumikoError) this.#wasRefused(error, actor, input.block_id);
      throw error;
    }
  }

  /** Whoever makes a call again that nobody answered is told in the name of the one who made it first. */
  #wasRefused({ code, facts }: KumikoError, actor: string, block: string | undefined): void {
    const { life } = this.#world;
    const { version, around, lost } = facts;
    if (code === "conflict") {
      const lines = around as readonly { line: number; text: string }[] & Fact;
      life.refusals.push({ block: block!, version: version as number, lines });
    }
    // It may be about any of the streams of its author.
    if (lost === undefined) return;
    for (const each of this.#open(actor)) if (each.block === facts["block"]) each.fate = "told";
  }

  /** The same arguments with an id, now and then: such a call may be made again. */
  #callId(token: string, often: number): { call_id?: string } {
    return this.#world.random.next() < often ? { call_id: `call ${token}` } : {};
  }

  async #create(token: string, unanswered: Call[]): Promise<void> {
    const { random } = this.#world;
    const content = random.next() < 0.7 ? { content: `${token}\n` } : { metadata: { note: token } };
    const input = { role: "user", kind: "text", ...content, ...this.#callId(token, 0.5) };
    await this.make({ actor: this.#actor, tool: "block_create", token, input }, unanswered);
  }

  async #flip(): Promise<void> {
    const { life, random } = this.#world;
    const active = random.next() < 0.4;
    const tool = active ? "block_redo" : "block_undo";
    const call: Call = { actor: this.#actor, tool, token: "", input: {} };
    const flipped = await this.#run(call);
    const { edit, flipped: target, blocks } = flipped as Omit<Life["flips"][number], "active">;
    life.flips.push({ edit, flipped: target, blocks, active });
    life.trace.push(`flip ${edit} ${target}`);
  }

  async #append(token: string, unanswered: Call[]): Promise<void> {
    const { life, random, blocks } = this.#world;
    const block = random.pick(blocks);
    const once = this.#callId(token, 0.15);
    const flush = once.call_id === undefined && random.next() < 0.4;
    const text = random.next() < 0.5 ? `${token}\n` : token;
    const input = { block_id: block, text, ...once, ...(flush && { flush }) };
    const call: Call = { actor: this.#actor, tool: "block_append", token, input };
    if (once.call_id === undefined) life.planned.push({ token, blocks: [block] });
    await this.make(call, unanswered);
    if (once.call_id !== undefined) return;
    life.appended.push({ block, actor: this.#actor, token, fate: "open" });
    if (!flush) return;
    for (const each of this.#open(this.#actor)) if (each.block === block) each.fate = "kept";
  }

  #open(whose: string): Life["appended"] {
    return this.#world.life.appended.filter(
      ({ actor, fate }) => actor === whose && fate === "open",
    );
  }

  async #change(token: string, unanswered: Call[]): Promise<void> {
    const { random, blocks } = this.#world;
    const status = random.next() < 0.3 ? { status: random.pick(["running", "done"]) } : {};
    const input = {
      block_id: random.pick(blocks),
      metadata: { note: token },
      ...status,
      ...this.#callId(token, 0.4),
    };
    const call: Call = { actor: this.#actor, tool: "block_status", token, input };
    await this.make(call, unanswered);
  }

  async #read(block: string): Promise<ReadAnswer> {
    const { kernel, life } = this.#world;
    const invocation = { actor: this.#actor, context: CONTEXT };
    const input = { block_id: block, line_numbers: false };
    const read = (await registry.execute(kernel, "block_read", invocation, input)) as ReadAnswer;
    const { version, content: text, status } = read;
    life.seen.push({ block, version, text, status });
    return read;
  }

  async #editOne(token: string, unanswered: Call[]): Promise<void> {
    const { random, blocks, life } = this.#world;
    const block = random.pick(blocks);
    const read = await this.#read(block);
    // What it means may be what somebody read long ago.
    const earlier = life.seen.filter((each) => each.block === block);
    const { version, text } =
      random.next() < 0.4 ? random.pick(earlier) : { ...read, text: read.content };
    const lines = text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
    const line = random.below(Math.min(lines, 3) + 1);
    const operation =
      line < lines && random.next() < 0.7
        ? { op: "replace", start_line: line, end_line: line + 1, content: token }
        : { op: "insert", line, content: token };
    const base = version !== read.version || random.next() < 0.5 ? { base_version: version } : {};
    const input = {
      block_id: block,
      operations: [operation],
      ...base,
      ...this.#callId(token, 0.4),
    };
    if (input.call_id === undefined) life.planned.push({ token, blocks: [block] });
    await this.make({ actor: this.#actor, tool: "block_edit", token, input }, unanswered);
  }

  async #editMany(token: string): Promise<void> {
    const { kernel, random, blocks, life } = this.#world;
    const chosen = [...new Set([random.pick(blocks), random.pick(blocks), random.pick(blocks)])];
    const bases = new Map<string, number>();
    for (const block of chosen) bases.set(block, (await this.#read(block)).version);
    // An Edit of somebody else's is refused in the block that knows it, and so in all of them.
    const other = life.acknowledged.findLast(({ text }) => text);
    const taken = other !== undefined && random.next() < 0.15 ? other : undefined;
    const all = taken === undefined ? chosen : [...new Set([...chosen, taken.block])];
    life.planned.push({ token, blocks: all });
    const changed = await kernel.editText(
      { actor: taken === undefined ? this.#actor : "mallory" },
      {
        blocks: all,
        edit: taken?.edit,
        operation: "change",
        translate: (target, block) =>
          translateEdit(
            target,
            [{ op: "insert", line: 0, content: token }],
            bases.get(block) ?? target.version,
          ),
        answer: ({ edit, changes }) =>
          changes.map(({ block, version }) => ({ edit, block, version })),
      },
    );
    for (const { block, version, edit } of changed) {
      life.acknowledged.push({ block, version, edit, token, text: true });
      life.trace.push(`ack ${block} ${version} ${edit} ${token}`);
    }
  }
}
