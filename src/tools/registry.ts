import { changesBetween, KumikoError } from "../base/index.ts";
import { checkNotAborted, type Invocation, type Kernel } from "../kernel/index.ts";
import type { StreamingTool, Tool } from "./define-tool.ts";

export type ToolFilter =
  | { readonly kind: "all" }
  | { readonly kind: "allow" | "deny"; readonly names: readonly string[] };

/** The tools there are. Doors, shells and models all call them here. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool | StreamingTool>();

  constructor(tools: readonly (Tool | StreamingTool)[]) {
    for (const tool of tools) {
      if (this.#tools.has(tool.name)) throw new Error(`two tools are called ${tool.name}`);
      this.#tools.set(tool.name, tool);
    }
  }

  /** What models and scripts can call. */
  list(filter: ToolFilter = { kind: "all" }): Tool[] {
    return this.#allowed(filter).filter((tool) => "run" in tool);
  }

  /** What programs can listen to. */
  streams(filter: ToolFilter = { kind: "all" }): StreamingTool[] {
    return this.#allowed(filter).filter((tool) => "stream" in tool);
  }

  async execute(
    kernel: Kernel,
    name: string,
    invocation: Invocation,
    input: unknown,
    filter: ToolFilter = { kind: "all" },
  ): Promise<unknown> {
    const tool = this.#find(name, filter);
    if (tool === undefined || !("run" in tool)) {
      const hint =
        tool === undefined
          ? undefined
          : `${tool.name} is a stream: it can be subscribed to, not called.`;
      throw unknownTool(name, this.list(filter), hint);
    }
    checkNotAborted(invocation);
    const answer = await tool.run(kernel, invocation, input);
    // Whoever's text did not stand hears of it here: an agent listens to nothing else.
    const conflicts = kernel.tell(invocation.actor);
    return conflicts.length === 0 || typeof answer !== "object" ? answer : { ...answer, conflicts };
  }

  stream(
    kernel: Kernel,
    name: string,
    invocation: Invocation,
    input: unknown,
    filter: ToolFilter = { kind: "all" },
  ): AsyncIterable<unknown> {
    const tool = this.#find(name, filter);
    if (tool === undefined || !("stream" in tool)) {
      const hint = tool === undefined ? undefined : `${tool.name} answers once: call it.`;
      throw unknownTool(name, this.streams(filter), hint);
    }
    checkNotAborted(invocation);
    return tool.stream(kernel, invocation, input);
  }

  #allowed(filter: ToolFilter): (Tool | StreamingTool)[] {
    return [...this.#tools.values()].filter(({ name }) => allows(filter, name));
  }

  #find(name: string, filter: ToolFilter): Tool | StreamingTool | undefined {
    // The seeds' names have a dot where models need an underscore.
    const tool = this.#tools.get(name.replace(".", "_"));
    return tool !== undefined && allows(filter, tool.name) ? tool : undefined;
  }
}

function unknownTool(
  name: string,
  tools: readonly { readonly name: string }[],
  why: string | undefined,
): KumikoError {
  const names = tools.map((tool) => tool.name);
  const byDistance = names
    .map((known) => ({ known, distance: changesBetween(name, known) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [nearest] = byDistance;
  const near =
    nearest !== undefined && nearest.distance <= 4 ? ` Did you mean ${nearest.known}?` : "";
  const all = byDistance.map(({ known }) => known).join(", ");
  const there = all === "" ? " There are none here." : ` There are: ${all}.`;
  return new KumikoError("unknown_tool", `${why ?? `There is no tool ${name}.${near}`}${there}`, {
    tool: name,
    tools: names,
  });
}

function allows(filter: ToolFilter, name: string): boolean {
  if (filter.kind === "all") return true;
  return filter.names.includes(name) === (filter.kind === "allow");
}
