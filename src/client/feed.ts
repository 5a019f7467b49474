import { KumikoError } from "../base/index.ts";
import type {
  FeedEvent,
  FeedMessage,
  LiveTopic,
  RpcChannel,
  RpcKernel,
  RpcSubscription,
} from "../protocol/index.ts";
import { Backoff } from "./backoff.ts";
import type { KumikoClient } from "./client.ts";
import type { Link } from "./link.ts";
import { fromWire } from "./wire-error.ts";

export interface FeedOptions {
  /** Everything behind this position; from now on without it. */
  readonly from?: number | undefined;
  /** Only these blocks, or only those of this context. */
  readonly blocks?: readonly string[] | undefined;
  readonly context?: string | undefined;
  /** Further topics: what happens now and is kept nowhere. */
  readonly topics?: readonly LiveTopic[] | undefined;
}

/** What one who follows is told; the next thing when it is done with this one. */
export type FeedNews =
  | { readonly kind: "blocks"; readonly events: readonly FeedEvent[]; readonly position: number }
  | Extract<FeedMessage, { kind: "live" }>
  /** Events that are damaged on the server's disk; those behind them follow. */
  | {
      readonly kind: "unavailable";
      readonly blocks: readonly { block_id: string | null; error: object }[];
      readonly position: number;
    }
  /** It goes on after an interruption. Of these topics something may have been missed: read what matters again. */
  | { readonly kind: "resumed"; readonly position: number; readonly missed: readonly LiveTopic[] };

export type FeedListener = (news: FeedNews) => void | Promise<void>;

type Ended = Extract<FeedMessage, { kind: "ended" }>;

/** What a server refuses now and may take later. */
const passing: readonly string[] = ["closing", "closed", "in_use", "too_many"];
/** Events asked for at once while catching up. */
const PAGE = 1000;

/** Follows one kernel. Each event of a block is told once, in order, whatever happens to the connection. */
export class Feed implements AsyncDisposable {
  /** Resolves when it was disposed of; rejects with what it failed with, such as what the listener threw. */
  readonly ended: Promise<void>;
  readonly #client: KumikoClient;
  readonly #kernel: string;
  readonly #listener: FeedListener;
  readonly #options: FeedOptions;
  readonly #stop = new AbortController();
  readonly #backoff = new Backoff();
  #position: number | undefined;
  #head = 0;
  #begun = false;
  /** Messages are handled one after the other, in the order they came. */
  #handling: Promise<void> = Promise.resolve();

  constructor(client: KumikoClient, kernel: string, listener: FeedListener, options: FeedOptions) {
    this.#client = client;
    this.#kernel = kernel;
    this.#listener = listener;
    this.#options = options;
    this.#position = options.from;
    client.follow(this);
    client.catchingUp(this, true);
    this.ended = this.#run().finally(() => client.unfollow(this));
    // Who does not look at it is told by its listener that nothing more comes.
    this.ended.catch(() => undefined);
  }

  /** Everything up to here was told; undefined before it has begun. */
  get position(): number | undefined {
    return this.#position;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new KumikoError("disposed", "The feed was disposed of.", {}));
    await this.ended.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let ended: Ended | undefined;
      try {
        const link = await this.#client.link(undefined, signal);
        ended = await this.#follow(link);
        // What came before the end is told before anything is asked for again.
        await this.#handling;
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      if (ended !== undefined) await this.#goOn(ended);
      this.#client.catchingUp(this, true);
    }
  }

