import { type Clock, KeyedQueue, KumikoError } from "../base/index.ts";
import {
  type EditTarget,
  endOf,
  type PeerOperations,
  type Splice,
  type Typing,
} from "../blocks/index.ts";
import type {
  BlockFlags,
  BlockKind,
  BlockMetadata,
  BlockRole,
  BlockStatus,
} from "../protocol/index.ts";
import type { Appends } from "./appends.ts";
import type { BlockState } from "./block-state.ts";
import type {
  Applied,
  AppliedChange,
  CommitDoor,
  PlannedChange,
  Submitted,
} from "./commit/door.ts";
import { untilNotOutrun } from "./commit/outrun.ts";
import { checkFileText } from "./file-text.ts";
import type { Invocation } from "./invocation.ts";
import type { Listing } from "./listing.ts";
import { madeAgain } from "./made-file.ts";
import { type LiveDocument, unknownBlock } from "./live-documents.ts";
import type { OwnerLease } from "./owner-lease.ts";
import { editTarget } from "./readable-document.ts";
import { checkPlace, checkStateChange, type Places } from "./structure.ts";

export interface NewBlock {
  readonly context: string;
  /** Whose name the id bears; the caller's unless it is a file's. */
  readonly named?: string | undefined;
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
  /** It gives blocks a text of earlier days: files of theirs that are gone come back with it. */
  readonly restores?: boolean | undefined;
  /** The gate was asked when it was taken in. */
  readonly isAllowed?: boolean | undefined;
  /** Whether it makes what a block is about: then it is an Edit also where the text stays the same. */
  readonly makes?: ((block: string) => boolean) | undefined;
  translate(target: EditTarget, block: string): readonly Splice[];
  answer(applied: Applied): Answer;
}

export interface StateChange<Answer> {
  /** Goes on with an Edit; a new one otherwise. */
  readonly edit?: string | undefined;
  readonly fingerprint?: string | undefined;
  /** It has happened, or the gate was asked before. */
  readonly isAllowed?: boolean | undefined;
  /** It can be undone, or undoes something: then it is a version also if the state is the same. */
  readonly undo?: PlannedChange["undo"];
  /** Gives the new state; the one it is given cannot be changed. */
  change(state: BlockState, target: EditTarget): BlockState;
  answer(applied: AppliedChange, edit: string): Answer;
}

interface CreateOptions<Answer> {
  /** Goes on with an Edit; a new one otherwise. */
  readonly edit?: string | undefined;
  readonly fingerprint?: string | undefined;
  /** It makes what the block is about: an Edit also without text. */
  readonly makes?: boolean | undefined;
  answer(applied: Applied): Answer;
}

export interface BlockWritingPorts {
  readonly clock: Clock;
  readonly places: Places;
  readonly door: CommitDoor;
  readonly owner: OwnerLease;
  readonly appends: Appends;
  readonly listing: Listing;
  /** What a block is, on disk. */
  state(block: string): Promise<BlockState>;
}

/** What can be done to blocks, said as plans for the door: create, edit, change what they are. */
export class BlockWriting {
  readonly #ports: BlockWritingPorts;
  readonly #placing = new KeyedQueue();

  constructor(ports: BlockWritingPorts) {
    this.#ports = ports;
  }

