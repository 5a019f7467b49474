import { expect } from "vitest";
import type { FeedEvent } from "../../../src/protocol/index.ts";
import { whenWritten } from "./call.ts";
import { factsOf, type Model } from "./model.ts";

/** Lets the model follow by what the feed says. Nothing may happen that nobody asked for. */
export class Follower {
  readonly #model: Model;
  /** Whether blocks may be found whose owner is gone. */
  restarted = false;

  constructor(model: Model) {
    this.#model = model;
  }

  /** Events are of the Edit `own`, text that had been waiting, or the end of a block without an owner. */
  follow(events: readonly FeedEvent[], own: unknown, done: (event: FeedEvent) => void): void {
    for (const event of events) {
      if (event.edit === own) done(event);
      else if (this.restarted && event.actor === "system") this.#orphan(event);
      else this.#flushed(event);
    }
  }

  #flushed(event: FeedEvent): void {
    const { block: id, actor, edit, change } = event;
    const stream = this.#model.streams.get(`${actor} ${id}`);
    if (stream === undefined || change.kind !== "text")
      throw new Error(`nobody did ${JSON.stringify(event)}`);
    const block = this.#model.block(id);
    const facts = whenWritten(factsOf(block));
    const [splice, ...more] = change.splices;
    const { insert, ...place } = splice!;
    expect(more).toEqual([]);
    expect(place).toEqual({ at: block.text.read().length, remove: 0 });
    expect(stream.pending.slice(0, insert.length)).toBe(insert);
    // All that an actor appends until the stream ends is one Edit.
    stream.edit ??= edit;
    expect(edit).toBe(stream.edit);
    stream.pending = stream.pending.slice(insert.length);
    this.#model.apply(event, "block_append");
    expect(factsOf(block)).toEqual(facts);
  }

  #orphan(event: FeedEvent): void {
    const { status, flags, metadata } = factsOf(this.#model.block(event.block));
    expect(status).toBe("running");
    const block = this.#model.apply(event, undefined);
    expect(factsOf(block)).toEqual({ status: "error", flags, metadata });
    expect(event).toMatchObject({ change: { kind: "structure" } });
  }
}
