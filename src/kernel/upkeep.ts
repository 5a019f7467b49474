import { type Clock, KeyedQueue, KumikoError, type Timers } from "../base/index.ts";
import type { RecordedChange } from "../blocks/index.ts";
import type { Store } from "./ports.ts";

/** A text is kept whole again after this much was inserted, or this often spliced, since it last was. */
const MUCH_TEXT = 64 * 1024;
const MANY_SPLICES = 256;
/** A long text that is being written to waits for a splice more per so many characters: it costs more to keep. */
const CHARACTERS_PER_SPLICE = 1024;
/** A block that nobody changed for so long, in milliseconds, is put in order. */
const QUIET = 10_000;
/** Fewer commits are read as fast, and take no more room, as they are. */
const WORTH_IT = 8;
/** A block that is edited without a pause is packed only so often: its commits wait for that, and most rest before. */
const MANY_COMMITS = 16_384;
const AT_ONCE = 2;
const AT_ONCE_CLOSING = 32;
/** Texts that searches asked for are small work; a group of them shares its fsync. */
const AT_ONCE_SEARCHED = 16;

export interface UpkeepPorts {
  readonly store: Store;
  readonly timers: Timers;
  readonly clock: Clock;
  /** The durable text of now, whatever waits in memory. */
  read(block: string): Promise<{ readonly version: number; readonly text: string }>;
}

/** What happened to a block since its text was last kept whole, as far as this process knows. */
interface Wear {
  commits: number;
  splices: number;
  inserted: number;
  changed: number;
  /** Commits that were not packed yet, those before the text was last kept whole among them. */
  loose: number;
  /** So many splices are worth keeping the text whole again. */
  enough: number;
  /** Something else happened to it than that text streams in: somebody edits it, and waits for each commit. */
  edited: boolean;
  /** Where text that streams in goes on. */
  next?: number | undefined;
  /** Nobody is writing to it now. */
  resting: boolean;
  /** A search asked for its text. */
  searched?: boolean;
}

/**
 * Writes keyframes and has commits packed, behind everybody's back: never in a commit's way, a few blocks at
 * a time. Nothing is lost when it fails, so a disk that is full or gone hurts nobody here.
 */
export class Upkeep {
  readonly #ports: UpkeepPorts;
  readonly #worn = new Map<string, Wear>();
  readonly #due = new Map<string, Wear>();
  readonly #searched = new Set<string>();
  readonly #lines = new KeyedQueue();
  readonly #running = new Map<string, Promise<void>>();
  #timer: { cancel(): void } | undefined;
  #atOnce = AT_ONCE;
  #closed = false;
  #unexpected: { readonly error: unknown } | undefined;

  constructor(ports: UpkeepPorts) {
    this.#ports = ports;
  }

  /** A commit of the block is on disk; `ended` when nothing more is expected. */
  committed(block: string, change: RecordedChange, ended: boolean): void {
    const wear = this.#worn.get(block) ?? unworn();
    this.#worn.set(block, wear);
    wear.commits += 1;
    wear.loose += 1;
    wear.changed = this.#ports.clock.now();
    wear.resting = ended;
    if ("splices" in change) {
      wear.splices += change.splices.length;
      for (const { at, remove, insert } of change.splices) {
        wear.inserted += insert.length;
        wear.edited ||= remove > 0 || at !== (wear.next ?? at);
        wear.next = at + insert.length;
      }
    }
    if (ended || wear.splices >= wear.enough || wear.inserted >= MUCH_TEXT) this.#take(block);
    else this.#watch();
  }

