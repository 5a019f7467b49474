import { type Clock, deepFreeze } from "../../base/index.ts";
import type { FeedEvent, LiveEvent, LiveTopic, Notice } from "../../protocol/index.ts";
import type { Store } from "../ports.ts";
import { Feed, type FeedOptions, type FeedReader } from "./feed.ts";
import { type SubscribeOptions, Topic, type TopicLimits } from "./topic.ts";

const LIMITS: TopicLimits = {
  events: 1024,
  weight: 1024,
  batch: 1024,
  page: 0,
  behind: 1024,
};

/** A live event cannot be asked for again: who was not there reads what there is instead. */
type LiveOptions<Name extends LiveTopic> = Omit<SubscribeOptions<LiveEvent<Name>>, "from">;

/** What everyone may do with what happens: listen. Only the kernel can tell. */
export interface FlowReader {
  readonly feed: FeedReader;
  readonly subscribe: FlowBus["subscribe"];
}

/**
 * Everything that happens in a kernel, by topic. `block` is the feed: durable, resumable. The others are
 * live: numbered per topic, kept in memory for who is a little behind, and nowhere else.
 */
export class FlowBus {
  readonly feed: Feed;
  /** The reading end. */
  readonly reader: FlowReader;
  readonly #clock: Clock;
  readonly #live = new Map<LiveTopic, Topic<LiveEvent<LiveTopic>>>();
  #closed = false;

  constructor(store: Store, head: number, clock: Clock) {
    this.feed = new Feed(store, head);
    this.#clock = clock;
    this.reader = Object.freeze({ feed: this.feed.reader, subscribe: this.subscribe.bind(this) });
  }

  publish<Name extends LiveTopic>(name: Name, notice: Notice<Name>): void {
    const topic = this.#topic(name);
    const sequence = topic.head + 1;
    topic.publish(deepFreeze({ topic: name, sequence, time: this.#clock.now(), notice }));
  }

  subscribe(name: "block", options?: FeedOptions): AsyncGenerator<readonly FeedEvent[], void, void>;
  subscribe<Name extends LiveTopic>(
    name: Name,
    options?: LiveOptions<Name>,
  ): AsyncGenerator<readonly LiveEvent<Name>[], void, void>;
  subscribe<Name extends LiveTopic>(
    name: "block" | Name,
    options: FeedOptions | LiveOptions<Name> = {},
  ): AsyncGenerator<readonly (FeedEvent | LiveEvent<Name>)[], void, void> {
    if (name === "block") return this.feed.subscribe(options as FeedOptions);
    const topic = this.#topic(name) as unknown as Topic<LiveEvent<Name>>;
    const { where, signal } = options as LiveOptions<Name>;
    return topic.subscribe({ where, signal });
  }

  /** Ends every subscription, when each was given what was published before. */
  close(): void {
    this.#closed = true;
    this.feed.close();
    for (const topic of this.#live.values()) topic.close();
  }

  #topic(name: LiveTopic): Topic<LiveEvent<LiveTopic>> {
    const known = this.#live.get(name);
    if (known !== undefined) return known;
    const topic = new Topic<LiveEvent<LiveTopic>>({
      name: `${name} event`,
      head: 0,
      limits: LIMITS,
      numberOf: ({ sequence }) => sequence,
      weigh: () => 1,
    });
    if (this.#closed) topic.close();
    this.#live.set(name, topic);
    return topic;
  }
}
