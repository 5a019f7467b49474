import { RpcTarget } from "capnweb";
import { KumikoError } from "../../base/index.ts";
import {
  type EndReason,
  type FeedEvent,
  type FeedMessage,
  type LiveEvent,
  type LiveTopic,
  type RpcAnswers,
  rpcInputs,
  type RpcSubscription,
} from "../../protocol/index.ts";
import type { Caller, Ending } from "./caller.ts";
import { checkInput } from "./check-input.ts";
import { Delivery } from "./delivery.ts";
import { type Listener, listenerOf } from "./listener.ts";

/** Milliseconds in which a subscriber has to hear that it ends. Who was too slow for that too loses its connection. */
const PATIENCE = 10_000;

type AnyEvent = FeedEvent | LiveEvent<LiveTopic>;

/** One topic of a subscription. */
export interface Source<Event = AnyEvent> {
  /** Ends without an error when the signal aborts. */
  open(signal: AbortSignal): AsyncIterable<readonly Event[]>;
  weigh(event: Event): number;
  message(events: readonly Event[]): FeedMessage;
  /** Whether these were there before the subscription began: they can be read again, and wait for the peer. */
  isPast(events: readonly Event[]): boolean;
}

interface Opened {
  readonly source: Source;
  readonly events: AsyncIterable<readonly AnyEvent[]>;
}

/** Someone who listens. It ends with a reason that it is told. */
export class Subscription extends RpcTarget implements RpcSubscription {
  readonly #caller: Caller;
  readonly #listener: Listener;
  readonly #stop = new AbortController();
  readonly #deliveries: Delivery<AnyEvent>[] = [];
  readonly #registered: Disposable;
  readonly #whenEnded: () => void;
  readonly #ending: Ending = {
    end: (reason) => this.#end(reason),
    resumed: () => {
      for (const delivery of this.#deliveries) delivery.pump();
    },
  };
  /** Resolves when nobody waits any more for the subscriber to hear of its end. */
  readonly #givenUp = Promise.withResolvers<void>();
  #ended: Promise<void> | undefined;

  /** Who cannot be told, and sources that cannot be opened, are thrown. */
  constructor(
    caller: Caller,
    listener: unknown,
    begun: FeedMessage,
    sources: readonly Source[],
    whenEnded: () => void,
  ) {
    super();
    this.#caller = caller;
    this.#whenEnded = whenEnded;
    // Opened now, so that nothing between now and the callback's first answer is missed.
    const opened = sources.map((source) => ({ source, events: source.open(this.#stop.signal) }));
    using claimed = new DisposableStack();
    this.#registered = claimed.use(caller.subscribe(this.#ending));
    this.#listener = claimed.use(listenerOf(listener, caller.channels));
    claimed.move();
    void this.#begin(begun, opened);
  }

  async end(input?: unknown): Promise<RpcAnswers["Subscription"]["end"]> {
    return this.#caller.run("end", async () => {
      checkInput("end", rpcInputs.Subscription.end, input);
      await this.#end("released");
      return {};
    });
  }

  [Symbol.dispose](): void {
    void this.#end("released");
  }

  async #begin(begun: FeedMessage, opened: readonly Opened[]): Promise<void> {
    const begin = this.#tell(begun).catch((error: unknown) => this.#fail(error));
    await Promise.all([begin, ...opened.map((each) => this.#carry(each))]);
  }

  async #carry({ source, events: batches }: Opened): Promise<void> {
    const delivery = new Delivery<AnyEvent>({
      window: this.#listener.window,
      tell: (message, answered, failed) => this.#listener.tell(message, answered, failed),
      paused: () => this.#caller.paused,
      failed: (error) => void this.#fail(error),
      weigh: (event) => source.weigh(event),
      message: (events) => source.message(events),
    });
    this.#deliveries.push(delivery);
    try {
      for await (const events of batches) {
        delivery.add(events);
        if (source.isPast(events)) await delivery.room();
        else if (delivery.pending > this.#caller.limits.waiting) throw this.#tooSlow(delivery);
      }
      // The kernel closes. What it published before is still told, if anyone listens.
      await delivery.room();
      await this.#end("closing");
    } catch (error) {
      await this.#fail(error);
    }
  }

  #tell(message: FeedMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#listener.tell(message, resolve, reject);
    return promise;
  }

  #tooSlow({ pending }: Delivery<AnyEvent>): KumikoError {
    const limit = this.#caller.limits.waiting;
    return new KumikoError(
      "resync",
      `${pending} characters wait for the subscriber, and ${limit} are kept. Subscribe again from the last position it was told.`,
      { waiting: pending, limit },
    );
  }

  #fail(error: unknown): Promise<void> {
    const resync = error instanceof KumikoError && error.code === "resync";
    return this.#end(resync ? "resync" : "failed", error);
  }

  #end(reason: EndReason | "gone", error?: unknown): Promise<void> {
    this.#ended ??= this.#finish(reason, error);
    if (reason === "gone") this.#givenUp.resolve();
    return this.#ended;
  }

  async #finish(reason: EndReason | "gone", error: unknown): Promise<void> {
    this.#stop.abort();
    this.#whenEnded();
    if (reason === "failed") this.#caller.hall.log.warn({ err: error }, "a subscription failed");
    for (const delivery of this.#deliveries) delivery.stop();
    // Until then it counts as one: who hears of nothing could have any number of them otherwise.
    try {
      if (reason !== "gone") await this.#tellEnd(reason, error);
    } catch (untold) {
      // Whoever cannot be told is gone, or does not want to know.
      this.#caller.hall.log.debug({ err: untold, reason }, "a subscriber was not told of its end");
    } finally {
      this.#listener[Symbol.dispose]();
      this.#registered[Symbol.dispose]();
    }
  }

  async #tellEnd(reason: EndReason, error: unknown): Promise<void> {
    const told = this.#tell(ended(reason, error));
    if (reason === "released") {
      // It asked for that itself: nobody waits to hear that it has heard.
      told.catch(() => undefined);
      return;
    }
    const patience = this.#caller.timers.after(PATIENCE, () => {
      if (reason === "resync") this.#caller.stalled();
      this.#givenUp.resolve();
    });
    try {
      await Promise.race([told, this.#givenUp.promise]);
    } finally {
      patience.cancel();
    }
  }
}

const sentences: { readonly [reason in EndReason]: string } = {
  resync: "The subscriber was too slow; subscribe again from the last position it was told.",
  closing: "The kernel or the server is closing.",
  unauthorised: "The token was revoked or has expired.",
  released: "It was ended by the subscriber.",
  failed: "The subscription failed.",
};

const codes = {
  resync: "resync",
  closing: "closing",
  unauthorised: "unauthorised",
  released: "disposed",
  failed: "internal",
} as const;

function ended(reason: EndReason, error: unknown): FeedMessage {
  const { code, message, facts } =
    error instanceof KumikoError ? error : new KumikoError(codes[reason], sentences[reason], {});
  return { kind: "ended", reason, error: { code, message, facts: facts as never } };
}