  /** A reading had to make so many splices. */
  replayed(block: string, splices: number): void {
    if (splices < MANY_SPLICES || this.#closed || this.#running.has(block)) return;
    this.#worn.set(block, {
      ...unworn(),
      commits: splices,
      splices,
      loose: splices,
      resting: true,
    });
    this.#take(block);
  }

  /** A search had to ask for the block's text: kept whole, it is found through the index next time. */
  searched(block: string): void {
    if (this.#closed || this.#running.has(block)) return;
    const wear = this.#worn.get(block);
    // While it is being changed a keyframe would be of no use to the next search.
    if (wear === undefined) this.#searched.add(block);
    else wear.searched = true;
    this.#start();
  }

  /** Keeps away from a block while a task changes what is stored of it. */
  apart<Result>(block: string, task: () => Promise<Result>): Promise<Result> {
    return this.#lines.run([block], task);
  }

  /** Puts in order what is left, then rests. Throws what nobody expected to fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#searched.clear();
    this.#atOnce = AT_ONCE_CLOSING;
    for (const block of this.#worn.keys()) this.#rest(block);
    while (this.#running.size > 0) await Promise.all(this.#running.values());
    if (this.#unexpected !== undefined) throw this.#unexpected.error;
  }

  #watch(): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = this.#ports.timers.after(QUIET, () => {
      this.#timer = undefined;
      const now = this.#ports.clock.now();
      for (const [block, { changed }] of this.#worn) {
        if (now - changed >= QUIET) this.#rest(block);
      }
      if (this.#worn.size > 0) this.#watch();
    });
  }

  #rest(block: string): void {
    this.#worn.get(block)!.resting = true;
    this.#take(block);
  }

  #take(block: string): void {
    const wear = this.#worn.get(block)!;
    this.#worn.delete(block);
    const worthIt = wear.loose >= WORTH_IT || wear.inserted >= MUCH_TEXT;
    if (!worthIt && wear.searched !== true) return;
    this.#due.set(block, wear);
    this.#start();
  }

  #start(): void {
    for (const [block, wear] of this.#due) {
      if (this.#running.size >= this.#atOnce) return;
      if (this.#running.has(block)) continue;
      this.#due.delete(block);
      this.#run(block, wear);
    }
    for (const block of this.#searched) {
      if (this.#running.size >= AT_ONCE_SEARCHED) return;
      this.#searched.delete(block);
      if (this.#running.has(block)) continue;
      this.#run(block, { ...unworn(), commits: 1, loose: 1, resting: true, searched: true });
    }
  }

  #run(block: string, wear: Wear): void {
    const done = this.#tidy(block, wear).finally(() => {
      this.#running.delete(block);
      this.#start();
    });
    this.#running.set(block, done);
  }

  async #tidy(block: string, wear: Wear): Promise<void> {
    const { store } = this.#ports;
    try {
      await this.#lines.run([block], async () => {
        const { version, text } = await this.#ports.read(block);
        const enough = text.length / CHARACTERS_PER_SPLICE;
        if (!wear.resting && wear.splices < enough && wear.inserted < MUCH_TEXT)
          return this.#add(block, { ...wear, enough });
        // Nothing to keep when all that happened since is known to be kept.
        if (wear.commits > 0) await store.putKeyframe(block, { version, text });
        const { resting, loose, edited, changed } = wear;
        if (resting || !edited || loose >= MANY_COMMITS) await store.compact(block, version);
        else this.#add(block, { ...unworn(), loose, edited, changed });
        return undefined;
      });
    } catch (error) {
      if (!(error instanceof KumikoError)) this.#unexpected ??= { error };
      else if (error.code === "journal_unwritable" && !this.#closed) this.#tryLater(block, wear);
    }
  }

  #tryLater(block: string, wear: Wear): void {
    this.#add(block, { ...wear, changed: this.#ports.clock.now() });
  }

  /** To what happened to the block meanwhile. */
  #add(block: string, wear: Wear): void {
    const since = this.#worn.get(block) ?? unworn();
    this.#worn.set(block, {
      commits: wear.commits + since.commits,
      splices: wear.splices + since.splices,
      inserted: wear.inserted + since.inserted,
      changed: Math.max(wear.changed, since.changed),
      loose: wear.loose + since.loose,
      enough: Math.max(wear.enough, since.enough),
      edited: wear.edited || since.edited,
      next: since.next ?? wear.next,
      resting: since.commits > 0 ? since.resting : wear.resting,
      searched: wear.searched === true || since.searched === true,
    });
    if (this.#closed) this.#rest(block);
    else this.#watch();
  }
}

function unworn(): Wear {
  return {
    commits: 0,
    splices: 0,
    inserted: 0,
    changed: 0,
    loose: 0,
    enough: MANY_SPLICES,
    edited: false,
    resting: false,
  };
}
