import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { KumikoError } from "../../base/errors.ts";
import { writeBatch } from "./batch.ts";
import { compactStep } from "./compaction.ts";
import { pack, type Packed } from "./packed.ts";
import { openForWriting, reopen } from "./recovery.ts";
import type { Numbered, Refusal, Result, WriteAnswer, WriteRequest } from "./requests.ts";
import { rewriteBlock } from "./rewrite.ts";
import { isBroken } from "./salvage/structure.ts";
import type { Tables } from "./tables.ts";
import { scrubsPending, vacuum } from "./vacuum.ts";

/** They fill five megabytes of WAL. More would have it grow for longer before it begins anew. */
const GROUPS_PER_CHECKPOINT = 256;
const encoder = new TextEncoder();

/** What `compact` gives when there is more to do: not an answer yet. */
const unfinished = Symbol("unfinished");

export interface Performed {
  readonly results: Result[];
  /** Compactions that go on in a later group, so that no commit waits for all of one. */
  readonly again: Numbered[];
  /** Those that are answered only after a vacuum, which no other answer waits for. */
  readonly vacuums: Numbered[];
}

/**
 * The one that writes. A group of requests is one transaction and one fsync; each request in it succeeds or
 * is refused by itself. When SQLite fails, the whole group fails and the database is opened anew.
 */
export class Writer {
  readonly #file: string;
  /** Undefined after a failure, until it could be opened again. */
  #tables: Tables | undefined;
  #acknowledged: number;
  #cause = "";
  #groups = 0;

  constructor(file: string) {
    this.#file = file;
    this.#tables = openForWriting(file);
    this.#acknowledged = this.#tables.journal.head();
  }

