import { damaged, KumikoError, parseBlockId } from "../../base/index.ts";
import type { FeedEvent } from "../../protocol/index.ts";
import { fromRow } from "../block-state.ts";
import { type CommitBody, decodeBody } from "../commit-body.ts";
import type { Store, StoredCommit } from "../ports.ts";
import { isDamage } from "../quarantine.ts";
import { type SubscribeOptions, Topic, type TopicLimits } from "./topic.ts";

export interface FeedOptions extends SubscribeOptions<FeedEvent> {
  readonly blocks?: readonly string[] | undefined;
  readonly context?: string | undefined;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** One error for each event that cannot be read. */
  readonly damage: readonly KumikoError[];
  /** Everything up to here was looked through. */
  readonly position: number;
}

const LIMITS: TopicLimits = {
  events: 4096,
  weight: 16_000_000,
  batch: 1024,
  page: 256,
  behind: 1_000_000,
};

/** What one page of what is read back may carry, in UTF-16 units; the first event always fits. */
const PAGE_UNITS = 1_000_000;
/** What an event without text takes. */
const BARE = 200;

/** Frozen: all subscribers are given the same one. */
export function toEvent(commit: StoredCommit, body: CommitBody): FeedEvent {
  const { position, block, version, edit, actor, time, tool, call, message } = commit;
  const state = body.row === undefined ? undefined : fromRow(body.row);
  const change = frozenChange(body.change);
  return Object.freeze({
    position,
    block,
    version,
    edit,
    actor,
    time,
    tool,
    call,
    message,
    change,
    state,
  });
}

/** Without Loro's own bytes, which are for replicas, and without what only the index needs. */
function frozenChange(change: CommitBody["change"]): FeedEvent["change"] {
  if ("splices" in change) {
    for (const splice of change.splices) Object.freeze(splice);
    Object.freeze(change.splices);
  }
  if (change.kind === "import" || change.kind === "text") {
    const { kind, splices } = change;
    return Object.freeze({ kind, splices });
  }
  if (change.kind === "flip") {
    const { kind, edit, active, splices } = change;
    return Object.freeze({ kind, edit, active, splices });
  }
  return Object.freeze(change);
}

/** What everyone may do with the feed: read it. Only the kernel can add to it. */
export type FeedReader = Pick<
  Feed,
  "head" | "subscribers" | "held" | "subscribe" | "checkPosition" | "ofBlock" | "since" | "page"
>;

/**
 * Every commit of the kernel in the order of positions, after fsync, from any position on. What is not in
 * memory any more is read from the journal.
 */
export class Feed {
  readonly #store: Store;
  readonly #topic: Topic<FeedEvent>;

  constructor(store: Store, head: number) {
    this.#store = store;
    this.#topic = new Topic<FeedEvent>({
      name: "position",
      head,
      limits: LIMITS,
      numberOf: ({ position }) => position,
      weigh: eventUnits,
      older: (after, limit) => this.since(after, limit),
    });
  }

  /** The reading end. */
  readonly reader: FeedReader = readerOf(this);

  get head(): number {
    return this.#topic.head;
  }

  get subscribers(): number {
    return this.#topic.subscribers;
  }

  get held(): { readonly events: number; readonly weight: number } {
    return this.#topic.held;
  }

  publish(event: FeedEvent): void {
    this.#topic.publish(event);
  }

  subscribe(options: FeedOptions = {}): AsyncGenerator<readonly FeedEvent[], void, void> {
    return this.#topic.subscribe({ ...options, where: chosenBy(options) });
  }

  /** Refuses a position that there is not. */
  checkPosition(position: number): void {
    const { head } = this;
    if (Number.isInteger(position) && position >= 0 && position <= head) return;
    throw new KumikoError(
      "out_of_range",
      `There is no position ${position}: this kernel has positions 0 to ${head}.`,
      { position, minimum: 0, maximum: head },
    );
  }

  /** One block's events behind a version, up to and with another, from the journal. */
  async ofBlock(block: string, afterVersion: number, upToVersion?: number): Promise<FeedEvent[]> {
    return (await this.#store.commitsOf(block, afterVersion, upToVersion)).map(decoded);
  }

  /**
   * Events behind a position, from the journal, `limit` at most, and no more than a page of text carries. One
   * that is damaged is thrown when it comes first; before that, what stands before it is given.
   */
  async since(position: number, limit: number): Promise<FeedEvent[]> {
    try {
      return (await this.#store.changesSince(position, limit, PAGE_UNITS)).map(decoded);
    } catch (error) {
      const broken = isDamage(error) ? error.facts["position"] : undefined;
      if (typeof broken !== "number" || broken <= position + 1) throw error;
      const before = broken - 1 - position;
      return (await this.#store.changesSince(position, before, PAGE_UNITS)).map(decoded);
    }
  }

  /** The same over damaged ones, each of which is told. */
  async page(position: number, limit: number): Promise<FeedPage> {
    const end = Math.min(position + limit, this.head);
    const events: FeedEvent[] = [];
    const damage: KumikoError[] = [];
    let at = position;
    let units = 0;
    while (at < end) {
      try {
        const more = await this.since(at, end - at);
        if (more.length === 0) throw damaged(`the journal behind position ${at} is missing`);
        for (const event of more) {
          units += eventUnits(event);
          if (events.length > 0 && units > PAGE_UNITS) return { events, damage, position: at };
          events.push(event);
          at = event.position;
        }
      } catch (error) {
        if (!isDamage(error) || error.facts["position"] !== at + 1) throw error;
        damage.push(error);
        at++;
      }
    }
    return { events, damage, position: at };
  }

  /** The journal has commits up to a position that could not be published: everyone reads them there. */
  jump(position: number): void {
    this.#topic.jump(position);
  }

  /** What was purged from the journal may not live on in memory. */
  forget(): void {
    this.#topic.forget();
  }

  close(): void {
    this.#topic.close();
  }
}

function readerOf(feed: Feed): FeedReader {
  return Object.freeze({
    get head() {
      return feed.head;
    },
    get subscribers() {
      return feed.subscribers;
    },
    get held() {
      return feed.held;
    },
    subscribe: (options?: FeedOptions) => feed.subscribe(options),
    checkPosition: (position: number) => feed.checkPosition(position),
    ofBlock: (block: string, afterVersion: number, upToVersion?: number) =>
      feed.ofBlock(block, afterVersion, upToVersion),
    since: (position: number, limit: number) => feed.since(position, limit),
    page: (position: number, limit: number) => feed.page(position, limit),
  });
}

function decoded(commit: StoredCommit): FeedEvent {
  return toEvent(commit, decodeBody(commit.body));
}

/** What an event takes in memory and in an answer, in UTF-16 units. */
export function eventUnits({ change }: FeedEvent): number {
  if (!("splices" in change)) return BARE;
  let units = BARE;
  for (const { insert } of change.splices) units += insert.length;
  return units;
}

function chosenBy({ blocks, context, where }: FeedOptions): FeedOptions["where"] {
  if (blocks === undefined && context === undefined) return where;
  const wanted = blocks === undefined ? undefined : new Set(blocks);
  return (event) => {
    if (wanted !== undefined && !wanted.has(event.block)) return false;
    if (context !== undefined && parseBlockId(event.block).context !== context) return false;
    return where === undefined || where(event);
  };
}
