import { KumikoError } from "../base/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import type { Tool } from "./define-tool.ts";

export type ToolFilter =
  | { readonly kind: "all" }
  | { readonly kind: "allow" | "deny"; readonly names: readonly string[] };

/** The tools there are. Doors, shells and models all call them here. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();

  constructor(tools: readonly Tool[]) {
    for (const tool of tools) {
      if (this.#tools.has(tool.name)) throw new Error(`two tools are called ${tool.name}`);
      this.#tools.set(tool.name, tool);
    }
  }

  list(filter: ToolFilter = { kind: "all" }): Tool[] {
    return [...this.#tools.values()].filter(({ name }) => allows(filter, name));
  }

  async execute(
    kernel: Kernel,
    name: string,
    invocation: Invocation,
    input: unknown,
    filter: ToolFilter = { kind: "all" },
  ): Promise<unknown> {
    // The seeds' names have a dot where models need an underscore.
    const tool = this.#tools.get(name.replace(".", "_"));
    if (tool === undefined || !allows(filter, tool.name)) throw this.#unknown(name, filter);
    invocation.signal?.throwIfAborted();
    return tool.run(kernel, invocation, input);
  }

  #unknown(name: string, filter: ToolFilter): KumikoError {
    const names = this.list(filter).map((tool) => tool.name);
    const nearest = names
      .map((known) => ({ known, distance: distance(name, known) }))
      .toSorted((a, b) => a.distance - b.distance)[0];
    const hint =
      nearest !== undefined && nearest.distance <= 4 ? ` Did you mean ${nearest.known}?` : "";
    return new KumikoError("unknown_tool", `There is no tool ${name}.${hint}`, {
      tool: name,
      tools: names,
    });
  }
}

function allows(filter: ToolFilter, name: string): boolean {
  if (filter.kind === "all") return true;
  return filter.names.includes(name) === (filter.kind === "allow");
}

/** How many letters must be added, dropped or changed. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same));
    }
    row = next;
  }
  return row[right.length]!;
}
