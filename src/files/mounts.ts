import { join } from "node:path";
import { checkIdPart, type Clock, KeyedQueue, KumikoError, type Timers } from "../base/index.ts";
import type { ConversationRules, FileIndex, Kernel, UnsavedFile } from "../kernel/index.ts";
import { unreadRules } from "../permission/index.ts";
import { Conflicts } from "./conflicts.ts";
import type { FolderBook } from "./folder-book.ts";
import { KeptMounts, sameSettings } from "./kept-mounts.ts";
import type { MountedFile } from "./mounted-file.ts";
import { Mount, type MountSettings } from "./mount.ts";
import { SpareFiles } from "./spare-files.ts";

export interface MountsOptions {
  readonly kernel: Kernel;
  readonly timers: Timers;
  readonly clock: Clock;
  /** Whether changes on disk are looked for all the time: not in a command that is gone in a moment. */
  readonly watch: boolean;
  /** The home folder: what is in it is no file of any folder. */
  readonly home?: string | undefined;
  /**
   * A folder of the kernel's own: the next versions of files are made there, and what is known of them is noted before it is
   * written down. Without it they are made beside each, and a crash takes what was just learnt.
   */
  readonly place?: string | undefined;
  /** The kernel's own folder, mounted under the kernel's name unless somebody unmounted it. */
  readonly folder?: string | undefined;
  /** What other kernels have. Without it there are none. */
  readonly book?: FolderBook | undefined;
  /** For searches in files that have no blocks. Closed with the folders. */
  readonly index: FileIndex;
  /** A folder that cannot be mounted now, and why. The others are. */
  onTrouble(mount: string, error: KumikoError): void;
}

/** Milliseconds after which folders that could not be mounted are tried again. */
const AGAIN = 2_000;
/** So many files leave the index in a moment. */
const MANY = 1_000;
/** Folders come and go one after the other. */
const LINE = ["mounts"];
const byKernel = new WeakMap<Kernel, Mounts>();

/** All folders of a kernel: those that are mounted, and those that should be and cannot. */
export class Mounts implements AsyncDisposable {
  readonly kernel: Kernel;
  readonly index: FileIndex;
  readonly kept: KeptMounts;
  readonly conflicts: Conflicts;
  readonly #options: MountsOptions;
  readonly #spares: SpareFiles | undefined;
  readonly #mounts = new Map<string, Mount>();
  readonly #failed = new Map<string, { readonly root: string; readonly error: KumikoError }>();
  readonly #settings = new Map<string, MountSettings>();
  readonly #leaving = new WeakSet<Mount>();
  readonly #starting: Promise<void>[] = [];
  readonly #changing = new KeyedQueue();
  #retry: { cancel(): void } | undefined;
  /** Whether there was one at any time. */
  #hadFolders = false;
  #closed = false;

  private constructor(options: MountsOptions, conflicts: Conflicts) {
    const { kernel, index, folder, place } = options;
    this.#options = options;
    this.#spares = place === undefined ? undefined : new SpareFiles(join(place, "staging"));
    this.kernel = kernel;
    this.index = index;
    this.kept = new KeptMounts(kernel, folder);
    this.conflicts = conflicts;
  }

  static async open(options: MountsOptions): Promise<Mounts> {
    const { kernel, clock } = options;
    const mounts = new Mounts(options, await Conflicts.open(kernel, clock));
    byKernel.set(kernel, mounts);
    mounts.#hadFolders = (await mounts.kept.roots()).size > 0;
    const wanted = await mounts.kept.wanted();
    await mounts.#leaveAllBut(wanted.map(([, { root }]) => root));
    for (const [name, settings] of wanted) await mounts.#tryToOpen(name, settings);
    if (options.watch) mounts.#starting.push(mounts.#tellCutOff());
    mounts.#retryLater();
    return mounts;
  }

  static of(kernel: Kernel): Mounts {
    const mounts = byKernel.get(kernel);
    if (mounts !== undefined) return mounts;
    throw new KumikoError("not_on_disk", `The kernel ${kernel.id} has no folders.`, {
      kernel: kernel.id,
    });
  }

