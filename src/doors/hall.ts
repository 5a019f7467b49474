import { type Clock, KumikoError, monotonicClock, realTimers, type Timers } from "../base/index.ts";
import type { Kernel, KernelInfo, World } from "../kernel/index.ts";
import type { ToolFilter, ToolRegistry } from "../tools/index.ts";
import { Clients } from "./clients.ts";
import type { Metrics } from "./metrics.ts";
import { patiently } from "./patience.ts";
import { checkScope, type Given, invocationOf, type Principal } from "./principal.ts";
import { RateLimits } from "./rate-limits.ts";
import type { TokenStore } from "./tokens/token-store.ts";

type Say = (facts: Readonly<Record<string, unknown>>, message: string) => void;

/** What doors say for those who run this; pino's logger is one. */
export interface Log {
  readonly error: Say;
  readonly warn: Say;
  readonly info: Say;
  readonly debug: Say;
  child(facts: Readonly<Record<string, unknown>>): Log;
}

interface HallParts {
  readonly world: World;
  /** Or how to load it: not every process calls a tool. */
  readonly registry: ToolRegistry | (() => Promise<ToolRegistry>);
  /** None where nobody comes in from outside. */
  readonly tokens?: TokenStore | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Wall-clock time. */
  readonly clock: Clock;
  readonly version: string;
  /** Aborts when the server drains. */
  readonly closing: AbortSignal;
  /** Per second and token. */
  readonly callsPerSecond?: number | undefined;
  /** Milliseconds for which a kernel that another process has is waited for; without it, not at all. */
  readonly patience?: number | undefined;
  readonly timers?: Timers | undefined;
}

/** What one call of a tool is: who asks is known beside it. */
interface Call {
  readonly name: string;
  readonly input: unknown;
  readonly given?: Given | undefined;
  readonly filter?: ToolFilter | undefined;
  /** What the door counts itself, because it counts more than tools. */
  readonly counted?: boolean | undefined;
}

/** A call of a tool that begins. */
export interface BegunCall {
  readonly kernel: string;
  readonly actor: string;
  readonly kind: Principal["kind"];
  readonly tool: string;
  readonly input: unknown;
}

/** What every door is given. */
export class Hall {
  readonly world: World;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly version: string;
  readonly closing: AbortSignal;
  readonly rates: RateLimits;
  readonly clients: Clients;
  /** Told of every call that begins; what they do must not fail. */
  readonly watchers = new Set<(call: BegunCall) => void>();
  readonly #tokens: TokenStore | undefined;
  readonly #load: () => Promise<ToolRegistry>;
  #registry: ToolRegistry | undefined;
  readonly #patience: number;
  readonly #timers: Timers;
  /** However many wait for a kernel, one looks. */
  readonly #awaited = new Map<string, Promise<Kernel>>();
  #calls = 0;
  readonly #idle: (() => void)[] = [];

  constructor(parts: HallParts) {
    this.world = parts.world;
    const { registry } = parts;
    this.#registry = typeof registry === "function" ? undefined : registry;
    this.#load = typeof registry === "function" ? registry : async () => registry;
    this.#tokens = parts.tokens;
    this.log = parts.log;
    this.metrics = parts.metrics;
    this.clock = parts.clock;
    this.version = parts.version;
    this.closing = parts.closing;
    this.clients = new Clients(parts.clock);
    this.#patience = parts.patience ?? 0;
    this.#timers = parts.timers ?? realTimers;
    this.rates = new RateLimits(monotonicClock, parts.callsPerSecond);
  }

  get tokens(): TokenStore {
    if (this.#tokens === undefined) throw new Error("nobody comes in here, so there are no tokens");
    return this.#tokens;
  }

  /** For doors that are there only where it is given. */
  get registry(): ToolRegistry {
    if (this.#registry === undefined)
      throw new Error("the tools are not loaded here: ask for them");
    return this.#registry;
  }

  async tools(): Promise<ToolRegistry> {
    this.#registry ??= await this.#load();
    return this.#registry;
  }

  /** The kernel, if the token is for it; opened when it is not open yet. */
  kernelOf(principal: Principal, id: string): Kernel | Promise<Kernel> {
    this.checkOpen();
    principal.signal.throwIfAborted();
    const { kernels } = principal;
    if (kernels !== undefined && !kernels.includes(id)) throw notYours(principal, id, kernels);
    const ready = this.world.ready(id);
    if (ready !== undefined) return ready;
    return this.#open(id, () => this.world.open(id)).catch((error: unknown) => {
      throw discreet(error, id, kernels);
    });
  }