  async create<Answer>(
    invocation: Invocation,
    request: NewBlock,
    options: CreateOptions<Answer>,
  ): Promise<Answer> {
    const { places } = this.#ports;
    const { context, parent = null, named = invocation.actor } = request;
    return untilNotOutrun(async (attempt) => {
      // Ids and places are given one after the other; what is placed goes to disk together.
      const { answer, durable } = await this.#placing.run([context], async () => {
        if (attempt > 1) await places.outrun(context, named, parent);
        return this.#place(invocation, request, options);
      });
      await durable;
      return answer;
    });
  }

  /** Only the holder of the context's queue may ask. */
  async #place<Answer>(
    invocation: Invocation,
    request: NewBlock,
    options: CreateOptions<Answer>,
  ): Promise<Submitted<Answer>> {
    const state = await this.#newState(invocation, request);
    const { block } = state;
    const insert = request.content ?? "";
    checkFileText(block, insert);
    return this.#ports.door.submit({
      invocation,
      operation: "create",
      blocks: [block],
      edit: options.edit,
      fingerprint: options.fingerprint,
      plan: () => [
        { block, state, text: { splices: [{ at: 0, remove: 0, insert }], makes: options.makes } },
      ],
      answer: (applied) => options.answer(applied),
    });
  }

  async editText<Answer>(invocation: Invocation, request: TextEdit<Answer>): Promise<Answer> {
    return this.#ports.door.edit({
      invocation,
      operation: request.operation,
      blocks: request.blocks,
      edit: request.edit,
      fingerprint: request.fingerprint,
      isAllowed: request.isAllowed,
      plan: (documents) =>
        [...documents.values()].map((live): PlannedChange => {
          const state = known(live);
          const splices = request.translate(editTarget(live.document), live.block);
          for (const { insert } of splices) checkFileText(live.block, insert);
          const started = splices.length === 0 ? undefined : this.#started(state, invocation);
          if (request.makes?.(live.block) !== true || isBeingMade(live))
            return { block: live.block, text: { splices }, state: started };
          const made = madeAgain(started ?? state, live.document.version + 1);
          return { block: live.block, text: { splices, makes: true }, state: made };
        }),
      answer: (applied) => request.answer(applied),
    });
  }

  /** Takes what a peer typed, if it is on top of all that is here; undefined otherwise. */
  async type(
    invocation: Invocation,
    block: string,
    typing: Typing,
    options: { readonly edit: string; applied(version: number): void },
  ): Promise<{ version: number; edit: string } | undefined> {
    return this.#ports.door.edit({
      invocation,
      operation: "change",
      blocks: [block],
      edit: options.edit,
      plan: (documents) => {
        const live = documents.get(block)!;
        const state = known(live);
        checkFileText(block, typing.text);
        if (!live.document.follows(typing)) return [];
        return [{ block, text: { typing }, state: this.#started(state, invocation) }];
      },
      answer: ({ edit, changes }) => {
        const [change] = changes;
        if (change === undefined) return undefined;
        options.applied(change.version);
        return { version: change.version, edit };
      },
    });
  }

  /** Merges what the peer of a replica did. What is there already changes nothing. */
  async merge(
    invocation: Invocation,
    block: string,
    operations: PeerOperations,
    options: { readonly edit: string; applied(version: number): void },
  ): Promise<{ version: number; edit: string }> {
    return this.#ports.door.edit({
      invocation,
      operation: "change",
      blocks: [block],
      edit: options.edit,
      plan: (documents) => {
        const live = documents.get(block)!;
        const state = known(live);
        if (live.document.counterOf(operations.peer) >= endOf(operations)) return [{ block }];
        for (const each of operations.changes.flatMap((change) => change.operations))
          if (each.kind === "insert") checkFileText(block, each.text);
        const text = { operations: live.document.checkOperations(operations) };
        return [{ block, text, state: this.#started(state, invocation) }];
      },
      answer: ({ edit, changes }) => {
        const { version } = changes[0]!;
        options.applied(version);
        return { version, edit };
      },
    });
  }

  async changeState<Answer>(
    invocation: Invocation,
    block: string,
    options: StateChange<Answer>,
  ): Promise<Answer> {
    await this.#ports.appends.end(block, invocation.actor);
    return this.#ports.door.edit({
      invocation,
      operation: "change",
      blocks: [block],
      edit: options.edit,
      fingerprint: options.fingerprint,
      isAllowed: options.isAllowed,
      plan: (documents) => {
        const live = documents.get(block)!;
        const before = known(live);
        const changed = options.change(before, editTarget(live.document));
        const after =
          changed.status === before.status
            ? changed
            : { ...changed, ...this.#ownership(changed.status, invocation) };
        checkStateChange(before, after);
        const { undo } = options;
        return undo === undefined && JSON.stringify(before) === JSON.stringify(after)
          ? [{ block }]
          : [{ block, state: after, undo }];
      },
      answer: ({ changes, edit }) => options.answer(changes[0]!, edit),
    });
  }

  /** A version that changes nothing, so that everybody hears of what happened to the block otherwise. */
  async announce(invocation: Invocation, block: string): Promise<void> {
    await this.#ports.door.edit({
      invocation: { ...invocation, call: undefined },
      operation: "delete",
      blocks: [block],
      plan: (documents) => [{ block, state: known(documents.get(block)!) }],
      answer: () => undefined,
    });
  }

  /** A block whose owner is gone will never end by itself. */
  async closeOrphans(): Promise<void> {
    const { listing, owner } = this.#ports;
    const invocation: Invocation = {
      actor: "system",
      kind: "system",
      message: "Its owner is gone.",
    };
    for (const { block, state } of await listing.withStatus("running")) {
      if (state === undefined || state.lease === null) continue;
      if (await owner.isAlive(state.lease)) continue;
      try {
        await this.changeState(invocation, block, {
          change: (now) => ({ ...now, status: "error" }),
          answer: () => undefined,
        });
      } catch (error) {
        // It was reported, and nobody can say more about it.
        if (!(error instanceof KumikoError) || error.code !== "quarantined") throw error;
      }
    }
  }

  /** Only the holder of the context's queue may ask. */
  async #newState(invocation: Invocation, request: NewBlock): Promise<BlockState> {
    const { clock, places } = this.#ports;
    const { context, parent = null, kind, role, content, named = invocation.actor } = request;
    const above = parent === null ? undefined : await this.#ports.state(parent);
    checkPlace(kind, above);
    if (above !== undefined && above.context !== context) {
      throw new KumikoError(
        "wrong_parent",
        `${above.block} belongs to the context ${above.context}.`,
        { parent: above.block, context },
      );
    }
    return {
      block: await places.newId(context, named),
      context,
      parent,
      order: await places.orderAtEnd(context, parent),
      kind,
      role,
      status: request.status ?? (content === undefined ? "pending" : "done"),
      flags: request.flags ?? {},
      metadata: request.metadata ?? {},
      ...this.#ownership(request.status, invocation),
      created: clock.now(),
    };
  }

  /** What the first text makes of a block; undefined when it stays what it is. */
  #started(state: BlockState, invocation: Invocation): BlockState | undefined {
    if (state.status !== "pending") return undefined;
    return { ...state, status: "running", ...this.#ownership("running", invocation) };
  }

  /** Who writes a block while it runs, and under which lease: none for callers that come and go. */
  #ownership(
    status: BlockStatus | undefined,
    { actor, passing }: Invocation,
  ): Pick<BlockState, "owner" | "lease"> {
    return status === "running"
      ? { owner: actor, lease: passing === true ? null : this.#ports.owner.name }
      : { owner: null, lease: null };
  }
}

function known(live: LiveDocument): BlockState {
  if (live.state === undefined) throw unknownBlock(live.block);
  return live.state;
}

/** Whether somebody was faster: what is written together with a making is done to what that makes, and makes nothing itself. */
function isBeingMade({ state, durable }: LiveDocument): boolean {
  return (state?.made?.at(-1) ?? 0) > durable;
}
