import { randomBytes } from "node:crypto";
import { type Clock, KumikoError } from "../base/index.ts";
import { endOf, endOfTyping, type PeerOperations, type Typing } from "../blocks/index.ts";
import type { Appends } from "./appends.ts";
import type { BlockWriting } from "./block-writing.ts";
import type { CommitBody } from "./commit-body.ts";
import type { CommitDoor } from "./commit/door.ts";
import type { FeedReader } from "./flow/feed.ts";
import type { Invocation } from "./invocation.ts";
import { type LiveDocument, type LiveDocuments, unknownBlock } from "./live-documents.ts";
import type { Store, StoredCommit } from "./ports.ts";
import { type Committed, FollowedBlock, type Follower } from "./replica-frames.ts";

export type { Follower, ReplicaFrame, ReplicaUpdate } from "./replica-frames.ts";

/** What a peer sends within this many milliseconds is one Edit. */
const ONE_EDIT = 1_000;
/** Peers and blocks whose last Edit may go on. */
const REMEMBERED = 10_000;
const SPACE = "replicas";
/** The generation of what is only lent: that of no document, so that nothing is ever merged into a copy of it. */
const LENT = 0x7fffffff;

/** What someone who comes back still holds. */
export interface Known {
  readonly generation: number;
  /** How many operations of each peer. */
  readonly counters: ReadonlyMap<string, number>;
}

export interface OpenedReplica extends Disposable {
  readonly version: number;
  /** Another one means another document: nothing of a copy of it can be merged. */
  readonly generation: number;
  /** A snapshot of everything, or what is missing in what is known. */
  readonly whole: boolean;
  readonly bytes: Uint8Array;
  readonly counters: ReadonlyMap<string, number>;
}

export interface Pushed {
  readonly version: number;
  readonly edit: string;
}

export interface ReplicasPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly documents: LiveDocuments;
  readonly door: CommitDoor;
  readonly appends: Appends;
  readonly writing: BlockWriting;
  readonly feed: FeedReader;
  newEdit(): string;
  newPeer(): string;
  /** How often something was purged from a block: each time it becomes another document. */
  generation(block: string): Promise<number>;
  checkOpen(): void;
  checkWritable(): Promise<void>;
}

/**
 * Copies of blocks that others keep and edit. What they send comes in through the commit door; what they are
 * given is on disk, one frame for all that went there together.
 */
export class Replicas {
  readonly #ports: ReplicasPorts;
  readonly #followed = new Map<string, FollowedBlock>();
  /** By block and peer: the Edit that goes on, and since when. */
  readonly #edits = new Map<string, { readonly edit: string; readonly since: number }>();
  readonly #due = new Set<FollowedBlock>();
  #secret: Promise<string> | undefined;

  constructor(ports: ReplicasPorts) {
    this.#ports = ports;
  }

  /** A peer id that nobody has had. */
  newPeer(): string {
    return this.#ports.newPeer();
  }

  /** What peers of this kernel are known by when they come back; made once and kept with it. */
  secret(): Promise<string> {
    return (this.#secret ??= this.#readSecret());
  }

  /**
   * A copy, and every frame behind it until it is disposed of. A block that has no replica form yet gets one, unless
   * it is opened only to read: then it is lent one, of which nothing is recorded.
   */
  async open(
    block: string,
    follower: Follower,
    known?: Known,
    options: { readonly onlyToRead?: boolean } = {},
  ): Promise<OpenedReplica> {
    const { appends, door } = this.#ports;
    this.#ports.checkOpen();
    await appends.settle(block);
    for (;;) {
      const now = await this.#ports.generation(block);
      const opened = await door.look(block, (live) => {
        if (!live.document.born && options.onlyToRead !== true) return this.#unborn(live);
        return this.#open(live, follower, now, known);
      });
      if (opened === undefined) {
        await this.#giveBirth(block);
        continue;
      }
      if ((await this.#ports.generation(block)) === now) return opened;
      opened[Symbol.dispose]();
    }
  }

  /**
   * Merges what a peer did; resolves when it is on disk. What is there already changes nothing. `live`: it was
   * just typed, so that what the peer sends soon is the same Edit.
   */
  async push(
    invocation: Invocation,
    block: string,
    operations: PeerOperations,
    options: { readonly live: boolean },
  ): Promise<Pushed> {
    await this.#ports.checkWritable();
    const { peer } = operations;
    const pushed = { peer, counter: endOf(operations) };
    return this.#inEdit(block, peer, options, (edit) =>
      this.#ports.writing.merge(invocation, block, operations, {
        edit,
        applied: (version) => this.#followed.get(block)?.pushed.set(version, pushed),
      }),
    );
  }

