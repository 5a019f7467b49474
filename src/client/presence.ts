import type { Presence, PresenceChange, PresenceEntry } from "../protocol/index.ts";

/** Who else is in the kernel, where and doing what; and oneself, for the others. */
export class PresenceClient {
  readonly #send: (json: string) => void;
  readonly #others = new Map<string, PresenceEntry>();
  readonly #listeners = new Set<() => void>();
  #own: Presence | undefined;
  /** Under which this connection is told of itself. */
  #key: string | undefined;

  constructor(send: (json: string) => void) {
    this.#send = send;
  }

  /** Everybody else, as last told; empty without connection. */
  get others(): readonly PresenceEntry[] {
    return [...this.#others.values()];
  }

  /** Says where one is; it stands until one says otherwise or is gone. */
  set(presence: Presence): void {
    this.#own = presence;
    this.#send(JSON.stringify(presence));
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  // What the connection tells it

  connected(key: string): void {
    this.#key = key;
    if (this.#own !== undefined) this.#send(JSON.stringify(this.#own));
  }

  disconnected(): void {
    if (this.#others.size === 0) return;
    this.#others.clear();
    this.#tell();
  }

  received(json: string): void {
    const { here, gone } = JSON.parse(json) as PresenceChange;
    for (const key of gone) this.#others.delete(key);
    const others = here.filter(({ key }) => key !== this.#key);
    if (others.length + gone.length === 0) return;
    for (const entry of others) this.#others.set(entry.key, entry);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
