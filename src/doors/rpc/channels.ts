import { KumikoError } from "../../base/index.ts";
import { channelDone } from "../../protocol/index.ts";
import type { TextFrame } from "../http/text-frame.ts";
import type { ToldMessage } from "./told-message.ts";

/** The near end of one channel. The subscription that opened it disposes of it. */
export interface Channel extends Disposable {
  /** `answered` is called when the peer is done with it, or when nobody waits for that any more. */
  tell(message: ToldMessage, answered: () => void): void;
}

/** The channels of one connection. */
export class Channels {
  readonly #send: (frame: TextFrame) => void;
  readonly #open = new Map<number, (() => void)[]>();

  constructor(send: (frame: TextFrame) => void) {
    this.#send = send;
  }

  open(channel: number): Channel {
    if (this.#open.has(channel)) {
      throw new KumikoError("already_exists", `There is already a channel ${channel}.`, {
        channel,
      });
    }
    const told: (() => void)[] = [];
    this.#open.set(channel, told);
    return {
      tell: (message, answered) => {
        told.push(answered);
        this.#send(message.on(channel));
      },
      [Symbol.dispose]: () => {
        this.#open.delete(channel);
        for (const answered of told.splice(0)) answered();
      },
    };
  }

  /** What a peer says of a channel. One that it just gave up is none of its mistakes. */
  take(frame: unknown): void {
    const { channel, done } = channelDone.parse(frame);
    const told = this.#open.get(channel) ?? [];
    for (const answered of told.splice(0, done)) answered();
  }
}
