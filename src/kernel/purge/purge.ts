import { checkWellFormed, type Clock, KumikoError } from "../../base/index.ts";
import { BlockDocument, type RecordedCommit } from "../../blocks/index.ts";
import { type CommitBody, decodeBody, encodeBody } from "../commit-body.ts";
import { type Authorise, checkAllowed } from "../gate.ts";
import type { Invocation } from "../invocation.ts";
import type { Listing } from "../listing.ts";
import { toRecorded } from "../live-documents.ts";
import type { NewBlockRow, Rewrite, Store, StoredCommit } from "../ports.ts";
import { decoding, type Quarantine } from "../quarantine.ts";
import { everything, fillerFor, maskCommits, Mask, occurrences } from "./mask.ts";
import { unitHistory } from "./unit-history.ts";

const SPACE = "gaps";
/** Anything shorter stands everywhere. */
const SHORTEST = 3;

export type PurgeRequest = { readonly text: string } | { readonly block: string };

/** A place where something was removed for good. It says how much, never what. */
export interface Gap {
  readonly block: string;
  readonly by: string;
  readonly time: number;
  /** UTF-16 units of text that were replaced, over all versions together. */
  readonly units: number;
  /** Commits that were written anew. */
  readonly commits: number;
  readonly why: string | null;
}

export interface Purged {
  readonly gaps: readonly Gap[];
  /** Answered calls that were forgotten: a retry of one is a new call. */
  readonly calls: number;
  /** Blocks that could not be looked at, because they are damaged. */
  readonly unreadable: readonly string[];
}

type PurgePlace = Pick<Gap, "block" | "units" | "commits">;

export interface PurgePreview {
  readonly places: readonly PurgePlace[];
  readonly unreadable: readonly string[];
}

export interface PurgePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly listing: Listing;
  readonly quarantine: Quarantine;
  readonly authorise: Authorise;
  /** The kernel's own name: what is asked for when a text is purged wherever it stands. */
  readonly kernel: string;
  newPeer(): string;
  /** Runs a task while nobody reads, changes or puts in order what is stored of a block. */
  alone<Result>(block: string, task: () => Promise<Result>): Promise<Result>;
  /** Masks what is kept of texts beside their blocks, of one or of all; gives in how many places. */
  beside(mask: (text: string) => string, block?: string): Promise<number>;
  /** Tells everybody, by a commit of the block that changes no text. */
  announce(invocation: Invocation, block: string): Promise<void>;
}

/** What is to be written. */
interface Plan {
  readonly units: number;
  readonly commits: Rewrite["commits"];
  readonly row: NewBlockRow | undefined;
}

/**
 * Removes content for good: from every version, message and answer. What stood there is masked at its
 * length, so that positions, versions, blame and undo stay true, and a named gap says that it happened.
 */
export class Purge {
  readonly #ports: PurgePorts;

  constructor(ports: PurgePorts) {
    this.#ports = ports;
  }

  async purge(given: Invocation, request: PurgeRequest): Promise<Purged> {
    if ("text" in request) checkSecret(request.text);
    const invocation = withoutSecret(given, request);
    const { authorise, kernel, store } = this.#ports;
    const { actor, kind } = invocation;
    if ("text" in request) await checkAllowed(authorise, actor, "purge", [kernel], kind);
    else await checkAllowed(authorise, actor, "delete", [request.block], kind);
    const { places, unreadable } = await this.#places(request);
    const blocks = places.map(({ block }) => block);
    // All or nothing is allowed: a denial halfway would leave half of it purged.
    await checkAllowed(authorise, actor, "delete", blocks, kind);
    const gaps: Gap[] = [];
    try {
      // First the answers: rewriting a block clears away what forgetting leaves in the files.
      const calls = await this.#forgetCalls(request);
      const beside = await this.#ports.beside(quoteMask(request), blockOf(request));
      for (const block of blocks) {
        const gap = await this.#purgeBlock(invocation, block, request);
        if (gap !== undefined) gaps.push(gap);
      }
      const later = await this.#forgetCalls(request);
      if (later > 0 || (calls + beside > 0 && gaps.length === 0)) await store.vacuum();
      return { gaps, calls: calls + later, unreadable };
    } catch (error) {
      throw interrupted(error, gaps, blocks);
    }
  }

