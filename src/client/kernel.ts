import type { RpcAnswers, RpcInputs, RpcKernel } from "../protocol/index.ts";
import type { CallOptions, KumikoClient } from "./client.ts";
import { ContextClient, type Place } from "./context.ts";
import { Feed, type FeedListener, type FeedOptions } from "./feed.ts";
import type { PresenceClient } from "./presence.ts";
import type { Replica } from "./replica.ts";
import { fromWire } from "./wire-error.ts";

type Inputs = RpcInputs["Kernel"];
type Answers = RpcAnswers["Kernel"];

export interface ToolOptions extends CallOptions {
  /**
   * Sends the call again when the connection was lost, under the same call_id, so that it is carried out once. False
   * is for text that streams in by block_append: with a call_id each piece would be written by itself.
   */
  readonly retry?: boolean | undefined;
}

/**
 * One kernel of the server, whichever connection there is. Calls that only read, and those with a call_id, are made
 * again when the connection is lost; the others fail with `offline` and `sent: true`.
 */
export class KernelClient {
  readonly id: string;
  readonly #client: KumikoClient;

  constructor(client: KumikoClient, id: string) {
    this.#client = client;
    this.id = id;
  }

  /** What a tool answers is as the tool's schema says. */
  executeTool(call: Inputs["executeTool"], options: ToolOptions = {}): Promise<unknown> {
    const { retry = true, signal } = options;
    const { reader } = this.#client;
    const made = { reader, ...(retry && { call_id: crypto.randomUUID() }), ...call };
    return this.#cancellable((kernel, cancel) => kernel.executeTool({ ...made, ...cancel }), {
      retry: made.call_id !== undefined,
      signal,
    });
  }

  /** Splices of a version that one holds. Carried out once, however often the connection is lost. */
  pushOps(push: Inputs["pushOps"], options: CallOptions = {}): Promise<Answers["pushOps"]> {
    const made = { reader: this.#client.reader, call_id: crypto.randomUUID(), ...push };
    return this.#call((kernel) => kernel.pushOps(made), { ...options, retry: true });
  }

  /**
   * Follows what happens, from a position on or from now, over every loss of the connection: each event once, in
   * order, none left out. Disposed of with the client, or before.
   */
  feed(listener: FeedListener, options: FeedOptions = {}): Feed {
    return new Feed(this.#client, this.id, listener, options);
  }

  /** A copy of a block's text that is edited at once, here, connected or not. One to a block. */
  replica(block: string): Replica {
    return this.#client.replicas(this.id).replica(block);
  }

  /** Who is in the kernel, where and doing what. */
  get presence(): PresenceClient {
    return this.#client.replicas(this.id).presence;
  }

  listContexts(options: CallOptions = {}): Promise<Answers["listContexts"]> {
    return this.#read((kernel) => kernel.listContexts(), options);
  }

  createContext(
    input: Inputs["createContext"],
    options: CallOptions = {},
  ): Promise<Answers["createContext"]> {
    return this.#write((kernel) => kernel.createContext(input), options);
  }

  /** Becomes a member; to do so again changes nothing. */
  async joinContext(
    input: Inputs["joinContext"],
    options: CallOptions = {},
  ): Promise<ContextClient> {
    await this.#read(async (kernel) => {
      using context = await kernel.joinContext(input);
      return context === undefined;
    }, options);
    return this.context(input);
  }

  /** A context without becoming a member of it; nothing is asked before the first call. */
  context(place: Place): ContextClient {
    return new ContextClient(this.#client, this, place);
  }

  leaveContext(
    input: Inputs["leaveContext"],
    options: CallOptions = {},
  ): Promise<Answers["leaveContext"]> {
    return this.#write((kernel) => kernel.leaveContext(input), options);
  }

  getToolSchemas(
    input: Inputs["getToolSchemas"] = {},
    options: CallOptions = {},
  ): Promise<Answers["getToolSchemas"]> {
    return this.#read((kernel) => kernel.getToolSchemas(input), options);
  }

  getToolFilter(options: CallOptions = {}): Promise<Answers["getToolFilter"]> {
    return this.#read((kernel) => kernel.getToolFilter(), options);
  }

  setToolFilter(
    input: Inputs["setToolFilter"],
    options: CallOptions = {},
  ): Promise<Answers["setToolFilter"]> {
    return this.#write((kernel) => kernel.setToolFilter(input), options);
  }

  getDocumentState(
    input: Inputs["getDocumentState"],
    options: CallOptions = {},
  ): Promise<Answers["getDocumentState"]> {
    return this.#read((kernel) => kernel.getDocumentState(input), options);
  }

  history(input: Inputs["history"], options: CallOptions = {}): Promise<Answers["history"]> {
    return this.#read((kernel) => kernel.history(input), options);
  }

  search(input: Inputs["search"], options: CallOptions = {}): Promise<Answers["search"]> {
    return this.#read((kernel) => kernel.search(input), options);
  }

  usage(input: Inputs["usage"] = {}, options: CallOptions = {}): Promise<Answers["usage"]> {
    return this.#read((kernel) => kernel.usage(input), options);
  }

  gaps(input: Inputs["gaps"], options: CallOptions = {}): Promise<Answers["gaps"]> {
    return this.#read((kernel) => kernel.gaps(input), options);
  }

  previewPurge(
    input: Inputs["previewPurge"],
    options: CallOptions = {},
  ): Promise<Answers["previewPurge"]> {
    return this.#read((kernel) => kernel.previewPurge(input), options);
  }

  purge(input: Inputs["purge"], options: CallOptions = {}): Promise<Answers["purge"]> {
    return this.#write((kernel) => kernel.purge(input), options);
  }

  retention(options: CallOptions = {}): Promise<Answers["retention"]> {
    return this.#read((kernel) => kernel.retention(), options);
  }

  setRetention(
    input: Inputs["setRetention"],
    options: CallOptions = {},
  ): Promise<Answers["setRetention"]> {
    return this.#write((kernel) => kernel.setRetention(input), options);
  }

  applyRetention(options: CallOptions = {}): Promise<Answers["applyRetention"]> {
    return this.#write((kernel) => kernel.applyRetention(), options);
  }

  exportPage(
    input: Inputs["exportPage"],
    options: CallOptions = {},
  ): Promise<Answers["exportPage"]> {
    return this.#read((kernel) => kernel.exportPage(input), options);
  }

  authors(input: Inputs["authors"] = {}, options: CallOptions = {}): Promise<Answers["authors"]> {
    return this.#read((kernel) => kernel.authors(input), options);
  }

  verify(options: CallOptions = {}): Promise<Answers["verify"]> {
    return this.#read((kernel) => kernel.verify(), options);
  }

  async position(options: CallOptions = {}): Promise<number> {
    return (await this.#read((kernel) => kernel.position(), options)).position;
  }

  mounts(options: CallOptions = {}): Promise<Answers["mounts"]> {
    return this.#read((kernel) => kernel.mounts(), options);
  }

  /** To mount the same again changes nothing. */
  mount(input: Inputs["mount"], options: CallOptions = {}): Promise<Answers["mount"]> {
    return this.#read((kernel) => kernel.mount(input), options);
  }

  unmount(input: Inputs["unmount"], options: CallOptions = {}): Promise<Answers["unmount"]> {
    return this.#write((kernel) => kernel.unmount(input), options);
  }

  explainRules(
    input: Inputs["explainRules"],
    options: CallOptions = {},
  ): Promise<Answers["explainRules"]> {
    return this.#read((kernel) => kernel.explainRules(input), options);
  }

  /** Closes the kernel for everybody; whoever calls it next opens it. */
  close(options: CallOptions = {}): Promise<Answers["close"]> {
    return this.#write((kernel) => kernel.close(), options);
  }

  #read<Result>(
    run: (kernel: RpcKernel) => Promise<Result>,
    options: CallOptions,
  ): Promise<Result> {
    return this.#call(run, { ...options, retry: true });
  }

  #write<Result>(
    run: (kernel: RpcKernel) => Promise<Result>,
    options: CallOptions,
  ): Promise<Result> {
    return this.#call(run, { ...options, retry: false });
  }

  #call<Result>(
    run: (kernel: RpcKernel) => Promise<Result>,
    options: CallOptions & { readonly retry: boolean },
  ): Promise<Result> {
    return this.#client.call(async (link) => {
      try {
        return await run(link.kernel(this.id));
      } catch (error) {
        // One that is not there now may be there for the next call.
        if (["unknown_kernel", "forbidden"].includes(fromWire(error).code)) link.forget(this.id);
        throw error;
      }
    }, options);
  }

  /** The server is told by name: a signal does not cross the wire. */
  async #cancellable<Result>(
    run: (kernel: RpcKernel, cancel: { cancel?: string }) => Promise<Result>,
    { retry, signal }: { retry: boolean; signal: AbortSignal | undefined },
  ): Promise<Result> {
    if (signal === undefined) return this.#call((kernel) => run(kernel, {}), { retry });
    const cancel = crypto.randomUUID();
    return this.#call(
      async (kernel) => {
        const stop = (): void => {
          // Whether there was anything to give up is told by the call itself.
          kernel.cancelCall({ cancel }).catch(() => undefined);
        };
        signal.addEventListener("abort", stop, { once: true });
        try {
          return await run(kernel, { cancel });
        } finally {
          signal.removeEventListener("abort", stop);
        }
      },
      { retry, signal },
    );
  }
}
