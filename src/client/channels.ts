import type { FeedMessage } from "../protocol/index.ts";

/** The server is told what we are done with after so many messages, or characters, and at the end. */
const MESSAGES = 32;
const CHARACTERS = 64 * 1024;

interface Open {
  /** Told in order; the next may come before this one is done with. */
  handle(message: FeedMessage): Promise<void>;
  done: number;
  characters: number;
}

/** The channels of one connection. */
export class Channels {
  readonly #send: (text: string) => void;
  readonly #open = new Map<number, Open>();
  #last = 0;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  /** Gives the channel's number. It ends with the message that says so, with the connection, or by `close`. */
  open(handle: (message: FeedMessage) => Promise<void>): number {
    this.#last++;
    this.#open.set(this.#last, { handle, done: 0, characters: 0 });
    return this.#last;
  }

  close(channel: number): void {
    this.#open.delete(channel);
  }

  take(frame: unknown, characters: number): void {
    const { channel, message } = frame as { channel: number; message: FeedMessage };
    const open = this.#open.get(channel);
    if (open === undefined) return;
    const ended = message.kind === "ended";
    if (ended) this.#open.delete(channel);
    open.handle(message).then(
      () => this.#done(channel, open, characters, ended),
      // Who throws ends its subscription, and is told nothing more.
      () => undefined,
    );
  }

  #done(channel: number, open: Open, characters: number, ended: boolean): void {
    open.done++;
    open.characters += characters;
    if (open.done < MESSAGES && open.characters < CHARACTERS && !ended) return;
    this.#send(JSON.stringify({ channel, done: open.done }));
    open.done = 0;
    open.characters = 0;
  }
}
