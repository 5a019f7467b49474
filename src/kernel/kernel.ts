import { type Clock, KumikoError, parseBlockId, type Timers } from "../base/index.ts";
import { type EditTarget, translateAppend } from "../blocks/index.ts";
import type { BlockMetadata, Notice } from "../protocol/index.ts";
import type { AppendReceipt } from "./append-stream.ts";
import { Appends } from "./appends.ts";
import type { BlockState } from "./block-state.ts";
import { BlockViews, type ShownBlock } from "./block-views.ts";
import { BlockWriting, type NewBlock, type StateChange, type TextEdit } from "./block-writing.ts";
import { type Applied, CommitDoor } from "./commit/door.ts";
import { OtherServers } from "./commit/other-servers.ts";
import { Contexts } from "./contexts.ts";
import { diagnose, type Diagnosis } from "./doctor.ts";
import { type FeedReader, toEvent } from "./flow/feed.ts";
import { FlowBus, type FlowReader } from "./flow/flow-bus.ts";
import { checkFileText } from "./file-text.ts";
import type { FilePort, NewFile } from "./files-port.ts";
import { Gate, type Authorise, type Operation } from "./gate.ts";
import type { Invocation } from "./invocation.ts";
import { type ListedBlock, Listing } from "./listing.ts";
import { LiveDocuments } from "./live-documents.ts";
import { isAllBy, isUnmade, madeBy } from "./made-file.ts";
import { OwnerLease } from "./owner-lease.ts";
import type { ChildrenQuery, Store } from "./ports.ts";
import {
  type Gap,
  Purge,
  type Purged,
  type PurgePreview,
  type PurgeRequest,
} from "./purge/purge.ts";
import { type DamageReport, Quarantine } from "./quarantine.ts";
import { Readers } from "./readers.ts";
import { Search, type SearchOptions } from "./search/search.ts";
import { type BlockText, Reading } from "./reading.ts";
import { Replicas } from "./replicas.ts";
import { Retention } from "./retention.ts";
import { Places } from "./structure.ts";
import { ToolFilterSetting } from "./tool-filter.ts";
import { type Flipped, Undo, type UndoRequest } from "./undo.ts";
import { Upkeep } from "./upkeep.ts";
import { authorsUntil, measureUsage, type Usage } from "./usage.ts";

export interface KernelOptions {
  readonly id: string;
  readonly store: Store;
  /** Wall-clock time in whole milliseconds. */
  readonly clock: Clock;
  readonly timers: Timers;
  /** A number nobody else uses, as digits: who writes on behalf of this process. */
  newPeer(): string;
  readonly authorise?: Authorise | undefined;
  /** Resolves when calls that have already arrived were let in: they share one write. By default at once. */
  turn?(): Promise<void>;
  /** Documents kept in memory. */
  readonly liveDocuments?: number | undefined;
  /** This process among those that share the store; they have different names. */
  readonly server?: string | undefined;
  /** Told once of everything stored that turns out to be damaged. */
  onDamage?(report: DamageReport): void;
  readonly search?: SearchOptions | undefined;
}

/** Each is put whole, and kept when that resolves. */
export interface NamedValues {
  get(key: string): Promise<string | undefined>;
  list(): Promise<{ key: string; value: string }[]>;
  put(key: string, value: string | undefined): Promise<void>;
}

/**
 * One workspace: its contexts, their blocks, and the one door through which they change. What it shows is
 * on disk.
 */
export class Kernel implements AsyncDisposable {
  readonly id: string;
  readonly contexts: Contexts;
  /** What happens here, by topic; `feed` is its topic of blocks. */
  readonly flow: FlowReader;
  readonly feed: FeedReader;
  readonly retention: Retention;
  readonly toolFilter: ToolFilterSetting;
  readonly readers = new Readers();
  readonly search: Search;
  readonly replicas: Replicas;
  readonly #store: Store;
  readonly #flow: FlowBus;
  readonly #quarantine: Quarantine;
  readonly #owner: OwnerLease;
  readonly #documents: LiveDocuments;
  readonly #views: BlockViews;
  readonly #writing: BlockWriting;
  readonly #listing: Listing;
  readonly #upkeep: Upkeep;
  readonly #door: CommitDoor;
  readonly #undo: Undo;
  readonly #purge: Purge;
  readonly #places: Places;
  readonly #appends: Appends;
  readonly #gate: Gate;
  #files: FilePort | undefined;
  #edits = 0;
  #closed = false;
  #closing: Promise<void> | undefined;

