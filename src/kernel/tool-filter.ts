import type { Clock } from "../base/index.ts";
import type { Notice, ToolFilter } from "../protocol/index.ts";
import { type Authorise, checkAllowed } from "./gate.ts";
import type { Store } from "./ports.ts";

const SPACE = "settings";
const KEY = "tool-filter";
/** It is looked at with every call; what another server of the store sets is seen this many milliseconds later. */
const FRESH = 1000;

export interface ToolFilterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly authorise: Authorise;
  announce(notice: Notice<"config">): void;
}

/** Which tools the kernel offers to those who come in by a door. Whoever sets it says what all of them see. */
export class ToolFilterSetting {
  readonly #ports: ToolFilterPorts;
  #changes = 0;
  #read: { readonly filter: ToolFilter; readonly at: number } | undefined;

  constructor(ports: ToolFilterPorts) {
    this.#ports = ports;
  }

  /** One that cannot be read is an error: offering everything instead would offer what was taken away. */
  async get(): Promise<ToolFilter> {
    const { store, clock } = this.#ports;
    const now = clock.now();
    if (this.#read !== undefined && Math.abs(now - this.#read.at) < FRESH) return this.#read.filter;
    const changes = this.#changes;
    const kept = await store.get(SPACE, KEY);
    const filter: ToolFilter =
      kept === undefined ? { kind: "all" } : (JSON.parse(kept) as ToolFilter);
    // What was set meanwhile is not hidden by what was read before.
    if (changes === this.#changes) this.#read = { filter, at: now };
    return filter;
  }

  async set(filter: ToolFilter, by: string): Promise<ToolFilter> {
    const { store, authorise } = this.#ports;
    await checkAllowed(authorise, by, "configure", [KEY]);
    await store.put(SPACE, KEY, JSON.stringify(filter));
    this.#changes++;
    this.#read = undefined;
    this.#ports.announce({ key: KEY, value: filter, by });
    return filter;
  }
}