  /** The kernel's own folder first. */
  list(): Mount[] {
    return [...this.#mounts.values()];
  }

  first(): Mount {
    const [first] = this.#mounts.values();
    return first ?? this.named(this.kernel.id);
  }

  /**
   * What the kernel's own folder says of what is no file; in a kernel that has none, what each of its folders says. While
   * the rules of one cannot be read an agent sees nothing of others'. Of folders that were unmounted nothing holds.
   * Undefined where there never was a folder to write rules in.
   */
  conversationRules(): readonly ConversationRules[] | undefined {
    if (!this.#hadFolders) return undefined;
    const { id } = this.kernel;
    const isOwn = this.#options.folder !== undefined || this.#settings.has(id);
    const names = isOwn ? [id] : [...this.#settings.keys()];
    return names
      .filter((name) => this.#settings.has(name))
      .map(
        (name) =>
          this.#mounts.get(name)?.rules ??
          unreadRules(`rules of @${name}, which cannot be read now`),
      );
  }

  isMounted(name: string): boolean {
    return this.#mounts.has(name);
  }

  named(name: string): Mount {
    const mount = this.#mounts.get(name);
    if (mount !== undefined) return mount;
    const failed = this.#failed.get(name);
    if (failed !== undefined) throw failed.error;
    const names = [...this.#mounts.keys()].map((each) => `@${each}`);
    throw new KumikoError(
      "not_on_disk",
      `There is no mount @${name}` +
        (names.length > 0 ? `; there are: ${names.join(", ")}.` : " yet: mount a folder first."),
      { mount: name, mounts: names },
    );
  }

  fileOf(block: string): { mount: Mount; file: MountedFile } | undefined {
    if (!block.startsWith("@")) return undefined;
    const mount = this.#mounts.get(mountOf(block));
    const file = mount?.source.files.of(block);
    return mount === undefined || file === undefined ? undefined : { mount, file };
  }

  /** Whether it is about to go: its files are written once more, and nobody changes them any more. */
  isLeaving(mount: Mount): boolean {
    return this.#leaving.has(mount);
  }

  /** Why the file of a block is not what the block says, although it should be. */
  unsaved(block: string): UnsavedFile | undefined {
    if (!block.startsWith("@")) return undefined;
    const files = this.#mounts.get(mountOf(block))?.source.files;
    if (files === undefined)
      return { path: block, block_id: block, why: "Its folder is not mounted now." };
    const file = files.of(block);
    return file && files.unsaved(file);
  }

  /** Those that cannot be mounted now, and why. */
  failed(): { mount: string; root: string; error: KumikoError }[] {
    return [...this.#failed].map(([mount, { root, error }]) => ({ mount, root, error }));
  }

  /** The same, and what is wrong with the others. */
  troubles(): { mount: string; root: string; error: KumikoError }[] {
    const others = this.list().flatMap((each) =>
      each.troubles().map((error) => ({ mount: each.name, root: each.root, error })),
    );
    return [...this.failed(), ...others];
  }

  /** The rules with which a folder was mounted, each as `--rule` takes it: they go before those of its file. */
  rulesGiven(name: string): readonly string[] {
    return this.#settings.get(name)?.rules ?? [];
  }

  /** Mounts a folder for good. The same folder under the same name is mounted once, with the settings it got last. */
  mount(name: string, settings: MountSettings): Promise<Mount> {
    return this.#changing.run(LINE, () => this.#mount(name, settings));
  }

  async #mount(name: string, settings: MountSettings): Promise<Mount> {
    checkIdPart(name, "The mount");
    const known = this.#mounts.get(name);
    if (known !== undefined) {
      if (known.root === settings.root) return this.#again(known, settings);
      throw new KumikoError("already_exists", `@${name} is the folder ${known.root}.`, {
        mount: name,
        root: known.root,
      });
    }
    const before = (await this.kept.roots()).get(name);
    if (before !== undefined && before !== settings.root) throw isAnothers(name, before);
    let mount: Mount;
    try {
      mount = await this.#open(name, settings);
    } catch (error) {
      if (!this.#has(settings.root)) await this.#options.book?.leave(settings.root);
      throw error;
    }
    await this.kept.put(name, settings);
    return mount;
  }

  /** Rules that cannot be read leave the folder as it was mounted. */
  async #again(known: Mount, settings: MountSettings): Promise<Mount> {
    const before = (await this.kept.get(known.name)) ?? { root: known.root };
    if (sameSettings(before, settings)) return known;
    await this.#settle(known);
    // Closed first: what it knows of its files is written down then. Until it is there again nobody knows its rules.
    this.#failed.set(known.name, { root: known.root, error: isChanging(known.name) });
    this.#mounts.delete(known.name);
    await known[Symbol.asyncDispose]();
    try {
      const mount = await this.#open(known.name, settings);
      await this.kept.put(known.name, settings);
      return mount;
    } catch (error) {
      await this.#tryToOpen(known.name, before);
      this.#retryLater();
      throw error;
    }
  }

  /** Its blocks and their history stay, and so does what was said of it. */
  unmount(name: string): Promise<void> {
    return this.#changing.run(LINE, () => this.#unmount(name));
  }

  async #unmount(name: string): Promise<void> {
    const mount = this.#failed.has(name) ? undefined : this.named(name);
    const root = mount?.root ?? this.#failed.get(name)!.root;
    await this.kept.put(name, { ...this.#settings.get(name), root, unmounted: true });
    if (mount !== undefined) await this.#settle(mount);
    this.#mounts.delete(name);
    this.#failed.delete(name);
    this.#settings.delete(name);
    const isLarge = mount?.index.holdsMoreThan(MANY) === true;
    await mount?.[Symbol.asyncDispose]();
    if (this.#has(root)) return;
    // To take many files out of it one by one takes minutes; to read those of the others again, seconds, and nobody waits.
    if (isLarge) await this.indexAnew();
    else await this.index.forget(root);
    await this.#options.book?.leave(root);
  }

  /** Lets nobody change files of a folder any more, and waits for those who were let in: it is still there for them. */
  async #settle(mount: Mount): Promise<void> {
    this.#leaving.add(mount);
    await this.kernel.settleFiles(() => mount.source.files.all().map(({ block }) => block));
  }

  /** Begins the index anew: of what left it not even a word is on disk then. */
  async indexAnew(): Promise<void> {
    const cleared = this.index.clear();
    // From here on nobody believes what it says, until it was compared again.
    for (const { index } of this.list()) index.again();
    await cleared;
  }

  /** Resolves when every folder is being watched and was compared with what was known of it. */
  async watched(): Promise<void> {
    await Promise.all(this.#starting);
  }

  /** Resolves when all files of watched folders can be found by their index. */
  async indexed(): Promise<void> {
    await this.watched();
    await Promise.all(this.list().map(({ index }) => index.settled()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    byKernel.delete(this.kernel);
    this.#closed = true;
    this.#retry?.cancel();
    await this.#changing.run(LINE, () => undefined);
    await using closing = new AsyncDisposableStack();
    closing.use(this.index);
    if (this.#spares !== undefined) closing.use(this.#spares);
    closing.defer(async () => void (await Promise.all(this.#starting)));
    for (const mount of this.#mounts.values()) closing.use(mount);
  }

  /** When it is known what became of files meanwhile. A command that is gone in a moment leaves it to a server to tell that. */
  async #tellCutOff(): Promise<void> {
    const { underWay } = this.kernel;
    await Promise.all(this.#starting);
    for (const { edit, steps } of await underWay.cutOff()) {
      if (!steps.every(({ block }) => this.isMounted(mountOf(block)))) continue;
      for (const mount of this.list()) mount.cutOff(edit, steps);
      await underWay.forget(edit);
    }
  }

  async #tryToOpen(name: string, settings: MountSettings): Promise<void> {
    try {
      await this.#open(name, settings);
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      const isKnown = this.#failed.get(name)?.error.message === error.message;
      this.#settings.set(name, settings);
      this.#failed.set(name, { root: settings.root, error });
      if (!isKnown) this.#options.onTrouble(name, error);
    }
  }

  /** What keeps a folder from being mounted may be over without anybody telling us. */
  #retryLater(): void {
    if (!this.#options.watch || this.#failed.size === 0 || this.#closed) return;
    this.#retry?.cancel();
    this.#retry = this.#options.timers.after(AGAIN, () => {
      const trying = this.#changing.run(LINE, async () => {
        for (const name of this.#failed.keys())
          if (!this.#closed) await this.#tryToOpen(name, this.#settings.get(name)!);
      });
      trying.then(
        () => this.#retryLater(),
        () => void this.#starting.push(trying),
      );
    });
  }

  /** Whether it is mounted, or would be if it could. */
  #has(root: string): boolean {
    return [...this.list(), ...this.#failed.values()].some((each) => each.root === root);
  }

  /** Whoever died while he mounted or unmounted a folder may have left it taken. */
  async #leaveAllBut(roots: readonly string[]): Promise<void> {
    const { book } = this.#options;
    for (const root of (await book?.taken()) ?? [])
      if (!roots.includes(root)) await book?.leave(root);
  }

  async #open(name: string, settings: MountSettings): Promise<Mount> {
    await this.#options.book?.take(settings.root);
    const mount = await Mount.open(name, settings, {
      ...this.#options,
      spares: this.#spares,
      conflicts: this.conflicts,
      rulesRead: (of) => {
        const anew = this.indexAnew();
        anew.catch((error: unknown) => {
          if (!(error instanceof KumikoError)) throw error;
          this.#options.onTrouble(of, error);
        });
      },
    });
    this.#hadFolders = true;
    this.#failed.delete(name);
    this.#settings.set(name, settings);
    const others = name === this.kernel.id ? [...this.#mounts] : [];
    if (others.length > 0) this.#mounts.clear();
    for (const [each, other] of [[name, mount] as const, ...others]) this.#mounts.set(each, other);
    if (this.#options.watch) this.#starting.push(mount.watch());
    return mount;
  }
}

/** In whose folder the file of a block is: `@src~file~7`. */
function mountOf(block: string): string {
  return block.slice(1, block.indexOf("~"));
}

function isChanging(name: string): KumikoError {
  return new KumikoError(
    "not_on_disk",
    `@${name} is just being mounted with other settings; try again in a moment.`,
    { mount: name },
  );
}

/** Its blocks would be taken for files of the new folder, and their text written there. */
function isAnothers(name: string, root: string): KumikoError {
  return new KumikoError(
    "already_exists",
    `@${name} is the name of ${root}, and its blocks are that folder's files also while it is not mounted. ` +
      "Mount this folder under another name.",
    { mount: name, root },
  );
}