  /** Where the journal ends, as far as anyone was told by whichever writer. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  acknowledge(position: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, position);
  }

  perform(group: readonly Numbered[]): Performed {
    this.#groups += 1;
    try {
      this.#tables ??= reopen(this.#file, this.#acknowledged, this.#cause);
    } catch (error) {
      return refuseAll(group, this.#unwritable(error));
    }
    try {
      return this.#transaction(this.#tables, group);
    } catch (error) {
      return refuseAll(group, this.#recover(error));
    }
  }

  /** Not in a transaction, so not in a group. Answers all that wait for one. */
  vacuum(waiting: readonly Numbered[]): Performed {
    try {
      this.#tables ??= reopen(this.#file, this.#acknowledged, this.#cause);
      vacuum(this.#tables.connection);
    } catch (error) {
      return refuseAll(waiting, this.#notVacuumed(error));
    }
    return {
      results: waiting.map(({ number }) => ({ number, answer: undefined })),
      again: [],
      vacuums: [],
    };
  }

  /** An earlier process died, or had no room, between a rewrite and its vacuum. */
  owesVacuum(): boolean {
    return this.#tables !== undefined && scrubsPending(this.#tables.connection);
  }

  /** True once for every so many groups. */
  checkpointDue(): boolean {
    if (this.#groups < GROUPS_PER_CHECKPOINT) return false;
    this.#groups = 0;
    return true;
  }

  /** After the answers are out: moves the WAL into the database. */
  checkpoint(): void {
    if (this.#tables === undefined) return;
    try {
      this.#tables.connection.database.pragma("wal_checkpoint(PASSIVE)");
    } catch (error) {
      // Everything acknowledged is still in the WAL; the next group begins by opening anew.
      this.#abandon(error);
    }
  }

  close(): void {
    this.#tables?.[Symbol.dispose]();
    this.#tables = undefined;
  }

  #transaction(tables: Tables, group: readonly Numbered[]): Performed {
    const { connection } = tables;
    const results: Result[] = [];
    const again: Numbered[] = [];
    const vacuums: Numbered[] = [];
    connection.run("BEGIN IMMEDIATE");
    if (connection.changedByOthers()) tables.forget();
    // A savepoint copies each page that is changed after it. One request alone is rolled back whole.
    const apart = group.length > 1;
    for (const numbered of group) {
      const { number, request } = numbered;
      if (apart) connection.run("SAVEPOINT request");
      try {
        const answer = answerTo(tables, request);
        if (request.do === "rewrite" || request.do === "vacuum") vacuums.push(numbered);
        else if (answer === unfinished) again.push(numbered);
        else results.push({ number, answer });
      } catch (error) {
        // Anything but a refusal of ours is SQLite failing under everyone in the group.
        if (!(error instanceof KumikoError)) throw error;
        connection.run(apart ? "ROLLBACK TO request" : "ROLLBACK");
        tables.forget();
        results.push({ number, refusal: refusalOf(error) });
        if (!apart) return { results, again, vacuums };
      }
      if (apart) connection.run("RELEASE request");
    }
    const head = tables.journal.head();
    connection.run("COMMIT");
    this.#acknowledged = head;
    return { results, again, vacuums };
  }

  #recover(error: unknown): KumikoError {
    this.#abandon(error);
    try {
      this.#tables = reopen(this.#file, this.#acknowledged, this.#cause);
    } catch (second) {
      return this.#unwritable(second, "unknown");
    }
    if (isBroken(error)) return this.#broken("not_written", error);
    return new KumikoError(
      "journal_unwritable",
      `The journal could not be written (${this.#cause}) and nothing of this was kept. It was opened anew and works: try again.`,
      { cause: this.#cause, outcome: "not_written", resumed: true },
      { cause: error },
    );
  }

  /** Trying again helps nobody: pages that have to be read to write cannot be. */
  #broken(outcome: "not_written" | "unknown", cause: unknown): KumikoError {
    const fate =
      outcome === "unknown"
        ? "Whether this write is there will be known after a restart."
        : "Nothing of this was kept.";
    return new KumikoError(
      "damaged",
      `The journal cannot be written, because the structure of the database is broken (${this.#cause}). ${fate} ` +
        "Run `kumiko doctor --export <folder>`, which saves what can be read, and restore a backup.",
      { cause: this.#cause, outcome, table: null, block: null },
      { cause },
    );
  }

  #notVacuumed(error: unknown): KumikoError {
    if (!(error instanceof KumikoError)) this.#abandon(error);
    const cause = sentenceOf(error);
    return new KumikoError(
      "journal_unwritable",
      `The database could not be written anew without its free space (${cause}). What was rewritten stands, but its old bytes may still be in the file: make room and ask again; otherwise it is done at the next opening.`,
      { cause, outcome: "unknown", resumed: true },
      { cause: error },
    );
  }

  #abandon(error: unknown): void {
    this.#cause = sentenceOf(error);
    try {
      this.#tables?.[Symbol.dispose]();
    } catch {
      // What cannot even be closed is left; `reopen` makes a new connection and verifies what it finds.
    }
    this.#tables = undefined;
  }

  #unwritable(error: unknown, outcome: "not_written" | "unknown" = "not_written"): KumikoError {
    this.#cause = sentenceOf(error);
    if (isBroken(error)) return this.#broken(outcome, error);
    const free = freeBytes(this.#file);
    const remedy =
      free !== undefined && free < 1024 * 1024
        ? "The disk is full: make room."
        : "Check the disk, then run `kumiko doctor`.";
    const fate =
      outcome === "unknown"
        ? " Whether this write is there will be known after a restart; a retry with the same call id is safe."
        : "";
    return new KumikoError(
      "journal_unwritable",
      `The journal cannot be written (${this.#cause}). ${remedy} Reading goes on, and writing as soon as it works.${fate}`,
      { cause: this.#cause, outcome, resumed: false, free: free ?? null },
      { cause: error },
    );
  }
}

function answerTo(tables: Tables, request: WriteRequest): WriteAnswer | typeof unfinished {
  switch (request.do) {
    case "commit":
      return writeBatch(tables, request.batch);
    case "keyframe":
      tables.keyframes.put(request.block, request.version, packedText(request.text));
      return undefined;
    case "snapshot":
      tables.snapshots.put(request.block, request.version, pack(request.bytes));
      return undefined;
    case "drop_snapshots":
      return tables.snapshots.dropIdle(request.upTo);
    case "compact":
      return compactStep(tables, request.block, request.upTo) ? unfinished : undefined;
    case "forget":
      return tables.calls.forget(request.which);
    case "rewrite":
      rewriteBlock(tables, request.rewrite);
      return undefined;
    case "vacuum":
      return undefined;
    case "put":
      tables.settings.put(request.space, request.key, request.value);
      return undefined;
    case "acquire":
      return tables.leases.acquire(request.name, request.holder, request.now, request.milliseconds);
    case "renew":
      return tables.leases.renew(request.lease, request.now, request.milliseconds);
    case "release":
      tables.leases.release(request.lease);
      return undefined;
    default:
      throw new Error(`unknown request ${JSON.stringify(request satisfies never)}`);
  }
}

function packedText(text: string | Packed): Packed {
  return typeof text === "string" ? pack(encoder.encode(text)) : text;
}

function refuseAll(group: readonly Numbered[], error: KumikoError): Performed {
  const refusal = refusalOf(error);
  return { results: group.map(({ number }) => ({ number, refusal })), again: [], vacuums: [] };
}

export function refusalOf(error: unknown): Refusal {
  if (error instanceof KumikoError) {
    return { code: error.code, sentence: error.message, facts: error.facts };
  }
  return {
    code: "journal_unwritable",
    sentence: `The journal cannot be opened: ${sentenceOf(error)}.`,
    facts: { cause: sentenceOf(error), outcome: "not_written", resumed: false },
  };
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? `${String(error.code)}: ` : "";
  return `${code}${error.message}`;
}

function freeBytes(file: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize;
  } catch {
    // Only words in a message depend on it.
    return undefined;
  }
}
