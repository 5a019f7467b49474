import { join } from "node:path";
import { KumikoError } from "../../base/index.ts";
import type { KernelClient } from "../../client/index.ts";
import type { FeedEvent } from "../../protocol/index.ts";
import { shownPath } from "../home/paths.ts";
import type { Terminal } from "../terminal.ts";

/** Which file a block is, as people see paths from where they stand. */
export class WatchedFiles {
  readonly #terminal: Terminal;
  readonly #folders = new Map<string, string>();
  /** In their folders. An event that moves a file says so. */
  readonly #paths = new Map<string, string>();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Undefined when the block is no file, or its folder is not mounted any more. */
  async pathOf(kernel: KernelClient, { block, state }: FeedEvent): Promise<string | undefined> {
    const [, mount] = /^@([^~]+)~/.exec(block) ?? [];
    if (mount === undefined) return undefined;
    const moved = state?.metadata["path"];
    if (typeof moved === "string") this.#paths.set(block, moved);
    try {
      if (!this.#folders.has(mount))
        for (const each of await kernel.mounts()) this.#folders.set(each.mount, each.folder);
      const path = this.#paths.get(block) ?? (await this.#ask(kernel, block));
      const folder = this.#folders.get(mount);
      return folder === undefined || path === undefined
        ? undefined
        : shownPath(this.#terminal, join(folder, path));
    } catch (error) {
      // What cannot be asked now, of a damaged block or over a connection that was lost, is shown by the block's name.
      if (error instanceof KumikoError) return undefined;
      throw error;
    }
  }

  async #ask(kernel: KernelClient, block: string): Promise<string | undefined> {
    const { state } = await kernel.getDocumentState({ block_id: block });
    const { path } = state.metadata;
    if (typeof path !== "string") return undefined;
    this.#paths.set(block, path);
    return path;
  }
}