  private constructor(options: KernelOptions, head: number) {
    this.id = options.id;
    this.#store = options.store;
    const flow = new FlowBus(options.store, head, options.clock);
    this.#flow = flow;
    this.flow = flow.reader;
    this.feed = flow.feed.reader;
    this.#gate = new Gate(() => this.#files, options.authorise);
    const { authorise } = this.#gate;
    this.contexts = new Contexts({
      store: options.store,
      kernel: options.id,
      clock: options.clock,
      authorise,
      announce: (notice) => flow.publish("context", notice),
      damaged: (error) => this.#quarantine.tell(error),
    });
    this.#owner = new OwnerLease(
      {
        store: options.store,
        clock: options.clock,
        timers: options.timers,
        held: async () => {
          await others.hearAll();
          await this.#writing.closeOrphans();
        },
      },
      options.server ?? "local",
      options.id,
    );
    this.retention = new Retention({
      store: options.store,
      clock: options.clock,
      authorise,
      announce: (notice) => flow.publish("config", notice),
      damaged: (error) => this.#quarantine.tell(error),
    });
    this.toolFilter = new ToolFilterSetting({
      store: options.store,
      clock: options.clock,
      authorise,
      announce: (notice) => flow.publish("config", notice),
    });
    this.#places = new Places(options.store);
    this.#quarantine = new Quarantine((report) => {
      const { block, effect, why } = report;
      flow.publish("resource", { kind: "damaged", block, effect, why });
      options.onDamage?.(report);
    });
    const reading = new Reading(options.store, this.#quarantine, (block, splices) =>
      this.#upkeep.replayed(block, splices),
    );
    this.#listing = new Listing(options.store, this.#quarantine);
    this.#upkeep = new Upkeep({
      store: options.store,
      clock: options.clock,
      timers: options.timers,
      read: (block) => this.#views.durable(block),
    });
    this.#documents = new LiveDocuments(
      options.store,
      this.#quarantine,
      options.newPeer(),
      options.liveDocuments ?? 256,
    );
    const others = new OtherServers({
      store: options.store,
      documents: this.#documents,
      feed: flow.feed,
      heard: (block) => this.replicas.heard(block),
    });
    this.#door = new CommitDoor({
      store: options.store,
      others,
      documents: this.#documents,
      clock: options.clock,
      authorise,
      newEdit: () => this.#newEdit(),
      quarantine: this.#quarantine,
      turn: () => options.turn?.() ?? Promise.resolve(),
      fence: () => this.#owner.fence,
      publish: (commit, body) => {
        // A commit of ours may have been heard of before its own answer came.
        if (commit.position > flow.feed.head) flow.feed.publish(toEvent(commit, body));
        const status = body.row?.status;
        const ended = status === "done" || status === "error";
        this.#upkeep.committed(commit.block, body.change, ended);
        this.replicas.committed(commit, body.change);
        this.#files?.committed(commit.block, commit.version);
      },
      unwritten: () => {
        this.#documents.forgetUnwritten(options.newPeer());
        this.#places.forget();
      },
      outrun: (blocks) => {
        for (const block of blocks) this.#documents.forget(block);
      },
    });
    this.#appends = new Appends({
      timers: options.timers,
      newEdit: () => this.#newEdit(),
      announce: (notice) => flow.publish("resource", notice),
      durableVersion: (block) => this.#views.durableVersion(block),
      // What was taken in is written also while the kernel closes.
      commit: (invocation, append) =>
        this.#writing.editText(invocation, {
          blocks: [append.block],
          operation: "append",
          edit: append.edit,
          fingerprint: append.fingerprint,
          translate: (target) => translateAppend(target, append.text),
          answer: ({ changes }) => append.answer(changes[0]!.version),
        }),
    });
    this.#views = new BlockViews({
      store: options.store,
      quarantine: this.#quarantine,
      documents: this.#documents,
      reading,
      door: this.#door,
      appends: this.#appends,
      feed: this.feed,
    });
    this.#writing = new BlockWriting({
      clock: options.clock,
      places: this.#places,
      door: this.#door,
      owner: this.#owner,
      appends: this.#appends,
      listing: this.#listing,
      state: (block) => this.#views.state(block),
    });
    this.search = new Search(
      {
        store: options.store,
        settle: () => this.#appends.settleAll(),
        asked: (block) => this.#upkeep.searched(block),
        files: (invocation, wanted) => this.#files?.texts(invocation, wanted) ?? [],
        mayShow: (invocation, block) => !this.hidden(block) && this.mayRead(invocation, block),
        withheld: (invocation) => this.#withheld(invocation),
        text: (block, version) =>
          version === undefined
            ? this.read(block)
            : this.look(block, ({ document }) => ({ version, text: document.read(version) })),
      },
      options.search,
    );
    this.#undo = new Undo({
      store: options.store,
      door: this.#door,
      appends: this.#appends,
      authorise,
      newEdit: () => this.#newEdit(),
      unmakes: async (block, edit) =>
        block.startsWith("@") &&
        this.#views.look(
          block,
          ({ document }) => madeBy(document) === edit && isAllBy(document, edit),
        ),
    });
    this.#purge = new Purge({
      store: options.store,
      clock: options.clock,
      listing: this.#listing,
      quarantine: this.#quarantine,
      authorise,
      kernel: options.id,
      newPeer: () => options.newPeer(),
      alone: async (block, task) => {
        await this.#appends.end(block);
        const done = await this.#upkeep.apart(block, () => this.#door.replace(block, task));
        flow.feed.forget();
        if (done !== undefined) this.replicas.replaced(block);
        return done;
      },
      beside: async (mask, block) => (await this.#files?.purge(mask, block)) ?? 0,
      announce: async (invocation, block) => {
        await this.#writing.announce(invocation, block);
        flow.publish("resource", { kind: "changed", resource: block });
      },
    });
    this.replicas = new Replicas({
      store: options.store,
      clock: options.clock,
      documents: this.#documents,
      door: this.#door,
      appends: this.#appends,
      writing: this.#writing,
      feed: this.feed,
      newEdit: () => this.#newEdit(),
      newPeer: () => options.newPeer(),
      generation: async (block) => (await this.#purge.gapsOf(block)).length,
      checkOpen: () => this.#checkOpen(),
      checkWritable: () => this.#checkWritable(),
    });
  }

  /** Waits for the disk only when blocks of a dead process are to be closed. */
  static async open(options: KernelOptions): Promise<Kernel> {
    const kernel = new Kernel(options, await options.store.head());
    if ((await kernel.#listing.withStatus("running")).length === 0) return kernel;
    try {
      await kernel.#owner.take();
    } catch (error) {
      // A full disk must not keep anyone from reading; whoever writes first tries again.
      if (!(error instanceof KumikoError) || error.code !== "journal_unwritable") throw error;
    }
    return kernel;
  }

  /** The id of an Edit that nobody has used and nobody will. */
  #newEdit(): string {
    this.#edits++;
    return `e${this.#owner.epoch}-${this.#edits}`;
  }

  async createBlock<Answer>(
    invocation: Invocation,
    request: NewBlock,
    options: { fingerprint?: string | undefined; answer(applied: Applied): Answer },
  ): Promise<Answer> {
    await this.#checkWritable();
    await this.contexts.check(request.context);
    return this.#writing.create(invocation, request, options);
  }

  /** A block for a file, in the name of its mount: `@src~file~7`. */
  async createFile(
    invocation: Invocation,
    {
      mount,
      content,
      metadata,
      edit,
    }: { mount: string; content: string; metadata: BlockMetadata; edit?: string | undefined },
  ): Promise<Applied> {
    await this.#checkWritable();
    const file = { context: `@${mount}`, named: "file", role: "user", kind: "file" } as const;
    return this.#writing.create(
      invocation,
      { ...file, content, metadata },
      { edit, answer: (applied) => applied },
    );
  }

  /** A file that somebody wants to make at a path; undefined when there is one, or no folder. */
  async newFile(invocation: Invocation, given: string): Promise<NewFile | undefined> {
    this.#checkOpen();
    return this.#files?.newFile(invocation, given);
  }

  /** Makes files on disk whose blocks were made before. */
  async makeFiles(invocation: Invocation, blocks: readonly string[]): Promise<void> {
    await this.#files?.make(blocks);
    this.#tellUnsaved(invocation, blocks);
  }

  /** Folders whose files are blocks. Closed with the kernel. */
  attach(files: FilePort): void {
    if (this.#files !== undefined) throw new Error(`${this.id} has its files already`);
    this.#files = files;
  }

  get hasFiles(): boolean {
    return this.#files !== undefined;
  }

  /** Whether a block's text is kept from searches, whoever asks. */
  hidden(block: string): boolean {
    return this.#files?.hidden(block) ?? false;
  }

  /** Whether a caller may see a block's text. */
  mayRead(invocation: Invocation, block: string): boolean {
    return this.#gate.mayRead(invocation, block);
  }

  /** Throws what the rules say, when a caller may not see a block's text. */
  async checkReadable(invocation: Invocation, block: string): Promise<void> {
    await this.#gate.check(invocation, "read", [block]);
  }

  async #withheld(invocation: Invocation): Promise<ReadonlySet<string>> {
    if (this.#files === undefined) return new Set();
    const { blocks, folders } = await this.#files.withheld(invocation);
    const withheld = new Set(blocks);
    for (const folder of folders)
      for await (const { block } of this.#listing.all(`@${folder}`)) withheld.add(block);
    if (this.#files.rules()?.conversations.length === 0) return withheld;
    for (const { context } of await this.contexts.list())
      for await (const { block } of this.#listing.all(context))
        if (!this.mayRead(invocation, block)) withheld.add(block);
    return withheld;
  }

  /** What a caller has to know about its files, may read and was not told yet; it is now. */
  tell(invocation: Invocation): readonly unknown[] {
    return this.#files?.tell(invocation) ?? [];
  }

  /** The block that a caller means, by its id or by a path, if it may be used for that. */
  async target(invocation: Invocation, given: string, operation: Operation): Promise<string> {
    this.#checkOpen();
    if (this.#files === undefined) parseBlockId(given);
    const block = (await this.#files?.target(invocation, given, operation)) ?? given;
    // A file was asked about by its path, before it was loaded.
    if (!block.startsWith("@")) await this.#gate.check(invocation, operation, [block]);
    return block;
  }

  /** Small named values of rooms above. */
  named(space: string): NamedValues {
    const store = this.#store;
    return {
      get: (key) => store.get(space, key),
      list: () => store.list(space),
      put: (key, value) => store.put(space, key, value),
    };
  }

  /** Tells whoever waits how far something is that takes a while. */
  progress(notice: Notice<"progress">): void {
    this.#flow.publish("progress", notice);
  }

  /** Tells whoever listens to what can be read. */
  announce(notice: Notice<"resource">): void {
    this.#flow.publish("resource", notice);
  }

  /** Changes text in one block or many, all or none. */
  async editText<Answer>(invocation: Invocation, request: TextEdit<Answer>): Promise<Answer> {
    await this.#checkWritable();
    const files = this.#files;
    if (files === undefined) return this.#writing.editText(invocation, request);
    let staged: Disposable | undefined;
    const answer = (applied: Applied): Answer => {
      // An earlier plan was outrun.
      staged?.[Symbol.dispose]();
      staged = files.stage(applied.changes);
      return request.answer(applied);
    };
    try {
      const answered = await this.#writing.editText(invocation, { ...request, answer });
      if (request.restores === true) await files.restored(invocation, request.blocks);
      else await files.saved(request.blocks, staged);
      this.#tellUnsaved(invocation, request.blocks);
      return answered;
    } finally {
      staged?.[Symbol.dispose]();
    }
  }

  /** The same by who keeps files in step with their blocks, and saves them himself. */
  async editFiles<Answer>(invocation: Invocation, request: TextEdit<Answer>): Promise<Answer> {
    await this.#checkWritable();
    return this.#writing.editText(invocation, request);
  }

  /** Whether an Edit is not undone. */
  async isActive(edit: string): Promise<boolean> {
    return (await this.#store.edit(edit))?.active ?? true;
  }

  /** Changes what a block is: its status, flags or metadata. */
  async changeState<Answer>(
    invocation: Invocation,
    block: string,
    change: StateChange<Answer>,
  ): Promise<Answer> {
    await this.#checkWritable();
    return this.#writing.changeState(invocation, block, change);
  }

  /** Text that streams in: taken at once, kept soon. */
  async append(
    invocation: Invocation,
    block: string,
    text: string,
    options: { flush?: boolean; fingerprint?: string } = {},
  ): Promise<AppendReceipt> {
    await this.#checkWritable();
    await this.#views.state(block);
    checkFileText(block, text);
    const { flush, fingerprint } = options;
    const receipt =
      invocation.call === undefined || fingerprint === undefined
        ? await this.#appends.append(invocation, block, text, { flush })
        : await this.#appends.appendOnce(invocation, block, text, fingerprint);
    this.#tellUnsaved(invocation, [block]);
    return receipt;
  }

  /** Shows a block as it is on disk, with its history. What is shown cannot be changed through it. */
  async look<Result>(block: string, show: (shown: ShownBlock) => Result): Promise<Result> {
    this.#checkOpen();
    return this.#views.look(block, show);
  }

  /** Translates without committing: what would happen to the block as it is on disk. */
  async tryOut<Result>(block: string, run: (target: EditTarget) => Result): Promise<Result> {
    this.#checkOpen();
    return this.#views.tryOut(block, run);
  }

  /** A block's durable text and state, from memory or from rest; no document is built for it. */
  async read(block: string): Promise<BlockText> {
    this.#checkOpen();
    return this.#views.read(block);
  }

  /** What a block's file says; undefined when it has none. */
  async onDisk(block: string): Promise<string | undefined> {
    this.#checkOpen();
    return this.#files?.onDisk(block);
  }

  /** Whether a file was made by an Edit that was undone: there is to be none. */
  async isUnmade(block: string): Promise<boolean> {
    return this.look(block, ({ document }) => isUnmade(document));
  }

  /** Puts on disk what waits to be appended, to these blocks or to any: who reads the journal does this first. */
  async settle(blocks?: readonly string[]): Promise<void> {
    this.#checkOpen();
    if (blocks === undefined) await this.#appends.settleAll();
    else await Promise.all(blocks.map((block) => this.#appends.settle(block)));
  }

  /** A block as it stood at a position of the journal. */
  async readAt(block: string, position: number): Promise<BlockText> {
    this.#checkOpen();
    return this.#views.readAt(block, position);
  }

  /** How many commits of a block are on disk. */
  async version(block: string): Promise<number> {
    this.#checkOpen();
    return this.#views.durableVersion(block);
  }

  async state(block: string): Promise<BlockState> {
    this.#checkOpen();
    return this.#views.state(block);
  }

  /** What a block stands below: its parent first, the one without a parent last. */
  async ancestors(block: string): Promise<BlockState[]> {
    this.#checkOpen();
    return this.#views.ancestors(block);
  }

  /** In sibling order, damaged ones included. */
  async children(query: ChildrenQuery): Promise<ListedBlock[]> {
    this.#checkOpen();
    return this.#listing.children(query);
  }

  /** Those with a status, of all contexts, in no order: quick where few have it. */
  async blocksWithStatus(status: BlockState["status"]): Promise<ListedBlock[]> {
    this.#checkOpen();
    return this.#listing.withStatus(status);
  }

  /** Every block, or those behind one, in the order of their ids, damaged ones included. */
  blocks(context?: string, after?: string): AsyncGenerator<ListedBlock, void, void> {
    this.#checkOpen();
    return this.#listing.all(context, after);
  }

  /** Who changed each block, up to a position. */
  async authors(position: number): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    this.#checkOpen();
    return authorsUntil(this.#store, position);
  }

  /** How much of what is kept, with so many of the biggest blocks. */
  async usage(biggest: number): Promise<Usage> {
    this.#checkOpen();
    return measureUsage(this.#store, biggest);
  }

  /** Reads everything that is stored and says what is wrong with it. Changes nothing. */
  async diagnose(): Promise<Diagnosis> {
    this.#checkOpen();
    return diagnose(this.#store);
  }

  /** Switches an Edit off in all its blocks: the one named, or the newest of an actor. */
  async undo(invocation: Invocation, request: UndoRequest): Promise<Flipped> {
    await this.#checkWritable();
    return this.#savedFlip(invocation, await this.#undo.flip("undo", invocation, request));
  }

  /** Switches it on again: the one named, or the one that the actor undid last. */
  async redo(invocation: Invocation, request: UndoRequest): Promise<Flipped> {
    await this.#checkWritable();
    return this.#savedFlip(invocation, await this.#undo.flip("redo", invocation, request));
  }

  async #savedFlip(invocation: Invocation, flipped: Flipped): Promise<Flipped> {
    const blocks = flipped.blocks.map(({ block }) => block);
    await this.#files?.flipped(flipped.flipped, flipped.active);
    await this.#files?.restored(invocation, blocks);
    this.#tellUnsaved(invocation, blocks);
    return flipped;
  }

  #tellUnsaved({ onUnsaved }: Invocation, blocks: readonly string[]): void {
    if (onUnsaved !== undefined) this.#files?.unsaved(blocks).forEach(onUnsaved);
  }

  /**
   * Removes a text, or all of a block's, from every version, message and answer, and leaves a named gap. The
   * block gets a version without a change of text: who keeps a copy reads it again.
   */
  async purge(invocation: Invocation, request: PurgeRequest): Promise<Purged> {
    await this.#checkWritable();
    await this.#appends.endAll(invocation.actor);
    const purged = await this.#purge.purge(invocation, request);
    // A file that still says it would give it back with its next change.
    await this.#files?.saved(purged.gaps.map(({ block }) => block));
    return purged;
  }

  /** Where a purge would remove something. Changes nothing. */
  async previewPurge(invocation: Invocation, request: PurgeRequest): Promise<PurgePreview> {
    this.#checkOpen();
    return this.#purge.preview(invocation, request);
  }

  /** What was purged from a block, oldest first. */
  async gaps(block: string): Promise<Gap[]> {
    this.#checkOpen();
    return this.#purge.gapsOf(block);
  }

  /** Lets what is under way finish, then gives everything back. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#files !== undefined) {
      await this.#appends.settleAll();
      await this.#files[Symbol.asyncDispose]();
    }
    this.#closed = true;
    await using closing = new AsyncDisposableStack();
    closing.use(this.#store);
    closing.use(this.search);
    closing.use(this.#documents);
    closing.defer(() => this.#owner.release());
    closing.defer(() => this.#upkeep.close());
    closing.defer(() => this.#flow.close());
    closing.defer(() => this.replicas.close());
    closing.defer(() => this.#door.settle());
    await this.#appends.close();
  }

  async #checkWritable(): Promise<void> {
    this.#checkOpen();
    await this.#owner.take();
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new KumikoError("closed", `The kernel ${this.id} was closed.`, { kernel: this.id });
  }
}
