import { isBlockId, KumikoError } from "../base/index.ts";
import { BlockDocument } from "../blocks/index.ts";
import { type BlockState, fromRow } from "./block-state.ts";
import { decodeBody } from "./commit-body.ts";
import { Listing } from "./listing.ts";
import { toRecorded } from "./live-documents.ts";
import type { Damage, Store, StoredCommit } from "./ports.ts";
import { decoding, isDamage, Quarantine } from "./quarantine.ts";
import { readableCommits } from "./readable-commits.ts";
import { Reading } from "./reading.ts";
import { ReplayedText } from "./replayed-text.ts";

/** Nobody writes here: loading a document only needs a peer that is one. */
const NOBODY = "2";

/** One thing that is wrong, and what it means for whoever keeps text here. */
export interface Finding extends Damage {
  readonly sentence: string;
  /** `lost`: a block cannot be used; `slower`: only time is lost; `other`: no text is touched. */
  readonly effect: "lost" | "slower" | "other";
}

/** What is left of a block that cannot be used any more. */
export interface DamagedBlock {
  readonly block: string;
  /** Its newest version that can still be read. */
  readonly readable: Salvaged | undefined;
}

export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly blocks: readonly DamagedBlock[];
}

export interface Salvaged {
  readonly version: number;
  readonly text: string;
}

/** A block as far as it can be read; `whole` when that is all of it. */
export interface ReadableBlock {
  readonly block: string;
  readonly state: BlockState | undefined;
  readonly version: number | undefined;
  readonly text: string;
  readonly whole: boolean;
}

/** Reads everything that is stored and says what is wrong with it. Changes nothing. */
export async function diagnose(store: Store): Promise<Diagnosis> {
  const damages = [...(await store.verify())];
  const known = new Set(damages.filter(isOfText).map(({ block }) => block));
  for await (const { block, quarantined } of new Listing(store, quiet()).all()) {
    if (known.has(block)) continue;
    const nonsense = quarantined ?? (await whyUnloadable(store, block));
    if (nonsense === undefined) continue;
    damages.push({ table: "commits", key: `of ${block}`, block, why: nonsense });
    known.add(block);
  }
  const blocks: DamagedBlock[] = [];
  for (const block of known) {
    if (block !== undefined) blocks.push({ block, readable: await salvage(store, block) });
  }
  const left = new Map(blocks.map(({ block, readable }) => [block, readable]));
  return { findings: damages.map((damage) => explain(damage, left)), blocks };
}

/**
 * The newest text of a damaged block that can be read: its keyframe with what follows, or its commits up to
 * the first one that is damaged. Undefined when there is nothing.
 */
export async function salvage(store: Store, block: string): Promise<Salvaged | undefined> {
  const keyframe = await orNothing(() => store.keyframe(block));
  if (keyframe !== undefined) {
    const since = await orNothing(() => store.commitsOf(block, keyframe.version));
    return replay(since ?? [], keyframe);
  }
  const commits = await beginningOf(store, block);
  return commits.length === 0 ? undefined : replay(commits, { version: 0, text: "" });
}

/** Every block, whole or as far as it goes, for whoever wants to save what there is. */
export async function* exportReadable(store: Store): AsyncGenerator<ReadableBlock, void, void> {
  const quarantine = quiet();
  const reading = new Reading(store, quarantine, () => undefined);
  const states = new Map<string, BlockState | undefined>();
  for await (const { block, state } of new Listing(store, quarantine).all())
    states.set(block, state);
  // A block whose row is gone is in no list; its commits name it.
  for await (const commit of readableCommits(store)) {
    if (commit !== undefined && isBlockId(commit.block) && !states.has(commit.block))
      states.set(commit.block, undefined);
  }
  for (const [block, state] of states) {
    try {
      yield { block, whole: true, ...(await reading.atRest(block)) };
    } catch (error) {
      const codes = ["quarantined", "unknown_block"];
      if (!(error instanceof KumikoError) || !codes.includes(error.code)) throw error;
      const left = await salvage(store, block);
      yield { block, state, version: left?.version, text: left?.text ?? "", whole: false };
    }
  }
}

function quiet(): Quarantine {
  return new Quarantine(() => undefined);
}

/** Hashes that are right say nothing about what the bytes mean. */
async function whyUnloadable(store: Store, block: string): Promise<string | undefined> {
  try {
    const commits = await store.commitsOf(block, 0);
    const row = await store.row(block);
    decoding("a commit", () => {
      using document = BlockDocument.load(undefined, {
        peer: NOBODY,
        commits: commits.map(toRecorded),
      });
      if (row !== undefined) fromRow(row);
      return document.version;
    });
    return undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return error.message;
  }
}

/** As many commits as follow one another from the first on. */
async function beginningOf(store: Store, block: string): Promise<StoredCommit[]> {
  const all = await orNothing(() => store.commitsOf(block, 0));
  if (all !== undefined) return all;
  const found: StoredCommit[] = [];
  for await (const commit of readableCommits(store)) {
    if (commit?.block !== block) continue;
    if (commit.version !== found.length + 1) return found;
    found.push(commit);
  }
  return found;
}

function replay(commits: readonly StoredCommit[], from: Salvaged): Salvaged {
  const text = new ReplayedText(from.text);
  let { version } = from;
  for (const commit of commits) {
    try {
      decoding("a commit", () => text.apply(decodeBody(commit.body).change));
    } catch (error) {
      if (!isDamage(error)) throw error;
      break;
    }
    version = commit.version;
  }
  return { version, text: text.toString() };
}

async function orNothing<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}

const texts = ["commits", "segments", "heads", "rows"];
const caches = ["keyframes", "snapshots"];

/** A damaged row may bear the name of a block that never was. */
function isOfText({ table, block }: Damage): boolean {
  return block !== undefined && isBlockId(block) && texts.includes(table);
}

const others: { readonly [table: string]: string } = {
  calls: "A retry of that call is refused; no text is touched.",
  names: "Names are kept twice; while one copy is right, everything reads as before.",
  places: "Listing everything that happened stops there; the blocks themselves can be read.",
  sequences: "That actor cannot create blocks in that context; everything else works.",
  settings: "What it was set to is unknown: set it again.",
  leases: "Only who is at work is affected; no text is touched.",
  edits: "Undoing without naming an Edit may not find it; no text is touched.",
};

function explain(damage: Damage, left: ReadonlyMap<string, Salvaged | undefined>): Finding {
  const { table, key, block, why } = damage;
  if (table === "pages") {
    const sentence = `The structure of the database is damaged: ${why}. Write nothing more to it, save what can be read, and restore a backup.`;
    return { ...damage, effect: "other", sentence };
  }
  const what = `The row ${key} in ${table} is damaged: ${why}.`;
  if (block !== undefined && caches.includes(table)) {
    const sentence = `${what} It only makes reading ${block} faster: nothing is lost.`;
    return { ...damage, effect: "slower", sentence };
  }
  if (block === undefined || !isOfText(damage)) {
    const meaning = others[table] ?? "Which blocks are affected cannot be told from it.";
    return { ...damage, effect: "other", sentence: `${what} ${meaning}` };
  }
  const readable = left.get(block);
  const rest =
    readable === undefined
      ? "Nothing of its text can be read."
      : `Its text can still be read as of version ${readable.version} (${readable.text.length} UTF-16 units).`;
  const sentence = `${what} ${block} is quarantined; everything else works. ${rest}`;
  return { ...damage, effect: "lost", sentence };
}
