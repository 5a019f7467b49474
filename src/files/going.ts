import { KumikoError } from "../base/index.ts";
import type { EditTarget } from "../blocks/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
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

/** Why what was done on disk is not in the journal. */
class Unmarked {
  readonly why: unknown;

  constructor(why: unknown) {
    this.why = why;
  }
}

/** As part of what it happens; an Edit of its own otherwise. */
interface Part {
  readonly how?: OwnEdit | undefined;
}

/** Whole files that somebody deletes or moves, and takes back again: that changes no text. */
export class Going {
  readonly #ports: GoingPorts;

  constructor(ports: GoingPorts) {
    this.#ports = ports;
  }

  /** Throws why a file cannot go now, as far as can be seen beforehand; one with text that is nowhere else does not. */
  checkGoes(file: MountedFile): void {
    if (file.unsaved !== undefined) throw file.unsaved;
    if (file.waits) throw undecided(file, this.#ports.conflicts);
  }

  /** Throws why a file cannot come back now. */
  checkComesBack(file: MountedFile): void {
    const { disk, files } = this.#ports;
    if (!files.hasPath(file)) throw displaced(file, files.at(file.path));
    if (!file.isAway || disk.kindAt(file.path) !== "absent") throw isThere(file.path);
  }

  /** Throws why a file cannot be moved now. */
  checkMoves(
    file: MountedFile,
    { from, to }: { readonly from: string; readonly to: string },
  ): void {
    if (file.path !== from) throw movedOn(file, from);
    if (!this.#ports.making.isFree(to)) throw isThere(to);
  }

  /** Deletes what the block says and nothing else; the block stays. `verify` throws when it is not to be deleted then. */
  async delete(
    invocation: Invocation,
    file: MountedFile,
    {
      how,
      from = file.path,
      verify,
    }: Part & { readonly from?: string; readonly verify?: (target: EditTarget) => void } = {},
  ): Promise<Gone> {
    const { kernel, disk, files, conflicts, records, syncing, saving } = this.#ports;
    const gone = await files.queue.run([file.block], async () => {
      const own = how ?? (await this.#own("deletes"));
      if (file.path !== from) throw movedOn(file, from);
      await syncing.catchUp(file);
      // To save one whose making was undone is to remove it, which waits for programs that have it open.
      const isUnmade = await kernel.isUnmade(file.block);
      if (!isUnmade) await saving.saveUnlessManual(file);
      if (file.synced === undefined) throw absent(this.#ports, file.path, file);
      if (file.waits) throw undecided(file, conflicts);
      const { base } = file.synced;
      const isSaved = !this.#ports.manual && !isUnmade && "version" in base;
      const version = isSaved ? base.version : await kernel.version(file.block);
      if (verify !== undefined) await kernel.tryOut(file.block, verify);
      if (!(await disk.remove(file.path, file.synced.content))) throw restless(file.path);
      // What somebody wrote meanwhile was to be in a file that is gone, as when another program takes one away.
      if ((await kernel.version(file.block)) === version) records.leave(file);
      else await syncing.gone(file);
      return this.#marked(invocation, file, own);
    });
    if (gone instanceof Unmarked) {
      await saving.saveAll([file.block]);
      throw gone.why;
    }
    saving.nothingWaits(file);
    return gone;
  }

  /** Where the journal cannot say who took it, the file is to be there again. */
  async #marked(invocation: Invocation, file: MountedFile, own: OwnEdit): Promise<Gone | Unmarked> {
    try {
      return await this.#ports.following.mark(invocation, file, own);
    } catch (error) {
      this.#ports.records.want(file);
      return new Unmarked(error);
    }
  }

  /** Makes a file again that somebody deleted, as its block says; where files are saved by hand, when it is saved. */
  async bringBack(invocation: Invocation, file: MountedFile, how: OwnEdit): Promise<Gone> {
    const { files, records, saving } = this.#ports;
    const back = await files.arriving(file.path, file, async () => {
      this.checkComesBack(file);
      const marked = await this.#ports.following.mark(invocation, file, how);
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
    { from, to, how }: Part & { readonly from: string; readonly to: string },
  ): Promise<Gone> {
    const { disk, files, syncing, saving, following, making } = this.#ports;
    return files.arriving(to, file, async () => {
      const own = how ?? (await this.#own("moves"));
      if (file.path !== from) throw movedOn(file, from);
      await syncing.catchUp(file);
      await saving.saveUnlessManual(file);
      if (file.synced === undefined) throw absent(this.#ports, from, file);
      if (!making.isFree(to)) throw isThere(to);
      await disk.move(from, to);
      try {
        return await following.label(invocation, file, to, own);
      } catch (error) {
        if (file.path === from) await this.#moveBack({ from, to }, error);
        throw error;
      }
    });
  }

  /** Where the journal cannot say who moved it, the file is to be where it was. */
  async #moveBack(
    { from, to }: { readonly from: string; readonly to: string },
    why: unknown,
  ): Promise<void> {
    try {
      await this.#ports.disk.move(to, from);
    } catch (error) {
      throw new KumikoError(
        "done_in_part",
        `${from} was moved to ${to}, which could neither be written down nor taken back: move it back yourself.`,
        { path: from, now: to },
        { cause: new AggregateError([why, error]) },
      );
    }
  }

  async #own(kind: "moves" | "deletes"): Promise<OwnEdit> {
    return { edit: await this.#ports.kernel.newFileEdit(kind), undo: { kind: "text" } };
  }
}

function movedOn({ path, block }: MountedFile, from: string): KumikoError {
  return new KumikoError(
    "conflict",
    `${from} is ${path} by now: file_move takes it to where you want it.`,
    { path: from, now: path, block },
  );
}
