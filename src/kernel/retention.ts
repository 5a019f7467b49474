import { type Clock, KumikoError } from "../base/index.ts";
import type { Store } from "./ports.ts";

const SPACE = "settings";
const KEY = "retention";
const LAST = "retention-applied";
const DAY = 24 * 60 * 60 * 1000;

/** How long what only helps is kept, in days; null keeps it for ever. History is never removed by age. */
export interface RetentionSettings {
  /** Answers to calls with a call_id: a retry after this is a new call. */
  readonly answered_calls_days: number | null;
  /** Snapshots of blocks that nobody changed since: the next opening of one takes longer. */
  readonly idle_snapshots_days: number | null;
}

export interface Retained {
  /** Answered calls that were forgotten. */
  readonly calls: number;
  /** Snapshots that were dropped. */
  readonly snapshots: number;
}

const standard: RetentionSettings = { answered_calls_days: 30, idle_snapshots_days: 90 };

/** Keeps what is kept for convenience from growing for ever. */
export class Retention {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async settings(): Promise<RetentionSettings> {
    const kept = await this.#store.get(SPACE, KEY);
    return kept === undefined ? standard : { ...standard, ...(JSON.parse(kept) as object) };
  }

  async set(changes: Partial<RetentionSettings>): Promise<RetentionSettings> {
    for (const [name, days] of Object.entries(changes)) checkDays(name, days);
    const settings = { ...(await this.settings()), ...changes };
    await this.#store.put(SPACE, KEY, JSON.stringify(settings));
    return settings;
  }

  async apply(): Promise<Retained> {
    const { answered_calls_days, idle_snapshots_days } = await this.settings();
    const now = this.#clock.now();
    const calls =
      answered_calls_days === null
        ? 0
        : await this.#store.forgetCalls({ before: now - answered_calls_days * DAY });
    const snapshots =
      idle_snapshots_days === null
        ? 0
        : await this.#store.dropSnapshots(await this.#positionAt(now - idle_snapshots_days * DAY));
    await this.#store.put(SPACE, LAST, String(now));
    return { calls, snapshots };
  }

  /** The last position that is not younger than a time; clocks that were set back make it earlier, never later. */
  async #positionAt(time: number): Promise<number> {
    let older = 0;
    let younger = (await this.#store.head()) + 1;
    while (younger - older > 1) {
      const middle = Math.floor((older + younger) / 2);
      const [commit] = await this.#store.changesSince(middle - 1, 1);
      if (commit !== undefined && commit.time <= time) older = middle;
      else younger = middle;
    }
    return older;
  }

  /** Once a day, whoever opens the kernel first. */
  async applyWhenDue(): Promise<void> {
    const last = Number((await this.#store.get(SPACE, LAST)) ?? 0);
    if (this.#clock.now() - last < DAY) return;
    try {
      await this.apply();
    } catch (error) {
      // Nothing is lost by keeping more than was wanted; the next opening tries again.
      if (!(error instanceof KumikoError) || error.code !== "journal_unwritable") throw error;
    }
  }
}

function checkDays(name: string, days: number | null): void {
  if (days === null || (Number.isInteger(days) && days >= 1 && days <= 36_500)) return;
  throw new KumikoError(
    "out_of_range",
    `${name} takes whole days, 1 to 36500, or null for ever; not ${days}.`,
    { name, value: days, minimum: 1, maximum: 36_500 },
  );
}
