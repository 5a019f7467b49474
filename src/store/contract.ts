/**
 * What every store does the same way, whatever it keeps its rows in: which batches are refused as malformed,
 * and in which order names are sorted. The suite in test/store-contract holds stores to the rest.
 */

import { KumikoError } from "../base/errors.ts";
import { parseBlockId } from "../base/ids.ts";
import type { Batch, NewBlockRow, NewCommit, Rewrite, StoredCommit } from "../kernel/ports.ts";

/** The commits of a batch per block, in order: the first says which version the caller has seen. */
export type CommitsByBlock = ReadonlyMap<string, readonly NewCommit[]>;

/** Throws `invalid_argument` for a batch no caller can mean, before anything is looked up or written. */
export function checkBatch(batch: Batch): CommitsByBlock {
  const byBlock = new Map<string, NewCommit[]>();
  for (const commit of batch.commits) {
    checkCommit(commit);
    const commits = byBlock.get(commit.block);
    if (commits === undefined) {
      parseBlockId(commit.block);
      byBlock.set(commit.block, [commit]);
      continue;
    }
    const next = commits[0]!.expectedVersion + commits.length;
    if (commit.expectedVersion !== next) {
      throw invalid(`The commits of ${commit.block} in one batch must follow one another.`, {
        block: commit.block,
        expected: next,
        given: commit.expectedVersion,
      });
    }
    commits.push(commit);
  }
  checkRows(batch, byBlock);
  checkCalls(batch);
  return byBlock;
}

function checkCommit(commit: NewCommit): void {
  if (!Number.isSafeInteger(commit.expectedVersion) || commit.expectedVersion < 0) {
    throw invalid(`A version is a whole number from 0 on, not ${commit.expectedVersion}.`, {
      block: commit.block,
    });
  }
  if (!Number.isSafeInteger(commit.time)) {
    throw invalid(`A time is a whole number of milliseconds, not ${commit.time}.`, {
      block: commit.block,
    });
  }
  const { edit, actor, tool, call, message, model, turn, undo } = commit;
  const flipped = undo?.kind === "flip" ? undo.edit : undefined;
  checkTexts({ edit, actor, tool, call, message, model, turn, flipped });
}

function checkRows(batch: Batch, byBlock: CommitsByBlock): void {
  const blocks = new Set<string>();
  const places = new Set<string>();
  for (const row of batch.rows) {
    checkRowTexts(row);
    const { block, context, parent, order } = row;
    if (!byBlock.has(block)) {
      throw invalid(`The batch gives ${block} a new row but holds no commit of it.`, { block });
    }
    if (blocks.has(block)) throw invalid(`The batch gives ${block} two rows.`, { block });
    blocks.add(block);
    const place = JSON.stringify([context, parent, order]);
    if (places.has(place)) {
      throw invalid(`The batch puts two blocks in the place of ${block}.`, { block, order });
    }
    places.add(place);
  }
}

function checkRowTexts(row: NewBlockRow): void {
  const { context, parent, order, kind, role, status, attributes } = row;
  checkTexts({ context, parent: parent ?? undefined, order, kind, role, status, attributes });
}

/** Throws `invalid_argument` for a rewrite no caller can mean. */
export function checkRewrite({ block, commits, row, note }: Rewrite): void {
  const versions = new Set<number>();
  for (const { version, message } of commits) {
    checkTexts({ message });
    if (!Number.isSafeInteger(version) || version < 1) {
      throw invalid(`A commit's version is a whole number from 1 on, not ${version}.`, { block });
    }
    if (versions.has(version)) {
      throw invalid(`The rewrite names version ${version} of ${block} twice.`, { block, version });
    }
    versions.add(version);
  }
  checkTexts(note);
  if (row === undefined) return;
  checkRowTexts(row);
  if (row.block !== block) {
    throw invalid(`The rewrite of ${block} gives ${row.block} a row.`, { block, row: row.block });
  }
}

/** A rewrite changes what a block's row says, never which rows there are or where they stand. */
export function rowElsewhere(block: string, occupant: string | undefined): KumikoError {
  return occupant === undefined
    ? invalid(`${block} has no row that could be rewritten.`, { block })
    : invalid(`The rewritten row of ${block} would stand in the place of ${occupant}.`, {
        block,
        occupant,
      });
}

export function versionMissing(block: string, version: number, last: number): KumikoError {
  return new KumikoError(
    "out_of_range",
    `${block} has versions 1 to ${last}: there is no version ${version} to rewrite.`,
    { block, version, last },
  );
}

function checkCalls(batch: Batch): void {
  const calls = new Set<string>();
  for (const { actor, call, fingerprint, answer, time } of batch.calls) {
    checkTexts({ actor, call, fingerprint, answer });
    if (!Number.isSafeInteger(time)) {
      throw invalid(`A time is a whole number of milliseconds, not ${time}.`, { actor, call });
    }
    const key = JSON.stringify([actor, call]);
    if (calls.has(key)) throw invalid(`The batch answers call ${call} twice.`, { actor, call });
    calls.add(key);
  }
}

/** A lone surrogate would be stored as another character without a word. */
export function checkTexts(texts: { readonly [name: string]: string | undefined }): void {
  for (const name in texts) {
    if (texts[name]?.isWellFormed() !== false) continue;
    throw new KumikoError("ill_formed_text", `The ${name} holds half a character.`, { name });
  }
}

/** Nobody has seen a version that is not there: the caller kept something that a crash took. */
export function aheadOfStore(block: string, expected: number, version: number): KumikoError {
  return new KumikoError(
    "out_of_range",
    `The batch builds on version ${expected} of ${block}, but the journal ends at ${version}: load the block again.`,
    { block, expected, version },
  );
}

/** Sorts as the UTF-8 bytes do, which is what databases compare. */
export function compareNames(left: string, right: string): number {
  if (left === right) return 0;
  let at = 0;
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at += 1;
  if (at === left.length) return -1;
  if (at === right.length) return 1;
  const a = left.charCodeAt(at);
  const b = right.charCodeAt(at);
  // Surrogates stand for characters above all others, but their own numbers do not.
  const aHigh = a >= 0xd800 && a <= 0xdfff;
  const bHigh = b >= 0xd800 && b <= 0xdfff;
  if (aHigh !== bHigh) return aHigh ? 1 : -1;
  return a - b;
}

/** How many of these commits have bodies of so many bytes together; the first always fits. */
export function fittingCommits(commits: readonly StoredCommit[], bytes: number): number {
  let sum = 0;
  const end = commits.findIndex(({ body }, index) => {
    sum += body.length;
    return index > 0 && sum > bytes;
  });
  return end < 0 ? commits.length : end;
}

export function closedStore(): KumikoError {
  return new KumikoError("closed", "The store was closed.");
}

function invalid(sentence: string, facts: { [name: string]: string | number }): KumikoError {
  return new KumikoError("invalid_argument", sentence, facts);
}
