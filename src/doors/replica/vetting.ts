import { Worker } from "node:worker_threads";
import { KumikoError } from "../../base/index.ts";
import { endOf, type PeerOperations } from "../../blocks/index.ts";
import type { ReplicaUpdate } from "../../kernel/index.ts";
import { cappedLoro } from "./capped-loro.ts";
import { vettedOperations } from "./vetted-operations.ts";
import type { FromVetting, ToVetting, VettingStart } from "./vetting-messages.ts";
import type { WasmModule } from "./web-assembly.ts";

const MEBIBYTE = 1024 * 1024;

export interface VettingLimits {
  /** Milliseconds for one update. */
  readonly time: number;
  /** Bytes that Loro may have in the worker. */
  readonly memory: number;
  /** Documents of which the worker keeps a shadow. */
  readonly shadows: number;
}

const vettingLimits: VettingLimits = { time: 5_000, memory: 512 * MEBIBYTE, shadows: 256 };

/** With more of its memory in use than this, a worker is replaced before it fails for want of it. */
const FULL = 0.75;
/** How often an update is looked at again because somebody else's ended the worker. */
const ATTEMPTS = 4;
/** Updates, and bytes of them, that a shadow may be behind while nothing is looked at. */
const BEHIND = 64;
const BEHIND_BYTES = 32 * 1024;
/** How often it is looked at how long the worker has been busy, in milliseconds. */
const WATCH = 100;

export interface VettingPorts {
  readonly limits?: VettingLimits | undefined;
  /** A worker was started; why the one before it was given up. */
  started(why: string | undefined): void;
}

/** An update that is being looked at. */
interface Job {
  readonly id: number;
  readonly shadow: Shadow;
  readonly peer: string;
  readonly counter: number;
  readonly bytes: Uint8Array;
  attempts: number;
  /** Which opening of the shadow it was handed to. */
  opening: number;
  resolve(operations: PeerOperations): void;
  reject(error: KumikoError): void;
}

/** One worker's life. */
interface Life {
  readonly worker: Worker;
  readonly current: Int32Array<SharedArrayBuffer>;
  /** In the order in which they were handed over. */
  readonly jobs: Map<number, Job>;
  readonly shadows: Map<Shadow, "opening" | "open">;
  /** The job that was last seen at work, and since when. */
  busy: { readonly id: number; readonly since: number };
  ended: boolean;
}

/**
 * Has bytes from outside looked at by a worker: what comes back is plain data that was checked here. An update that
 * traps, takes too long or too much memory costs the worker its life and its sender the update; everybody else's are
 * looked at by the next worker.
 */
export class Vetting implements AsyncDisposable {
  readonly #ports: VettingPorts;
  readonly #limits: VettingLimits;
  #module: Promise<WasmModule> | undefined;
  #life: Promise<Life> | undefined;
  #alive: Life | undefined;
  #watch: NodeJS.Timeout | undefined;
  #ids = 0;
  #given: string | undefined;
  #closed = false;

  constructor(ports: VettingPorts) {
    this.#ports = ports;
    this.#limits = ports.limits ?? vettingLimits;
  }

