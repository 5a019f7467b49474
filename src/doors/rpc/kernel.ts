import { RpcTarget } from "capnweb";
import * as z from "zod";
import { KumikoError, sha256Text } from "../../base/index.ts";
import { translateRanges } from "../../blocks/index.ts";
import type { FeedEvent, Kernel, PurgeRequest } from "../../kernel/index.ts";
import {
  type RpcAnswers,
  type RpcContext,
  rpcInputs,
  type RpcKernel,
  type RpcSubscription,
} from "../../protocol/index.ts";
import { checkPerson, type Given, invocationOf, type Scope } from "../principal.ts";
import type { Caller } from "./caller.ts";
import { checkInput } from "./check-input.ts";
import { ContextTarget } from "./context.ts";
import { exportPage } from "./export-pages.ts";
import { blockSource, liveSource, streamedEvents } from "./feed-sources.ts";
import { givenBy } from "./given.ts";
import { type Source, Subscription } from "./subscription.ts";

type Answers = RpcAnswers["Kernel"];
type Schemas = typeof rpcInputs.Kernel;
type Asked = { readonly [Method in keyof Schemas]: z.output<Schemas[Method]> };
const inputs: { readonly [Method in keyof Asked]: z.ZodType<Asked[Method]> } = rpcInputs.Kernel;

/** Who speaks of no folder needs nothing of them. */
const loadFiles = () => import("../../files/index.ts");

/** One kernel, as its holder may use it. Every public method can be called; all else is `#`. */
export class KernelTarget extends RpcTarget implements RpcKernel {
  readonly #caller: Caller;
  readonly #id: string;
  readonly #given: Given;
  readonly #held: Disposable;
  readonly #subscriptions = new Set<Subscription>();

  constructor(caller: Caller, id: string, trace: string | undefined = caller.trace) {
    super();
    this.#caller = caller;
    this.#id = id;
    this.#given = trace === undefined ? {} : { trace };
    this.#held = caller.hold();
  }

  async listContexts(input?: unknown): Promise<Answers["listContexts"]> {
    return this.#run("listContexts", "read", input, async (kernel) => kernel.contexts.list());
  }

  async createContext(input: unknown): Promise<Answers["createContext"]> {
    return this.#run("createContext", "write", input, async (kernel, { context, ...said }) =>
      kernel.contexts.create(context, this.#invocation(said).actor),
    );
  }

