import { eventUnits, type FeedEvent } from "../../kernel/index.ts";
import type { FeedMessage } from "../../protocol/index.ts";

const plain = new WeakMap<FeedEvent, { event: FeedEvent; units: number }>();
const texts = new WeakMap<FeedEvent, string>();

const messages = new WeakMap<readonly FeedEvent[], FeedMessage>();

/** Events without what is undefined, which would cross the wire; made once for all who are told the same list. */
export function blockMessage(events: readonly FeedEvent[]): FeedMessage {
  let message = messages.get(events);
  if (message === undefined) {
    const plainEvents = events.map((event) => prepared(event).event);
    Object.freeze(plainEvents);
    const { position } = events.at(-1)!;
    message = Object.freeze({ kind: "blocks", events: plainEvents, position });
    messages.set(events, message);
  }
  return message;
}

/** What an event takes in a message, in UTF-16 units. */
export function wireUnits(event: FeedEvent): number {
  return prepared(event).units;
}

/** What a message of a channel says, with each event written once for all who are told of it. */
export function messageText(message: FeedMessage): string {
  if (message.kind !== "blocks") return JSON.stringify(message);
  const events = message.events.map(eventText).join(",");
  return `{"kind":"blocks","events":[${events}],"position":${message.position}}`;
}

function eventText(event: FeedEvent): string {
  let text = texts.get(event);
  if (text === undefined) {
    text = JSON.stringify(event);
    texts.set(event, text);
  }
  return text;
}

function prepared(event: FeedEvent): { event: FeedEvent; units: number } {
  const known = plain.get(event);
  if (known !== undefined) return known;
  const entries = Object.entries(event).filter(([, value]) => value !== undefined);
  const state = event.state === undefined ? 0 : JSON.stringify(event.state).length;
  const made = {
    event: Object.fromEntries(entries) as unknown as FeedEvent,
    units: eventUnits(event) + state,
  };
  plain.set(event, made);
  return made;
}
