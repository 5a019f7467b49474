import { KumikoError, parseBlockId } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import type { FeedEvent } from "../../protocol/index.ts";
import type { Host } from "./host.ts";
import { checkResource } from "./resources.ts";
import { resourceUri } from "./resource-uri.ts";

/** Of one connection: more is not what anyone looks at. */
const MOST = 1_000;

interface WatchPorts {
  /** Told of a resource that changed; the next is told when this one is on its way. */
  updated(uri: string): Promise<void>;
  /** Told when a kernel ends the watch: what is watched there will say nothing more. */
  failed(error: unknown): void;
}

/** What one connection listens to, and the feeds it follows for that. The connection disposes of it. */
export class ResourceWatch implements Disposable {
  readonly #host: Host;
  readonly #ports: WatchPorts;
  readonly #watched = new Set<string>();
  /** Kernels that are followed, each until nothing of it is watched any more. */
  readonly #following = new Map<string, AbortController>();

  constructor(host: Host, ports: WatchPorts) {
    this.#host = host;
    this.#ports = ports;
  }

  async add(uri: string): Promise<void> {
    const name = await checkResource(this.#host, uri);
    if (this.#watched.size >= MOST && !this.#watched.has(uri)) {
      throw new KumikoError(
        "too_many",
        `One connection can listen to ${MOST} resources; give some up first.`,
        { limit: MOST },
      );
    }
    const kernel = await this.#host.kernel(name.kernel);
    this.#watched.add(uri);
    if (this.#following.has(name.kernel)) return;
    const stopping = new AbortController();
    this.#following.set(name.kernel, stopping);
    void this.#follow(kernel, stopping.signal).catch((error: unknown) => this.#ports.failed(error));
  }

  remove(uri: string): void {
    if (!this.#watched.delete(uri)) return;
    for (const [kernel, stopping] of this.#following) {
      if ([...this.#watched].some((each) => each.startsWith(`kumiko://${kernel}/`))) continue;
      stopping.abort();
      this.#following.delete(kernel);
    }
  }

  [Symbol.dispose](): void {
    this.#watched.clear();
    for (const stopping of this.#following.values()) stopping.abort();
    this.#following.clear();
  }

  async #follow(kernel: Kernel, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        const where = (event: FeedEvent) => this.#named(kernel, event).length > 0;
        for await (const events of kernel.feed.subscribe({ signal, where })) {
          // Several changes at once are one reason to read again.
          const changed = new Set(events.flatMap((event) => this.#named(kernel, event)));
          for (const uri of changed) if (this.#watched.has(uri)) await this.#ports.updated(uri);
        }
        return;
      } catch (error) {
        if (!(error instanceof KumikoError) || error.code !== "resync" || signal.aborted)
          throw error;
        // Too far behind to know what changed: all of it may have.
        for (const uri of this.#watched)
          if (uri.startsWith(`kumiko://${kernel.id}/`)) await this.#ports.updated(uri);
      }
    }
  }

  #named(kernel: Kernel, { block }: FeedEvent): string[] {
    const { context } = parseBlockId(block);
    return [
      resourceUri({ kernel: kernel.id, kind: "blocks", id: block }),
      resourceUri({ kernel: kernel.id, kind: "contexts", id: context }),
    ].filter((uri) => this.#watched.has(uri));
  }
}
