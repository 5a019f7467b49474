/**
 * A kernel with three clients that call tools, while the parent (test/kernel-crash.test.ts) kills the process
 * or makes its disk fail. Prints what each client began and was told: one line of JSON each.
 *
 *   kernel-child.ts kill <home> <calls of an earlier life to retry, as JSON>
 *   kernel-child.ts faults <folder> <errno> <points, by commas>      with FAULT_CONTROL
 */

import { writeSync } from "node:fs";
import { join } from "node:path";
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import { KumikoError } from "../../src/base/index.ts";
import type { Kernel, World } from "../../src/kernel/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { faultsAt, noFaults } from "./fault-library.ts";

const CLIENTS = 3;
const registry = new ToolRegistry(blockTools);
const [mode, folder, third = "[]", points = ""] = process.argv.slice(2) as [
  string,
  string,
  string?,
  string?,
];

/** A call that is made again as it is until it is answered: its id makes that safe. */
export interface Retried {
  readonly actor: string;
  readonly tool: string;
  readonly input: { readonly call_id: string; readonly block_id?: string; readonly edit?: string };
  /** A text that only this call inserts, or removes when it undoes. */
  readonly token: string;
}

/** What a client was told of one call. */
export interface Told {
  readonly point: number;
  readonly ready?: number;
  /** Said before the call is made. */
  readonly began?: Retried;
  readonly call?: string;
  /** The blocks it changed and their versions, when it was acknowledged. */
  readonly blocks?: readonly { readonly block_id: string; readonly version: number }[];
  readonly edit?: string;
  readonly token?: string;
  readonly undone?: boolean;
  readonly refused?: string;
  readonly outcome?: string;
  readonly note?: string;
}

interface Answer {
  readonly block_id?: string;
  readonly version?: number;
  readonly durable_version?: number;
  readonly edit?: string;
  readonly blocks?: readonly { readonly block_id: string; readonly version: number }[];
}

function tell(told: Told): void {
  // Synchronous: what was acknowledged must be out before the process can die.
  writeSync(1, `${JSON.stringify(told)}\n`);
}

function open(home: string): World {
  return openWorld(new HomeFolder(home, "test"), (report) => {
    throw new Error(`damage: ${JSON.stringify(report)}`);
  });
}

class Client {
  readonly #kernel: Kernel;
  readonly #point: number;
  readonly #actor: string;
  readonly #blocks: string[] = [];
  #last: { edit: string; token: string } | undefined;

  constructor(kernel: Kernel, point: number, number: number) {
    this.#kernel = kernel;
    this.#point = point;
    this.#actor = `client-${number}`;
  }

