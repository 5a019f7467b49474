import type { ReplicaText } from "../blocks/index.ts";
import { type ClientFrame, replicaLimits } from "../protocol/replica-frame.ts";
import type { Unsent } from "./unsent.ts";

/**
 * Loro takes half a second for a large insertion that does not follow an operation of the same peer, and next to
 * nothing when it does. So of what is longer than this, a beginning is sent first.
 */
const MUCH = 4_000;
const BEGINNING = 1_000;

type Push = Pick<Extract<ClientFrame, { kind: "push" }>, "counter" | "update" | "typed">;

/** How far the operations of a copy's own peer have come. One frame of them at a time. */
export class ReplicaPushes {
  readonly #unsent: Unsent;
  /** How many of them are on disk. */
  #durable = 0;
  /** The number behind those that are under way, and behind those that are to follow them at once. */
  #sent = 0;
  #flight = 0;

  constructor(unsent: Unsent) {
    this.#unsent = unsent;
  }

  get isUnderWay(): boolean {
    return this.#sent > this.#durable;
  }

  /** The server has so many, and nothing is under way. */
  opened(counter: number): void {
    if (counter >= this.#flight) this.#unsent.landed();
    else this.#unsent.grounded();
    this.#durable = counter;
    this.#sent = counter;
    this.#flight = counter;
  }

  /** True when all that was to go is there. */
  accepted(counter: number): boolean {
    this.#durable = counter;
    if (counter < this.#flight) return false;
    this.#unsent.landed();
    return true;
  }

  /** What goes next, from a number on; undefined when everything is there. */
  next(copy: ReplicaText): Push | undefined {
    const counter = this.#durable;
    const end = copy.counter;
    if (end === counter) {
      this.#unsent.clear();
      return undefined;
    }
    const begins = this.#flight <= counter;
    if (begins) {
      this.#flight = end;
      this.#unsent.fly();
    }
    const much = this.#flight - counter > MUCH;
    let to = begins && much ? counter + BEGINNING : this.#flight;
    let update = copy.exportOwn(counter, to);
    while (update.length > replicaLimits.update) {
      to = counter + Math.ceil((to - counter) / 2);
      update = copy.exportOwn(counter, to);
    }
    this.#sent = to;
    return { counter, update, typed: typedIn(copy, counter, to) };
  }

  /** The copy they were made in is gone. */
  forget(): void {
    this.#flight = 0;
  }
}

/** What is short is told in plain words, too: it can be taken without looking into bytes. */
function typedIn(copy: ReplicaText, from: number, to: number): Push["typed"] {
  const typing = copy.typing(from, to);
  if (typing === undefined) return undefined;
  const { after, at, text } = typing;
  const short = text.length <= replicaLimits.typed && after.length <= replicaLimits.after;
  return short ? { after, at, text } : undefined;
}
