import type { RpcAnswers, RpcContext, RpcInputs } from "../protocol/index.ts";
import type { CallOptions, KumikoClient } from "./client.ts";
import type { KernelClient, ToolOptions } from "./kernel.ts";
import type { Link } from "./link.ts";

type Inputs = RpcInputs["Context"];
type Answers = RpcAnswers["Context"];

/** A context, and who one is in it. */
export type Place = Omit<RpcInputs["Kernel"]["openContext"], "trace">;

/** One context of a kernel, whichever connection there is: calls made here belong to it. */
export class ContextClient {
  readonly kernel: KernelClient;
  readonly #client: KumikoClient;
  readonly #place: Place;
  readonly #opened = new WeakMap<Link, RpcContext>();

  constructor(client: KumikoClient, kernel: KernelClient, place: Place) {
    this.#client = client;
    this.kernel = kernel;
    this.#place = place;
  }

  get context(): string {
    return this.#place.context;
  }

  show(input: Inputs["show"] = {}, options: CallOptions = {}): Promise<Answers["show"]> {
    return this.#call((context) => context.show(input), { ...options, retry: true });
  }

  members(options: CallOptions = {}): Promise<Answers["members"]> {
    return this.#call((context) => context.members(), { ...options, retry: true });
  }

  blocks(input: Inputs["blocks"] = {}, options: CallOptions = {}): Promise<Answers["blocks"]> {
    return this.#call((context) => context.blocks(input), { ...options, retry: true });
  }

  /** Creates a block; once, however often the connection is lost. */
  post(input: Inputs["post"], options: ToolOptions = {}): Promise<Answers["post"]> {
    return this.executeTool({ name: "block_create", arguments: input }, options);
  }

  executeTool(call: Inputs["executeTool"], options: ToolOptions = {}): Promise<unknown> {
    return this.kernel.executeTool({ ...call, context: this.context }, options);
  }

  leave(options: CallOptions = {}): Promise<Answers["leave"]> {
    return this.#call((context) => context.leave(), { ...options, retry: false });
  }

  #call<Result>(
    run: (context: RpcContext) => Promise<Result>,
    options: CallOptions & { readonly retry: boolean },
  ): Promise<Result> {
    return this.#client.call(async (link) => {
      try {
        return await run(this.#on(link));
      } catch (error) {
        // It may be created, or joined, before the next call.
        this.#opened.delete(link);
        throw error;
      }
    }, options);
  }

  #on(link: Link): RpcContext {
    let opened = this.#opened.get(link);
    if (opened === undefined) {
      const opening = link.kernel(this.kernel.id).openContext(this.#place);
      opened = opening as unknown as RpcContext;
      this.#opened.set(link, opened);
    }
    return opened;
  }
}
