import { checkIdPart, type Clock, KumikoError, type Timers } from "../base/index.ts";
import type { FilePort } from "./files-port.ts";
import { Kernel } from "./kernel.ts";
import type { Store } from "./ports.ts";
import type { DamageReport } from "./quarantine.ts";

/** A kernel as the home folder shows it, without opening it. */
export interface KernelInfo {
  readonly kernel: string;
  readonly folder: string;
  readonly created: number;
  /** Bytes in its folder. */
  readonly bytes: number;
}

/** Where kernels are kept. The world decides what happens, this only does it. */
export interface KernelFolders {
  /** What people call the place. */
  readonly place: string;
  has(kernel: string): Promise<boolean>;
  /** In the order of their names. */
  list(): Promise<KernelInfo[]>;
  /** Makes the kernel's folder with an empty store in it, whole or not at all; false when there is one. */
  create(kernel: string): Promise<boolean>;
  /** The caller disposes of the store. */
  openStore(kernel: string): Promise<Store>;
}

export interface WorldOptions {
  readonly folders: KernelFolders;
  readonly clock: Clock;
  readonly timers: Timers;
  newPeer(): string;
  turn?(): Promise<void> | undefined;
  /** Documents that each kernel keeps in memory. */
  readonly liveDocuments?: number | undefined;
  /** The folders of a kernel that was just opened; with `always` also of one that has none. */
  readonly files?: (
    kernel: Kernel,
    how: { readonly always: boolean },
  ) => Promise<FilePort | undefined>;
  /** Told of everything stored that turns out to be damaged. */
  onDamage?(report: DamageReport): void;
}

interface OpenKernel {
  readonly kernel: Kernel;
  /** What is done at opening without anyone waiting for it. */
  readonly housekeeping: Promise<void>;
}

/**
 * The kernels of one home folder. Whoever asks for a kernel twice gets the same one; the world owns it and
 * closes it.
 */
export class World implements AsyncDisposable {
  readonly #options: WorldOptions;
  readonly #open = new Map<string, Promise<OpenKernel>>();
  /** Those of them that nobody has to wait for. */
  readonly #ready = new Map<string, Kernel>();
  /** Kernels that are given back: whoever opens one again waits. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #attaching = new Map<Kernel, Promise<void>>();
  #closed = false;

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  list(): Promise<KernelInfo[]> {
    return this.#options.folders.list();
  }

  /** Those that are open now; one that is just being opened is waited for. */
  async opened(): Promise<Kernel[]> {
    const all = await Promise.allSettled(this.#open.values());
    return all.flatMap((each) => (each.status === "fulfilled" ? [each.value.kernel] : []));
  }

  async create(kernel: string): Promise<void> {
    checkIdPart(kernel, "The kernel");
    if (await this.#options.folders.create(kernel)) return;
    throw new KumikoError("already_exists", `There is already a kernel ${kernel}.`, { kernel });
  }

  /** Opens a kernel, making it first if it is not there. */
  async openOrCreate(kernel: string): Promise<Kernel> {
    checkIdPart(kernel, "The kernel");
    const { folders } = this.#options;
    if (!(await folders.has(kernel))) await folders.create(kernel);
    return this.open(kernel);
  }

  /** One that is open now: for whoever asks with every call. */
  ready(kernel: string): Kernel | undefined {
    return this.#ready.get(kernel);
  }

  async open(kernel: string): Promise<Kernel> {
    if (this.#closed) throw new KumikoError("closed", "This world was closed.", {});
    const before = this.#open.get(kernel);
    if (before !== undefined) return (await before).kernel;
    const opening = this.#openKernel(kernel);
    this.#open.set(kernel, opening);
    try {
      const opened = await opening;
      if (this.#open.get(kernel) === opening) this.#ready.set(kernel, opened.kernel);
      return opened.kernel;
    } catch (error) {
      if (this.#open.get(kernel) === opening) this.#open.delete(kernel);
      throw error;
    }
  }

  /** Lets what is under way finish and gives the folder free for other processes. */
  async close(id: string): Promise<void> {
    const opened = this.#open.get(id);
    if (opened === undefined) return this.#closing.get(id);
    this.#open.delete(id);
    this.#ready.delete(id);
    const closing = closeKernel(opened);
    this.#closing.set(id, closing);
    try {
      await closing;
    } finally {
      if (this.#closing.get(id) === closing) this.#closing.delete(id);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#ready.clear();
    await using closing = new AsyncDisposableStack();
    for (const kernel of new Set([...this.#open.keys(), ...this.#closing.keys()]))
      closing.defer(() => this.close(kernel));
  }

  /** Makes a kernel that has no folders one that can have some. */
  attachFiles(kernel: Kernel): Promise<void> {
    if (kernel.hasFiles) return Promise.resolve();
    const known = this.#attaching.get(kernel);
    if (known !== undefined) return known;
    const attaching = this.#attach(kernel).finally(() => this.#attaching.delete(kernel));
    this.#attaching.set(kernel, attaching);
    return attaching;
  }

  async #attach(kernel: Kernel): Promise<void> {
    const attached = await this.#options.files?.(kernel, { always: true });
    if (attached !== undefined) kernel.attach(attached);
  }

  async #openKernel(id: string): Promise<OpenKernel> {
    checkIdPart(id, "The kernel");
    const { folders, files, ...options } = this.#options;
    // Whoever closes it is told when that fails.
    await this.#closing.get(id)?.catch(() => undefined);
    if (!(await folders.has(id))) throw await unknownKernel(folders, id);
    await using opening = new AsyncDisposableStack();
    const store = opening.use(await folders.openStore(id));
    const kernel = await Kernel.open({ id, store, ...options });
    opening.move();
    // Not left open with its lock when its folders cannot be.
    await using unattached = new AsyncDisposableStack();
    unattached.use(kernel);
    const attached = await files?.(kernel, { always: false });
    if (attached !== undefined) kernel.attach(attached);
    unattached.move();
    const housekeeping = kernel.retention.applyWhenDue();
    // Whoever closes the kernel is told.
    housekeeping.catch(() => undefined);
    return { kernel, housekeeping };
  }
}

async function closeKernel(opened: Promise<OpenKernel>): Promise<void> {
  const { kernel, housekeeping } = await opened;
  await using closing = new AsyncDisposableStack();
  closing.use(kernel);
  await housekeeping;
}

export async function unknownKernel(folders: KernelFolders, kernel: string): Promise<KumikoError> {
  const { place } = folders;
  const kernels = (await folders.list()).map((info) => info.kernel);
  return new KumikoError(
    "unknown_kernel",
    `There is no kernel ${kernel} in ${place}` +
      (kernels.length > 0 ? `; there are: ${kernels.join(", ")}.` : " yet; create one first."),
    { kernel, place, kernels },
  );
}
