/**
 * A kernel with three clients that call tools, while the parent (test/kernel-crash.test.ts) kills the process
 * or makes its disk fail. Prints what each client was told: one line of JSON each.
 *
 *   kernel-child.ts kill <home>
 *   kernel-child.ts faults <folder> <errno> <points, by commas>      with FAULT_CONTROL
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { HomeFolder, openWorld } from "../../src/app/index.ts";
import { KumikoError } from "../../src/base/index.ts";
import type { Kernel, World } from "../../src/kernel/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";

const CLIENTS = 3;
const registry = new ToolRegistry(blockTools);
const [mode, folder, errno, points] = process.argv.slice(2) as [string, string, string, string];

/** What a client was told of one call. */
export interface Told {
  readonly point: number;
  readonly ready?: number;
  /** The blocks it changed and their versions, when it was acknowledged. */
  readonly blocks?: readonly { readonly block_id: string; readonly version: number }[];
  readonly edit?: string;
  /** A text that only this call inserted, or removed when `undone`. */
  readonly token?: string;
  readonly undone?: boolean;
  readonly refused?: string;
  readonly outcome?: string;
  readonly note?: string;
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
      else if (round % 7 === 6 && this.#last !== undefined) await this.#undo(this.#last);
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
    const input = { role: "model", kind: "text", content: `${token}\nline\n` };
    const { block_id } = await this.#call<{ block_id: string }>("block_create", input);
    this.#blocks.push(block_id);
    tell({ point: this.#point, token, blocks: [{ block_id, version: 1 }] });
  }

  async #append(token: string): Promise<void> {
    const block_id = this.#blocks[0]!;
    const input = { block_id, text: `${token}\n`, flush: true };
    const { durable_version } = await this.#call<{ durable_version: number }>(
      "block_append",
      input,
    );
    tell({ point: this.#point, token, blocks: [{ block_id, version: durable_version }] });
  }

  async #edit(token: string): Promise<void> {
    const block_id = this.#blocks[1]!;
    const { version } = await this.#call<{ version: number }>("block_read", { block_id });
    const operations = [{ op: "insert", line: 0, content: token }];
    const input = { block_id, operations, base_version: version };
    const answer = await this.#call<{ version: number; edit: string }>("block_edit", input);
    this.#acknowledge(token, answer.edit, [{ block_id, version: answer.version }]);
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
    this.#acknowledge(token, edit.id, edit.blocks);
  }

  async #undo({ edit, token }: { edit: string; token: string }): Promise<void> {
    this.#last = undefined;
    const { blocks, ...answer } = await this.#call<{
      edit: string;
      blocks: { block_id: string; version: number }[];
    }>("block_undo", { edit });
    const changed = blocks.map(({ block_id, version }) => ({ block_id, version }));
    tell({ point: this.#point, edit: answer.edit, token, undone: true, blocks: changed });
  }

  #acknowledge(token: string, edit: string, blocks: NonNullable<Told["blocks"]>): void {
    this.#last = { edit, token };
    tell({ point: this.#point, token, edit, blocks });
  }

  async #call<Answer>(tool: string, input: unknown): Promise<Answer> {
    const invocation = { actor: this.#actor, context: "main" };
    return (await registry.execute(this.#kernel, tool, invocation, input)) as Answer;
  }
}

async function untilKilled(): Promise<void> {
  await using world = open(folder);
  const kernel = await world.openOrCreate("main");
  await haveContext(kernel);
  tell({ point: 0, ready: performance.now() });
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
  control([0, point, Number(errno), point % 3 === 1 ? 1 : 0, point % 3 === 2 ? 1 : 0, 0]);
  let kernel: Kernel;
  try {
    kernel = await world.openOrCreate("main");
    await haveContext(kernel);
  } catch (error) {
    control([0, 0, 0, 0, 0, 0]);
    tell({ point, note: `not opened: ${String(error)}` });
    return;
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, number) => {
      const client = new Client(kernel, point, number);
      for (let round = 0; round < 10; round++) await client.step(round);
    }),
  );
  control([0, 0, 0, 0, 0, 0]);
  // The disk works again: so must the kernel, without being opened anew.
  const after = new Client(kernel, point, CLIENTS);
  for (let round = 0; round < 3; round++) {
    if (!(await after.step(round))) tell({ point, note: "did not resume" });
  }
}

function control(values: readonly number[]): void {
  const bytes = Buffer.from(Int32Array.from(values).buffer);
  const file = openSync(process.env["FAULT_CONTROL"]!, "r+");
  writeSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
}

if (mode === "kill") await untilKilled();
else for (const point of points.split(",")) await atPoint(Number(point));
