import type { FeedMessage } from "../../protocol/index.ts";
import { TextFrame } from "../http/text-frame.ts";
import { messageText } from "./plain-event.ts";

const told = new WeakMap<FeedMessage, ToldMessage>();

/** What is told on channels: one frame for all of one number. */
export class ToldMessage {
  readonly #text: string;
  readonly #frames = new Map<number, TextFrame>();

  private constructor(text: string) {
    this.#text = text;
  }

  /** The same for the same message. */
  static of(message: FeedMessage): ToldMessage {
    let made = told.get(message);
    if (made === undefined) {
      made = new ToldMessage(messageText(message));
      told.set(message, made);
    }
    return made;
  }

  on(channel: number): TextFrame {
    let frame = this.#frames.get(channel);
    if (frame === undefined) {
      frame = new TextFrame(`{"channel":${channel},"message":${this.#text}}`);
      this.#frames.set(channel, frame);
    }
    return frame;
  }
}
