import { join } from "node:path";
import { Kernel } from "../../src/kernel/index.ts";
import type { Store } from "../../src/kernel/ports.ts";
import { MemoryStore, openSqliteStore } from "../../src/store/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** One line of an answer. */
interface Line {
  readonly line: number;
  readonly match_start: number;
  readonly match_end: number;
  readonly content: string;
  readonly before: string[];
  readonly after: string[];
}

interface KernelAnswer {
  readonly blocks: {
    readonly block_id: string;
    readonly path?: string;
    readonly version: number;
    readonly matches: Line[];
    readonly truncated: boolean;
  }[];
  readonly kinds: string[];
  readonly truncated: boolean;
  readonly timed_out: boolean;
  readonly slow: string[];
  readonly unreadable: { block_id: string; why: string }[];
}

export interface BlockAnswer {
  readonly version: number;
  readonly matches: Line[];
  readonly truncated: boolean;
  readonly timed_out: boolean;
}

/** A kernel whose searches are tried: with a short deadline, over a store of either kind. */
export interface SearchWorkshop extends AsyncDisposable {
  readonly kernel: Kernel;
  readonly store: Store;
  /** The folder of the embedded store. */
  readonly folder: string;
  readonly warnings: string[];
  call<Answer>(tool: string, input: object, actor?: string): Promise<Answer>;
  create(content: string | undefined, more?: object): Promise<string>;
  search(input: object, actor?: string): Promise<KernelAnswer>;
  /** Closes the kernel and opens it again on what it left. */
  reopen(): Promise<void>;
}

export async function searchWorkshop(
  kind: "memory" | "sqlite",
  deadline = 10_000,
): Promise<SearchWorkshop> {
  const folder = temporaryFolder();
  const memory = new MemoryStore();
  const warnings: string[] = [];
  const registry = new ToolRegistry(blockTools);
  let now = 1_000;
  const open = async (): Promise<{ store: Store; kernel: Kernel }> => {
    const file = join(folder.path, "state.db");
    const store =
      kind === "sqlite"
        ? await openSqliteStore(file, { warn: (sentence) => warnings.push(sentence) })
        : new MemoryStore({ disk: memory.disk });
    const kernel = await Kernel.open({
      id: "test",
      store,
      clock: { now: () => now++ },
      timers: { after: () => ({ cancel: () => undefined }) },
      newPeer: () => String(7_000 + now++),
      search: { deadline },
    });
    return { store, kernel };
  };
  let opened = await open();
  await opened.kernel.contexts.create("main", "ann");
  const call = async <Answer>(tool: string, input: object, actor = "ann"): Promise<Answer> => {
    const answer = await registry.execute(opened.kernel, tool, { actor, context: "main" }, input);
    const { output } = registry.list().find(({ name }) => name === tool)!;
    return output.parse(answer) as Answer;
  };
  return {
    get kernel() {
      return opened.kernel;
    },
    get store() {
      return opened.store;
    },
    folder: folder.path,
    warnings,
    call,
    async create(content, more = {}) {
      const input = { role: "user", kind: "text", content, ...more };
      return (await call<{ block_id: string }>("block_create", input)).block_id;
    },
    search: (input, actor) =>
      call("kernel_search", { kinds: ["text"], max_blocks: 1000, ...input }, actor),
    async reopen() {
      await opened.kernel[Symbol.asyncDispose]();
      opened = await open();
    },
    async [Symbol.asyncDispose]() {
      await opened.kernel[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
