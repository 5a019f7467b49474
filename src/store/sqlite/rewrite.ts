import type { KumikoError } from "../../base/errors.ts";
import type { NewBlockRow, Rewrite, StoredCommit } from "../../kernel/ports.ts";
import { checkRewrite, rowElsewhere, versionMissing } from "../contract.ts";
import type { Head } from "./heads.ts";
import { missingCommit } from "./journal.ts";
import { rawSize } from "./segment-codec.ts";
import type { Tables } from "./tables.ts";
import { noteScrub } from "./vacuum.ts";

/** Inside the caller's transaction. The old bytes are gone from the files only after a vacuum. */
export function rewriteBlock(tables: Tables, rewrite: Rewrite): void {
  checkRewrite(rewrite);
  const { block, commits, row, note } = rewrite;
  const { names, journal, keyframes, snapshots, settings, connection } = tables;
  const id = names.id(block);
  const head = id === undefined ? undefined : journal.headOf(block, id);
  const version = head?.version ?? 0;
  for (const commit of commits) {
    if (commit.version > version) throw versionMissing(block, commit.version, version);
  }
  if (id !== undefined && head !== undefined) rewriteCommits(tables, id, head, rewrite);
  if (row !== undefined) rewriteRow(tables, row, id);
  keyframes.delete(block);
  snapshots.delete(block);
  settings.put(note.space, note.key, note.value);
  noteScrub(connection, block);
}

function rewriteCommits(
  { journal }: Tables,
  id: number,
  head: Head,
  { block, commits }: Rewrite,
): void {
  const byVersion = new Map(commits.map((commit) => [commit.version, commit]));
  const rewritten = (commit: StoredCommit): StoredCommit => {
    const { body, message } = byVersion.get(commit.version) ?? commit;
    byVersion.delete(commit.version);
    return { ...commit, body, message };
  };
  const first = commits.reduce((lowest, { version }) => Math.min(lowest, version), Infinity);
  if (first === Infinity) return;
  let refused: KumikoError | undefined;
  for (const segment of journal.segments.behind(id, first - 1, (error) => (refused ??= error))) {
    if (!segment.commits.some((commit) => byVersion.has(commit.version))) continue;
    const replaced = segment.commits.map(rewritten);
    const raw = replaced.reduce((sum, commit) => sum + rawSize(commit), 0);
    journal.segments.delete(id, segment.firstVersion);
    journal.segments.insert(id, replaced, raw);
  }
  // What cannot be read cannot be said to hold none of what must go.
  if (refused !== undefined) throw refused;
  for (const version of byVersion.keys()) {
    const [commit] = journal.rows.ofBlock(id, head, version - 1, version);
    if (commit === undefined) throw missingCommit(block, version);
    journal.rows.rewrite(rewritten(commit));
  }
}

function rewriteRow({ rows }: Tables, row: NewBlockRow, id: number | undefined): void {
  const before = rows.get(row.block);
  const there = rows.at(row.context, row.parent, row.order);
  const occupant = there?.block === row.block ? undefined : there?.block;
  if (before === undefined || id === undefined || occupant !== undefined) {
    throw rowElsewhere(row.block, occupant);
  }
  const { version, position, created } = before;
  rows.delete(row.block);
  rows.insert({ ...row, version, position, created }, id);
}
