import { KumikoError, parseBlockId } from "../base/index.ts";
import { type CommitBody, decodeBody } from "./commit-body.ts";
import type { Store, StoredCommit } from "./ports.ts";
import { readableCommits } from "./readable-commits.ts";

/** How much there is of something. */
interface Amount {
  readonly versions: number;
  /** UTF-16 units of current text. */
  readonly text: number;
  /** Bytes of its commits before they are packed. */
  readonly history: number;
}

interface BlockUsage extends Amount {
  readonly block: string;
}

interface ContextUsage extends Amount {
  readonly context: string;
  readonly blocks: number;
}

export interface Usage {
  /** Bytes on disk by kind of content. */
  readonly bytes: { readonly [kind: string]: number };
  readonly blocks: number;
  readonly versions: number;
  /** Those with the longest history first. */
  readonly contexts: readonly ContextUsage[];
  readonly biggest: readonly BlockUsage[];
  /** Commits that could not be read, and are counted nowhere. */
  readonly unreadable: number;
}

/** Reads the whole journal once, a page at a time, and adds up. No document is built. */
export async function measureUsage(store: Store, biggest: number): Promise<Usage> {
  const blocks = new Map<string, { versions: number; text: number; history: number }>();
  let unreadable = 0;
  for await (const commit of readableCommits(store)) {
    if (commit === undefined) {
      unreadable++;
      continue;
    }
    const { block, body } = commit;
    const amount = blocks.get(block) ?? { versions: 0, text: 0, history: 0 };
    blocks.set(block, amount);
    amount.versions += 1;
    amount.history += body.length;
    const grown = growth(commit);
    if (grown === undefined) unreadable++;
    else amount.text += grown;
  }
  // With commits that cannot be read, more may have been removed than is known to have been there.
  const all = [...blocks].map(([block, amount]): BlockUsage => ({
    block,
    ...amount,
    text: Math.max(0, amount.text),
  }));
  return {
    bytes: await store.size(),
    blocks: all.length,
    versions: all.reduce((sum, { versions }) => sum + versions, 0),
    contexts: byContext(all).toSorted(largestFirst),
    biggest: all.toSorted(largestFirst).slice(0, biggest),
    unreadable,
  };
}

/** Who changed each block up to a position; what cannot be read names nobody. */
export async function authorsUntil(
  store: Store,
  position: number,
): Promise<Map<string, Set<string>>> {
  const authors = new Map<string, Set<string>>();
  for await (const commit of readableCommits(store, position)) {
    if (commit === undefined) continue;
    const { block, actor } = commit;
    authors.set(block, (authors.get(block) ?? new Set()).add(actor));
  }
  return authors;
}

/** By how much a commit made its text longer; undefined when its bytes say nothing. */
function growth({ body }: StoredCommit): number | undefined {
  let change: CommitBody["change"];
  try {
    ({ change } = decodeBody(body));
  } catch (error) {
    if (error instanceof KumikoError) return undefined;
    throw error;
  }
  if (!("splices" in change)) return 0;
  return change.splices.reduce((sum, { insert, remove }) => sum + insert.length - remove, 0);
}

function byContext(blocks: readonly BlockUsage[]): ContextUsage[] {
  const contexts = new Map<string, ContextUsage>();
  for (const { block, versions, text, history } of blocks) {
    const { context } = parseBlockId(block);
    const sum = contexts.get(context);
    contexts.set(context, {
      context,
      blocks: (sum?.blocks ?? 0) + 1,
      versions: (sum?.versions ?? 0) + versions,
      text: (sum?.text ?? 0) + text,
      history: (sum?.history ?? 0) + history,
    });
  }
  return [...contexts.values()];
}

function largestFirst(a: Amount, b: Amount): number {
  return b.history - a.history;
}
