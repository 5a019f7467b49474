import { changesBetween, KumikoError } from "../base/index.ts";
import {
  checkNotAborted,
  type Invocation,
  type Kernel,
  type UnsavedFile,
} from "../kernel/index.ts";
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

  /** One of those, without looking through all of them. */
  find(name: string, filter: ToolFilter = { kind: "all" }): Tool | undefined {
    const tool = this.#find(name, filter);
    return tool !== undefined && "run" in tool ? tool : undefined;
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
    const tool = this.find(name, filter);
    if (tool === undefined) {
      const stream = this.#find(name, filter);
      const hint = stream && `${stream.name} is a stream: it can be subscribed to, not called.`;
      throw unknownTool(name, this.list(filter), this.list(), hint);
    }
    checkNotAborted(invocation);
    const unsaved: UnsavedFile[] = [];
    const onUnsaved = (file: UnsavedFile): void => void unsaved.push(file);
    const answer = await tool.run(kernel, { ...invocation, onUnsaved }, input);
    // Whoever's text did not stand hears of it here: an agent listens to nothing else. A tool that is about conflicts says
    // itself which there are; what it leaves out is told with the next call.
    const isAboutThem = typeof answer === "object" && answer !== null && "conflicts" in answer;
    const conflicts = isAboutThem ? [] : kernel.tell(invocation);
    const told = {
      ...(conflicts.length > 0 && { conflicts }),
      ...(unsaved.length > 0 && { unsaved }),
    };
    return Object.keys(told).length === 0 || typeof answer !== "object"
      ? answer
      : { ...answer, ...told };
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
      throw unknownTool(name, this.streams(filter), this.streams(), hint);
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

/** Letters that a hand may get wrong; what is farther away is another word. */
const SLIP = 2;

interface NamedTool {
  readonly name: string;
}

/** The nearest of all is named, also when it is left out here: of few, one that does the opposite may be the nearest. */
function unknownTool(
  name: string,
  offered: readonly NamedTool[],
  all: readonly NamedTool[],
  why: string | undefined,
): KumikoError {
  const names = byDistance(name, offered);
  // Of two that are as near, the one that can be called.
  const [nearest] = byDistance(name, [...offered, ...all]);
  const meant = nearest !== undefined && nearest.distance <= SLIP;
  const leftOut = meant && names.every(({ known }) => known !== nearest.known);
  const near = !meant
    ? ""
    : leftOut
      ? ` ${nearest.known} is left out here.`
      : ` Did you mean ${nearest.known}?`;
  const listed = names.map(({ known }) => known);
  const there = listed.length === 0 ? " There are none here." : ` There are: ${listed.join(", ")}.`;
  return new KumikoError("unknown_tool", `${why ?? `There is no tool ${name}.${near}`}${there}`, {
    tool: name,
    tools: offered.map((tool) => tool.name),
    ...(leftOut && { left_out: nearest.known }),
  });
}

interface Near {
  readonly known: string;
  readonly distance: number;
}

function byDistance(name: string, tools: readonly NamedTool[]): Near[] {
  return tools
    .map(({ name: known }) => ({ known, distance: changesBetween(name.replace(".", "_"), known) }))
    .toSorted((a, b) => a.distance - b.distance);
}

function allows(filter: ToolFilter, name: string): boolean {
  if (filter.kind === "all") return true;
  return filter.names.includes(name) === (filter.kind === "allow");
}
