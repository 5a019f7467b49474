import type { KumikoError } from "../base/index.ts";
import type { Base, FileRecord, Synced } from "./ledger.ts";

/** A file that has a block. Only the holder of the file's queue changes it. */
export class MountedFile {
  readonly block: string;
  path: string;
  /** Undefined while there is no such file on disk. */
  synced: Synced | undefined;
  /** What was its base when it went. */
  left: Base | undefined;
  /** The block's newest version, as far as it was told of. */
  version: number;
  /** Why the last save failed; it is tried again. */
  unsaved: KumikoError | undefined;
  /** Both sides changed the same lines, and nobody has decided yet: the file is not written until then. */
  waits = false;

  constructor(block: string, { path, synced, left }: FileRecord, version: number) {
    this.block = block;
    this.path = path;
    this.synced = synced;
    this.left = left;
    this.version = version;
  }

  get record(): FileRecord {
    return { path: this.path, synced: this.synced, left: this.left };
  }

  /** Whether the block holds what the disk does not. */
  get ahead(): boolean {
    const { base } = this.synced ?? {};
    if (base === undefined) return false;
    return "text" in base || base.version < this.version;
  }
}