  /** Where something would be removed, and how much. Changes nothing. */
  async preview({ actor, kind }: Invocation, request: PurgeRequest): Promise<PurgePreview> {
    if ("text" in request) checkSecret(request.text);
    const { authorise, kernel } = this.#ports;
    const target = "block" in request ? request.block : kernel;
    await checkAllowed(authorise, actor, "preview_purge", [target], kind);
    return this.#places(request);
  }

  async #places(request: PurgeRequest): Promise<PurgePreview> {
    const places: PurgePlace[] = [];
    const unreadable: string[] = [];
    for await (const block of this.#blocks(request)) {
      try {
        const plan = await this.#plan(block, request);
        if (plan !== undefined)
          places.push({ block, units: plan.units, commits: plan.commits.length });
      } catch (error) {
        const damaged = error instanceof KumikoError && error.code === "quarantined";
        if (!damaged || "block" in request) throw error;
        unreadable.push(block);
      }
    }
    return { places, unreadable };
  }

  /** What was removed from a block, oldest first. */
  async gapsOf(block: string): Promise<Gap[]> {
    const gaps: Gap[] = [];
    for (;;) {
      const value = await this.#ports.store.get(SPACE, gapName(block, gaps.length + 1));
      if (value === undefined) return gaps;
      gaps.push(JSON.parse(value) as Gap);
    }
  }

  async *#blocks(request: PurgeRequest): AsyncGenerator<string, void, void> {
    if ("block" in request) yield request.block;
    else for await (const { block } of this.#ports.listing.all()) yield block;
  }

  async #purgeBlock(
    invocation: Invocation,
    block: string,
    request: PurgeRequest,
  ): Promise<Gap | undefined> {
    const { store, clock } = this.#ports;
    const gap = await this.#ports.alone(block, async () => {
      const plan = await this.#plan(block, request);
      if (plan === undefined) return undefined;
      const { actor: by, message: why = null } = invocation;
      const { units, commits, row } = plan;
      const made: Gap = { block, by, time: clock.now(), units, commits: commits.length, why };
      const key = gapName(block, (await this.gapsOf(block)).length + 1);
      await store.rewrite({
        block,
        commits,
        row,
        note: { space: SPACE, key, value: JSON.stringify(made) },
      });
      return made;
    });
    // Why is said by the gap: a block that says nothing more holds no message either.
    if (gap !== undefined) await this.#ports.announce({ ...invocation, message: undefined }, block);
    return gap;
  }

  /** Undefined when the block holds nothing of what must go. */
  async #plan(block: string, request: PurgeRequest): Promise<Plan | undefined> {
    const { store, quarantine } = this.#ports;
    return quarantine.reading(block, async () => {
      const stored = await store.commitsOf(block, 0);
      if (stored.length === 0) return undefined;
      const row = await store.row(block);
      return decoding("a commit", () => planOf(stored, row, request, this.#ports.newPeer()));
    });
  }

  /** Answers quote texts as JSON and in diffs, which take lines apart. */
  async #forgetCalls(request: PurgeRequest): Promise<number> {
    const { store } = this.#ports;
    // With its quotes: main~ann~1 is also how main~ann~11 begins.
    if ("block" in request) return store.forgetCalls({ containing: JSON.stringify(request.block) });
    let forgotten = 0;
    for (const text of quotable(request.text)) {
      const containing = JSON.stringify(text).slice(1, -1);
      forgotten += await store.forgetCalls({ containing });
    }
    return forgotten;
  }
}

function gapName(block: string, number: number): string {
  return `${block} ${number}`;
}

