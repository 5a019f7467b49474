import { checkIdPart, type Clock, isBlockId, KumikoError, type Timers } from "../base/index.ts";
import {
  type CallerKind,
  type ConversationRules,
  type Decision,
  type FilePort,
  type Invocation,
  type Kernel,
  type Operation,
  ruled,
} from "../kernel/index.ts";
import { type Conflict, Conflicts } from "./conflicts.ts";
import type { MountedFile } from "./mounted-file.ts";
import { Mount, type MountSettings } from "./mount.ts";

export interface MountsOptions {
  readonly kernel: Kernel;
  readonly timers: Timers;
  readonly clock: Clock;
  /** Whether changes on disk are looked for all the time: not in a command that is gone in a moment. */
  readonly watch: boolean;
  /** The kernel's own folder, mounted under the kernel's name unless somebody unmounted it. */
  readonly folder?: string | undefined;
  /** A folder that cannot be mounted now, and why. The others are. */
  onTrouble(mount: string, error: KumikoError): void;
}

/** What is kept of a mount; of one that was unmounted only that. */
type Kept = MountSettings & { readonly unmounted?: boolean };

const SPACE = "mounts";
const byKernel = new WeakMap<Kernel, Mounts>();

/** All folders of a kernel. */
export class Mounts implements FilePort {
  readonly conflicts: Conflicts;
  readonly #options: MountsOptions;
  readonly #told: MountsOptions["onTrouble"];
  readonly #mounts = new Map<string, Mount>();
  readonly #failed = new Map<string, { readonly root: string; readonly error: KumikoError }>();
  readonly #troubles = new Map<string, KumikoError>();
  readonly #starting: Promise<void>[] = [];

  private constructor(options: MountsOptions, conflicts: Conflicts) {
    this.#options = { ...options, onTrouble: (mount, error) => this.#trouble(mount, error) };
    this.#told = (mount, error) => options.onTrouble(mount, error);
    this.conflicts = conflicts;
  }

  static async open(options: MountsOptions): Promise<Mounts> {
    const { kernel, clock } = options;
    const mounts = new Mounts(options, await Conflicts.open(kernel, clock));
    byKernel.set(kernel, mounts);
    const kept = new Map<string, Kept>();
    if (options.folder !== undefined) kept.set(kernel.id, { root: options.folder });
    for (const { key, value } of await kernel.named(SPACE).list())
      kept.set(key, JSON.parse(value) as Kept);
    for (const [name, { unmounted = false, ...settings }] of kept)
      if (!unmounted) await mounts.#tryToOpen(name, settings);
    return mounts;
  }

  static of(kernel: Kernel): Mounts {
    const mounts = byKernel.get(kernel);
    if (mounts !== undefined) return mounts;
    throw new KumikoError("not_on_disk", `The kernel ${kernel.id} has no folders.`, {
      kernel: kernel.id,
    });
  }

