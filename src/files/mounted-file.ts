import type { KumikoError } from "../base/index.ts";
import type { UnsavedFile } from "../kernel/index.ts";
import { type FileStat, sameIdentity } from "./file-stat.ts";
import type { Base, FileRecord, Synced } from "./ledger.ts";
import type { Stamp } from "./look.ts";
import type { Earlier } from "./stale.ts";
import type { TextForm } from "./text-form.ts";

/** Milliseconds for which one that went may come by another name: after so long the watch has told of whatever came. */
const AWAITED = 10_000;

/** A file that has a block. Only the holder of the file's queue changes it, or who finds that nobody is in it. */
export class MountedFile {
  readonly block: string;
  path: string;
  /** Undefined while there is no such file on disk. */
  synced: Synced | undefined;
  /** How it was when somebody found that others had taken it away, and when that was. */
  went: { readonly synced: Synced; readonly at: number } | undefined;
  /** How it was when somebody last looked closely. Of another identity than `synced` it says nothing; of its rights only what they were. */
  seen: FileStat | undefined;
  /** What was its base when it went. */
  left: Base | undefined;
  /** Its form and its mode when it went: it is made again with those. */
  form: TextForm | undefined;
  mode: number | undefined;
  /** The Edit that last began a new one in its place, in which version, and what was known of it before. */
  begun: { readonly edit: string; readonly version: number; readonly was: FileRecord } | undefined;
  /** There is no such file yet, and there is to be one: it is made when its block is saved. */
  wanted: boolean;
  /** The block's newest version, as far as it was told of. */
  version: number;
  /** Who wrote what the disk does not have yet: an agent, if any did; the kernel itself, when something was purged. */
  writer: "agent" | "person" | "system" = "person";
  /** Why the last save failed; it is tried again. */
  unsaved: KumikoError | undefined;
  /** Why its block cannot be read: what happens to the file is not taken in, as long as this process is there. */
  damaged: KumikoError | undefined;
  /** Both sides changed the same lines, and nobody has decided yet: the file is not written until then. */
  waits = false;
  /** What was on disk lately, the newest first: a program may have read it before it was written over. */
  earlier: readonly Earlier[] = [];
  /** When a program wrote first of what is not taken in yet, as far as that was noticed: others may have written since. */
  writtenSince: bigint | undefined;

  constructor(block: string, record: FileRecord, version: number) {
    const { path, synced, left, form, mode, wanted } = record;
    this.block = block;
    this.path = path;
    this.synced = synced;
    this.left = left;
    this.form = form;
    this.mode = mode;
    this.wanted = wanted ?? false;
    this.version = version;
  }

  get record(): FileRecord {
    const { path, synced, left, form, mode, wanted } = this;
    return { path, synced, left, form, mode, wanted };
  }

  /** Why the file is not what its block says, although it should be. */
  get toldUnsaved(): UnsavedFile | undefined {
    const { path, block } = this;
    const why = this.unsaved?.message ?? this.#whyItWaits ?? this.#whyItIsNowhere;
    return why === undefined ? undefined : { path, block_id: block, why };
  }

  get #whyItWaits(): string | undefined {
    return this.waits
      ? `Both sides changed the same lines of ${this.path}: it is not written until somebody decides with file_resolve.`
      : undefined;
  }

  /** Whoever began an edit before the file went, and was done with it after, must not believe that it is there. */
  get #whyItIsNowhere(): string | undefined {
    const { left, version, path, block } = this;
    if (!this.isAway || left === undefined || !("version" in left) || left.version >= version)
      return undefined;
    return `${path} was deleted meanwhile. Its block ${block} has what you wrote; file_save makes the file again.`;
  }

  /** Somebody began a new file in its place: what it said before is not in its text any more. */
  get isBegunAnew(): boolean {
    return this.left !== undefined && "text" in this.left && this.left.text === "";
  }

  /** There is no such file, and nobody asked for it to be made. */
  get isAway(): boolean {
    return this.synced === undefined && !this.wanted;
  }

  /** How it is, or was until a moment ago: it may have another name that nobody has told of. */
  lastKnown(now: number): Synced | undefined {
    const { synced, went, isAway } = this;
    const isRecent = went !== undefined && now - went.at < AWAITED;
    return isAway && isRecent ? went.synced : synced;
  }

  /** It is like that now. */
  noticed({ size, inode, nanoseconds, touched }: Stamp): void {
    const known = this.synced?.identity;
    const isKnown =
      known?.nanoseconds === nanoseconds && known.size === size && known.inode === Number(inode);
    if (!isKnown) this.writtenSince ??= touched > nanoseconds ? touched : nanoseconds;
  }

  /**
   * Whether it may hold something else although it looks the same: somebody set the time back that tells when it was
   * written. The time of any change cannot be set.
   */
  isTouched(now: FileStat): boolean {
    const { seen, synced } = this;
    if (seen === undefined || synced === undefined) return false;
    return sameIdentity(seen, synced.identity) && seen.changed !== now.changed;
  }

  /** Whether the block holds what the disk does not. */
  get ahead(): boolean {
    if (this.wanted) return true;
    const { base } = this.synced ?? {};
    if (base === undefined) return false;
    return "text" in base || base.version < this.version;
  }
}
