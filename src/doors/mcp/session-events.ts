import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Of one session: what a client may have missed while its stream was down. */
const MOST = 256;
const MOST_UNITS = 1_000_000;

interface SentEvent {
  readonly number: number;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly units: number;
}

/** The last events of a session's streams, so that a client whose stream broke off gets what it missed. */
export class SessionEvents implements EventStore {
  #sent: SentEvent[] = [];
  #units = 0;
  #last = 0;

  storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const number = ++this.#last;
    const units = JSON.stringify(message).length;
    this.#sent.push({ number, stream, message, units });
    this.#units += units;
    while (this.#sent.length > MOST || (this.#units > MOST_UNITS && this.#sent.length > 1))
      this.#units -= this.#sent.shift()!.units;
    return Promise.resolve(`${number}-${stream}`);
  }

  getStreamIdForEventId(event: string): Promise<string | undefined> {
    return Promise.resolve(/^\d+-(.+)$/.exec(event)?.[1]);
  }

  /** What is forgotten cannot be sent again: then the client is refused, and begins anew. */
  async replayEventsAfter(
    event: string,
    { send }: { readonly send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const [, digits = "", stream = ""] = /^(\d+)-(.+)$/.exec(event) ?? [];
    const after = Number(digits);
    const oldest = this.#sent[0]?.number ?? this.#last + 1;
    if (stream === "" || after > this.#last || after < oldest - 1)
      throw new Error("the event is not remembered");
    for (const each of this.#sent) {
      // Those that only open a stream say nothing.
      if (each.number > after && each.stream === stream && "jsonrpc" in each.message)
        await send(`${each.number}-${stream}`, each.message);
    }
    return stream;
  }
}
