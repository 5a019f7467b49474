import type { FeedMessage } from "../../protocol/index.ts";

/** Events and units of text in one message. */
const EVENTS = 512;
const UNITS = 256 * 1024;
/** Units that were sent and not answered; a first message goes whatever it has. */
const UNANSWERED = 1024 * 1024;

export interface DeliveryPorts<Event> {
  /** Messages that may be sent and not answered. */
  readonly window: number;
  /** Calls one of the two when they are done with it, in the order they were told. */
  tell(message: FeedMessage, answered: () => void, failed: (error: unknown) => void): void;
  /** Whether the peer's connection has no room now. */
  paused(): boolean;
  failed(error: unknown): void;
  weigh(event: Event): number;
  message(events: readonly Event[]): FeedMessage;
}

/**
 * The events of one topic on their way to one callback: in order, in messages of bounded size, a few of them not
 * answered yet. What comes meanwhile waits here, and whoever brings it looks at how much that is.
 */
export class Delivery<Event> {
  readonly #ports: DeliveryPorts<Event>;
  #waiting: Event[] = [];
  #waitingUnits = 0;
  /** Of each message that was sent and not answered. */
  readonly #sent: number[] = [];
  #sentUnits = 0;
  #room: (() => void) | undefined;
  #stopped = false;

  constructor(ports: DeliveryPorts<Event>) {
    this.#ports = ports;
  }

  /** Units that are waiting, or sent and not answered. */
  get pending(): number {
    return this.#waitingUnits + this.#sentUnits;
  }

  add(events: readonly Event[]): void {
    if (this.#stopped) return;
    let units = 0;
    for (const event of events) units += this.#ports.weigh(event);
    const fits = events.length === 1 || (events.length <= EVENTS && units <= UNITS);
    if (fits && this.#waiting.length === 0 && this.#mayTell()) {
      // The very list that others are told too: the message is theirs as well.
      this.#tell(events, units);
      return;
    }
    for (const event of events) this.#waiting.push(event);
    this.#waitingUnits += units;
    this.pump();
  }

  /** Resolves when nothing waits: for who can read on later what it does not take now. */
  async room(): Promise<void> {
    if (this.#stopped || this.#waiting.length === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#room = resolve;
    await promise;
  }

  /** Sends what may be sent now. */
  pump(): void {
    while (!this.#stopped && this.#waiting.length > 0 && this.#mayTell()) this.#send();
    if (this.#waiting.length === 0) this.#room?.();
  }

  /** Nothing more is sent. */
  stop(): void {
    this.#stopped = true;
    this.#waiting = [];
    this.#waitingUnits = 0;
    this.#room?.();
  }

  #mayTell(): boolean {
    return (
      this.#sent.length < this.#ports.window &&
      (this.#sent.length === 0 || this.#sentUnits < UNANSWERED) &&
      !this.#ports.paused()
    );
  }

  #send(): void {
    let count = 0;
    let units = 0;
    while (count < this.#waiting.length && count < EVENTS && (count === 0 || units < UNITS)) {
      units += this.#ports.weigh(this.#waiting[count]!);
      count++;
    }
    const events = this.#waiting.splice(0, count);
    this.#waitingUnits -= units;
    this.#tell(events, units);
  }

  #tell(events: readonly Event[], units: number): void {
    this.#sentUnits += units;
    this.#sent.push(units);
    this.#ports.tell(this.#ports.message(events), this.#answered, this.#failed);
  }

  /** One function for all messages: thousands of subscribers have some under way all the time. */
  readonly #answered = (): void => {
    this.#sentUnits -= this.#sent.shift() ?? 0;
    this.pump();
  };

  readonly #failed = (error: unknown): void => {
    if (!this.#stopped) this.#ports.failed(error);
  };
}
