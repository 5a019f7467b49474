import { type Clock, KeyedQueue, KumikoError, type PositionedText } from "../../base/index.ts";
import type {
  CheckedOperations,
  FlipPlan,
  RecordedChange,
  Splice,
  Stamp,
  Typing,
} from "../../blocks/index.ts";
import { type BlockState, fromRow, toRow } from "../block-state.ts";
import { type CommitBody, encodeBody } from "../commit-body.ts";
import { type Authorise, checkAllowed, type Operation } from "../gate.ts";
import { checkNotAborted, type Invocation } from "../invocation.ts";
import type { LiveDocument, LiveDocuments } from "../live-documents.ts";
import type { CallRow, NewBlockRow, NewCommit, StoredCommit } from "../ports.ts";
import { GroupWriter, type GroupWriterPorts } from "./group-writer.ts";
import { untilNotOutrun } from "./outrun.ts";

/** How often a refusal is looked at again because others have written meanwhile. */
const LOOKS = 8;

export interface PlannedChange {
  readonly block: string;
  readonly text?:
    | { readonly splices: readonly Splice[]; readonly makes?: boolean | undefined }
    | { readonly flip: FlipPlan }
    | { readonly operations: CheckedOperations }
    | { readonly typing: Typing }
    | { readonly birth: true }
    | undefined;
  /** The block's new state, when something other than its text changes. */
  readonly state?: BlockState | undefined;
  /** How a change that is none of its text counts for undo. */
  readonly undo?: NewCommit["undo"];
}

export interface AppliedChange {
  readonly block: string;
  /** The version it was made to. */
  readonly before: number;
  readonly version: number;
  readonly splices: readonly Splice[];
  readonly state: BlockState;
  /** With this change, and only until the next one. */
  readonly text: PositionedText;
}

export interface Applied {
  readonly edit: string;
  readonly time: number;
  readonly changes: readonly AppliedChange[];
}

export interface EditRequest<Answer> {
  readonly invocation: Invocation;
  readonly operation: Operation;
  /** Every block the plan may change. */
  readonly blocks: readonly string[];
  /** Goes on with an Edit; a new one otherwise. */
  readonly edit?: string | undefined;
  /** Translates the request against the documents as they are now. It changes nothing, and may run again. */
  plan(documents: ReadonlyMap<string, LiveDocument>): readonly PlannedChange[];
  /** Runs once for each plan that was applied: what it gives is told only when that is on disk. */
  answer(applied: Applied): Answer;
  /** Tool and arguments, when the call may be retried; without it the call id only says who asked. */
  readonly fingerprint?: string | undefined;
  /** The gate was asked when it was taken in: a rule that came since takes nothing of it away. */
  readonly isAllowed?: boolean | undefined;
}

export interface Submitted<Answer> {
  readonly answer: Answer;
  readonly durable: Promise<void>;
}

export interface DoorPorts extends GroupWriterPorts {
  readonly documents: LiveDocuments;
  readonly clock: Clock;
  readonly authorise: Authorise;
  newEdit(): string;
  /** An Edit is about to be written, or goes on. */
  made(edit: string, invocation: Invocation): void;
  /** In the order of positions, after fsync. */
  publish(commit: StoredCommit, body: CommitBody, invocation: Invocation): void;
}

/**
 * The one way to change anything: authorise, translate, apply, journal, publish. Documents are reached only
 * through here; everyone else holds readers.
 *
 * - Changes of one block happen one after the other, of different blocks at the same time.
 * - A later change may build on an earlier one before that is on disk, and then shares its fate.
 * - An answer means: on disk. So does a refusal: what it speaks of is there, and nothing newer is known.
 * - Who was outrun by another server is translated again.
 */
export class CommitDoor {
  readonly #ports: DoorPorts;
  readonly #queue = new KeyedQueue();
  readonly #writer: GroupWriter;
  /** Calls that are applied and not yet on disk: a retry shares their fate. */
  readonly #answering = new Map<string, { row: CallRow; durable: Promise<void> }>();

