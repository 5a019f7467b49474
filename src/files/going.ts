import { KumikoError } from "../base/index.ts";
import type { FileFlip, Invocation, Kernel } from "../kernel/index.ts";
import type { Conflicts } from "./conflicts.ts";
import type { Disk } from "./disk.ts";
import type { Following, OwnEdit } from "./following.ts";
import type { Making } from "./making.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { MountedFiles } from "./mounted-files.ts";
import type { Records } from "./records.ts";
import { absent, displaced, isThere, undecided } from "./refusals.ts";
import type { Saving } from "./saving.ts";
import type { Syncing } from "./syncing.ts";
import { restless } from "./writing.ts";

export interface GoingPorts {
  readonly kernel: Kernel;
  /** Of the mount. */
  readonly name: string;
  readonly disk: Disk;
  readonly files: MountedFiles;
  readonly conflicts: Conflicts;
  readonly records: Records;
  readonly syncing: Syncing;
  readonly saving: Saving;
  readonly following: Following;
  readonly making: Making;
  /** Whether files are written only when somebody says so. */
  readonly manual: boolean;
}

/** The Edit that something is, and the block's version with it. */
export interface Gone {
  readonly edit: string;
  readonly version: number;
}

/** Whole files that somebody deletes or moves, and takes back again: each is an Edit that changes no text. */
export class Going {
  readonly #ports: GoingPorts;

  constructor(ports: GoingPorts) {
    this.#ports = ports;
  }

  /** Deletes what the block says and nothing else; the block stays. */
  async delete(invocation: Invocation, file: MountedFile, flip?: FileFlip): Promise<Gone> {
    const { kernel, disk, files, conflicts, records, syncing, saving } = this.#ports;
    const gone = await files.queue.run([file.block], async () => {
      const edit = await this.#edit("deletes", flip);
      await syncing.catchUp(file);
      await saving.saveUnlessManual(file);
      if (file.synced === undefined) throw absent(this.#ports, file.path, file);
      if (file.waits) throw undecided(file, conflicts);
      const { base } = file.synced;
      const isSaved = !this.#ports.manual && "version" in base;
      const version = isSaved ? base.version : await kernel.version(file.block);
      if (!(await disk.remove(file.path, file.synced.content))) throw restless(file.path);
      // What somebody wrote meanwhile was to be in a file that is gone, as when another program takes one away.
      if ((await kernel.version(file.block)) === version) records.leave(file);
      else await syncing.gone(file);
      return this.#ports.following.mark(invocation, file, edit);
    });
    saving.nothingWaits(file);
    return gone;
  }

  /** Makes a file again that somebody deleted, as its block says; where files are saved by hand, when it is saved. */
  async bringBack(invocation: Invocation, file: MountedFile, flip: FileFlip): Promise<Gone> {
    const { disk, files, records, saving } = this.#ports;
    const back = await files.arriving(file.path, file, async () => {
      const edit = await this.#edit("deletes", flip);
      if (!files.hasPath(file)) throw displaced(file, files.at(file.path));
      if (!file.isAway || disk.kindAt(file.path) !== "absent") throw isThere(file.path);
      const marked = await this.#ports.following.mark(invocation, file, edit);
      records.want(file);
      return marked;
    });
    await saving.saveAll([file.block]);
    return back;
  }

  /** Its block goes with it. Never over another file. */
  async move(
    invocation: Invocation,
    file: MountedFile,
    { from, to, flip }: { readonly from: string; readonly to: string; readonly flip?: FileFlip },
  ): Promise<Gone> {
    const { disk, files, syncing, saving, following, making } = this.#ports;
    return files.arriving(to, file, async () => {
      const edit = await this.#edit("moves", flip);
      if (file.path !== from) throw movedOn(file, from);
      await syncing.catchUp(file);
      await saving.saveUnlessManual(file);
      if (file.synced === undefined) throw absent(this.#ports, from, file);
      if (!making.isFree(to)) throw isThere(to);
      await disk.move(from, to);
      return following.label(invocation, file, to, edit);
    });
  }

  /** A new one, or one that takes another back: two who want the same do so one after the other. */
  async #edit(kind: FileFlip["kind"], flip: FileFlip | undefined): Promise<OwnEdit> {
    const { kernel } = this.#ports;
    if (flip === undefined) return { edit: await kernel.newFileEdit(kind), undo: { kind: "text" } };
    const { flips, active, edit } = flip;
    if ((await kernel.isActive(flips)) !== active)
      return { edit, undo: { kind: "flip", edit: flips, active } };
    throw new KumikoError(
      "nothing_to_undo",
      `Nothing to ${active ? "redo" : "undo"}: Edit ${flips} is ${active ? "not undone" : "already undone"}.`,
      { edit: flips },
    );
  }
}

function movedOn({ path, block }: MountedFile, from: string): KumikoError {
  return new KumikoError(
    "conflict",
    `${from} is ${path} by now: file_move takes it to where you want it.`,
    { path: from, now: path, block },
  );
}