  /** After the server ended it. Lost connections are waited for elsewhere. */
  async #goOn({ reason, error }: Ended): Promise<void> {
    const link = await this.#client.link(undefined, this.#stop.signal);
    if (reason === "resync" || error.code === "damaged" || error.code === "quarantined")
      return this.#catchUp(link);
    if (reason === "failed") throw fromWire(error);
    // The server or the kernel closes, or the token is gone: whether there will be another connection is the client's.
    return this.#client.pause(this.#backoff.next(), this.#stop.signal);
  }

  /** Subscribes and says why it ended; undefined when the connection was lost. */
  async #follow(link: Link): Promise<Ended | undefined> {
    const ended = Promise.withResolvers<Ended | undefined>();
    const stop = (): void => ended.resolve(undefined);
    const { signal } = this.#stop;
    signal.addEventListener("abort", stop, { once: true });
    void link.closed.then(stop);
    let subscription: RpcSubscription | undefined;
    const channel = link.channels.open((message) => {
      if (message.kind === "ended") {
        ended.resolve(message);
        return Promise.resolve();
      }
      const handled = this.#handling.then(() => this.#handle(message));
      this.#handling = handled;
      // A listener that throws ends the feed, not only the subscription.
      handled.catch((error: unknown) => ended.reject(error as Error));
      return handled;
    });
    try {
      subscription = await this.#subscribe(link.kernel(this.#kernel), { channel });
      return await ended.promise;
    } catch (error) {
      if (link.isBroken(error)) return undefined;
      const told = fromWire(error);
      if (!passing.includes(told.code)) throw told;
      const { code, message } = told;
      return { kind: "ended", reason: "closing", error: { code, message, facts: {} } };
    } finally {
      signal.removeEventListener("abort", stop);
      link.channels.close(channel);
      if (!link.isBroken(undefined)) subscription?.[Symbol.dispose]();
    }
  }

  #subscribe(kernel: RpcKernel, listener: RpcChannel): Promise<RpcSubscription> {
    const { blocks, context, topics = [] } = this.#options;
    const from = this.#position;
    const chosen = blocks !== undefined || context !== undefined;
    if (chosen && topics.length > 0) {
      throw new KumikoError(
        "invalid_argument",
        "Topics are not of blocks or contexts: follow them with a feed of their own.",
        { topics: [...topics] },
      );
    }
    return chosen
      ? kernel.subscribeBlocks(listener, {
          ...(blocks !== undefined && { block_ids: [...blocks] }),
          ...(context !== undefined && { context }),
          ...(from !== undefined && { from }),
        })
      : kernel.feed(listener, {
          topics: ["block", ...topics],
          ...(from !== undefined && { from }),
        });
  }

  async #handle(message: Exclude<FeedMessage, Ended>): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (message.kind === "live") {
      await this.#listener(message);
      return;
    }
    if (message.kind === "begun") {
      this.#position ??= message.position;
      this.#head = message.head;
      if (this.#begun) await this.#tellResumed();
      this.#begun = true;
      this.#backoff.reset();
    } else {
      await this.#tell(message.events, message.position);
    }
    if (this.#position! >= this.#head) this.#client.catchingUp(this, false);
  }

  /** Only what the listener is done with counts: after an interruption it goes on from there. */
  async #tell(events: readonly FeedEvent[], position: number): Promise<void> {
    if (events.length > 0) await this.#listener({ kind: "blocks", events, position });
    this.#position = position;
  }

  async #tellResumed(): Promise<void> {
    const missed = this.#options.topics ?? [];
    await this.#listener({ kind: "resumed", position: this.#position!, missed });
  }

  /** Reads what is missing a page at a time, over what is damaged, before it subscribes again. */
  async #catchUp(link: Link): Promise<void> {
    const { blocks, context } = this.#options;
    const wanted = blocks === undefined ? undefined : new Set(blocks);
    for (let more = true; more && !this.#stop.signal.aborted;) {
      let page: Synced;
      try {
        page = (await link.kernel(this.#kernel).executeTool({
          name: "block_sync",
          arguments: { position: this.#position ?? 0, limit: PAGE, ...(context && { context }) },
        })) as Synced;
      } catch (error) {
        if (link.isBroken(error)) return;
        const told = fromWire(error);
        if (!passing.includes(told.code)) throw told;
        // What is still missing comes with the next subscription, or it is caught up with after that one.
        return this.#client.pause(this.#backoff.next(), this.#stop.signal);
      }
      const { events, unavailable, position } = page;
      const chosen = events.filter(({ block }) => wanted?.has(block) ?? true);
      if (unavailable.length > 0)
        await this.#listener({ kind: "unavailable", blocks: unavailable, position });
      await this.#tell(chosen, position);
      more = page.truncated;
    }
  }
}

interface Synced {
  readonly events: readonly FeedEvent[];
  readonly unavailable: readonly { block_id: string | null; error: object }[];
  readonly position: number;
  readonly truncated: boolean;
}