  async joinContext(input: unknown): Promise<RpcContext> {
    return this.#run("joinContext", "write", input, async (kernel, asked) => {
      const { context, nick, instance, ...said } = asked;
      const { actor } = this.#invocation(said);
      const place = placeOf({ context, nick, instance }, actor);
      await kernel.contexts.join(context, { ...place, by: actor });
      return this.#context(place, said);
    });
  }

  async leaveContext(input: unknown): Promise<Answers["leaveContext"]> {
    return this.#run("leaveContext", "write", input, async (kernel, asked) => {
      const { context, nick, instance, ...said } = asked;
      const { actor } = this.#invocation(said);
      const member = { ...placeOf({ context, nick, instance }, actor), kernel: this.#id };
      return { ...member, left: await kernel.contexts.leave(member, actor) };
    });
  }

  async openContext(input: unknown): Promise<RpcContext> {
    return this.#run("openContext", "read", input, async (kernel, asked) => {
      const { context, nick, instance, ...said } = asked;
      await kernel.contexts.check(context);
      return this.#context(
        placeOf({ context, nick, instance }, this.#invocation(said).actor),
        said,
      );
    });
  }

  async executeTool(input: unknown): Promise<Answers["executeTool"]> {
    return this.#run("executeTool", undefined, input, async (kernel, call) => {
      const given = { ...this.#given, ...givenBy(call) };
      return this.#caller.tool(kernel, call.name, call.arguments ?? {}, given, call.cancel);
    });
  }

  async cancelCall(input: unknown): Promise<Answers["cancelCall"]> {
    return this.#caller.run("cancelCall", async () => {
      const { cancel } = checkInput("cancelCall", inputs.cancelCall, input);
      return { cancelled: this.#caller.cancel(cancel) };
    });
  }

  async getToolSchemas(input?: unknown): Promise<Answers["getToolSchemas"]> {
    return this.#run("getToolSchemas", "read", input, async (kernel, { filter }) => {
      const registry = await this.#caller.hall.tools();
      const wanted = new Set(registry.list(filter).map(({ name }) => name));
      const offered = registry.list(await kernel.toolFilter.get());
      return offered
        .filter(({ name }) => wanted.has(name))
        .map(({ name, description, writes, input: takes, output: gives }) => ({
          name,
          description,
          writes,
          input: z.toJSONSchema(takes, { io: "input" }),
          output: z.toJSONSchema(gives, { io: "output" }),
        }));
    });
  }

  async getToolFilter(input?: unknown): Promise<Answers["getToolFilter"]> {
    return this.#run("getToolFilter", "read", input, async (kernel) => kernel.toolFilter.get());
  }

  async setToolFilter(input: unknown): Promise<Answers["setToolFilter"]> {
    return this.#run("setToolFilter", "admin", input, async (kernel, { filter, ...said }) =>
      kernel.toolFilter.set(filter, this.#invocation(said).actor),
    );
  }

  /** Splices of a version that the client holds, carried to the text as it is now. */
  async pushOps(input: unknown): Promise<Answers["pushOps"]> {
    return this.#run("pushOps", "write", input, async (kernel, push) => {
      const { block_id: block, base_version: base, splices } = push;
      const changes = splices.map(({ at, remove, insert }) => ({
        start: at,
        end: at + remove,
        insert,
      }));
      const invocation = { ...this.#invocation(push), tool: "pushOps" };
      const answer = await kernel.editText(invocation, {
        blocks: [block],
        operation: "change",
        fingerprint: sha256Text(`pushOps ${JSON.stringify([block, base, splices])}`),
        translate: (target) => translateRanges(target, changes, base),
        answer: ({ edit, changes: [changed] }) => ({
          block_id: block,
          version: changed?.version ?? base,
          edit,
        }),
      });
      kernel.readers.advance(invocation, block, answer.version);
      return answer;
    });
  }

  async getDocumentState(input: unknown): Promise<Answers["getDocumentState"]> {
    return this.#run("getDocumentState", "read", input, async (kernel, asked) => {
      const { block_id: block, position } = asked;
      await kernel.checkReadable(invocationOf(this.#caller.principal, this.#given), block);
      // Taken first: who follows the feed from here is told some changes again, and none too few.
      const { head } = kernel.feed;
      const { version, text, state } = await (position === undefined
        ? kernel.read(block)
        : kernel.readAt(block, position));
      return { block_id: block, version, text, state, position: position ?? head };
    });
  }

  async subscribeBlocks(listener: unknown, input?: unknown): Promise<RpcSubscription> {
    return this.#run("subscribeBlocks", "read", input, async (kernel, wanted) => {
      const filter = await kernel.toolFilter.get();
      const registry = await this.#caller.hall.tools();
      const { head } = kernel.feed;
      const source = blockSource(head, (signal) => {
        const invocation = invocationOf({ ...this.#caller.principal, signal }, this.#given);
        return streamedEvents(
          registry.stream(kernel, "block_subscribe", invocation, wanted, filter),
        );
      });
      return this.#subscribe(listener, head, wanted.from ?? head, [source]);
    });
  }

  async feed(listener: unknown, input?: unknown): Promise<RpcSubscription> {
    return this.#run("feed", "read", input, async (kernel, { from, topics }) => {
      const { head } = kernel.feed;
      const invocation = invocationOf(this.#caller.principal, this.#given);
      // A person answers every ask to read: nobody has to look at each event for that.
      const where =
        invocation.kind === "person"
          ? undefined
          : ({ block }: FeedEvent): boolean => kernel.mayRead(invocation, block);
      const sources = [...new Set(topics ?? ["block" as const])].map((topic): Source =>
        topic === "block"
          ? blockSource(head, (signal) => kernel.flow.subscribe("block", { from, signal, where }))
          : liveSource(kernel, topic),
      );
      return this.#subscribe(listener, head, from ?? head, sources);
    });
  }

  async history(input: unknown): Promise<Answers["history"]> {
    return this.#run("history", undefined, input, async (kernel, asked) =>
      this.#caller.tool(kernel, "block_history", asked, this.#given),
    );
  }

  async search(input: unknown): Promise<Answers["search"]> {
    return this.#run("search", undefined, input, async (kernel, asked) =>
      this.#caller.tool(kernel, "kernel_search", asked, this.#given),
    );
  }

  async usage(input?: unknown): Promise<Answers["usage"]> {
    return this.#run("usage", "read", input, async (kernel, { biggest = 10 }) => {
      const {
        bytes,
        blocks,
        versions,
        contexts,
        biggest: most,
        unreadable,
      } = await kernel.usage(biggest);
      return { bytes, blocks, versions, contexts: [...contexts], biggest: [...most], unreadable };
    });
  }

  async gaps(input: unknown): Promise<Answers["gaps"]> {
    return this.#run("gaps", "read", input, async (kernel, { block_id }) => kernel.gaps(block_id));
  }

  async previewPurge(input: unknown): Promise<Answers["previewPurge"]> {
    return this.#run("previewPurge", "admin", input, async (kernel, wanted) => {
      const { places, unreadable } = await kernel.previewPurge(
        this.#invocation(wanted),
        purgeRequest(wanted),
      );
      return { places: [...places], unreadable: [...unreadable] };
    });
  }

  async purge(input: unknown): Promise<Answers["purge"]> {
    return this.#run("purge", "admin", input, async (kernel, wanted) => {
      const { gaps, calls, unreadable } = await kernel.purge(
        this.#invocation(wanted),
        purgeRequest(wanted),
      );
      return { gaps: [...gaps], calls, unreadable: [...unreadable] };
    });
  }

  async retention(input?: unknown): Promise<Answers["retention"]> {
    return this.#run("retention", "read", input, async (kernel) => kernel.retention.settings());
  }

  async setRetention(input: unknown): Promise<Answers["setRetention"]> {
    return this.#run("setRetention", "admin", input, async (kernel, wanted) => {
      const { answered_calls_days, idle_snapshots_days } = wanted;
      const changes = {
        ...(answered_calls_days !== undefined && { answered_calls_days }),
        ...(idle_snapshots_days !== undefined && { idle_snapshots_days }),
      };
      return kernel.retention.set(changes, this.#invocation(wanted).actor);
    });
  }

  async applyRetention(input?: unknown): Promise<Answers["applyRetention"]> {
    return this.#run("applyRetention", "admin", input, async (kernel) => kernel.retention.apply());
  }

  async exportPage(input: unknown): Promise<Answers["exportPage"]> {
    return this.#run("exportPage", "read", input, async (kernel, asked) =>
      exportPage(kernel, invocationOf(this.#caller.principal, this.#given), asked),
    );
  }

  async authors(input?: unknown): Promise<Answers["authors"]> {
    return this.#run("authors", "read", input, async (kernel, { position, context }) => {
      if (position !== undefined) kernel.feed.checkPosition(position);
      const authors = await kernel.authors(position ?? kernel.feed.head);
      const wanted = [...authors].filter(
        ([block]) => context === undefined || block.startsWith(`${context}~`),
      );
      return Object.fromEntries(wanted.map(([block, actors]) => [block, [...actors]]));
    });
  }

  async verify(input?: unknown): Promise<Answers["verify"]> {
    return this.#run("verify", "admin", input, async (kernel) => {
      const { findings, blocks } = await kernel.diagnose();
      return {
        findings: findings.map(({ block, ...rest }) => ({
          ...rest,
          ...(block !== undefined && { block }),
        })),
        blocks: blocks.map(({ block, readable }) => ({
          block,
          readable_version: readable?.version ?? null,
        })),
      };
    });
  }

  async position(input?: unknown): Promise<Answers["position"]> {
    return this.#run("position", "read", input, async (kernel) => ({
      position: kernel.feed.head,
    }));
  }

  async mounts(input?: unknown): Promise<Answers["mounts"]> {
    return this.#run("mounts", "admin", input, async (kernel) => {
      checkPerson(this.#caller.principal);
      if (!kernel.hasFiles) return [];
      const { listFolders, Mounts } = await loadFiles();
      return listFolders(Mounts.of(kernel));
    });
  }

  async mount(input: unknown): Promise<Answers["mount"]> {
    return this.#run("mount", "admin", input, async (kernel, asked) => {
      const { folder, name, manual, rules, ...said } = asked;
      checkPerson(this.#caller.principal);
      const { actor } = this.#invocation(said);
      await this.#caller.hall.world.attachFiles(kernel);
      const { mountFolder, Mounts } = await loadFiles();
      const mounted = await mountFolder(Mounts.of(kernel), { folder, name, manual, rules });
      this.#caller.hall.log.info({ ...mounted, actor }, "mounted");
      return mounted;
    });
  }

  async unmount(input: unknown): Promise<Answers["unmount"]> {
    return this.#run("unmount", "admin", input, async (kernel, { mount, ...said }) => {
      checkPerson(this.#caller.principal);
      const { actor } = this.#invocation(said);
      const { Mounts, unmountFolder } = await loadFiles();
      const unmounted = await unmountFolder(Mounts.of(kernel), mount);
      this.#caller.hall.log.info({ ...unmounted, actor }, "unmounted");
      return unmounted;
    });
  }

  async explainRules(input: unknown): Promise<Answers["explainRules"]> {
    return this.#run("explainRules", "read", input, async (kernel, { path: given }) => {
      const { explainRules } = await import("./explain-rules.ts");
      const { Mounts } = await loadFiles();
      return explainRules(Mounts.of(kernel), given);
    });
  }

  async detach(input?: unknown): Promise<Answers["detach"]> {
    return this.#caller.run("detach", async () => {
      checkInput("detach", inputs.detach, input);
      await Promise.all([...this.#subscriptions].map((each) => each.end()));
      return {};
    });
  }

  async close(input?: unknown): Promise<Answers["close"]> {
    return this.#caller.run("close", async () => {
      checkInput("close", inputs.close, input);
      this.#caller.allow("admin");
      await this.#caller.hall.kernelOf(this.#caller.principal, this.#id);
      await this.#caller.hall.world.close(this.#id);
      return {};
    });
  }

  [Symbol.dispose](): void {
    this.#held[Symbol.dispose]();
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
  }

  /** Asked for anew with each call: it may have been closed meanwhile, and opens again. */
  #kernel(): Kernel | Promise<Kernel> {
    return this.#caller.hall.kernelOf(this.#caller.principal, this.#id);
  }

  /** Checks what it was called with, then the scope: tools check theirs themselves. */
  #run<Method extends keyof Asked, Result>(
    method: Method,
    scope: Scope | undefined,
    input: unknown,
    work: (kernel: Kernel, asked: Asked[Method]) => Promise<Result>,
  ): Promise<Result> {
    return this.#caller.run(method, async () => {
      const kernel = await this.#kernel();
      const asked = checkInput(method, inputs[method], input);
      if (scope !== undefined) this.#caller.allow(scope);
      return work(kernel, asked);
    });
  }

  #invocation(said: Parameters<typeof givenBy>[0]): ReturnType<typeof invocationOf> {
    const given = { reader: this.#caller.reader, ...this.#given, ...givenBy(said) };
    return invocationOf(this.#caller.principal, given);
  }

  #context(
    place: { context: string; nick: string; instance: string },
    said: Parameters<typeof givenBy>[0],
  ): ContextTarget {
    return new ContextTarget(
      {
        caller: this.#caller,
        id: this.#id,
        kernel: () => this.#kernel(),
        given: { ...this.#given, ...givenBy(said) },
      },
      place,
    );
  }

  #subscribe(
    listener: unknown,
    head: number,
    position: number,
    sources: readonly Source[],
  ): Subscription {
    const begun = { kind: "begun", position, head } as const;
    const subscription = new Subscription(this.#caller, listener, begun, sources, () =>
      this.#subscriptions.delete(subscription),
    );
    this.#subscriptions.add(subscription);
    return subscription;
  }
}

function placeOf(
  {
    context,
    nick,
    instance,
  }: { context: string; nick?: string | undefined; instance?: string | undefined },
  actor: string,
): { context: string; nick: string; instance: string } {
  return { context, nick: nick ?? actor, instance: instance ?? "rpc" };
}

function purgeRequest({
  text,
  block_id,
}: {
  text?: string | undefined;
  block_id?: string | undefined;
}): PurgeRequest {
  if (text !== undefined && block_id === undefined) return { text };
  if (block_id !== undefined && text === undefined) return { block: block_id };
  throw new KumikoError("invalid_argument", "Pass text or block_id, one of the two.", {});
}
