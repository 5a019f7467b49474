import { closedStore } from "../contract.ts";
import { alone } from "./bytes.ts";
import { errorOf, type WriteAnswer, type WriteRequest } from "./requests.ts";
import { Writer } from "./writer.ts";
import { WriterThread } from "./writer-thread.ts";

/** More than this much text in one request is the thread's, however quick the disk is. */
const SMALL = 64 * 1024;
/** Two that held this one for too long among so many are no accident. */
const ACCIDENT = 8;
/** Requests that go to the thread then; twice as many each time. */
const FEWEST = 16;
const MOST = 4096;

export interface WritesOptions {
  /** Milliseconds for which a write may hold this thread. */
  readonly held: number;
  /** Whether anybody but who writes would be held. */
  readonly hasCompany: () => boolean;
}

/**
 * Decides who writes. A small transaction costs less than handing it to another thread and being woken with
 * the answer, so it is made here: until two in a short while have held this thread, and others with it, for longer
 * than `held` milliseconds. Then the thread writes, and every now and then it is tried here again. Whoever is alone waits
 * for the disk either way, and longer with two threads to be woken. What nobody waits for is the thread's, too.
 *
 * The two never write at once: whatever comes while the thread is busy queues up behind it, since waiting for
 * its lock would hold everybody here.
 */
export class Writes implements AsyncDisposable {
  readonly #file: string;
  readonly #held: number;
  readonly #hasCompany: () => boolean;
  readonly #thread: WriterThread;
  #here: Writer | undefined;
  #elsewhere = 0;
  #sinceSlow = ACCIDENT;
  #penalty = FEWEST;
  #closed = false;

  constructor(file: string, { held, hasCompany }: WritesOptions) {
    this.#file = file;
    this.#held = held;
    this.#hasCompany = hasCompany;
    this.#thread = new WriterThread(file);
  }

  /** What an earlier process had to remove from the file is removed now, not with the first write. */
  finishScrubs(): void {
    this.#thread.scrub();
  }

  /** After fsync; at once when it is written here. */
  ask(request: WriteRequest): WriteAnswer | Promise<WriteAnswer> {
    if (this.#closed) throw closedStore();
    return this.#belongsHere(request) ? this.#write(request) : this.#handOver(request);
  }

  async #handOver(request: WriteRequest): Promise<WriteAnswer> {
    const answer = await this.#thread.ask(portable(request), this.#here?.acknowledged ?? 0);
    if (isCommitted(answer)) this.#here?.acknowledge(answer.positions.at(-1)!);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#thread[Symbol.asyncDispose]();
    this.#here?.close();
  }

  #belongsHere(request: WriteRequest): boolean {
    if (this.#thread.busy || !isSmall(request)) return false;
    if (this.#elsewhere === 0 || !this.#hasCompany()) return this.#held > 0;
    this.#elsewhere -= 1;
    return false;
  }

  #write(request: WriteRequest): WriteAnswer {
    this.#here ??= new Writer(this.#file);
    const begun = performance.now();
    const { results } = this.#here.perform([{ number: 0, request }]);
    this.#took(performance.now() - begun);
    if (this.#here.checkpointDue()) this.#thread.checkpoint();
    const [result] = results;
    if (result === undefined) throw new Error(`${request.do} is not for this thread`);
    if ("refusal" in result) throw errorOf(result.refusal);
    return result.answer;
  }

  #took(milliseconds: number): void {
    this.#sinceSlow += 1;
    if (milliseconds <= this.#held) {
      this.#penalty = Math.max(FEWEST, this.#penalty - 1);
      return;
    }
    const again = this.#sinceSlow < ACCIDENT;
    this.#sinceSlow = 0;
    if (!again || !this.#hasCompany()) return;
    this.#elsewhere = this.#penalty;
    this.#penalty = Math.min(MOST, this.#penalty * 2);
  }
}

function isCommitted(answer: WriteAnswer): answer is { kind: "committed"; positions: number[] } {
  return typeof answer === "object" && "kind" in answer && answer.kind === "committed";
}

/** And waited for. */
function isSmall(request: WriteRequest): boolean {
  switch (request.do) {
    case "commit":
      return request.batch.patient !== true && sizeOf(request.batch) <= SMALL;
    case "keyframe":
      return typeof request.text !== "string" && request.text.packed.length <= SMALL;
    case "snapshot":
      return request.bytes.length <= SMALL;
    case "put":
    case "acquire":
    case "renew":
    case "release":
      return true;
    default:
      return false;
  }
}

type Commit = Extract<WriteRequest, { do: "commit" }>;

function sizeOf({ commits, rows, calls }: Commit["batch"]): number {
  const bodies = commits.reduce((sum, { body }) => sum + body.length, 0);
  const answers = calls.reduce((sum, { answer }) => sum + answer.length, 0);
  return bodies + answers + rows.length * 256;
}

/** Views would carry all of the buffers they look at to the other thread. */
function portable(request: WriteRequest): WriteRequest {
  if (request.do === "snapshot") return { ...request, bytes: alone(request.bytes) };
  if (request.do === "keyframe" && typeof request.text !== "string")
    return { ...request, text: { packed: alone(request.text.packed) } };
  if (request.do === "commit") {
    const commits = request.batch.commits.map((each) => ({ ...each, body: alone(each.body) }));
    return { ...request, batch: { ...request.batch, commits } };
  }
  if (request.do !== "rewrite") return request;
  const commits = request.rewrite.commits.map((each) => ({ ...each, body: alone(each.body) }));
  return { ...request, rewrite: { ...request.rewrite, commits } };
}
