import { randomUUID } from "node:crypto";
import { KumikoError, type Timers } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import type { Hall } from "../hall.ts";
import type { Channels } from "./channels.ts";
import { outflowLimits } from "../http/outflow.ts";
import { checkScope, type Given, type Principal, type Scope } from "../principal.ts";
import { retrySafe } from "../retry-safe.ts";

export interface CallerLimits {
  /** Calls under way. */
  readonly calls: number;
  readonly subscriptions: number;
  /** Kernels and contexts that it holds. */
  readonly capabilities: number;
  /** Characters that wait for one subscription, or were sent and not answered. */
  readonly waiting: number;
}

const callerLimits: CallerLimits = {
  calls: 1024,
  subscriptions: 128,
  capabilities: 1024,
  waiting: outflowLimits.end,
};

export interface CallerOptions {
  readonly hall: Hall;
  readonly principal: Principal;
  /** The line of sight of calls that name none. */
  readonly reader: string;
  readonly trace?: string | undefined;
  readonly timers: Timers;
  readonly limits?: Partial<CallerLimits> | undefined;
  /** Whether what is made for the caller should wait, because it does not read. */
  readonly paused?: (() => boolean) | undefined;
  /** Where there is a connection. */
  readonly channels?: Channels | undefined;
  /** The caller does not read what it is told: its connection is to be ended. */
  readonly stalled?: (() => void) | undefined;
}

/** Something of a caller's that is told why it ends. */
export interface Ending {
  end(reason: "closing" | "unauthorised" | "gone"): Promise<void>;
  /** There is room again for what it has to tell. */
  resumed(): void;
}

/**
 * One caller: a connection, or a process that calls without one. Everything it has under way or listens to is
 * known here and goes with it.
 */
export class Caller {
  readonly hall: Hall;
  readonly reader: string;
  readonly timers: Timers;
  readonly trace: string | undefined;
  readonly limits: CallerLimits;
  readonly #options: CallerOptions;
  /** The token's own, but for the signal: it also aborts when the caller is gone. */
  readonly #principal: Principal;
  readonly #gone = new AbortController();
  readonly #cancellable = new Map<string, Set<AbortController>>();
  readonly #subscriptions = new Set<Ending>();
  #calls = 0;
  #capabilities = 0;
  #idle: (() => void) | undefined;

  constructor(options: CallerOptions) {
    this.#options = options;
    this.hall = options.hall;
    this.reader = options.reader;
    this.timers = options.timers;
    this.trace = options.trace;
    this.limits = { ...callerLimits, ...options.limits };
    // `AbortSignal.any` for each call would cost more than the call, and keeps memory.
    this.#principal = { ...options.principal, signal: this.#gone.signal };
  }

  get principal(): Principal {
    return this.#principal;
  }

  get calls(): number {
    return this.#calls;
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  get capabilities(): number {
    return this.#capabilities;
  }

  get paused(): boolean {
    return this.#options.paused?.() ?? false;
  }

  get channels(): Channels | undefined {
    return this.#options.channels;
  }

  stalled(): void {
    this.#options.stalled?.();
  }

  /** Runs one call. What it throws is a `KumikoError`: anything else is explained only to the log. */
  async run<Result>(method: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#calls >= this.limits.calls) {
      throw tooMany("calls under way", this.limits.calls, "Wait for some to be answered.");
    }
    this.#calls++;
    // A server that stops waits for these, whatever they do.
    using _ = this.hall.count();
    try {
      this.#gone.signal.throwIfAborted();
      return await work();
    } catch (error) {
      throw this.#told(method, error);
    } finally {
      this.#calls--;
      if (this.#calls === 0) this.#idle?.();
    }
  }

  /** The same for what is no tool: those are counted where they are called. */
  allow(scope: Scope): void {
    this.hall.checkOpen();
    checkScope(this.#principal, scope);
    this.hall.rates.take(this.#principal);
  }

  async tool(
    kernel: Kernel,
    name: string,
    input: unknown,
    given: Given,
    cancel?: string,
  ): Promise<unknown> {
    using cancellable = cancel === undefined ? undefined : this.#cancellableCall(cancel);
    const { signal } = cancellable ?? {};
    const principal = signal === undefined ? this.#principal : { ...this.#principal, signal };
    const call = {
      name,
      input: retrySafe(await this.hall.tools(), name, input, given.call),
      given: { reader: this.reader, ...given },
      counted: true,
    };
    return await this.hall.callTool(principal, kernel, call);
  }

  /** False when nothing of that name is under way. */
  cancel(name: string): boolean {
    const calls = this.#cancellable.get(name);
    for (const call of calls ?? []) {
      call.abort(new KumikoError("aborted", "The call was given up by its caller.", {}));
    }
    return calls !== undefined;
  }

  /** Counts something the caller holds until it is disposed of. */
  hold(): Disposable {
    if (this.#capabilities >= this.limits.capabilities) {
      throw tooMany("capabilities held", this.limits.capabilities, "Dispose of some.");
    }
    this.#capabilities++;
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#capabilities--;
        held = false;
      },
    };
  }

  subscribe(subscription: Ending): Disposable {
    if (this.#subscriptions.size >= this.limits.subscriptions) {
      throw tooMany("subscriptions", this.limits.subscriptions, "End some.");
    }
    this.#subscriptions.add(subscription);
    const gauge = this.hall.metrics.gauge("kumiko_feed_subscribers");
    gauge.add(1);
    return {
      [Symbol.dispose]: () => {
        if (this.#subscriptions.delete(subscription)) gauge.add(-1);
      },
    };
  }

  /** The caller reads again. */
  resumed(): void {
    for (const subscription of this.#subscriptions) subscription.resumed();
  }

  /** Ends what it listens to and waits for what it has under way; new calls are refused by then. */
  async drain(reason: "closing" | "unauthorised"): Promise<void> {
    await Promise.all([...this.#subscriptions].map((each) => each.end(reason)));
    if (this.#calls === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle = resolve;
    await promise;
  }

  /** Gives up everything: nobody is there any more, or may not be. */
  close(why: Error): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort(why);
    for (const calls of this.#cancellable.values()) for (const call of calls) call.abort(why);
    for (const each of this.#subscriptions) void each.end("gone");
  }

  #cancellableCall(name: string): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    const calls = this.#cancellable.get(name) ?? new Set();
    calls.add(controller);
    this.#cancellable.set(name, calls);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        calls.delete(controller);
        if (calls.size === 0 && this.#cancellable.get(name) === calls)
          this.#cancellable.delete(name);
      },
    };
  }

  #told(method: string, error: unknown): KumikoError {
    if (error instanceof KumikoError) return error;
    const reference = randomUUID();
    this.hall.log.error({ err: error, method, reference }, "a call failed by a fault of ours");
    return new KumikoError(
      "internal",
      `Something went wrong in the server; its log explains it under ${reference}.`,
      { reference },
    );
  }
}

function tooMany(what: string, limit: number, hint: string): KumikoError {
  return new KumikoError(
    "too_many",
    `There are ${limit} ${what}, which is all that one connection may have. ${hint}`,
    { what, limit },
  );
}
