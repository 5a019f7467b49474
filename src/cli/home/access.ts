import { KumikoError } from "../../base/index.ts";
import type { RpcKernel, RpcWorld } from "../../protocol/index.ts";

export interface How {
  /** Whether it may be sent again when the connection was lost and nobody knows what became of it. */
  readonly retry: boolean;
  /** False: a kernel that another process has is not waited for. */
  readonly waits?: boolean;
}

/**
 * The capabilities of a home: a server's over the wire, or the same ones in this process. A call is handed the
 * capability that there is now. Whoever opens it disposes of it.
 */
export interface Access extends AsyncDisposable {
  /** Where the server is; undefined when this process does the work itself. */
  readonly server: string | undefined;
  /** Aborts with a `KumikoError` when what listens will not be told any more. */
  readonly lost: AbortSignal;
  world<Result>(run: (world: RpcWorld) => Promise<Result>, how: How): Promise<Result>;
  kernel<Result>(
    id: string,
    run: (kernel: RpcKernel) => Promise<Result>,
    how: How,
  ): Promise<Result>;
}

/** One kernel, as verbs use it. */
export class OpenKernel {
  readonly id: string;
  readonly #access: Access;

  constructor(access: Access, id: string) {
    this.#access = access;
    this.id = id;
  }

  get server(): string | undefined {
    return this.#access.server;
  }

  get lost(): AbortSignal {
    return this.#access.lost;
  }

  /** For what changes nothing, or only once however often it is made. */
  ask<Result>(run: (kernel: RpcKernel) => Promise<Result>): Promise<Result> {
    return this.#access.kernel(this.id, run, { retry: true });
  }

  /** The other kernels of the home. */
  async others(): Promise<string[]> {
    const all = await this.#access.world((world) => world.listKernels(), { retry: true });
    return all.map(({ kernel }) => kernel).filter((kernel) => kernel !== this.id);
  }

  /** Asks another kernel; undefined when it cannot be had at once, or cannot say it: that is not where to send somebody. */
  async in<Result>(
    other: string,
    run: (kernel: RpcKernel) => Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await this.#access.kernel(other, run, { retry: true, waits: false });
    } catch (error) {
      if (error instanceof KumikoError) return undefined;
      throw error;
    }
  }

  change<Result>(run: (kernel: RpcKernel) => Promise<Result>): Promise<Result> {
    return this.#access.kernel(this.id, run, { retry: false });
  }
}
