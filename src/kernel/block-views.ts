import { KumikoError } from "../base/index.ts";
import type { EditTarget } from "../blocks/index.ts";
import type { Appends } from "./appends.ts";
import { type BlockState, fromRow } from "./block-state.ts";
import type { CommitDoor } from "./commit/door.ts";
import type { FeedReader } from "./flow/feed.ts";
import { type LiveDocument, type LiveDocuments, unknownBlock } from "./live-documents.ts";
import type { Store } from "./ports.ts";
import type { Quarantine } from "./quarantine.ts";
import { editTarget, readable, type ReadableDocument } from "./readable-document.ts";
import type { BlockText, Reading } from "./reading.ts";

export interface ShownBlock {
  readonly state: BlockState;
  readonly document: ReadableDocument;
}

export interface BlockViewsPorts {
  readonly store: Store;
  readonly quarantine: Quarantine;
  readonly documents: LiveDocuments;
  readonly reading: Reading;
  readonly door: CommitDoor;
  readonly appends: Appends;
  readonly feed: FeedReader;
}

/** What can be seen of blocks: what is on disk, and nothing else. */
export class BlockViews {
  readonly #ports: BlockViewsPorts;

  constructor(ports: BlockViewsPorts) {
    this.#ports = ports;
  }

  /** With its history. What is shown cannot be changed through it. */
  async look<Result>(block: string, show: (shown: ShownBlock) => Result): Promise<Result> {
    const { appends, door } = this.#ports;
    await appends.settle(block);
    return door.look(block, ({ document, durableState }) => {
      if (durableState === undefined) throw unknownBlock(block);
      return show({ state: durableState, document: readable(document) });
    });
  }

  /** Translates without committing. */
  async tryOut<Result>(block: string, run: (target: EditTarget) => Result): Promise<Result> {
    const { appends, door } = this.#ports;
    await appends.settle(block);
    return door.look(block, ({ document, durableState }) => {
      if (durableState === undefined) throw unknownBlock(block);
      return run(editTarget(document));
    });
  }

  /** Its text and state of now; no document is built for it. */
  async read(block: string): Promise<BlockText> {
    const { appends, documents, door } = this.#ports;
    await appends.settle(block);
    const live = documents.peek(block);
    if (live === undefined || live.durable === live.document.version) return this.durable(block);
    // Something of it is on its way to disk: who reads behind it sees it.
    return door.look(block, (settled) => {
      const text = durableText(settled);
      if (text === undefined) throw unknownBlock(block);
      return text;
    });
  }

  /** Its text and state as they stood at a position of the journal. */
  async readAt(block: string, position: number): Promise<BlockText> {
    const { feed, reading, documents } = this.#ports;
    feed.checkPosition(position);
    const then = await reading.asOf(block, position, (version) => {
      const live = documents.peek(block);
      return live !== undefined && version <= live.durable
        ? live.document.read(version)
        : undefined;
    });
    if (then !== undefined) return then;
    throw new KumikoError("unknown_block", `There was no block ${block} at position ${position}.`, {
      block,
      position,
    });
  }

  /** From memory when it is there, without waiting for what is on its way. */
  async durable(block: string): Promise<BlockText> {
    const { quarantine, documents, reading } = this.#ports;
    quarantine.check(block);
    const live = documents.peek(block);
    return (live && durableText(live)) ?? reading.atRest(block);
  }

  async state(block: string): Promise<BlockState> {
    return this.#ports.documents.peek(block)?.durableState ?? (await this.#storedState(block));
  }

  /** A block's last version on disk; no commit of it is read. */
  async durableVersion(block: string): Promise<number> {
    const { store, quarantine, documents } = this.#ports;
    const live = documents.peek(block);
    if (live !== undefined) return live.durable;
    return quarantine.reading(block, () => store.versionAt(block, Number.MAX_SAFE_INTEGER));
  }

  /** Its parent first, the one without a parent last. */
  async ancestors(block: string): Promise<BlockState[]> {
    const above: BlockState[] = [];
    for (let { parent } = await this.state(block); parent !== null;) {
      const state = await this.state(parent);
      above.push(state);
      ({ parent } = state);
    }
    return above;
  }

  async #storedState(block: string): Promise<BlockState> {
    const { store, quarantine } = this.#ports;
    return quarantine.reading(block, async () => {
      const row = await store.row(block);
      if (row === undefined) throw unknownBlock(block);
      return fromRow(row);
    });
  }
}

function durableText({ durable, durableState, document }: LiveDocument): BlockText | undefined {
  if (durableState === undefined) return undefined;
  return { state: durableState, version: durable, text: document.read(durable) };
}
