/** A kernel as the product opens it, in a folder of its own, and the plain SQLite it is measured against. */
import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import type { Kernel } from "../../src/kernel/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";

const registry = new ToolRegistry(blockTools);

export interface BenchKernel extends AsyncDisposable {
  readonly kernel: Kernel;
  readonly home: string;
  call<Answer>(tool: string, input: unknown, actor?: string): Promise<Answer>;
  /** Makes a block and gives its id. */
  create(content: string, actor?: string): Promise<string>;
  /** Closes the kernel, as at the end of a day; its files stay until the end. */
  rest(): Promise<void>;
}

export async function benchKernel(): Promise<BenchKernel> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(temporaryFolder());
  const world = opening.use(
    openWorld(new HomeFolder(folder.path, "bench"), (report) => {
      throw new Error(`damage in a bench: ${JSON.stringify(report)}`);
    }),
  );
  const kernel = await world.openOrCreate("bench");
  await kernel.contexts.create("main", "ann");
  const owned = opening.move();
  const call = async <Answer>(tool: string, input: unknown, actor = "ann"): Promise<Answer> =>
    (await registry.execute(kernel, tool, { actor, context: "main" }, input)) as Answer;
  return {
    kernel,
    home: folder.path,
    call,
    async create(content, actor) {
      const input = { role: "model", kind: "text", ...(content !== "" && { content }) };
      return (await call<{ block_id: string }>("block_create", input, actor)).block_id;
    },
    rest: () => world.close("bench"),
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

/** Transactions a second of one row each, fsynced, on the disk the kernels are on. */
export function rawTransactions(count: number, text: (index: number) => string): number {
  using folder = temporaryFolder();
  const database = new Database(join(folder.path, "raw.db"));
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec("CREATE TABLE tokens (id INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  const insert = database.prepare<[string]>("INSERT INTO tokens (text) VALUES (?)");
  const begun = performance.now();
  for (let index = 0; index < count; index++) insert.run(text(index));
  const seconds = (performance.now() - begun) / 1000;
  database.close();
  return count / seconds;
}

export function fileBytes(kernel: BenchKernel, name: string): number {
  return (
    statSync(join(kernel.home, "kernels", "bench", name), { throwIfNoEntry: false })?.size ?? 0
  );
}
