import { generateKeyBetween } from "fractional-indexing";
import { formatBlockId, KumikoError } from "../base/index.ts";
import type { BlockKind, BlockStatus } from "../protocol/index.ts";
import type { BlockState } from "./block-state.ts";
import type { Store } from "./ports.ts";
import { isDamage } from "./quarantine.ts";

const REMEMBERED = 10_000;

const next: { readonly [Status in BlockStatus]: readonly BlockStatus[] } = {
  pending: ["running", "done", "error"],
  running: ["done", "error"],
  done: [],
  error: [],
};

/** A block keeps its place for life: lists of the past rely on it. */
export function checkStateChange(before: BlockState, after: BlockState): void {
  const { block } = before;
  for (const name of ["block", "context", "parent", "order"] as const) {
    if (before[name] !== after[name]) {
      throw new KumikoError("wrong_parent", `The ${name} of ${block} cannot be changed.`, {
        block,
        [name]: after[name],
      });
    }
  }
  checkStatusChange(block, before.status, after.status);
}

/** A block's life goes one way; saying the same status again is no change. */
function checkStatusChange(block: string, from: BlockStatus, to: BlockStatus): void {
  if (from === to || next[from].includes(to)) return;
  const allowed = next[from];
  throw new KumikoError(
    "wrong_status",
    `${block} is ${from} and cannot become ${to}` +
      (allowed.length === 0
        ? "; it has ended. Create a new block instead."
        : `; it can become ${allowed.join(" or ")}.`),
    { block, status: from, wanted: to, allowed },
  );
}

/** A result stands below its call and nowhere else: providers refuse conversations where it does not. */
export function checkPlace(kind: BlockKind, parent: BlockState | undefined): void {
  if (kind !== "tool_result" || parent?.kind === "tool_call") return;
  throw new KumikoError(
    "wrong_parent",
    "A tool_result needs its tool_call as parent_id" +
      (parent === undefined ? "." : `, and ${parent.block} is a ${parent.kind}.`),
    { kind, parent: parent?.block ?? null, parent_kind: parent?.kind ?? null },
  );
}

/**
 * Gives new blocks their ids and their places among siblings. Remembers the last of each, so that neither is
 * looked up again while a conversation grows. Only the holder of the context's queue may ask.
 */
export class Places {
  readonly #store: Store;
  readonly #sequences = new Map<string, number>();
  readonly #lastOrders = new Map<string, string | null>();

  constructor(store: Store) {
    this.#store = store;
  }

  async newId(context: string, actor: string): Promise<string> {
    const key = `${context}~${actor}`;
    const last = this.#sequences.get(key) ?? (await this.#store.lastSequence(context, actor));
    this.#sequences.set(key, last + 1);
    return formatBlockId({ context, actor, sequence: last + 1 });
  }

  async orderAtEnd(context: string, parent: string | null): Promise<string> {
    const key = `${context} ${parent ?? ""}`;
    let last = this.#lastOrders.get(key);
    if (last === undefined) {
      last = await this.#lastOrder(context, parent);
    }
    const order = generateKeyBetween(last, null);
    if (this.#lastOrders.size >= REMEMBERED) this.#lastOrders.clear();
    this.#lastOrders.set(key, order);
    return order;
  }

  async #lastOrder(context: string, parent: string | null): Promise<string | null> {
    const query = { context, parent, limit: 1, newestFirst: true };
    for (let after: string | undefined; ;) {
      try {
        return (await this.#store.children({ ...query, after }))[0]?.order ?? null;
      } catch (error) {
        // A damaged row still says where it stands, unless that is what was damaged.
        if (!isDamage(error) || typeof error.facts["after"] !== "string") throw error;
        after = error.facts["after"];
        if (isOrder(after)) return after;
      }
    }
  }

  /** Another server gave away ids or places: what is remembered is behind, unless it is still on its way. */
  async outrun(context: string, actor: string, parent: string | null): Promise<void> {
    const ids = `${context}~${actor}`;
    const sequence = await this.#store.lastSequence(context, actor);
    this.#sequences.set(ids, Math.max(sequence, this.#sequences.get(ids) ?? 0));
    const places = `${context} ${parent ?? ""}`;
    const order = await this.#lastOrder(context, parent);
    const known = this.#lastOrders.get(places) ?? null;
    if (known === null || (order !== null && order > known)) this.#lastOrders.set(places, order);
  }

  /** After a failed write the last ones may not exist. Ids are never given twice all the same. */
  forget(): void {
    this.#lastOrders.clear();
  }
}

function isOrder(text: string): boolean {
  try {
    generateKeyBetween(text, null);
    return true;
  } catch {
    return false;
  }
}
