import { RpcTarget } from "capnweb";
import type { Kernel } from "../../kernel/index.ts";
import { type RpcAnswers, type RpcContext, rpcInputs } from "../../protocol/index.ts";
import type { Caller } from "./caller.ts";
import { checkInput } from "./check-input.ts";
import type { Given } from "../principal.ts";
import { givenBy } from "./given.ts";

type Answers = RpcAnswers["Context"];
const inputs = rpcInputs.Context;
/** Blocks that are shown at once. */
const SHOWN = 100;

export interface ContextPorts {
  readonly caller: Caller;
  readonly id: string;
  kernel(): Kernel | Promise<Kernel>;
  /** What is said of calls that say nothing. */
  readonly given: Given;
}

interface Place {
  readonly context: string;
  readonly nick: string;
  readonly instance: string;
}

/** One context, as its holder sees it: calls made here belong to it. */
export class ContextTarget extends RpcTarget implements RpcContext {
  readonly #ports: ContextPorts;
  readonly #place: Place;
  readonly #held: Disposable;

  constructor(ports: ContextPorts, place: Place) {
    super();
    this.#ports = ports;
    this.#place = place;
    this.#held = ports.caller.hold();
  }

  async show(input?: unknown): Promise<Answers["show"]> {
    return this.#run("show", async (kernel) => {
      const { limit = SHOWN } = checkInput("show", inputs.show, input);
      this.#ports.caller.allow("read");
      const { context } = this.#place;
      const members = await kernel.contexts.members(context);
      const info = (await kernel.contexts.list()).find((each) => each.context === context);
      const lost = `There is no entry of ${context} any more.`;
      const listed = await this.#tool(kernel, "block_list", { context, depth: 100, limit });
      return {
        kernel: this.#ports.id,
        ...(info ?? { context, created: null, by: null, damaged: lost }),
        members,
        ...(listed as Pick<Answers["show"], "blocks" | "truncated" | "after">),
      };
    });
  }

  async members(input?: unknown): Promise<Answers["members"]> {
    return this.#run("members", async (kernel) => {
      checkInput("members", inputs.members, input);
      this.#ports.caller.allow("read");
      return kernel.contexts.members(this.#place.context);
    });
  }

  async blocks(input?: unknown): Promise<Answers["blocks"]> {
    return this.#run("blocks", async (kernel) =>
      this.#tool(kernel, "block_list", checkInput("blocks", inputs.blocks, input)),
    );
  }

  async post(input: unknown): Promise<Answers["post"]> {
    return this.#run("post", async (kernel) =>
      this.#tool(kernel, "block_create", checkInput("post", inputs.post, input)),
    );
  }

  async executeTool(input: unknown): Promise<Answers["executeTool"]> {
    return this.#run("executeTool", async (kernel) => {
      const call = checkInput("executeTool", inputs.executeTool, input);
      const given = { ...this.#given, ...givenBy(call), context: this.#place.context };
      return this.#ports.caller.tool(kernel, call.name, call.arguments ?? {}, given, call.cancel);
    });
  }

  async leave(input?: unknown): Promise<Answers["leave"]> {
    return this.#run("leave", async (kernel) => {
      checkInput("leave", inputs.leave, input);
      this.#ports.caller.allow("write");
      const member = { ...this.#place, kernel: this.#ports.id };
      return { left: await kernel.contexts.leave(member, this.#actor) };
    });
  }

  [Symbol.dispose](): void {
    this.#held[Symbol.dispose]();
  }

  get #given(): Given {
    return { ...this.#ports.given, context: this.#place.context };
  }

  get #actor(): string {
    return this.#ports.given.actor ?? this.#ports.caller.principal.actor;
  }

  #run<Result>(method: string, work: (kernel: Kernel) => Promise<Result>): Promise<Result> {
    return this.#ports.caller.run(method, async () => work(await this.#ports.kernel()));
  }

  #tool(kernel: Kernel, name: string, input: unknown): Promise<unknown> {
    return this.#ports.caller.tool(kernel, name, input, this.#given);
  }
}
