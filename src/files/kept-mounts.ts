import type { Kernel } from "../kernel/index.ts";
import type { MountSettings } from "./mount.ts";

const SPACE = "mounts";

/** What is kept of a mount, also of one that was unmounted: whoever mounts it again goes on with it. */
type Kept = MountSettings & { readonly unmounted?: boolean };

/** Which folders are, or ever were, mounted in a kernel, by their names, and what was said of them. */
export class KeptMounts {
  readonly #kernel: Kernel;
  readonly #folder: string | undefined;

  /** `folder`: the kernel's own, which is mounted without being written down. */
  constructor(kernel: Kernel, folder: string | undefined) {
    this.#kernel = kernel;
    this.#folder = folder;
  }

  /** Those that are to be mounted. */
  async wanted(): Promise<[name: string, settings: MountSettings][]> {
    return [...(await this.#all())].filter(([, { unmounted = false }]) => !unmounted);
  }

  /**
   * Every folder that was ever mounted, by its name: the blocks of that name are its files, also when it is not mounted
   * any more.
   */
  async roots(): Promise<ReadonlyMap<string, string>> {
    return new Map(Array.from(await this.#all(), ([name, { root }]) => [name, root]));
  }

  /** Those that are written down. */
  async names(): Promise<string[]> {
    return (await this.#kernel.named(SPACE).list()).map(({ key }) => key);
  }

  /** What is written down under a name. */
  async get(name: string): Promise<MountSettings | undefined> {
    const kept = await this.#kernel.named(SPACE).get(name);
    return kept === undefined ? undefined : (JSON.parse(kept) as Kept);
  }

  /** What was said of a folder when it was mounted last, under that name or another. */
  async settingsOf(root: string, name: string | undefined): Promise<MountSettings | undefined> {
    const kept = await this.#all();
    const own = name === undefined ? undefined : kept.get(name);
    const found =
      own?.root === root ? own : [...kept.values()].findLast((each) => each.root === root);
    if (found === undefined) return undefined;
    const { unmounted: _, ...settings } = found;
    return settings;
  }

  async put(name: string, settings: Kept): Promise<void> {
    await this.#kernel.named(SPACE).put(name, JSON.stringify(settings));
  }

  async #all(): Promise<Map<string, Kept>> {
    const kept = new Map<string, Kept>();
    if (this.#folder !== undefined) kept.set(this.#kernel.id, { root: this.#folder });
    for (const { key, value } of await this.#kernel.named(SPACE).list())
      kept.set(key, JSON.parse(value) as Kept);
    return kept;
  }
}

export function sameSettings(one: MountSettings, other: MountSettings): boolean {
  const asText = ({ root, manual, rules = [] }: MountSettings): string =>
    JSON.stringify([root, manual ?? null, rules]);
  return asText(one) === asText(other);
}
