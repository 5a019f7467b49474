import { type Clock, KeyedQueue, KumikoError, type Timers } from "../base/index.ts";
import { type EditTarget, type Splice, translateAppend } from "../blocks/index.ts";
import { type AppendReceipt, Appends } from "./appends.ts";
import type {
  BlockFlags,
  BlockKind,
  BlockMetadata,
  BlockRole,
  BlockStatus,
} from "../protocol/index.ts";
import { type BlockState, fromRow } from "./block-state.ts";
import {
  type Applied,
  type AppliedChange,
  type Authorise,
  CommitDoor,
  type PlannedChange,
} from "./commit/door.ts";
import { Contexts } from "./contexts.ts";
import { Feed, toEvent } from "./feed.ts";
import type { Invocation } from "./invocation.ts";
import { LiveDocuments, type LiveDocument, unknownBlock } from "./live-documents.ts";
import type { ChildrenQuery, Store } from "./ports.ts";
import { editTarget, readable, type ReadableDocument } from "./readable-document.ts";
import { Readers } from "./readers.ts";
import { checkPlace, checkStatusChange, Places } from "./structure.ts";

export interface KernelOptions {
  readonly id: string;
  readonly store: Store;
  /** Wall-clock time in whole milliseconds. */
  readonly clock: Clock;
  readonly timers: Timers;
  /** A number nobody else uses, as digits: who writes on behalf of this process. */
  newPeer(): string;
  readonly authorise?: Authorise | undefined;
  /** Documents kept in memory. */
  readonly liveDocuments?: number | undefined;
}

export interface NewBlock {
  readonly context: string;
  readonly parent?: string | null | undefined;
  readonly role: BlockRole;
  readonly kind: BlockKind;
  readonly content?: string | undefined;
  readonly metadata?: BlockMetadata | undefined;
  readonly flags?: BlockFlags | undefined;
  readonly status?: BlockStatus | undefined;
}

/** An edit of text in any number of blocks: translated for each against the document as it is then. */
export interface TextEdit<Answer> {
  readonly blocks: readonly string[];
  readonly operation: "append" | "change";
  readonly edit?: string | undefined;
  readonly fingerprint?: string | undefined;
  translate(target: EditTarget, block: string): readonly Splice[];
  answer(applied: Applied): Answer;
}

export interface ShownBlock {
  readonly state: BlockState;
  readonly document: ReadableDocument;
}

const allowAll: Authorise = () => Promise.resolve({ decision: "allow", reason: "no rules yet" });

/**
 * One workspace: its contexts, their blocks, and the one door through which they change. What it shows is
 * on disk.
 */
export class Kernel implements AsyncDisposable {
  readonly id: string;
  readonly contexts: Contexts;
  readonly feed: Feed;
  readonly readers = new Readers();
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #documents: LiveDocuments;
  readonly #door: CommitDoor;
  readonly #places: Places;
  readonly #placing = new KeyedQueue();
  readonly #appends: Appends;
  readonly #epoch: number;
  #edits = 0;
  #closed = false;

