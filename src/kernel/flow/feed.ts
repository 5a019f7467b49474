import { damaged, type KumikoError, parseBlockId } from "../../base/index.ts";
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

/** What an event without text takes, in UTF-16 units. */
const BARE = 200;

export function toEvent(commit: StoredCommit, body: CommitBody): FeedEvent {
  const { position, block, version, edit, actor, time, call, message } = commit;
  const state = body.row === undefined ? undefined : fromRow(body.row);
  const change = withoutBytes(body.change);
  return { position, block, version, edit, actor, time, call, message, change, state };
}

/** Loro's own bytes are for replicas. */
function withoutBytes(change: CommitBody["change"]): FeedEvent["change"] {
  return change.kind === "import" ? { kind: "import", splices: change.splices } : change;
}

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
      weigh,
      older: (after, limit) => this.since(after, limit),
    });
  }

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

  subscribe(options: FeedOptions = {}): AsyncGenerator<FeedEvent[], void, void> {
    return this.#topic.subscribe({ ...options, where: chosenBy(options) });
  }

  /** One block's events behind a version, from the journal. */
  async ofBlock(block: string, afterVersion: number): Promise<FeedEvent[]> {
    return (await this.#store.commitsOf(block, afterVersion)).map(decoded);
  }

  /**
   * Events behind a position, from the journal, `limit` at most. One that is damaged is thrown when it comes
   * first; before that, what stands before it is given.
   */
  async since(position: number, limit: number): Promise<FeedEvent[]> {
    try {
      return (await this.#store.changesSince(position, limit)).map(decoded);
    } catch (error) {
      const broken = isDamage(error) ? error.facts["position"] : undefined;
      if (typeof broken !== "number" || broken <= position + 1) throw error;
      return (await this.#store.changesSince(position, broken - 1 - position)).map(decoded);
    }
  }

  /** The same over damaged ones, each of which is told. */
  async page(position: number, limit: number): Promise<FeedPage> {
    const end = Math.min(position + limit, this.head);
    const events: FeedEvent[] = [];
    const damage: KumikoError[] = [];
    for (let at = position; at < end;) {
      try {
        const more = await this.since(at, end - at);
        if (more.length === 0) throw damaged(`the journal behind position ${at} is missing`);
        events.push(...more);
        at = more.at(-1)!.position;
      } catch (error) {
        if (!isDamage(error) || error.facts["position"] !== at + 1) throw error;
        damage.push(error);
        at++;
      }
    }
    return { events, damage, position: Math.max(position, end) };
  }

  /** What was purged from the journal may not live on in memory. */
  forget(): void {
    this.#topic.forget();
  }

  close(): void {
    this.#topic.close();
  }
}

function decoded(commit: StoredCommit): FeedEvent {
  return toEvent(commit, decodeBody(commit.body));
}

function weigh({ change }: FeedEvent): number {
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