  /** One call; whatever kind is next. */
  async step(round: number): Promise<boolean> {
    const token = `<${this.#point}-${process.pid}-${this.#actor}-${round}>`;
    try {
      if (this.#blocks.length < 2) await this.#create(token);
      else if (round % 7 === 6 && this.#last !== undefined) await this.#undo(this.#last, token);
      else if (round % 3 === 0) await this.#append(token);
      else if (round % 5 === 4) await this.#patchBoth(token);
      else await this.#edit(token);
      return true;
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      const { outcome } = error.facts;
      tell({
        point: this.#point,
        token,
        refused: error.code,
        ...(typeof outcome === "string" && { outcome }),
      });
      this.#last = undefined;
      return false;
    }
  }

  async #create(token: string): Promise<void> {
    const input = { role: "model", kind: "text", content: `${token}\nline\n`, call_id: token };
    const { block_id } = await this.#write({ tool: "block_create", input, token });
    this.#blocks.push(block_id!);
  }

  async #append(token: string): Promise<void> {
    const input = { block_id: this.#blocks[0]!, text: `${token}\n`, call_id: token };
    await this.#write({ tool: "block_append", input, token });
  }

  async #edit(token: string): Promise<void> {
    const block_id = this.#blocks[1]!;
    const invocation = { actor: this.#actor, context: "main" };
    const read = await registry.execute(this.#kernel, "block_read", invocation, { block_id });
    const operations = [{ op: "insert", line: 0, content: token }];
    const base_version = (read as { version: number }).version;
    const input = { block_id, operations, base_version, call_id: token };
    const { edit } = await this.#write({ tool: "block_edit", input, token });
    this.#last = { edit: edit!, token };
  }

  async #undo({ edit, token }: { edit: string; token: string }, call_id: string): Promise<void> {
    this.#last = undefined;
    await this.#write({ tool: "block_undo", input: { edit, call_id }, token });
  }

  /** One Edit over two blocks. */
  async #patchBoth(token: string): Promise<void> {
    const edit = await this.#kernel.editText(
      { actor: this.#actor },
      {
        blocks: this.#blocks,
        operation: "change",
        translate: () => [{ at: 0, remove: 0, insert: `${token}\n` }],
        answer: ({ edit: id, changes }) => ({
          id,
          blocks: changes.map(({ block, version }) => ({ block_id: block, version })),
        }),
      },
    );
    this.#last = { edit: edit.id, token };
    tell({ point: this.#point, token, edit: edit.id, blocks: edit.blocks });
  }

  /** Says what it begins, makes the call, and makes it once more: the answer is the same. */
  async #write(call: Omit<Retried, "actor">): Promise<Answer> {
    const began = { actor: this.#actor, ...call };
    tell({ point: this.#point, began });
    const answer = await make(this.#kernel, this.#point, began);
    try {
      const again = await registry.execute(this.#kernel, call.tool, asked(began), call.input);
      if (JSON.stringify(again) !== JSON.stringify(answer))
        tell({ point: this.#point, note: `a retry of ${call.tool} was answered otherwise` });
    } catch (error) {
      // It was acknowledged; a disk that fails just now may keep that from being said again.
      if (!(error instanceof KumikoError) || mode === "kill") throw error;
      tell({ point: this.#point, refused: error.code });
    }
    return answer;
  }
}

function asked({ actor }: Retried): { actor: string; context: string } {
  return { actor, context: "main" };
}

async function make(kernel: Kernel, point: number, began: Retried): Promise<Answer> {
  const { tool, input, token } = began;
  const answer = (await registry.execute(kernel, tool, asked(began), input)) as Answer;
  const { block_id = input.block_id!, version = answer.durable_version!, edit } = answer;
  const blocks = answer.blocks?.map((each) => ({
    block_id: each.block_id,
    version: each.version,
  })) ?? [{ block_id, version }];
  tell({
    point,
    call: input.call_id,
    token,
    blocks,
    ...(edit !== undefined && { edit }),
    ...(tool === "block_undo" && { undone: true }),
  });
  return answer;
}

async function untilKilled(): Promise<void> {
  await using world = open(folder);
  const kernel = await world.openOrCreate("main");
  await haveContext(kernel);
  tell({ point: 0, ready: performance.now() });
  for (const began of JSON.parse(third) as Retried[]) await make(kernel, 0, began);
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, number) => {
      const client = new Client(kernel, 0, number);
      for (let round = 0; ; round++) {
        if (!(await client.step(round))) throw new Error("refused on a disk that works");
      }
    }),
  );
}

async function haveContext(kernel: Kernel): Promise<void> {
  const contexts = await kernel.contexts.list();
  if (contexts.length === 0) await kernel.contexts.create("main", "test");
}

/** Fails at one point: once, for good, or with a write cut short, as the point goes. */
async function atPoint(point: number): Promise<void> {
  await using world = open(join(folder, `point-${point}`));
  faultsAt(point, Number(third));
  let kernel: Kernel;
  try {
    kernel = await world.openOrCreate("main");
    await haveContext(kernel);
  } catch (error) {
    noFaults();
    tell({ point, note: `not opened: ${String(error)}` });
    return;
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, number) => {
      const client = new Client(kernel, point, number);
      for (let round = 0; round < 10; round++) await client.step(round);
    }),
  );
  noFaults();
  // The disk works again: so must the kernel, without being opened anew.
  const after = new Client(kernel, point, CLIENTS);
  for (let round = 0; round < 3; round++) {
    if (!(await after.step(round))) tell({ point, note: "did not resume" });
  }
}

if (mode === "kill") await untilKilled();
else for (const point of points.split(",")) await atPoint(Number(point));
