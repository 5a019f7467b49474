import { type Clock, formatEdit, type KumikoError, type Timers } from "../base/index.ts";
import { translateAppend } from "../blocks/index.ts";
import { Appends } from "./appends.ts";
import { AttachedFiles } from "./attached-files.ts";
import { BlockViews } from "./block-views.ts";
import { BlockWriting } from "./block-writing.ts";
import { CommitDoor } from "./commit/door.ts";
import { OtherServers } from "./commit/other-servers.ts";
import { Contexts } from "./contexts.ts";
import { toEvent } from "./flow/feed.ts";
import { FlowBus } from "./flow/flow-bus.ts";
import { EditsUnderWay } from "./edits-under-way.ts";
import { type Authorise, Gate } from "./gate.ts";
import { Listing } from "./listing.ts";
import { LiveDocuments } from "./live-documents.ts";
import { isAllBy } from "./made-file.ts";
import { Once } from "./once.ts";
import { OwnEdits } from "./own-edits.ts";
import { OwnerLease } from "./owner-lease.ts";
import type { Store } from "./ports.ts";
import { Purge } from "./purge/purge.ts";
import { type DamageReport, Quarantine } from "./quarantine.ts";
import { Reading } from "./reading.ts";
import { Replicas } from "./replicas.ts";
import { Retention } from "./retention.ts";
import { Search, type SearchOptions } from "./search/search.ts";
import { Places } from "./structure.ts";
import { ToolFilterSetting } from "./tool-filter.ts";
import { Undo } from "./undo.ts";
import { Upkeep } from "./upkeep.ts";
import { withheldBlocks } from "./withheld.ts";

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
  turn?(): Promise<void> | undefined;
  /** Documents kept in memory. */
  readonly liveDocuments?: number | undefined;
  /** This process among those that share the store; they have different names. */
  readonly server?: string | undefined;
  /** Told once of everything stored that turns out to be damaged. */
  onDamage?(report: DamageReport): void;
  readonly search?: SearchOptions | undefined;
}

/** Whether the kernel can be used, as it says itself. */
interface KernelLife {
  checkOpen(): void;
  checkWritable(): Promise<void>;
}

/** What a kernel is made of, and what each part is told by the others. */
export class KernelParts {
  readonly store: Store;
  readonly flow: FlowBus;
  readonly files: AttachedFiles;
  readonly gate: Gate;
  readonly contexts: Contexts;
  readonly owner: OwnerLease;
  readonly retention: Retention;
  readonly toolFilter: ToolFilterSetting;
  readonly listing: Listing;
  readonly views: BlockViews;
  readonly writing: BlockWriting;
  readonly appends: Appends;
  readonly search: Search;
  readonly undo: Undo;
  readonly once: Once;
  readonly underWay: EditsUnderWay;
  readonly purge: Purge;
  readonly replicas: Replicas;
  readonly #quarantine: Quarantine;
  readonly #documents: LiveDocuments;
  readonly #upkeep: Upkeep;
  readonly #door: CommitDoor;
  readonly own = new OwnEdits();
  #edits = 0;

