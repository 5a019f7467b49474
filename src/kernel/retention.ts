import { type Clock, KumikoError } from "../base/index.ts";
import type { Notice } from "../protocol/index.ts";
import { type Authorise, checkAllowed } from "./gate.ts";
import type { Store } from "./ports.ts";
import { isDamage } from "./quarantine.ts";

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

export interface RetentionPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly authorise: Authorise;
  announce(notice: Notice<"config">): void;
  /** Told of a row that cannot be read and is done without. */
  damaged(error: KumikoError): void;
}

const standard: RetentionSettings = { answered_calls_days: 30, idle_snapshots_days: 90 };

/** Keeps what is kept for convenience from growing for ever. */
export class Retention {
  readonly #ports: RetentionPorts;

  constructor(ports: RetentionPorts) {
    this.#ports = ports;
  }

  async settings(): Promise<RetentionSettings> {
    const kept = await this.#ports.store.get(SPACE, KEY);
    return kept === undefined ? standard : { ...standard, ...(JSON.parse(kept) as object) };
  }

  async set(changes: Partial<RetentionSettings>, by: string): Promise<RetentionSettings> {
    const { store, authorise } = this.#ports;
    for (const [name, days] of Object.entries(changes)) checkDays(name, days);
    await checkAllowed(authorise, by, "configure", [KEY]);
    const settings = { ...(await this.#settingsBefore(changes)), ...changes };
    await store.put(SPACE, KEY, JSON.stringify(settings));
    this.#ports.announce({ key: KEY, value: { ...settings }, by });
    return settings;
  }

  async apply(): Promise<Retained> {
    const { store, clock } = this.#ports;
    const { answered_calls_days, idle_snapshots_days } = await this.settings();
    const now = clock.now();
    const calls =
      answered_calls_days === null
        ? 0
        : await store.forgetCalls({ before: now - answered_calls_days * DAY });
    const snapshots =
      idle_snapshots_days === null
        ? 0
        : await store.dropSnapshots(await this.#positionAt(now - idle_snapshots_days * DAY));
    await this.#note(now);
    return { calls, snapshots };
  }

  /** Once a day, whoever opens the kernel first. What is damaged fails nobody who opens it. */
  async applyWhenDue(): Promise<void> {
    try {
      if (!(await this.#isDue())) return;
      // In a new kernel nothing is old, and to look for it would start the thread that forgets.
      if ((await this.#ports.store.head()) === 0) await this.#note(this.#ports.clock.now());
      else await this.apply();
    } catch (error) {
      // Nothing is lost by keeping more than was wanted; the next opening tries again.
      if (isDamage(error)) this.#ports.damaged(error);
      else if (!(error instanceof KumikoError) || error.code !== "journal_unwritable") throw error;
    }
  }

  async #note(applied: number): Promise<void> {
    await this.#ports.store.put(SPACE, LAST, String(applied));
  }

  /** When it was last applied is written anew by applying it: that it cannot be read makes it due. */
  async #isDue(): Promise<boolean> {
    const { store, clock } = this.#ports;
    try {
      return clock.now() - Number((await store.get(SPACE, LAST)) ?? 0) >= DAY;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#ports.damaged(error);
      return true;
    }
  }

  /** Nobody may be given less than they had chosen because that cannot be read any more. */
  async #settingsBefore(changes: Partial<RetentionSettings>): Promise<RetentionSettings> {
    try {
      return await this.settings();
    } catch (error) {
      const missing = Object.keys(standard).filter((name) => !(name in changes));
      if (!isDamage(error)) throw error;
      if (missing.length === 0) return standard;
      throw new KumikoError(
        "damaged",
        `The retention settings are damaged and what they were is unknown: set all of them, also ${missing.join(", ")}.`,
        { ...error.facts, missing },
        { cause: error },
      );
    }
  }

  /** The last position that is not younger than a time; clocks that were set back and damage make it earlier, never later. */
  async #positionAt(time: number): Promise<number> {
    const { store } = this.#ports;
    let older = 0;
    let younger = (await store.head()) + 1;
    while (younger - older > 1) {
      const middle = Math.floor((older + younger) / 2);
      if ((await this.#timeOf(middle)) <= time) older = middle;
      else younger = middle;
    }
    return older;
  }

  async #timeOf(position: number): Promise<number> {
    try {
      const [commit] = await this.#ports.store.changesSince(position - 1, 1);
      return commit?.time ?? Infinity;
    } catch (error) {
      // Whoever reads that block is told.
      if (!isDamage(error)) throw error;
      return Infinity;
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