  constructor(ports: DoorPorts) {
    this.#ports = ports;
    this.#writer = new GroupWriter(ports);
  }

  /** Resolves when it is on disk. */
  async edit<Answer>(request: EditRequest<Answer>): Promise<Answer> {
    return untilNotOutrun(async () => {
      const { answer, durable } = await this.submit(request);
      await durable;
      return answer;
    });
  }

  /**
   * Resolves when it is applied; nobody outside may be told before it is durable, and that may fail as
   * `outrun`: then it is to be submitted again.
   */
  async submit<Answer>(request: EditRequest<Answer>): Promise<Submitted<Answer>> {
    const { invocation, blocks } = request;
    const { authorise } = this.#ports;
    const { actor, call, kind } = invocation;
    if (request.isAllowed !== true)
      await checkAllowed(authorise, actor, request.operation, blocks, kind);
    const retriable = call !== undefined && request.fingerprint !== undefined;
    const callKey = retriable ? [`call:${actor}:${call}`] : [];
    return this.#queue.run([...blocks, ...callKey], async () => {
      const answered = retriable ? await this.#earlierAnswer<Answer>(request) : undefined;
      if (answered !== undefined) return answered;
      const created = request.operation === "create";
      return this.#deciding(blocks, created, (documents) => {
        checkNotAborted(invocation);
        const applied = this.#apply(request, documents, request.plan(documents));
        try {
          const answer = request.answer(applied.result);
          return { answer, durable: this.#write(request, applied, answer) };
        } catch (error) {
          // Nobody will write what was applied.
          for (const { block } of applied.commits) documents.get(block)!.spoilt = true;
          throw error;
        }
      });
    });
  }

  /** Shows a document as it is on disk: waits for what is under way, and nothing changes meanwhile. */
  async look<Result>(block: string, run: (live: LiveDocument) => Result): Promise<Result> {
    return this.#queue.run([block], async () => {
      await this.#ports.documents.peek(block)?.written;
      return this.#deciding([block], false, (documents) => run(documents.get(block)!));
    });
  }

  /** The answer an earlier call with the same id was given; undefined when there was none. */
  async answered<Answer>(
    invocation: Invocation,
    fingerprint: string | undefined,
  ): Promise<Answer | undefined> {
    const { actor, call } = invocation;
    if (call === undefined) return undefined;
    return untilNotOutrun(async () => {
      const earlier = await this.#queue.run([`call:${actor}:${call}`], () =>
        this.#earlierAnswer<Answer>({ invocation, fingerprint }),
      );
      await earlier?.durable;
      return earlier?.answer;
    });
  }

  /** Keeps the answer of a call for whoever makes it again. */
  async remember(invocation: Invocation, fingerprint: string, answer: unknown): Promise<void> {
    await this.edit({
      invocation,
      operation: "read",
      blocks: [],
      fingerprint,
      plan: () => [],
      answer: () => answer,
    });
  }

  /** Lets a task replace what is stored of a block while nobody reads or changes it; it is loaded anew then. */
  async replace<Result>(block: string, task: () => Promise<Result>): Promise<Result> {
    return this.#queue.run([block], async () => {
      await this.#ports.documents.peek(block)?.written;
      try {
        return await task();
      } finally {
        this.#ports.documents.forget(block);
      }
    });
  }

  /** Resolves when everything applied so far is on disk or has failed. */
  async decided(): Promise<void> {
    await this.#writer.decided();
  }

  /** Resolves when nothing is on its way to disk any more. */
  async settle(): Promise<void> {
    await this.#writer.idle();
  }

  /**
   * Runs a task on documents. When it refuses, what it saw has to be on disk and the newest there is before
   * anyone is told; otherwise it looks again.
   */
  async #deciding<Result>(
    blocks: readonly string[],
    created: boolean,
    run: (documents: ReadonlyMap<string, LiveDocument>) => Result,
  ): Promise<Result> {
    for (let look = 1; ; look++) {
      const decided = await this.#holding(blocks, created, async (documents) => {
        const seen = [...documents.values()].map((live) => ({
          live,
          version: live.document.version,
        }));
        try {
          return { result: run(documents) };
        } catch (error) {
          if (!seen.every(({ live, version }) => live.durable >= version))
            await Promise.all(seen.map(({ live }) => live.written));
          await this.#ports.others.hearAll();
          const kept = seen.every(({ live, version }) => live.durable >= version);
          const newest = !seen.some(({ live }) => live.outdated);
          if (kept && (newest || look >= LOOKS)) throw error;
          return undefined;
        }
      });
      if (decided !== undefined) return decided.result;
    }
  }

  async #holding<Result>(
    blocks: readonly string[],
    created: boolean,
    run: (documents: ReadonlyMap<string, LiveDocument>) => Result | Promise<Result>,
  ): Promise<Result> {
    const { documents } = this.#ports;
    let held = new Map<string, LiveDocument>();
    const letGo = (): void => {
      for (const live of held.values()) documents.close(live);
    };
    try {
      do {
        // A write may have failed while the last of them was loaded: nothing is built on what it spoilt.
        letGo();
        held = new Map();
        for (const block of blocks) {
          // A spoilt document may be loaded only when what it was built on has been decided.
          if (documents.isSpoilt(block)) await this.#writer.decided();
          held.set(block, created ? documents.create(block) : await documents.open(block));
        }
      } while ([...held.values()].some(({ spoilt }) => spoilt));
      return await run(held);
    } finally {
      letGo();
    }
  }

  async #earlierAnswer<Answer>(
    request: Pick<EditRequest<Answer>, "invocation" | "fingerprint">,
  ): Promise<Submitted<Answer> | undefined> {
    const { invocation, fingerprint } = request;
    const { actor, call } = invocation;
    if (call === undefined || fingerprint === undefined) return undefined;
    const pending = this.#answering.get(`${actor}:${call}`);
    const earlier = pending?.row ?? (await this.#ports.store.call(actor, call));
    if (earlier === undefined) return undefined;
    if (earlier.fingerprint !== fingerprint) {
      throw new KumikoError(
        "call_reused",
        `Call ${call} was made before with other arguments; use a new call_id for a new call.`,
        { call, actor },
      );
    }
    // Another server may have given it: what it speaks of is to be known here too.
    if (pending === undefined) await this.#ports.others.hearAll();
    const durable = pending?.durable ?? Promise.resolve();
    return { answer: JSON.parse(earlier.answer) as Answer, durable };
  }

  /** Changes the documents in memory: all of the plan, or none of it is ever built on. */
  #apply(
    { invocation, edit }: EditRequest<unknown>,
    documents: ReadonlyMap<string, LiveDocument>,
    plan: readonly PlannedChange[],
  ): AppliedEdit {
    const { actor, tool, call, message, model, turn } = invocation;
    const time = this.#ports.clock.now();
    const stamp: Stamp = {
      actor,
      edit: edit ?? this.#ports.newEdit(),
      time,
      tool,
      call,
      message,
      model,
      turn,
    };
    const touched: { live: LiveDocument; state: BlockState | undefined }[] = [];
    const changes: AppliedChange[] = [];
    const commits: NewCommit[] = [];
    const bodies: CommitBody[] = [];
    const rows: NewBlockRow[] = [];
    try {
      for (const change of plan) {
        const live = documents.get(change.block);
        if (live === undefined)
          throw new Error(`${change.block} is not among the blocks of the edit`);
        const before = live.document.version;
        touched.push({ live, state: live.state });
        const splices = applyToDocument(live, change, stamp);
        const version = live.document.version;
        const row = change.state === undefined ? undefined : toRow(change.state);
        // Made anew: what the plan holds on to is not what everyone will see.
        const state = row === undefined ? live.state : fromRow(row);
        if (state === undefined)
          throw new Error(`${change.block} has neither a state nor a creation`);
        live.state = state;
        const { block } = change;
        changes.push({ block, before, version, splices, state, text: live.document.current });
        if (version === before) continue;
        const { change: made, peer, marked } = live.document.recorded(version);
        const body: CommitBody = { change: made, peer, marked, row };
        if (row !== undefined) rows.push(row);
        bodies.push(body);
        commits.push({
          block: change.block,
          expectedVersion: before,
          ...stamp,
          body: encodeBody(body),
          undo: undoOf(made) ?? change.undo,
        });
      }
    } catch (error) {
      for (const { live, state } of touched) {
        live.spoilt = true;
        live.state = state;
      }
      throw error;
    }
    return { result: { edit: stamp.edit, time, changes }, commits, bodies, rows, documents };
  }

  #write(request: EditRequest<unknown>, applied: AppliedEdit, answer: unknown): Promise<void> {
    const { commits, bodies, rows, documents, result } = applied;
    const { fingerprint } = request;
    const { actor, call } = request.invocation;
    const callRow: CallRow | undefined =
      call === undefined || fingerprint === undefined
        ? undefined
        : {
            actor,
            call,
            fingerprint,
            answer: JSON.stringify(answer),
            time: result.time,
          };
    const held = [...documents.values()];
    const changesNothing = commits.length === 0 && callRow === undefined;
    if (changesNothing && held.every(isDurable)) return Promise.resolve();
    if (commits.length > 0) this.#ports.made(result.edit, request.invocation);
    const written = this.#writer.write({
      blocks: [...documents.keys()],
      commits,
      rows,
      call: callRow,
      // Text that streams in was taken already; more of it comes while this is written.
      patient: request.operation === "append",
      durable: (positions) => {
        for (const [index, commit] of commits.entries()) {
          const { expectedVersion, undo: _, ...rest } = commit;
          const live = documents.get(commit.block)!;
          live.durable = expectedVersion + 1;
          live.durableState = result.changes.find(({ block }) => block === commit.block)!.state;
          this.#ports.publish(
            { ...rest, version: expectedVersion + 1, position: positions[index]! },
            bodies[index]!,
            request.invocation,
          );
        }
      },
    });
    const changed = commits.map(({ block }) => documents.get(block)!);
    for (const live of changed) live.undecided++;
    const settled = written.finally(() => {
      for (const live of changed) live.undecided--;
      if (callRow !== undefined) this.#answering.delete(`${actor}:${call!}`);
    });
    const quiet = settled.catch(() => undefined);
    if (callRow !== undefined)
      this.#answering.set(`${actor}:${call!}`, { row: callRow, durable: settled });
    for (const live of changed) live.written = quiet;
    return settled;
  }
}