  constructor(options: KernelOptions, head: number, life: KernelLife) {
    this.store = options.store;
    const flow = new FlowBus(options.store, head, options.clock);
    this.flow = flow;
    this.files = new AttachedFiles(options.id);
    this.gate = new Gate(() => this.files.port, options.authorise);
    const { authorise } = this.gate;
    this.contexts = new Contexts({
      store: options.store,
      kernel: options.id,
      clock: options.clock,
      authorise,
      announce: (notice) => flow.publish("context", notice),
      damaged: (error) => this.#quarantine.tell(error),
    });
    this.owner = new OwnerLease(
      {
        store: options.store,
        clock: options.clock,
        timers: options.timers,
        held: async () => {
          await others.hearAll();
          await this.writing.closeOrphans();
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
    const places = new Places(options.store);
    this.#quarantine = new Quarantine((report) => {
      const { block, effect, why } = report;
      flow.publish("resource", { kind: "damaged", block, effect, why });
      options.onDamage?.(report);
    });
    const reading = new Reading(options.store, this.#quarantine, (block, splices) =>
      this.#upkeep.replayed(block, splices),
    );
    this.listing = new Listing(options.store, this.#quarantine);
    this.#upkeep = new Upkeep({
      store: options.store,
      clock: options.clock,
      timers: options.timers,
      read: (block) => this.views.durable(block),
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
      newEdit: () => this.newEdit(),
      made: (edit, invocation) => this.own.made(edit, invocation),
      quarantine: this.#quarantine,
      turn: () => options.turn?.(),
      fence: () => this.owner.fence,
      publish: (commit, body, { kind }) => {
        // A commit of ours may have been heard of before its own answer came.
        if (commit.position > flow.feed.head) flow.feed.publish(toEvent(commit, body));
        const status = body.row?.status;
        const ended = status === "done" || status === "error";
        this.#upkeep.committed(commit.block, body.change, ended);
        this.replicas.committed(commit, body.change);
        this.files.port?.committed(commit.block, commit.version, kind);
      },
      unwritten: () => {
        this.#documents.forgetUnwritten(options.newPeer());
        places.forget();
      },
      outrun: (blocks) => {
        for (const block of blocks) this.#documents.forget(block);
      },
    });
    this.appends = new Appends({
      timers: options.timers,
      newEdit: () => this.newEdit(),
      announce: (notice) => flow.publish("resource", notice),
      durableVersion: (block) => this.views.durableVersion(block),
      // What was taken in is written, also while the kernel closes and whatever the rules say by then.
      commit: (invocation, append) =>
        this.writing.editText(invocation, {
          blocks: [append.block],
          operation: "append",
          isAllowed: true,
          edit: append.edit,
          fingerprint: append.fingerprint,
          translate: (target) => translateAppend(target, append.text),
          answer: ({ changes }) => append.answer(changes[0]!.version),
        }),
    });
    this.views = new BlockViews({
      store: options.store,
      quarantine: this.#quarantine,
      documents: this.#documents,
      reading,
      door: this.#door,
      appends: this.appends,
      feed: flow.feed.reader,
    });
    this.writing = new BlockWriting({
      clock: options.clock,
      places,
      door: this.#door,
      owner: this.owner,
      appends: this.appends,
      listing: this.listing,
      state: (block) => this.views.state(block),
    });
    this.search = new Search(
      {
        store: options.store,
        settle: () => this.appends.settleAll(),
        asked: (block) => this.#upkeep.searched(block),
        files: (invocation, wanted) => this.files.port?.texts(invocation, wanted) ?? [],
        mayShow: (invocation, block) =>
          this.files.port?.hidden(block) !== true && this.gate.mayRead(invocation, block),
        withheld: (invocation) => withheldBlocks(this, invocation),
        text: async (block, version) => {
          life.checkOpen();
          if (version === undefined) return this.views.read(block);
          return this.views.look(block, ({ document }) => ({
            version,
            text: document.read(version),
          }));
        },
      },
      options.search,
    );
    this.once = new Once(this.#door);
    this.underWay = new EditsUnderWay(options.store);
    this.undo = new Undo({
      store: options.store,
      door: this.#door,
      appends: this.appends,
      authorise,
      own: this.own,
      underWay: this.underWay,
      newEdit: () => this.newEdit(),
      unmakes: async (block, edit) =>
        block.startsWith("@") && this.views.look(block, (file) => isAllBy(file, edit)),
      takenBack: (blocks, wasRedo) =>
        wasRedo ? this.files.takenBack(blocks) : this.files.broughtBack(blocks),
      planFlip: (invocation, flip) => this.files.flip(invocation, flip),
    });
    this.purge = new Purge({
      store: options.store,
      clock: options.clock,
      listing: this.listing,
      quarantine: this.#quarantine,
      authorise,
      kernel: options.id,
      newPeer: () => options.newPeer(),
      alone: async (block, task) => {
        await this.appends.end(block);
        const done = await this.#upkeep.apart(block, () => this.#door.replace(block, task));
        flow.feed.forget();
        if (done !== undefined) this.replicas.replaced(block);
        return done;
      },
      beside: async (mask, block) => (await this.files.port?.purge(mask, block)) ?? 0,
      announce: async (invocation, block) => {
        await this.writing.announce(invocation, block);
        flow.publish("resource", { kind: "changed", resource: block });
      },
    });
    this.replicas = new Replicas({
      store: options.store,
      clock: options.clock,
      documents: this.#documents,
      door: this.#door,
      appends: this.appends,
      writing: this.writing,
      feed: flow.feed.reader,
      newEdit: () => this.newEdit(),
      newPeer: () => options.newPeer(),
      generation: async (block) => (await this.purge.gapsOf(block)).length,
      ...life,
    });
  }

  /** Tells everybody concerned of something stored that is damaged. */
  damaged(error: KumikoError): void {
    this.#quarantine.tell(error);
  }

  /** The id of an Edit that nobody has used and nobody will. */
  newEdit(): string {
    this.#edits++;
    return formatEdit(this.owner.epoch, this.#edits);
  }

  /** Lets what is under way finish, then gives everything back. */
  async close(): Promise<void> {
    await using closing = new AsyncDisposableStack();
    closing.use(this.store);
    closing.use(this.search);
    closing.use(this.#documents);
    closing.defer(() => this.owner.release());
    closing.defer(() => this.#upkeep.close());
    closing.defer(() => this.flow.close());
    closing.defer(() => this.replicas.close());
    closing.defer(() => this.#door.settle());
    await this.appends.close();
  }
}