  /** The same for what was typed on top of all that is here; undefined when it was not: it has to be merged then. */
  async type(
    invocation: Invocation,
    block: string,
    typing: Typing,
    options: { readonly live: boolean },
  ): Promise<Pushed | undefined> {
    await this.#ports.checkWritable();
    // Who has to wait for what is under way only to hear that would better be merged at once.
    if (this.#ports.documents.peek(block)?.document.follows(typing) !== true) return undefined;
    const { peer } = typing;
    const pushed = { peer, counter: endOfTyping(typing) };
    return this.#inEdit(block, peer, options, (edit) =>
      this.#ports.writing.type(invocation, block, typing, {
        edit,
        applied: (version) => this.#followed.get(block)?.pushed.set(version, pushed),
      }),
    );
  }

  async #inEdit<Result>(
    block: string,
    peer: string,
    { live }: { readonly live: boolean },
    run: (edit: string) => Promise<Result>,
  ): Promise<Result> {
    const edit = (): string => (live ? this.#editOf(block, peer) : this.#ports.newEdit());
    try {
      return await run(edit());
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "edit_undone") throw error;
      // Somebody undid the typing so far; what comes now is new.
      this.#edits.delete(`${block} ${peer}`);
      return run(edit());
    }
  }

  /** How many operations of a peer a block holds on disk. */
  async counterOf(block: string, peer: string): Promise<number> {
    this.#ports.checkOpen();
    return this.#ports.door.look(block, ({ document }) => document.counterOf(peer));
  }

  /** A commit is on disk. Followers hear of it when all that went to disk with it has been told. */
  committed(commit: StoredCommit, change: CommitBody["change"]): void {
    const followed = this.#followed.get(commit.block);
    if (followed?.lent === true && change.kind === "birth") {
      this.#endAll(commit.block, readAgain(commit.block));
      return;
    }
    if (followed === undefined || commit.version <= followed.version) return;
    this.#wait(followed, { commit, change });
  }

  /** Another server changed a block. */
  heard(block: string): void {
    const followed = this.#followed.get(block);
    if (followed !== undefined) void this.#catchUp(followed);
  }

  /** The block is another document now. */
  replaced(block: string): void {
    this.#endAll(
      block,
      new KumikoError(
        "resync",
        `Something was purged from ${block}: its copies are to be thrown away and read again.`,
        { block },
      ),
    );
  }

  close(): void {
    const reason = new KumikoError("closed", "The kernel was closed.");
    for (const block of this.#followed.keys()) this.#endAll(block, reason);
  }

  async #readSecret(): Promise<string> {
    const { store } = this.#ports;
    const known = await store.get(SPACE, "secret");
    if (known !== undefined) return known;
    await this.#ports.checkWritable();
    const made = randomBytes(32).toString("base64url");
    await store.put(SPACE, "secret", made);
    return made;
  }

  #unborn({ block, durableState }: LiveDocument): undefined {
    if (durableState === undefined) throw unknownBlock(block);
  }

  /** Only while nobody changes the block. */
  #open(
    live: LiveDocument,
    follower: Follower,
    generation: number,
    known: Known | undefined,
  ): OpenedReplica {
    const { block, document, durableState } = live;
    if (durableState === undefined) throw unknownBlock(block);
    const anew = document.lend();
    const lent = !document.born;
    // Those who were lent another one cannot be told of this one.
    if (anew || this.#followed.get(block)?.lent === !lent) this.#endAll(block, readAgain(block));
    document.follow();
    const { version } = document;
    const counters = document.counters();
    let followed = this.#followed.get(block);
    if (followed === undefined) {
      followed = new FollowedBlock(block, version, new Map(counters));
      followed.lent = lent;
      this.#followed.set(block, followed);
    } else this.#flush(followed);
    followed.followers.add(follower);
    const whole = lent || known === undefined || known.generation !== generation;
    return {
      version,
      generation: lent ? LENT : generation,
      whole,
      bytes: whole ? copyOf(followed, live) : document.exportMissing(known.counters),
      counters,
      [Symbol.dispose]: () => this.#leave(block, follower),
    };
  }

  #leave(block: string, follower: Follower): void {
    const followed = this.#followed.get(block);
    followed?.followers.delete(follower);
    if (followed?.followers.size === 0) this.#followed.delete(block);
  }

  async #giveBirth(block: string): Promise<void> {
    await this.#ports.checkWritable();
    await this.#ports.door.edit({
      invocation: {
        actor: "system",
        kind: "system",
        message: "From here on replicas can merge.",
      },
      operation: "append",
      blocks: [block],
      plan: (documents) =>
        documents.get(block)!.document.born ? [] : [{ block, text: { birth: true } }],
      answer: () => undefined,
    });
  }

  #editOf(block: string, peer: string): string {
    const { clock } = this.#ports;
    const key = `${block} ${peer}`;
    const known = this.#edits.get(key);
    if (known !== undefined && clock.now() - known.since < ONE_EDIT) return known.edit;
    const edit = this.#ports.newEdit();
    this.#edits.delete(key);
    this.#edits.set(key, { edit, since: clock.now() });
    if (this.#edits.size > REMEMBERED) this.#edits.delete(this.#edits.keys().next().value!);
    return edit;
  }

  #wait(followed: FollowedBlock, committed: Committed): void {
    followed.waiting.push(committed);
    this.#due.add(followed);
    if (this.#due.size > 1) return;
    queueMicrotask(() => {
      const due = [...this.#due];
      this.#due.clear();
      for (const each of due) this.#flush(each);
    });
  }

  #flush(followed: FollowedBlock): void {
    if (followed.waiting.length === 0 || followed.catchingUp) return;
    const given = followed.take(this.#ports.documents.peek(followed.block));
    if (!given) void this.#catchUp(followed);
  }

  /** Reads what followers lack from the document when everything of it is on disk. */
  async #catchUp(followed: FollowedBlock): Promise<void> {
    if (followed.catchingUp) return;
    followed.catchingUp = true;
    const { door, feed } = this.#ports;
    const { block } = followed;
    try {
      const now = await door.look(block, ({ document }) => {
        document.follow();
        const bytes = document.exportMissing(followed.counters);
        return { version: document.version, bytes, counters: document.counters() };
      });
      if (now.version > followed.version) {
        const events = await feed.ofBlock(block, followed.version, now.version);
        for (const [peer, counter] of now.counters) followed.counters.set(peer, counter);
        const changes = events.map(({ version, actor, edit, change }) => {
          return { version, actor, edit, splices: "splices" in change ? change.splices : [] };
        });
        followed.give(now.version, [{ bytes: now.bytes, from: undefined }], changes);
      }
    } catch (error) {
      const reason =
        error instanceof KumikoError
          ? error
          : new KumikoError(
              "resync",
              `${block} cannot be followed any more: ${String(error)}`,
              { block },
              { cause: error },
            );
      this.#endAll(block, reason);
    } finally {
      followed.catchingUp = false;
    }
    if (this.#followed.get(block) === followed) this.#flush(followed);
  }

  #endAll(block: string, reason: KumikoError): void {
    const followed = this.#followed.get(block);
    if (followed === undefined) return;
    this.#followed.delete(block);
    followed.end(reason);
  }
}

function copyOf(followed: FollowedBlock, { document }: LiveDocument): Uint8Array {
  const { version } = document;
  const known = followed.copy?.version === version ? followed.copy.bytes.deref() : undefined;
  if (known !== undefined) return known;
  const bytes = document.exportSnapshot();
  followed.copy = { version, bytes: new WeakRef(bytes) };
  return bytes;
}

function readAgain(block: string): KumikoError {
  return new KumikoError(
    "resync",
    `${block} has another replica form than the one that was lent: read it again.`,
    { block },
  );
}