  list(): Mount[] {
    return [...this.#mounts.values()];
  }

  /** Those that cannot be mounted now, and what last went wrong with the others. */
  troubles(): { mount: string; root: string; error: KumikoError }[] {
    const failed = [...this.#failed].map(([mount, { root, error }]) => ({ mount, root, error }));
    const others = [...this.#troubles].flatMap(([mount, error]) => {
      const root = this.#mounts.get(mount)?.root;
      return root === undefined ? [] : [{ mount, root, error }];
    });
    return [...failed, ...others];
  }

  /** Mounts a folder for good. The same folder under the same name is mounted once, with the settings it got last. */
  async mount(name: string, settings: MountSettings): Promise<Mount> {
    checkIdPart(name, "The mount");
    const known = this.#mounts.get(name);
    if (known !== undefined) {
      if (known.root === settings.root) return this.#again(known, settings);
      throw new KumikoError("already_exists", `@${name} is the folder ${known.root}.`, {
        mount: name,
        root: known.root,
      });
    }
    const mount = await this.#open(name, settings);
    await this.#options.kernel.named(SPACE).put(name, JSON.stringify(settings));
    return mount;
  }

  /** Its blocks and their history stay. */
  async unmount(name: string): Promise<void> {
    const mount = this.#failed.has(name) ? undefined : this.named(name);
    const root = mount?.root ?? this.#failed.get(name)!.root;
    const kept: Kept = { root, unmounted: true };
    await this.#options.kernel.named(SPACE).put(name, JSON.stringify(kept));
    this.#mounts.delete(name);
    this.#failed.delete(name);
    this.#troubles.delete(name);
    await mount?.[Symbol.asyncDispose]();
  }

  /** Where paths are that name no folder. */
  first(): Mount {
    const [first] = this.#mounts.values();
    return first ?? this.named(this.#options.kernel.id);
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

  /** The mount and the path in it that somebody means: `@src/a.ts`, an absolute path, or one in the first folder. */
  async place(given: string): Promise<{ mount: Mount; path: string }> {
    const [, name, rest] = /^@([a-z0-9-]{1,32})\/(.+)$/s.exec(given) ?? [];
    if (name !== undefined) {
      const mount = this.named(name);
      return { mount, path: mount.source.disk.resolve(rest!) };
    }
    const mounts = this.list();
    const [first] = mounts;
    if (first === undefined) {
      for (const { error } of this.#failed.values()) throw error;
      throw new KumikoError(
        "not_on_disk",
        `"${given}" is no block (a block is written context~actor~number, for example main~claude~42), and no folder is ` +
          "mounted in which it could be a path: mount one with `kumiko mount`.",
        { value: given },
      );
    }
    const mount = given.startsWith("/") ? (innermost(mounts, given) ?? first) : first;
    return { mount, path: mount.source.disk.resolve(given) };
  }

  async target(invocation: Invocation, given: string, operation: Operation): Promise<string> {
    const { mount, path } = await this.#find(given);
    if (mount === undefined) return given;
    this.#check(mount, path, operation, invocation);
    return (await mount.source.load(path)).block;
  }

  authorise(
    { kind = "person" }: { readonly actor: string; readonly kind?: CallerKind | undefined },
    operation: Operation,
    target: string,
  ): Decision | undefined {
    const asked = ruled[operation];
    if (asked === undefined || !target.startsWith("@")) return undefined;
    const found = this.fileOf(target);
    if (found !== undefined) return found.mount.decide(found.file.path, asked, kind);
    // A block that is just made is no file yet; whoever makes it has asked.
    if (operation === "create" || kind === "disk" || kind === "system")
      return { decision: "allow", reason: "what a folder needs by itself is allowed." };
    return {
      decision: "deny",
      reason: "its folder is not mounted now, so nobody knows its rules.",
    };
  }

  committed(block: string, version: number): void {
    this.fileOf(block)?.mount.source.committed(block, version);
  }

  async saved(blocks: readonly string[]): Promise<void> {
    const byMount = Map.groupBy(
      blocks.filter((block) => block.startsWith("@")),
      (block) => this.fileOf(block)?.mount,
    );
    for (const [mount, own] of byMount) await mount?.source.saveAll(own);
  }

  fileOf(block: string): { mount: Mount; file: MountedFile } | undefined {
    if (!block.startsWith("@")) return undefined;
    const mount = this.#mounts.get(block.slice(1, block.indexOf("~")));
    const file = mount?.source.fileOf(block);
    return mount === undefined || file === undefined ? undefined : { mount, file };
  }

  /** Resolves when every folder is being watched and was compared with what was known of it. */
  async watched(): Promise<void> {
    await Promise.all(this.#starting);
  }

  rules(): ConversationRules | undefined {
    const [own] = this.#mounts.values();
    return own?.rules;
  }

  hidden(block: string): boolean {
    const found = this.fileOf(block);
    if (found === undefined) return block.startsWith("@");
    return found.mount.rules.levelOf(found.file.path).level === "secret";
  }

  /** Conflicts that an actor was not told of yet; it is now. */
  tell(actor: string): Conflict[] {
    return this.conflicts.tell(actor).filter(({ block }) => !this.hidden(block));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    byKernel.delete(this.#options.kernel);
    await using closing = new AsyncDisposableStack();
    closing.defer(async () => void (await Promise.all(this.#starting)));
    for (const mount of this.#mounts.values()) closing.use(mount);
  }

  async #find(given: string): Promise<{ mount?: Mount; path: string }> {
    if (!isBlockId(given)) return this.place(given);
    const known = this.fileOf(given);
    if (known !== undefined) return { mount: known.mount, path: known.file.path };
    if (!given.startsWith("@")) return { path: given };
    throw new KumikoError(
      "not_on_disk",
      `${given} is a file of a folder that is not mounted now.`,
      { block: given },
    );
  }

  #check(mount: Mount, path: string, operation: Operation, invocation: Invocation): void {
    const asked = ruled[operation];
    if (asked === undefined) return;
    const { kind = "person" } = invocation;
    mount.check(path, asked, { actor: invocation.actor, kind });
  }

  /** Rules that cannot be read leave the folder as it was mounted. */
  async #again(known: Mount, settings: MountSettings): Promise<Mount> {
    const { kernel } = this.#options;
    const kept = await kernel.named(SPACE).get(known.name);
    const before = kept === undefined ? { root: known.root } : (JSON.parse(kept) as Kept);
    if (sameSettings(before, settings)) return known;
    // Closed first: what it knows of its files is written down then.
    this.#mounts.delete(known.name);
    await known[Symbol.asyncDispose]();
    try {
      const mount = await this.#open(known.name, settings);
      await kernel.named(SPACE).put(known.name, JSON.stringify(settings));
      return mount;
    } catch (error) {
      await this.#tryToOpen(known.name, before);
      throw error;
    }
  }

  #trouble(mount: string, error: KumikoError): void {
    if (error.facts["trouble"] === "root_back") this.#troubles.delete(mount);
    else this.#troubles.set(mount, error);
    this.#told(mount, error);
  }

  async #tryToOpen(name: string, settings: MountSettings): Promise<void> {
    try {
      await this.#open(name, settings);
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      this.#failed.set(name, { root: settings.root, error });
      this.#options.onTrouble(name, error);
    }
  }

  async #open(name: string, settings: MountSettings): Promise<Mount> {
    const mount = await Mount.open(name, settings, { ...this.#options, conflicts: this.conflicts });
    this.#failed.delete(name);
    this.#mounts.set(name, mount);
    if (this.#options.watch) {
      this.#starting.push(
        mount.watch().catch((error: unknown) => {
          if (!(error instanceof KumikoError)) throw error;
          this.#options.onTrouble(name, error);
        }),
      );
    }
    return mount;
  }
}

function sameSettings(one: MountSettings, other: MountSettings): boolean {
  const asText = ({ root, manual, rules = [] }: MountSettings): string =>
    JSON.stringify([root, manual ?? null, rules]);
  return asText(one) === asText(other);
}

/** A folder in a folder has rules of its own. */
function innermost(mounts: readonly Mount[], absolute: string): Mount | undefined {
  const around = mounts.filter(({ root }) => absolute === root || absolute.startsWith(`${root}/`));
  return around.toSorted((left, right) => right.root.length - left.root.length)[0];
}
