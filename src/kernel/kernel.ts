import { fileEdit, type FileEditKind, KumikoError, parseBlockId } from "../base/index.ts";
import type { Author, EditTarget } from "../blocks/index.ts";
import type { BlockMetadata, Notice } from "../protocol/index.ts";
import type { AppendReceipt } from "./append-stream.ts";
import type { BlockState } from "./block-state.ts";
import type { ShownBlock } from "./block-views.ts";
import type { NewBlock, StateChange, TextEdit } from "./block-writing.ts";
import type { Applied } from "./commit/door.ts";
import type { Contexts } from "./contexts.ts";
import { doneInPart } from "./done-in-part.ts";
import type { EditsUnderWay } from "./edits-under-way.ts";
import { diagnose, type Diagnosis } from "./doctor.ts";
import type { FeedReader } from "./flow/feed.ts";
import type { FlowReader } from "./flow/flow-bus.ts";
import { checkFileText } from "./file-text.ts";
import type { FilePort, NewFile, PlannedGoing } from "./files-port.ts";
import type { Operation } from "./gate.ts";
import { bySystem, type Invocation } from "./invocation.ts";
import { type KernelOptions, KernelParts } from "./kernel-parts.ts";
import type { ListedBlock } from "./listing.ts";
import { isAllBy, isRemade, isUnmade } from "./made-file.ts";
import type { ChildrenQuery } from "./ports.ts";
import type { Gap, Purged, PurgePreview, PurgeRequest } from "./purge/purge.ts";
import { isDamage } from "./quarantine.ts";
import { Readers } from "./readers.ts";
import type { BlockText } from "./reading.ts";
import type { Replicas } from "./replicas.ts";
import type { Retention } from "./retention.ts";
import type { Search } from "./search/search.ts";
import type { ToolFilterSetting } from "./tool-filter.ts";
import type { FlippedFiles } from "./attached-files.ts";
import type { UndoRequest } from "./undo.ts";
import { authorsUntil, measureUsage, type Usage } from "./usage.ts";

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
  readonly #parts: KernelParts;
  #closed = false;
  #closing: Promise<void> | undefined;

  private constructor(options: KernelOptions, head: number) {
    this.id = options.id;
    this.#parts = new KernelParts(options, head, {
      checkOpen: () => this.#checkOpen(),
      checkWritable: () => this.#checkWritable(),
    });
    const { contexts, flow, retention, toolFilter, search, replicas } = this.#parts;
    this.contexts = contexts;
    this.flow = flow.reader;
    this.feed = flow.feed.reader;
    this.retention = retention;
    this.toolFilter = toolFilter;
    this.search = search;
    this.replicas = replicas;
  }

  /** Waits for the disk only when blocks of a dead process are to be closed. */
  static async open(options: KernelOptions): Promise<Kernel> {
    const kernel = new Kernel(options, await options.store.head());
    if ((await kernel.#parts.listing.withStatus("running")).length === 0) return kernel;
    try {
      await kernel.#parts.owner.take();
    } catch (error) {
      // A full disk must not keep anyone from reading; whoever writes first tries again.
      const unwritable = error instanceof KumikoError && error.code === "journal_unwritable";
      if (!unwritable && !isDamage(error)) throw error;
      if (isDamage(error)) kernel.#parts.damaged(error);
    }
    return kernel;
  }

  async createBlock<Answer>(
    invocation: Invocation,
    request: NewBlock,
    options: { fingerprint?: string | undefined; answer(applied: Applied): Answer },
  ): Promise<Answer> {
    await this.#checkWritable();
    await this.contexts.check(request.context);
    return this.#parts.writing.create(invocation, request, options);
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
    return this.#parts.writing.create(
      invocation,
      { ...file, content, metadata },
      { edit, makes: true, answer: (applied) => applied },
    );
  }

  /** A file that somebody wants to make at a path; undefined when there is one, or no folder. */
  async newFile(invocation: Invocation, given: string): Promise<NewFile | undefined> {
    this.#checkOpen();
    return this.#files?.newFile(invocation, given);
  }

  /** Makes files on disk whose blocks were made before. */
  async makeFiles(invocation: Invocation, blocks: readonly string[]): Promise<void> {
    await this.#parts.files.during(() => this.#parts.files.make(invocation, blocks));
  }

  /** Folders whose files are blocks. Closed with the kernel. */
  attach(files: FilePort): void {
    this.#parts.files.attach(files);
  }

  get hasFiles(): boolean {
    return this.#files !== undefined;
  }

  /** Whether a caller may see a block's text. */
  mayRead(invocation: Invocation, block: string): boolean {
    return this.#parts.gate.mayRead(invocation, block);
  }

  /** Throws what the rules say, when a caller may not see a block's text. */
  async checkReadable(invocation: Invocation, block: string): Promise<void> {
    await this.#parts.gate.check(invocation, "read", [block]);
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
    if (!block.startsWith("@")) await this.#parts.gate.check(invocation, operation, [block]);
    return block;
  }

  /** Small named values of rooms above. */
  named(space: string): NamedValues {
    const store = this.#parts.store;
    return {
      get: (key) => store.get(space, key),
      list: () => store.list(space),
      put: (key, value) => store.put(space, key, value),
    };
  }

  /** Tells whoever waits how far something is that takes a while. */
  progress(notice: Notice<"progress">): void {
    this.#parts.flow.publish("progress", notice);
  }

  /** Tells whoever listens to what can be read. */
  announce(notice: Notice<"resource">): void {
    this.#parts.flow.publish("resource", notice);
  }

  /** Changes text in one block or many, all or none. */
  async editText<Answer>(invocation: Invocation, request: TextEdit<Answer>): Promise<Answer> {
    await this.#checkWritable();
    const { files, writing } = this.#parts;
    return files.during(() =>
      files.edit(invocation, request, (each) => writing.editText(invocation, each)),
    );
  }

  /** The same by who keeps files in step with their blocks, and saves them himself. */
  async editFiles<Answer>(invocation: Invocation, request: TextEdit<Answer>): Promise<Answer> {
    await this.#checkWritable();
    return this.#parts.writing.editText(invocation, request);
  }

  /** Carries a call out that is more than one commit: who makes it again under its id gets the answer it had. */
  async once<Answer>(
    invocation: Invocation,
    fingerprint: string,
    carryOut: () => Promise<Answer>,
  ): Promise<Answer> {
    await this.#checkWritable();
    return this.#parts.once.run(invocation, fingerprint, carryOut);
  }

  /** A file that somebody wants to delete or, with `to`, to move there; undefined when what is given is no file. */
  async going(
    invocation: Invocation,
    given: string,
    to: string | undefined,
  ): Promise<PlannedGoing | undefined> {
    this.#checkOpen();
    return this.#parts.files.going(invocation, given, to);
  }

  /** A new Edit that moves or deletes files. */
  async newFileEdit(kind: FileEditKind): Promise<string> {
    await this.#checkWritable();
    return fileEdit(this.#parts.newEdit(), kind);
  }

  /** Undoes what was done of an Edit before `why` kept it from being done whole. It is nobody's to redo. */
  async takeBack(edit: string, why: unknown): Promise<void> {
    const { store, files, undo } = this.#parts;
    if ((await store.edit(edit)) === undefined) return;
    try {
      await files.during(async () => {
        const { blocks } = await undo.flip("undo", bySystem(why), { edit });
        await files.takenBack(
          blocks.map(({ block }) => block),
          edit,
        );
      });
    } catch (error) {
      throw doneInPart(edit, why, error);
    }
  }

  /** Whether the caller knows of an Edit because it made it. */
  isOwn(author: Pick<Author, "actor" | "edit">, invocation: Invocation): boolean {
    return this.#parts.own.isKnownTo(author, invocation);
  }

  /** Edits that move and delete files, as long as they do. */
  get underWay(): EditsUnderWay {
    return this.#parts.underWay;
  }

  /** Whether an Edit is not undone. */
  async isActive(edit: string): Promise<boolean> {
    return (await this.#parts.store.edit(edit))?.active ?? true;
  }

  /** Changes what a block is: its status, flags or metadata. */
  async changeState<Answer>(
    invocation: Invocation,
    block: string,
    change: StateChange<Answer>,
  ): Promise<Answer> {
    await this.#checkWritable();
    return this.#parts.writing.changeState(invocation, block, change);
  }

  /** Text that streams in: taken at once, kept soon. */
  async append(
    invocation: Invocation,
    block: string,
    text: string,
    options: { flush?: boolean; fingerprint?: string } = {},
  ): Promise<AppendReceipt> {
    await this.#checkWritable();
    await this.#parts.views.state(block);
    checkFileText(block, text);
    const { gate, appends, files } = this.#parts;
    const { flush, fingerprint } = options;
    const isOnce = invocation.call !== undefined && fingerprint !== undefined;
    const take = (): Promise<AppendReceipt> =>
      isOnce
        ? appends.appendOnce(invocation, block, text, fingerprint)
        : appends.append(invocation, block, text, { flush });
    if (!block.startsWith("@")) {
      const checking = gate.checkOne(invocation, "append", block);
      if (checking !== undefined) await checking;
      return await take();
    }
    return files.during(async () => {
      await gate.check(invocation, "append", [block]);
      const receipt = await take();
      files.tellUnsaved(invocation, [block]);
      return receipt;
    });
  }

  /** Shows a block as it is on disk, with its history. What is shown cannot be changed through it. */
  async look<Result>(block: string, show: (shown: ShownBlock) => Result): Promise<Result> {
    this.#checkOpen();
    return this.#parts.views.look(block, show);
  }

  /** Translates without committing: what would happen to the block as it is on disk. */
  async tryOut<Result>(block: string, run: (target: EditTarget) => Result): Promise<Result> {
    this.#checkOpen();
    return this.#parts.views.tryOut(block, run);
  }

  /** A block's durable text and state, from memory or from rest; no document is built for it. */
  async read(block: string): Promise<BlockText> {
    this.#checkOpen();
    return this.#parts.views.read(block);
  }

  /** What a block's file says; undefined when it has none. */
  async onDisk(block: string): Promise<string | undefined> {
    this.#checkOpen();
    return this.#files?.onDisk(block);
  }

  /** Whether a file was made by an Edit that was undone: there is to be none. */
  async isUnmade(block: string): Promise<boolean> {
    return this.look(block, isUnmade);
  }

  /** Whether an Edit made a file where none was, and nothing of others stands that came to it since. */
  async isAllBy(block: string, edit: string): Promise<boolean> {
    return this.look(block, (file) => isAllBy(file, edit));
  }

  /** Whether what made a file was just done again. */
  async isRemade(block: string): Promise<boolean> {
    return this.look(block, isRemade);
  }

  /** Puts on disk what waits to be appended, to these blocks or to any: who reads the journal does this first. */
  async settle(blocks?: readonly string[]): Promise<void> {
    this.#checkOpen();
    if (blocks === undefined) await this.#parts.appends.settleAll();
    else await Promise.all(blocks.map((block) => this.#parts.appends.settle(block)));
  }

  /** Resolves when the calls that may be changing these files are answered, and what they appended is on disk. */
  async settleFiles(blocks: () => readonly string[]): Promise<void> {
    await this.#parts.files.answered();
    await this.settle(blocks());
  }

  /** A block as it stood at a position of the journal. */
  async readAt(block: string, position: number): Promise<BlockText> {
    this.#checkOpen();
    return this.#parts.views.readAt(block, position);
  }

  /** How many commits of a block are on disk. */
  async version(block: string): Promise<number> {
    this.#checkOpen();
    return this.#parts.views.durableVersion(block);
  }

  async state(block: string): Promise<BlockState> {
    this.#checkOpen();
    return this.#parts.views.state(block);
  }

  /** What a block stands below: its parent first, the one without a parent last. */
  async ancestors(block: string): Promise<BlockState[]> {
    this.#checkOpen();
    return this.#parts.views.ancestors(block);
  }

  /** In sibling order, damaged ones included. */
  async children(query: ChildrenQuery): Promise<ListedBlock[]> {
    this.#checkOpen();
    return this.#parts.listing.children(query);
  }

  /** Those with a status, of all contexts, in no order: quick where few have it. */
  async blocksWithStatus(status: BlockState["status"]): Promise<ListedBlock[]> {
    this.#checkOpen();
    return this.#parts.listing.withStatus(status);
  }

  /** Every block, or those behind one, in the order of their ids, damaged ones included. */
  blocks(context?: string, after?: string): AsyncGenerator<ListedBlock, void, void> {
    this.#checkOpen();
    return this.#parts.listing.all(context, after);
  }

  /** Who changed each block, up to a position. */
  async authors(position: number): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    this.#checkOpen();
    return authorsUntil(this.#parts.store, position);
  }

  /** How much of what is kept, with so many of the biggest blocks. */
  async usage(biggest: number): Promise<Usage> {
    this.#checkOpen();
    return measureUsage(this.#parts.store, biggest);
  }

  /** Reads everything that is stored and says what is wrong with it. Changes nothing. */
  async diagnose(): Promise<Diagnosis> {
    this.#checkOpen();
    return diagnose(this.#parts.store);
  }

  /** Switches an Edit off in all its blocks: the one named, or the newest of an actor. */
  async undo(invocation: Invocation, request: UndoRequest): Promise<FlippedFiles> {
    await this.#checkWritable();
    return this.#flip("undo", invocation, request);
  }

  /** The same by who keeps files in step with their blocks, if these are all and say just this then. */
  async undoFiles(
    invocation: Invocation,
    edit: string,
    expected: ReadonlyMap<string, string>,
  ): Promise<void> {
    await this.#checkWritable();
    await this.#parts.undo.flip("undo", invocation, { edit, expected });
  }

  /** Switches it on again: the one named, or the one that the actor undid last. */
  async redo(invocation: Invocation, request: UndoRequest): Promise<FlippedFiles> {
    await this.#checkWritable();
    return this.#flip("redo", invocation, request);
  }

  /**
   * Removes a text, or all of a block's, from every version, message and answer, and leaves a named gap. The
   * block gets a version without a change of text: who keeps a copy reads it again.
   */
  async purge(invocation: Invocation, request: PurgeRequest): Promise<Purged> {
    await this.#checkWritable();
    await this.#parts.appends.endAll(invocation.actor);
    const purged = await this.#parts.purge.purge(invocation, request);
    // A file that still says it would give it back with its next change.
    await this.#files?.purged(purged.gaps.map(({ block }) => block));
    return purged;
  }

  /** Where a purge would remove something. Changes nothing. */
  async previewPurge(invocation: Invocation, request: PurgeRequest): Promise<PurgePreview> {
    this.#checkOpen();
    return this.#parts.purge.preview(invocation, request);
  }

  /** What was purged from a block, oldest first. */
  async gaps(block: string): Promise<Gap[]> {
    this.#checkOpen();
    return this.#parts.purge.gapsOf(block);
  }

  /** Lets what is under way finish, then gives everything back. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#files !== undefined) {
      await this.#parts.appends.settleAll();
      await this.#files[Symbol.asyncDispose]();
    }
    this.#closed = true;
    await this.#parts.close();
  }

  #flip(
    what: "undo" | "redo",
    invocation: Invocation,
    request: UndoRequest,
  ): Promise<FlippedFiles> {
    const { files, undo } = this.#parts;
    return files.during(async () =>
      files.flipped(invocation, await undo.flip(what, invocation, request)),
    );
  }

  get #files(): FilePort | undefined {
    return this.#parts.files.port;
  }

  async #checkWritable(): Promise<void> {
    this.#checkOpen();
    await this.#parts.owner.take();
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new KumikoError("closed", `The kernel ${this.id} was closed.`, { kernel: this.id });
  }
}