function planOf(
  stored: readonly StoredCommit[],
  row: NewBlockRow | undefined,
  request: PurgeRequest,
  peer: string,
): Plan | undefined {
  const mask = maskOf(request);
  const bodies = stored.map(({ body }) => decodeBody(body));
  const recorded = stored.map(toRecorded);
  const history = unitHistory(recorded);
  const marks = "text" in request ? occurrences(history, request.text) : everything(history);
  const { filler } = mask;
  const masked =
    marks.size === 0 ? recorded : maskCommits(recorded, history, marks, { filler, peer });
  checkLoads(masked);
  const cleanRow = (old: NewBlockRow): NewBlockRow => ({
    ...old,
    attributes: cleanAttributes(old.attributes, mask, "block" in request),
  });
  const commits = stored.flatMap(({ version, body, message }, index) => {
    const { change, peer: writer, marked } = masked[index]!;
    const old = bodies[index]!.row;
    const made: CommitBody = { change, peer: writer, marked, row: old && cleanRow(old) };
    const rewritten = { version, body: encodeBody(made), message: message && mask.text(message) };
    const same = rewritten.message === message && sameBytes(rewritten.body, body);
    return same ? [] : [rewritten];
  });
  const newRow = row && cleanRow(row);
  const rowChanged = newRow !== undefined && newRow.attributes !== row?.attributes;
  if (commits.length === 0 && !rowChanged) return undefined;
  return { units: marks.size, commits, row: rowChanged ? onlyNew(newRow) : undefined };
}

function maskOf(request: PurgeRequest): Mask {
  return "text" in request
    ? new Mask(request.text, fillerFor(request.text))
    : new Mask(undefined, fillerFor(""));
}

/** What quotes a few lines of a text may have only some of those that must go. */
function quoteMask(request: PurgeRequest): (text: string) => string {
  if ("block" in request) return (text) => maskOf(request).text(text);
  const filler = fillerFor(request.text);
  const masks = quotable(request.text).map((each) => new Mask(each, filler));
  return (text) => masks.reduce((masked, mask) => mask.text(masked), text);
}

/** The text itself, and each of its lines that does not stand everywhere. */
function quotable(text: string): string[] {
  return [...new Set([text, ...text.split("\n").filter((line) => line.length >= SHORTEST)])];
}

function blockOf(request: PurgeRequest): string | undefined {
  return "block" in request ? request.block : undefined;
}

/** Of a whole block only what it says goes: whether it is pinned and whose it is are not its words. */
function cleanAttributes(attributes: string, mask: Mask, whole: boolean): string {
  const before: unknown = JSON.parse(attributes);
  if (!whole) return JSON.stringify(mask.json(before));
  if (typeof before !== "object" || before === null || !("metadata" in before)) return attributes;
  return JSON.stringify({ ...before, metadata: mask.json(before.metadata) });
}

/** Why something is removed must not bring it back. */
function withoutSecret(invocation: Invocation, request: PurgeRequest): Invocation {
  const { message } = invocation;
  if (message === undefined || "block" in request) return invocation;
  return { ...invocation, message: maskOf(request).text(message) };
}

/** What failed halfway says what is gone already, and what was to go. */
function interrupted(error: unknown, gaps: readonly Gap[], blocks: readonly string[]): unknown {
  if (!(error instanceof KumikoError)) return error;
  const purged = gaps.map(({ block }) => block);
  const left = blocks.filter((block) => !purged.includes(block));
  return new KumikoError(
    error.code,
    `${error.message} Purged before that: ${purged.join(", ") || "nothing"}; not purged: ${left.join(", ") || "nothing"}.`,
    { ...error.facts, purged, not_purged: left },
    { cause: error },
  );
}

/** Nothing is written that could not be read again. */
function checkLoads(commits: readonly RecordedCommit[]): void {
  using document = BlockDocument.load(undefined, { peer: "2", commits });
  if (document.version !== commits.length) throw new Error("a purge would lose versions");
}

function onlyNew({ block, context, parent, order, kind, role, status, attributes }: NewBlockRow) {
  return { block, context, parent, order, kind, role, status, attributes };
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

function checkSecret(text: string): void {
  checkWellFormed(text);
  if (text.trim().length >= SHORTEST) return;
  throw new KumikoError(
    "invalid_argument",
    `A text to purge has ${SHORTEST} characters or more, white space apart: anything shorter stands everywhere.`,
    { length: text.length, minimum: SHORTEST },
  );
}
