import type { ServerResponse } from "node:http";
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";
import type { Host } from "./host.ts";
import { ResourceWatch } from "./resource-watch.ts";
import { roomIn } from "./stream-room.ts";

/** What one `subscriptions/listen` is told: the resources it names, for as long as its response is open. */
export class ListenBus implements ServerEventBus, Disposable {
  readonly #watch: ResourceWatch;
  readonly #listeners = new Set<(event: ServerEvent) => void>();

  constructor(host: Host, response: ServerResponse) {
    this.#watch = new ResourceWatch(host, {
      updated: async (uri) => {
        await roomIn(response);
        this.publish({ kind: "resource_updated", uri });
      },
      // The client notices that its stream has ended, listens again, and reads.
      failed: () => void response.destroy(),
    });
  }

  /** Refuses what cannot be listened to; what is not a filter at all the protocol refuses. */
  async prepare(body: unknown): Promise<void> {
    for (const uri of listenedTo(body)) await this.#watch.add(uri);
  }

  publish(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}

/** The resources that a `subscriptions/listen` names. */
export function listenedTo(message: unknown): string[] {
  const { params } = message as {
    params?: { notifications?: { resourceSubscriptions?: unknown } };
  };
  const named = params?.notifications?.resourceSubscriptions;
  return Array.isArray(named) ? named.filter((uri) => typeof uri === "string") : [];
}