  /** Of one document; `snapshot` gives it as it is on disk, whenever the worker needs it anew. */
  shadow(snapshot: () => Promise<Uint8Array>): Shadow {
    return new Shadow(this, ++this.#ids, snapshot);
  }

  async vet(
    shadow: Shadow,
    update: { peer: string; counter: number; bytes: Uint8Array },
  ): Promise<PeerOperations> {
    const id = (this.#ids = (this.#ids + 1) & 0x7fffffff || 1);
    const { promise, resolve, reject } = Promise.withResolvers<PeerOperations>();
    void this.#hand({ id, shadow, ...update, attempts: 0, opening: 0, resolve, reject });
    return promise;
  }

  /** What the document has got since; a shadow that is not open will have it from the start. */
  advance(shadow: Shadow, updates: readonly Uint8Array[]): void {
    const life = this.#alive;
    const state = life?.shadows.get(shadow);
    if (life === undefined || state === undefined) return;
    shadow.later.push(...updates);
    const bytes = shadow.later.reduce((sum, { length }) => sum + length, 0);
    // Waking the worker for each would cost more than the updates.
    if (state === "open" && (shadow.later.length >= BEHIND || bytes >= BEHIND_BYTES)) {
      catchUp(life, shadow);
    }
  }

  /** It holds what the document does not, or nobody needs it any more. */
  forget(shadow: Shadow): void {
    if (this.#alive !== undefined) this.#close(this.#alive, shadow);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#watch);
    // Whoever waits for a worker that cannot be started is told so.
    const life = await this.#life?.catch(() => undefined);
    if (life === undefined) return;
    for (const job of life.jobs.values()) job.reject(gone());
    life.jobs.clear();
    await life.worker.terminate();
  }

  async #hand(job: Job): Promise<void> {
    try {
      if (this.#closed) throw gone();
      if (++job.attempts > ATTEMPTS) {
        throw rejected("whatever else was looked at ended the worker again and again; try again");
      }
      const life = await (this.#life ??= this.#begin());
      if (!(await this.#open(life, job.shadow))) return await this.#hand(job);
      life.jobs.set(job.id, job);
      job.opening = job.shadow.openings;
      const { id, shadow, peer, counter, bytes } = job;
      this.#watch ??= setInterval(() => this.#look(), WATCH).unref();
      catchUp(life, shadow);
      post(life, { kind: "vet", id, shadow: shadow.number, peer, counter, bytes });
    } catch (error) {
      job.reject(error instanceof KumikoError ? error : rejected(String(error)));
    }
  }

  /** What could not be started is started again for the next one who comes. */
  async #begin(): Promise<Life> {
    try {
      return await this.#start();
    } catch (error) {
      this.#module = undefined;
      this.#life = undefined;
      throw error;
    }
  }

  async #start(): Promise<Life> {
    const module = await (this.#module ??= cappedLoro(this.#limits.memory));
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const current = new Int32Array(new SharedArrayBuffer(4));
    const script = new URL(`./vetting-worker.${extension}`, import.meta.url);
    const worker = new Worker(script, {
      workerData: { module, current } satisfies VettingStart,
      execArgv: [],
      name: "kumiko-vetting",
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
      // Loro prints what broke it.
      stdout: true,
      stderr: true,
    });
    worker.unref();
    worker.stdout.resume();
    worker.stderr.resume();
    const busy = { id: 0, since: 0 };
    const life: Life = {
      worker,
      current,
      jobs: new Map(),
      shadows: new Map(),
      busy,
      ended: false,
    };
    worker.on("message", (message: FromVetting) => this.#answered(life, message));
    worker.on("error", (error) => void this.#end(life, String(error)));
    worker.on("exit", (code) => void this.#end(life, `it ended with ${code}`));
    this.#ports.started(this.#given);
    this.#alive = life;
    return life;
  }

  /** False when the worker was given up meanwhile. */
  async #open(life: Life, shadow: Shadow): Promise<boolean> {
    if (life.shadows.get(shadow) === "open") {
      // The one that is used is the last to be closed.
      life.shadows.delete(shadow);
      life.shadows.set(shadow, "open");
      return true;
    }
    shadow.opening ??= this.#openAnew(life, shadow).finally(() => (shadow.opening = undefined));
    await shadow.opening;
    return !life.ended && life.shadows.get(shadow) === "open";
  }

  async #openAnew(life: Life, shadow: Shadow): Promise<void> {
    life.shadows.set(shadow, "opening");
    shadow.begin();
    try {
      const bytes = await shadow.snapshot();
      post(life, { kind: "open", shadow: shadow.number, bytes });
      life.shadows.set(shadow, "open");
    } catch (error) {
      life.shadows.delete(shadow);
      throw error;
    }
    for (const oldest of life.shadows.keys()) {
      if (life.shadows.size <= this.#limits.shadows) break;
      if (![...life.jobs.values()].some((job) => job.shadow === oldest)) this.#close(life, oldest);
    }
  }

  #close(life: Life, shadow: Shadow): void {
    if (life.shadows.get(shadow) !== "open") return;
    life.shadows.delete(shadow);
    post(life, { kind: "close", shadow: shadow.number });
  }

  #answered(life: Life, message: FromVetting): void {
    if ("trap" in message) {
      void this.#end(life, message.trap, message.id);
      return;
    }
    const job = life.jobs.get(message.id);
    if (job === undefined) return;
    life.jobs.delete(message.id);
    this.#rest(life);
    try {
      if ("refused" in message) throw rejected(message.refused);
      const operations = vettedOperations(message.changes, job.peer, job.counter);
      const stands = life.shadows.get(job.shadow) === "open";
      if (stands && job.opening === job.shadow.openings) job.shadow.vetted(operations);
      job.resolve(operations);
    } catch (error) {
      // Loro may keep what it refuses, and the shadow is to hold what the document does.
      this.#close(life, job.shadow);
      job.reject(error instanceof KumikoError ? error : rejected(String(error)));
    }
    if (message.memory > this.#limits.memory * FULL) void this.#end(life, "its memory is full");
  }

  #look(): void {
    const life = this.#alive;
    if (life === undefined) return;
    const id = Atomics.load(life.current, 0);
    const now = performance.now();
    if (id !== life.busy.id) life.busy = { id, since: now };
    else if (id !== 0 && now - life.busy.since > this.#limits.time) {
      void this.#end(life, `it took more than ${this.#limits.time} ms`, id);
    }
  }

  #rest(life: Life): void {
    if (life.jobs.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  /** Gives a worker up. What it was busy with is refused; all else goes to the next one. */
  async #end(life: Life, why: string, guilty = Atomics.load(life.current, 0)): Promise<void> {
    if (this.#closed || life.ended) return;
    life.ended = true;
    this.#life = undefined;
    this.#alive = undefined;
    this.#given = why;
    const jobs = [...life.jobs.values()];
    life.jobs.clear();
    life.shadows.clear();
    this.#rest(life);
    for (const job of jobs) {
      if (job.id === guilty) job.reject(rejected(`looking at it failed (${why})`, true));
      else void this.#hand(job);
    }
    await life.worker.terminate();
  }
}

/**
 * The worker's copy of one document: it follows what is on disk, and runs ahead of it by what was vetted and is on
 * its way there.
 */
export class Shadow implements Disposable {
  readonly number: number;
  readonly snapshot: () => Promise<Uint8Array>;
  opening: Promise<void> | undefined;
  openings = 0;
  /** What came since the worker was told. */
  later: Uint8Array[] = [];
  /** How many operations of each peer it has from the peer itself. */
  readonly #vetted = new Map<string, number>();
  readonly #vetting: Vetting;

  constructor(vetting: Vetting, number: number, snapshot: () => Promise<Uint8Array>) {
    this.#vetting = vetting;
    this.number = number;
    this.snapshot = snapshot;
  }

  /** What an update says, if it is one of this peer's and goes on from a number. */
  vet(peer: string, counter: number, bytes: Uint8Array): Promise<PeerOperations> {
    checkHeader(bytes);
    return this.#vetting.vet(this, { peer, counter, bytes });
  }

  /** What the document has got since, but for what came through here. */
  advance(updates: readonly ReplicaUpdate[]): void {
    const missing = updates.filter(
      ({ from }) => from === undefined || (this.#vetted.get(from.peer) ?? 0) < from.counter,
    );
    if (missing.length === 0) return;
    this.#vetting.advance(
      this,
      missing.map(({ bytes }) => bytes),
    );
  }

  /** It holds what the document does not, or nobody needs it any more: it is made anew when it is needed. */
  forget(): void {
    this.#vetting.forget(this);
  }

  /** It is about to be opened. */
  begin(): void {
    this.openings++;
    this.later = [];
    this.#vetted.clear();
  }

  vetted(operations: PeerOperations): void {
    this.#vetted.set(operations.peer, endOf(operations));
  }

  [Symbol.dispose](): void {
    this.forget();
  }
}

/** Where Loro's bytes say what they are, and what they say when they are an update. */
const MAGIC = [0x6c, 0x6f, 0x72, 0x6f];
const MODE = 20;
const UPDATE = [0, 4];
const HEADER = 22;

function checkHeader(bytes: Uint8Array): void {
  const isLoro = bytes.length > HEADER && MAGIC.every((byte, at) => bytes[at] === byte);
  if (!isLoro || !UPDATE.every((byte, at) => bytes[MODE + at] === byte)) {
    throw rejected("it is no update");
  }
}

function catchUp(life: Life, shadow: Shadow): void {
  if (shadow.later.length === 0) return;
  post(life, { kind: "advance", shadow: shadow.number, updates: shadow.later });
  shadow.later = [];
}

function post(life: Life, message: ToVetting): void {
  life.worker.postMessage(message);
}

function rejected(why: string, trapped = false): KumikoError {
  return new KumikoError(
    "import_rejected",
    `The update cannot be taken: ${why.slice(0, 300)}.`,
    trapped ? { why: why.slice(0, 300), trapped } : { why: why.slice(0, 300) },
  );
}

function gone(): KumikoError {
  return new KumikoError("closing", "The server is stopping and takes no new work.");
}
