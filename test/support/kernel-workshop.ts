import { KumikoError } from "../../src/base/index.ts";
import { translateEdit } from "../../src/blocks/index.ts";
import { type DamageReport, Kernel, type Store } from "../../src/kernel/index.ts";
import type { KernelOptions } from "../../src/kernel/kernel-parts.ts";
import type { EditOperation } from "../../src/protocol/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";

export type Answer = { [name: string]: unknown };

interface Timer {
  readonly at: number;
  run(): void;
}

/** A clock that goes on only when asked, and what waits for it. */
export class FakeTime {
  now = 1_000;
  #timers: Timer[] = [];

  readonly clock = { now: (): number => this.now };
  readonly timers = {
    after: (milliseconds: number, run: () => void): { cancel(): void } => {
      const timer: Timer = { at: this.now + milliseconds, run };
      this.#timers.push(timer);
      return { cancel: () => void (this.#timers = this.#timers.filter((each) => each !== timer)) };
    },
  };

  get waiting(): number {
    return this.#timers.length;
  }

  /** Runs what is due by then, in order. */
  pass(milliseconds: number): void {
    const end = this.now + milliseconds;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    this.now = end;
  }
}

/** A kernel on a store, with its tools, a clock of its own and one context. */
export class Workshop implements AsyncDisposable {
  readonly kernel: Kernel;
  readonly time: FakeTime;
  readonly damages: DamageReport[];
  readonly #registry = new ToolRegistry(blockTools);

  private constructor(kernel: Kernel, time: FakeTime, damages: DamageReport[]) {
    this.kernel = kernel;
    this.time = time;
    this.damages = damages;
  }

  static async open(
    store: Store,
    options: {
      time?: FakeTime;
      context?: string;
    } & Pick<KernelOptions, "server" | "liveDocuments" | "authorise"> = {},
  ): Promise<Workshop> {
    const { time = new FakeTime(), context = "main", ...rest } = options;
    const damages: DamageReport[] = [];
    let peers = time.now;
    const kernel = await Kernel.open({
      id: "test",
      store,
      clock: time.clock,
      timers: time.timers,
      newPeer: () => String(++peers),
      onDamage: (report) => damages.push(report),
      ...rest,
    });
    const known = (await kernel.contexts.list()).some((each) => each.context === context);
    if (!known) await kernel.contexts.create(context, "ann");
    return new Workshop(kernel, time, damages);
  }

  async call(actor: string, tool: string, input: object): Promise<Answer> {
    const definition = this.#registry.list().find(({ name }) => name === tool);
    const answer = await this.#registry.execute(
      this.kernel,
      tool,
      { actor, context: "main" },
      input,
    );
    return (definition === undefined ? answer : definition.output.parse(answer)) as Answer;
  }

  async refusal(actor: string, tool: string, input: object): Promise<KumikoError> {
    try {
      const answer = await this.call(actor, tool, input);
      throw new Error(`was not refused, but gave ${JSON.stringify(answer)}`);
    } catch (error) {
      if (error instanceof KumikoError) return error;
      throw error;
    }
  }

  async create(actor: string, content?: string): Promise<string> {
    const made = await this.call(actor, "block_create", {
      role: "user",
      kind: "text",
      ...(content !== undefined && { content }),
    });
    return made["block_id"] as string;
  }

  /** One Edit over several blocks, by line. */
  edit(
    actor: string,
    operations: ReadonlyMap<string, readonly EditOperation[]>,
  ): Promise<{ edit: string; versions: Map<string, number> }> {
    return this.kernel.editText(
      { actor },
      {
        blocks: [...operations.keys()],
        operation: "change",
        translate: (target, block) => translateEdit(target, operations.get(block)!, target.version),
        answer: ({ edit, changes }) => ({
          edit,
          versions: new Map(changes.map(({ block, version }) => [block, version])),
        }),
      },
    );
  }

  async text(block: string): Promise<string> {
    return (await this.kernel.read(block)).text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kernel[Symbol.asyncDispose]();
  }
}