  private constructor(options: KernelOptions, head: number, epoch: number) {
    this.id = options.id;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#epoch = epoch;
    this.contexts = new Contexts(options.store, options.id, options.clock);
    this.feed = new Feed(options.store, head);
    this.#places = new Places(options.store);
    this.#documents = new LiveDocuments(
      options.store,
      options.newPeer(),
      options.liveDocuments ?? 256,
    );
    this.#door = new CommitDoor({
      store: options.store,
      documents: this.#documents,
      clock: options.clock,
      authorise: options.authorise ?? allowAll,
      newEdit: () => this.newEdit(),
      publish: (commit, body) => this.feed.publish(toEvent(commit, body)),
      unwritten: () => {
        this.#documents.forgetUnwritten(options.newPeer());
        this.#places.forget();
      },
    });
    this.#appends = new Appends({
      timers: options.timers,
      newEdit: () => this.newEdit(),
      commit: (invocation, block, edit, text) =>
        this.editText(invocation, {
          blocks: [block],
          operation: "append",
          edit,
          translate: (target) => translateAppend(target, text),
          answer: ({ changes }) => changes[0]!.version,
        }),
    });
  }

  static async open(options: KernelOptions): Promise<Kernel> {
    const { store, clock } = options;
    const head = await store.head();
    // The token grows with every opening, so ids made from it are never given twice.
    const { lease } = await store.acquire("kernel", options.id, clock.now(), 0);
    const kernel = new Kernel(options, head, lease.token);
    await kernel.#closeOrphans();
    return kernel;
  }

  /** The id of an Edit that nobody has used and nobody will. */
  newEdit(): string {
    this.#edits++;
    return `e${this.#epoch}-${this.#edits}`;
  }

  async createBlock<Answer>(
    invocation: Invocation,
    request: NewBlock,
    options: { fingerprint?: string | undefined; answer(applied: Applied): Answer },
  ): Promise<Answer> {
    this.#checkOpen();
    const { context, parent = null } = request;
    await this.contexts.check(context);
    const submitted = await this.#placing.run([context], async () => {
      const above = parent === null ? undefined : await this.#appliedState(parent);
      checkPlace(request.kind, above);
      if (above !== undefined && above.context !== context) {
        throw new KumikoError(
          "wrong_parent",
          `${above.block} belongs to the context ${above.context}.`,
          {
            parent: above.block,
            context,
          },
        );
      }
      const block = await this.#places.newId(context, invocation.actor);
      const state: BlockState = {
        block,
        context,
        parent,
        order: await this.#places.orderAtEnd(context, parent),
        kind: request.kind,
        role: request.role,
        status: request.status ?? (request.content === undefined ? "pending" : "done"),
        flags: request.flags ?? {},
        metadata: request.metadata ?? {},
        owner: request.status === "running" ? invocation.actor : null,
        created: this.#clock.now(),
      };
      const insert = request.content ?? "";
      return this.#door.submit({
        invocation,
        operation: "create",
        blocks: [block],
        fingerprint: options.fingerprint,
        plan: () => [{ block, state, text: { splices: [{ at: 0, remove: 0, insert }] } }],
        answer: (applied) => options.answer(applied),
      });
    });
    await submitted.durable;
    return submitted.answer;
  }

  /** Changes text in one block or many, all or none. */
  async editText<Answer>(invocation: Invocation, request: TextEdit<Answer>): Promise<Answer> {
    this.#checkOpen();
    return this.#door.edit({
      invocation,
      operation: request.operation,
      blocks: request.blocks,
      edit: request.edit,
      fingerprint: request.fingerprint,
      plan: (documents) =>
        [...documents.values()].map((live): PlannedChange => {
          const state = known(live);
          const splices = request.translate(editTarget(live.document), live.block);
          if (state.status !== "pending" || splices.length === 0)
            return { block: live.block, text: { splices } };
          const running: BlockState = { ...state, status: "running", owner: invocation.actor };
          return { block: live.block, text: { splices }, state: running };
        }),
      answer: (applied) => request.answer(applied),
    });
  }

  /** Changes what a block is: its status, flags or metadata. */
  async changeState<Answer>(
    invocation: Invocation,
    block: string,
    options: {
      fingerprint?: string | undefined;
      change(state: BlockState): BlockState;
      answer(applied: AppliedChange, edit: string): Answer;
    },
  ): Promise<Answer> {
    this.#checkOpen();
    await this.#appends.end(block);
    return this.#door.edit({
      invocation,
      operation: "change",
      blocks: [block],
      fingerprint: options.fingerprint,
      plan: (documents) => {
        const before = known(documents.get(block)!);
        const after = options.change(before);
        checkStatusChange(block, before.status, after.status);
        return JSON.stringify(before) === JSON.stringify(after)
          ? [{ block }]
          : [{ block, state: after }];
      },
      answer: ({ changes, edit }) => options.answer(changes[0]!, edit),
    });
  }

  /** Text that streams in: taken at once, kept soon. */
  async append(
    invocation: Invocation,
    block: string,
    text: string,
    options: { flush?: boolean } = {},
  ): Promise<AppendReceipt> {
    this.#checkOpen();
    await this.#appliedState(block);
    const durable = this.#documents.peek(block)?.durable ?? 0;
    return this.#appends.append(invocation, block, text, { ...options, durable });
  }

  /** Shows a block as it is on disk. What is shown cannot be changed through it. */
  async look<Result>(block: string, show: (shown: ShownBlock) => Result): Promise<Result> {
    this.#checkOpen();
    await this.#appends.settle(block);
    return this.#door.look(block, ({ document, durableState }) => {
      if (durableState === undefined) throw unknownBlock(block);
      return show({ state: durableState, document: readable(document) });
    });
  }

  /** Translates without committing: what would happen to the block as it is on disk. */
  async tryOut<Result>(block: string, run: (target: EditTarget) => Result): Promise<Result> {
    this.#checkOpen();
    await this.#appends.settle(block);
    return this.#door.look(block, ({ document, durableState }) => {
      if (durableState === undefined) throw unknownBlock(block);
      return run(editTarget(document));
    });
  }

  async state(block: string): Promise<BlockState> {
    this.#checkOpen();
    const live = this.#documents.peek(block);
    if (live?.durableState !== undefined) return live.durableState;
    const row = await this.#store.row(block);
    if (row === undefined) throw unknownBlock(block);
    return fromRow(row);
  }

  async children(query: ChildrenQuery): Promise<BlockState[]> {
    this.#checkOpen();
    return (await this.#store.children(query)).map(fromRow);
  }

  /** Lets what is under way finish, then gives everything back. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    await this.#appends.endAll();
    this.#closed = true;
    this.feed.close();
    await this.#door.settle();
    this.#documents[Symbol.dispose]();
    await this.#store[Symbol.asyncDispose]();
  }

  /** A block that ran when the process ended has no owner any more. */
  async #closeOrphans(): Promise<void> {
    const invocation: Invocation = { actor: "system", message: "Its owner is gone." };
    for (const row of await this.#store.rowsWithStatus("running")) {
      await this.changeState(invocation, row.block, {
        change: (state) => ({ ...state, status: "error", owner: null }),
        answer: () => undefined,
      });
    }
  }

  async #appliedState(block: string): Promise<BlockState> {
    const live = this.#documents.peek(block);
    if (live?.state !== undefined) return live.state;
    const row = await this.#store.row(block);
    if (row === undefined) throw unknownBlock(block);
    return fromRow(row);
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new KumikoError("closed", `The kernel ${this.id} was closed.`, { kernel: this.id });
  }
}

function known(live: LiveDocument): BlockState {
  if (live.state === undefined) throw unknownBlock(live.block);
  return live.state;
}
