import type { BlockStatus } from "../protocol/index.ts";
import { type BlockState, fromRow } from "./block-state.ts";
import type { BlockRow, ChildrenQuery, Store } from "./ports.ts";
import { isDamage, type Quarantine } from "./quarantine.ts";

const PAGE = 256;

/** A block in a list: what it is, or why that cannot be said. It is never left out. */
export interface ListedBlock {
  readonly block: string;
  /** Pass it as `after` to go on behind this one among its siblings. */
  readonly order: string;
  /** The position at which it came to be; 0 when that cannot be read. */
  readonly created: number;
  /** The position since which `state` stands. */
  readonly changed: number;
  /** Undefined only when its row is damaged. */
  readonly state: BlockState | undefined;
  readonly quarantined: string | undefined;
}

/** Lists of blocks that go on behind a damaged row. */
export class Listing {
  readonly #store: Store;
  readonly #quarantine: Quarantine;

  constructor(store: Store, quarantine: Quarantine) {
    this.#store = store;
    this.#quarantine = quarantine;
  }

  children(query: ChildrenQuery): Promise<ListedBlock[]> {
    return this.#page(query.after, query.limit, (after, limit) =>
      this.#store.children({ ...query, after, limit }),
    );
  }

  /** In the order of their ids. */
  async *all(context?: string, behind?: string): AsyncGenerator<ListedBlock, void, void> {
    const where = context === undefined ? {} : { context };
    let last = behind;
    for (;;) {
      const page = await this.#page(
        last,
        PAGE,
        (after, limit) =>
          this.#store.rows({ ...where, ...(after !== undefined && { after }), limit }),
        (row) => row.block,
      );
      yield* page;
      if (page.length < PAGE) return;
      last = page.at(-1)!.order;
    }
  }

  /** Those with a status, whether or not all rows can be read; costs what it gives unless one of them cannot. */
  async withStatus(status: BlockStatus): Promise<ListedBlock[]> {
    try {
      return (await this.#store.rowsWithStatus(status)).map((row) => this.#listed(row, row.order));
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    const found: ListedBlock[] = [];
    for await (const each of this.all()) if (each.state?.status === status) found.push(each);
    return found;
  }

  async #page(
    after: string | undefined,
    limit: number,
    ask: (after: string | undefined, limit: number) => Promise<BlockRow[]>,
    place: (row: BlockRow) => string = (row) => row.order,
  ): Promise<ListedBlock[]> {
    try {
      return (await ask(after, limit)).map((row) => this.#listed(row, place(row)));
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    // One row of the page is damaged: one by one, they are told apart.
    const listed: ListedBlock[] = [];
    let last = after;
    while (listed.length < limit) {
      try {
        const [row] = await ask(last, 1);
        if (row === undefined) break;
        last = place(row);
        listed.push(this.#listed(row, last));
      } catch (error) {
        if (!isDamage(error)) throw error;
        const { block, after: behind } = error.facts;
        if (typeof block !== "string" || typeof behind !== "string") throw error;
        this.#quarantine.put(block, error);
        last = behind;
        const quarantined = this.#quarantine.why(block);
        const unknown = { created: 0, changed: 0, state: undefined };
        listed.push({ block, order: behind, ...unknown, quarantined });
      }
    }
    return listed;
  }

  #listed(row: BlockRow, order: string): ListedBlock {
    const { block, created, position: changed } = row;
    let state: BlockState | undefined;
    try {
      state = fromRow(row);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#quarantine.put(block, error);
    }
    return { block, order, created, changed, state, quarantined: this.#quarantine.why(block) };
  }
}