interface AppliedEdit {
  readonly result: Applied;
  readonly commits: readonly NewCommit[];
  readonly bodies: readonly CommitBody[];
  readonly rows: readonly NewBlockRow[];
  readonly documents: ReadonlyMap<string, LiveDocument>;
}

function isDurable({ document, durable }: LiveDocument): boolean {
  return document.version === durable;
}

function undoOf(change: RecordedChange): NewCommit["undo"] {
  if (change.kind === "flip") return { kind: "flip", edit: change.edit, active: change.active };
  return change.kind === "text" || change.kind === "import" ? { kind: "text" } : undefined;
}

function applyToDocument(
  { document }: LiveDocument,
  { text, state }: PlannedChange,
  stamp: Stamp,
): readonly Splice[] {
  if (text !== undefined && "flip" in text) return document.flip(text.flip, stamp).splices;
  if (text !== undefined && "birth" in text) return document.birth(stamp).splices;
  if (text !== undefined && "typing" in text) return document.type(text.typing, stamp).splices;
  if (text !== undefined && "operations" in text) {
    return document.importOperations(text.operations, stamp).splices;
  }
  const { splices = [], makes } = text ?? {};
  if (makes === true || splices.some(({ remove, insert }) => remove > 0 || insert !== "")) {
    return document.commit(splices, stamp, { makes }).splices;
  }
  if (state !== undefined) document.touch(stamp);
  return [];
}