  /** For who may use every kernel. */
  openOrCreate(id: string): Promise<Kernel> {
    return this.#open(id, () => this.world.openOrCreate(id));
  }

  #open(id: string, open: () => Promise<Kernel>): Promise<Kernel> {
    const awaited = this.#awaited.get(id);
    if (awaited !== undefined) return awaited;
    const wanted = (): boolean => !this.closing.aborted;
    const opening = patiently({ timers: this.#timers, most: this.#patience, wanted }, open);
    this.#awaited.set(id, opening);
    const settled = (): void => void this.#awaited.delete(id);
    opening.then(settled, settled);
    return opening;
  }

  /** Those that the token is for. */
  async listKernels(principal: Principal): Promise<KernelInfo[]> {
    const all = await this.world.list();
    return all.filter(({ kernel }) => principal.kernels?.includes(kernel) ?? true);
  }

  /** Calls a tool as every door does: if the kernel offers it, with the scope it needs, at the token's rate, counted. */
  async callTool(
    principal: Principal,
    kernel: Kernel,
    { name, input, given = {}, filter, counted = false }: Call,
  ): Promise<unknown> {
    using _ = counted ? undefined : this.count();
    const registry = this.#registry ?? (await this.tools());
    const tool = registry.find(name, filter);
    const began = monotonicClock.now();
    let outcome = "ok";
    try {
      this.checkOpen();
      principal.signal.throwIfAborted();
      if (tool !== undefined) checkScope(principal, tool.writes ? "write" : "read");
      this.rates.take(principal);
      const invocation = invocationOf(principal, given);
      const { actor } = invocation;
      for (const tell of tool === undefined ? [] : this.watchers)
        tell({ kernel: kernel.id, actor, kind: principal.kind, tool: tool!.name, input });
      const offered = await kernel.toolFilter.get();
      const hidden = tool !== undefined && registry.find(tool.name, offered) === undefined;
      return await registry.execute(kernel, name, invocation, input, hidden ? offered : filter);
    } catch (error) {
      outcome = error instanceof KumikoError ? error.code : "internal";
      throw error;
    } finally {
      // A name that a caller made up is not to become a label.
      const labels = { tool: tool?.name ?? "unknown" };
      this.metrics.counter("kumiko_calls_total", { ...labels, outcome }).add();
      const seconds = (monotonicClock.now() - began) / 1000;
      this.metrics.histogram("kumiko_call_seconds", labels).observe(seconds);
    }
  }

  /** Counts a call, of a tool or not, until it is disposed of. */
  count(): Disposable {
    this.#calls += 1;
    return {
      [Symbol.dispose]: () => {
        this.#calls -= 1;
        if (this.#calls === 0) for (const tell of this.#idle.splice(0)) tell();
      },
    };
  }

  get callsUnderWay(): number {
    return this.#calls;
  }

  /** When no call is under way: whoever drains waits for that. */
  async idle(): Promise<void> {
    if (this.#calls === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    await promise;
  }

  /** Refuses new work while the server stops. */
  checkOpen(): void {
    if (!this.closing.aborted) return;
    throw new KumikoError("closing", "The server is stopping and takes no new work.", {});
  }
}

function notYours(principal: Principal, id: string, kernels: readonly string[]): KumikoError {
  return new KumikoError(
    "forbidden",
    `The token ${principal.token} may not use the kernel ${id}; it may use: ${kernels.join(", ")}.`,
    { token: principal.token, kernel: id, kernels },
  );
}

/** Who is let into one kernel is not told which others there are. */
function discreet(error: unknown, id: string, kernels: readonly string[] | undefined): unknown {
  if (kernels === undefined || !(error instanceof KumikoError)) return error;
  if (error.code !== "unknown_kernel") return error;
  return new KumikoError("unknown_kernel", `There is no kernel ${id} here.`, { kernel: id });
}
