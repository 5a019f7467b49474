import { KumikoError } from "../base/index.ts";
import type { RecordedChange } from "../blocks/index.ts";
import { type BlockState, fromRow } from "./block-state.ts";
import { type CommitBody, decodeBody } from "./commit-body.ts";
import type { Store, StoredCommit } from "./ports.ts";

/** One commit as subscribers see it: ordered by position, once each, after fsync. */
export interface FeedEvent {
  readonly position: number;
  readonly block: string;
  readonly version: number;
  readonly edit: string;
  readonly actor: string;
  readonly time: number;
  readonly call?: string | undefined;
  readonly message?: string | undefined;
  readonly change: RecordedChange;
  /** The block's new state, when more than its text changed. */
  readonly state?: BlockState | undefined;
}

export interface FeedOptions {
  /** Events behind this position; from now on without it. */
  readonly from?: number | undefined;
  readonly blocks?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Events a subscriber may be behind in memory before it must read from the journal again. */
const BUFFERED = 4096;
/** How far behind, in positions, it may be at all. */
const FURTHEST_BEHIND = 1_000_000;
const PAGE = 1024;

export function toEvent(commit: StoredCommit, body: CommitBody): FeedEvent {
  const { position, block, version, edit, actor, time, call, message } = commit;
  const state = body.row === undefined ? undefined : fromRow(body.row);
  return { position, block, version, edit, actor, time, call, message, change: body.change, state };
}

/**
 * The ordered feed. Each subscriber has a bounded buffer of its own: one that is slow loses its buffer,
 * not events, and reads on from the journal; one that is hopelessly behind is ended with `resync`. Nobody
 * waits for anybody.
 */
export class Feed {
  readonly #store: Store;
  readonly #subscribers = new Set<Subscriber>();
  #head: number;

  constructor(store: Store, head: number) {
    this.#store = store;
    this.#head = head;
  }

  get head(): number {
    return this.#head;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  publish(event: FeedEvent): void {
    this.#head = event.position;
    for (const subscriber of this.#subscribers) subscriber.offer(event);
  }

  /** Batches of events, for as long as the caller goes on asking. */
  async *subscribe(options: FeedOptions = {}): AsyncGenerator<FeedEvent[], void, void> {
    const from = options.from ?? this.#head;
    if (!Number.isInteger(from) || from < 0 || from > this.#head) {
      throw new KumikoError(
        "out_of_range",
        `There is no position ${from}: this kernel has positions 0 to ${this.#head}.`,
        { position: from, minimum: 0, maximum: this.#head },
      );
    }
    const subscriber = new Subscriber(from, this.#head);
    const wanted = options.blocks === undefined ? undefined : new Set(options.blocks);
    const end = (): void => subscriber.end();
    this.#subscribers.add(subscriber);
    options.signal?.addEventListener("abort", end, { once: true });
    try {
      for (;;) {
        const events = subscriber.behind ? await this.#page(subscriber) : await subscriber.next();
        if (events === undefined || options.signal?.aborted === true) return;
        const chosen =
          wanted === undefined ? events : events.filter(({ block }) => wanted.has(block));
        if (chosen.length > 0) yield chosen;
      }
    } finally {
      this.#subscribers.delete(subscriber);
      options.signal?.removeEventListener("abort", end);
    }
  }

  /** Ends every subscription. */
  close(): void {
    for (const subscriber of this.#subscribers) subscriber.end();
  }

  async #page(subscriber: Subscriber): Promise<FeedEvent[]> {
    if (this.#head - subscriber.seen > FURTHEST_BEHIND) {
      throw new KumikoError(
        "resync",
        `The subscriber is ${this.#head - subscriber.seen} events behind; read the blocks again and subscribe from position ${this.#head}.`,
        { seen: subscriber.seen, head: this.#head },
      );
    }
    const commits = await this.#store.changesSince(subscriber.seen, PAGE);
    const events = commits.map((commit) => toEvent(commit, decodeBody(commit.body)));
    subscriber.read(events.at(-1)?.position ?? this.#head);
    return events;
  }
}

class Subscriber {
  /** Everything up to here was handed out. */
  seen: number;
  #buffer: FeedEvent[] = [];
  #known: number;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(seen: number, head: number) {
    this.seen = seen;
    this.#known = head;
  }

  /** Whether there are events that are only in the journal. */
  get behind(): boolean {
    return this.#buffer.length === 0 && this.seen < this.#known;
  }

  offer(event: FeedEvent): void {
    const gapless = this.#buffer.length > 0 ? true : this.seen === this.#known;
    this.#known = event.position;
    if (gapless && this.#buffer.length < BUFFERED) this.#buffer.push(event);
    else this.#buffer = [];
    this.#wake?.();
  }

  read(position: number): void {
    this.seen = position;
    // What came in while the page was read is in the journal as well: never hand it out twice.
    this.#buffer = [];
  }

  async next(): Promise<FeedEvent[] | undefined> {
    while (this.#buffer.length === 0 && !this.behind && !this.#ended) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
    if (this.#ended) return undefined;
    const events = this.#buffer;
    this.#buffer = [];
    if (events.length > 0) this.seen = events.at(-1)!.position;
    return events;
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}
