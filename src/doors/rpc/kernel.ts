import { RpcTarget } from "capnweb";
import { z } from "zod";
import { KumikoError, sha256Text } from "../../base/index.ts";
import { translateRanges } from "../../blocks/index.ts";
import type { FeedEvent, Kernel, PurgeRequest } from "../../kernel/index.ts";
import {
  type LiveEvent,
  type LiveTopic,
  type RpcAnswers,
  type RpcContext,
  rpcInputs,
  type RpcKernel,
  type RpcSubscription,
} from "../../protocol/index.ts";
import { findPlace, listFolders, mountFolder, Mounts, unmountFolder } from "../../files/index.ts";
import { checkPerson, type Given, invocationOf } from "../principal.ts";
import type { Caller } from "./caller.ts";
import { checkInput } from "./check-input.ts";
import { ContextTarget } from "./context.ts";
import { exportPage } from "./export-pages.ts";
import { givenBy } from "./given.ts";
import { plainEvent, wireUnits } from "./plain-event.ts";
import { type Source, Subscription } from "./subscription.ts";

type Answers = RpcAnswers["Kernel"];
const inputs = rpcInputs.Kernel;
/** What a live event takes in a message. */
const LIVE_UNITS = 300;

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
    return this.#run("listContexts", async (kernel) => {
      checkInput("listContexts", inputs.listContexts, input);
      this.#caller.allow("read");
      return kernel.contexts.list();
    });
  }

  async createContext(input: unknown): Promise<Answers["createContext"]> {
    return this.#run("createContext", async (kernel) => {
      const { context, ...said } = checkInput("createContext", inputs.createContext, input);
      this.#caller.allow("write");
      return kernel.contexts.create(context, this.#invocation(said).actor);
    });
  }

  async joinContext(input: unknown): Promise<RpcContext> {
    return this.#run("joinContext", async (kernel) => {
      const { context, nick, instance, ...said } = checkInput(
        "joinContext",
        inputs.joinContext,
        input,
      );
      this.#caller.allow("write");
      const { actor } = this.#invocation(said);
      const place = placeOf({ context, nick, instance }, actor);
      await kernel.contexts.join(context, { ...place, by: actor });
      return this.#context(place, said);
    });
  }

  async leaveContext(input: unknown): Promise<Answers["leaveContext"]> {
    return this.#run("leaveContext", async (kernel) => {
      const { context, nick, instance, ...said } = checkInput(
        "leaveContext",
        inputs.leaveContext,
        input,
      );
      this.#caller.allow("write");
      const { actor } = this.#invocation(said);
      const member = { ...placeOf({ context, nick, instance }, actor), kernel: this.#id };
      return { ...member, left: await kernel.contexts.leave(member, actor) };
    });
  }

  async openContext(input: unknown): Promise<RpcContext> {
    return this.#run("openContext", async (kernel) => {
      const { context, nick, instance, ...said } = checkInput(
        "openContext",
        inputs.openContext,
        input,
      );
      this.#caller.allow("read");
      await kernel.contexts.check(context);
      return this.#context(
        placeOf({ context, nick, instance }, this.#invocation(said).actor),
        said,
      );
    });
  }

  async executeTool(input: unknown): Promise<Answers["executeTool"]> {
    return this.#run("executeTool", async (kernel) => {
      const call = checkInput("executeTool", inputs.executeTool, input);
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
    return this.#run("getToolSchemas", async (kernel) => {
      const { filter } = checkInput("getToolSchemas", inputs.getToolSchemas, input);
      this.#caller.allow("read");
      const { registry } = this.#caller.hall;
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
    return this.#run("getToolFilter", async (kernel) => {
      checkInput("getToolFilter", inputs.getToolFilter, input);
      this.#caller.allow("read");
      return kernel.toolFilter.get();
    });
  }

  async setToolFilter(input: unknown): Promise<Answers["setToolFilter"]> {
    return this.#run("setToolFilter", async (kernel) => {
      const { filter, ...said } = checkInput("setToolFilter", inputs.setToolFilter, input);
      this.#caller.allow("admin");
      return kernel.toolFilter.set(filter, this.#invocation(said).actor);
    });
  }

  /** Splices of a version that the client holds, carried to the text as it is now. */
  async pushOps(input: unknown): Promise<Answers["pushOps"]> {
    return this.#run("pushOps", async (kernel) => {
      const push = checkInput("pushOps", inputs.pushOps, input);
      this.#caller.allow("write");
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
    return this.#run("getDocumentState", async (kernel) => {
      const asked = checkInput("getDocumentState", inputs.getDocumentState, input);
      this.#caller.allow("read");
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
    return this.#run("subscribeBlocks", async (kernel) => {
      const wanted = checkInput("subscribeBlocks", inputs.subscribeBlocks, input);
      this.#caller.allow("read");
      const filter = await kernel.toolFilter.get();
      const { registry } = this.#caller.hall;
      const { head } = kernel.feed;
      const source: Source<FeedEvent> = {
        open: (signal) => {
          const invocation = invocationOf({ ...this.#caller.principal, signal }, this.#given);
          return eventsOf(
            registry.stream(
              kernel,
              "block_subscribe",
              invocation,
              wanted,
              filter,
            ) as AsyncIterable<{
              readonly events: readonly FeedEvent[];
            }>,
          );
        },
        ...blockMessages(head),
      };
      return this.#subscribe(listener, head, wanted.from ?? head, [source]);
    });
  }

  async feed(listener: unknown, input?: unknown): Promise<RpcSubscription> {
    return this.#run("feed", async (kernel) => {
      const { from, topics = ["block"] } = checkInput("feed", inputs.feed, input);
      this.#caller.allow("read");
      const { head } = kernel.feed;
      const invocation = invocationOf(this.#caller.principal, this.#given);
      // A person answers every ask to read: nobody has to look at each event for that.
      const where =
        invocation.kind === "person"
          ? undefined
          : ({ block }: FeedEvent): boolean => kernel.mayRead(invocation, block);
      const sources = [...new Set(topics)].map((topic): Source =>
        topic === "block"
          ? {
              open: (signal) => kernel.flow.subscribe("block", { from, signal, where }),
              ...blockMessages(head),
            }
          : liveSource(kernel, topic),
      );
      return this.#subscribe(listener, head, from ?? head, sources);
    });
  }

  async history(input: unknown): Promise<Answers["history"]> {
    return this.#run("history", async (kernel) => {
      const asked = checkInput("history", inputs.history, input);
      return this.#caller.tool(kernel, "block_history", asked, this.#given);
    });
  }

  async search(input: unknown): Promise<Answers["search"]> {
    return this.#run("search", async (kernel) => {
      const asked = checkInput("search", inputs.search, input);
      return this.#caller.tool(kernel, "kernel_search", asked, this.#given);
    });
  }

  async usage(input?: unknown): Promise<Answers["usage"]> {
    return this.#run("usage", async (kernel) => {
      const { biggest = 10 } = checkInput("usage", inputs.usage, input);
      this.#caller.allow("read");
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
    return this.#run("gaps", async (kernel) => {
      const { block_id } = checkInput("gaps", inputs.gaps, input);
      this.#caller.allow("read");
      return kernel.gaps(block_id);
    });
  }

  async previewPurge(input: unknown): Promise<Answers["previewPurge"]> {
    return this.#run("previewPurge", async (kernel) => {
      const wanted = checkInput("previewPurge", inputs.previewPurge, input);
      this.#caller.allow("admin");
      const { places, unreadable } = await kernel.previewPurge(
        this.#invocation(wanted),
        purgeRequest(wanted),
      );
      return { places: [...places], unreadable: [...unreadable] };
    });
  }

  async purge(input: unknown): Promise<Answers["purge"]> {
    return this.#run("purge", async (kernel) => {
      const wanted = checkInput("purge", inputs.purge, input);
      this.#caller.allow("admin");
      const { gaps, calls, unreadable } = await kernel.purge(
        this.#invocation(wanted),
        purgeRequest(wanted),
      );
      return { gaps: [...gaps], calls, unreadable: [...unreadable] };
    });
  }

  async retention(input?: unknown): Promise<Answers["retention"]> {
    return this.#run("retention", async (kernel) => {
      checkInput("retention", inputs.retention, input);
      this.#caller.allow("read");
      return kernel.retention.settings();
    });
  }

  async setRetention(input: unknown): Promise<Answers["setRetention"]> {
    return this.#run("setRetention", async (kernel) => {
      const wanted = checkInput("setRetention", inputs.setRetention, input);
      this.#caller.allow("admin");
      const { answered_calls_days, idle_snapshots_days } = wanted;
      const changes = {
        ...(answered_calls_days !== undefined && { answered_calls_days }),
        ...(idle_snapshots_days !== undefined && { idle_snapshots_days }),
      };
      return kernel.retention.set(changes, this.#invocation(wanted).actor);
    });
  }

  async applyRetention(input?: unknown): Promise<Answers["applyRetention"]> {
    return this.#run("applyRetention", async (kernel) => {
      checkInput("applyRetention", inputs.applyRetention, input);
      this.#caller.allow("admin");
      return kernel.retention.apply();
    });
  }

  async exportPage(input: unknown): Promise<Answers["exportPage"]> {
    return this.#run("exportPage", async (kernel) => {
      const asked = checkInput("exportPage", inputs.exportPage, input);
      this.#caller.allow("read");
      return exportPage(kernel, invocationOf(this.#caller.principal, this.#given), asked);
    });
  }

  async authors(input?: unknown): Promise<Answers["authors"]> {
    return this.#run("authors", async (kernel) => {
      const { position, context } = checkInput("authors", inputs.authors, input);
      this.#caller.allow("read");
      if (position !== undefined) kernel.feed.checkPosition(position);
      const authors = await kernel.authors(position ?? kernel.feed.head);
      const wanted = [...authors].filter(
        ([block]) => context === undefined || block.startsWith(`${context}~`),
      );
      return Object.fromEntries(wanted.map(([block, actors]) => [block, [...actors]]));
    });
  }

  async verify(input?: unknown): Promise<Answers["verify"]> {
    return this.#run("verify", async (kernel) => {
      checkInput("verify", inputs.verify, input);
      this.#caller.allow("admin");
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
    return this.#run("position", async (kernel) => {
      checkInput("position", inputs.position, input);
      this.#caller.allow("read");
      return { position: kernel.feed.head };
    });
  }

  async mounts(input?: unknown): Promise<Answers["mounts"]> {
    return this.#run("mounts", async (kernel) => {
      checkInput("mounts", inputs.mounts, input);
      this.#caller.allow("admin");
      checkPerson(this.#caller.principal);
      return kernel.hasFiles ? listFolders(Mounts.of(kernel)) : [];
    });
  }

  async mount(input: unknown): Promise<Answers["mount"]> {
    return this.#run("mount", async (kernel) => {
      const { folder, name, manual, rules, ...said } = checkInput("mount", inputs.mount, input);
      this.#caller.allow("admin");
      checkPerson(this.#caller.principal);
      const { actor } = this.#invocation(said);
      await this.#caller.hall.world.attachFiles(kernel);
      const mounted = await mountFolder(Mounts.of(kernel), { folder, name, manual, rules });
      this.#caller.hall.log.info({ ...mounted, actor }, "mounted");
      return mounted;
    });
  }

  async unmount(input: unknown): Promise<Answers["unmount"]> {
    return this.#run("unmount", async (kernel) => {
      const { mount, ...said } = checkInput("unmount", inputs.unmount, input);
      this.#caller.allow("admin");
      checkPerson(this.#caller.principal);
      const { actor } = this.#invocation(said);
      const unmounted = await unmountFolder(Mounts.of(kernel), mount);
      this.#caller.hall.log.info({ ...unmounted, actor }, "unmounted");
      return unmounted;
    });
  }

  async explainRules(input: unknown): Promise<Answers["explainRules"]> {
    return this.#run("explainRules", async (kernel) => {
      const { path: given } = checkInput("explainRules", inputs.explainRules, input);
      this.#caller.allow("read");
      const { mount, path } = findPlace(Mounts.of(kernel), given);
      const { level, looked, protections, operations } = mount.rules.explain(path);
      const trouble = mount.rulesTrouble?.message;
      return {
        ...(trouble !== undefined && { trouble }),
        mount: mount.name,
        folder: mount.root,
        path,
        level,
        looked: looked.map(({ pattern, from, level: each, matched }) => ({
          pattern,
          from,
          level: each,
          matched,
        })),
        protections: protections.map((each) => ({ ...each })),
        operations: operations.map(({ operation, agent, person }) => ({
          operation,
          agent: { decision: agent.decision, reason: agent.reason },
          person: { decision: person.decision, reason: person.reason },
        })),
      };
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
  #kernel(): Promise<Kernel> {
    return this.#caller.hall.kernelOf(this.#caller.principal, this.#id);
  }

  #run<Result>(method: string, work: (kernel: Kernel) => Promise<Result>): Promise<Result> {
    return this.#caller.run(method, async () => work(await this.#kernel()));
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

async function* eventsOf(
  batches: AsyncIterable<{ readonly events: readonly FeedEvent[] }>,
): AsyncGenerator<readonly FeedEvent[], void, void> {
  for await (const { events } of batches) yield events;
}

function blockMessages(head: number): Omit<Source<FeedEvent>, "open"> {
  return {
    weigh: wireUnits,
    message: (events) => ({
      kind: "blocks",
      events: events.map(plainEvent),
      position: events.at(-1)!.position,
    }),
    isPast: (events) => events.at(-1)!.position <= head,
  };
}

function liveSource<Topic extends LiveTopic>(
  kernel: Kernel,
  topic: Topic,
): Source<LiveEvent<Topic>> {
  return {
    open: (signal) => kernel.flow.subscribe(topic, { signal }),
    weigh: () => LIVE_UNITS,
    message: (events) => ({ kind: "live", events: [...events] as never }),
    isPast: () => false,
  };
}
