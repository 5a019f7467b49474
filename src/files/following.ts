import type { Clock } from "../base/index.ts";
import type { Invocation, Kernel, StateChangeUndo } from "../kernel/index.ts";
import type { Disk } from "./disk.ts";
import type { FoundText } from "./found-text.ts";
import type { Base, Ledger, Synced } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { MountedFiles } from "./mounted-files.ts";
import { type Came, findRenames } from "./renames.ts";
import type { Syncing } from "./syncing.ts";
import { TakenEpoch } from "./taken-epoch.ts";

export interface FollowingPorts {
  readonly kernel: Kernel;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly files: MountedFiles;
  readonly ledger: Ledger;
  readonly syncing: Syncing;
}

/** Paths at which there is no file any more, and files that are nobody's: some of them may be the same. */
export interface Unmatched {
  /** As far as anybody was told. */
  readonly gone: readonly string[];
  readonly came: readonly Came[];
  /** Whether it is known that this one was not there before. */
  readonly isNew: (path: string) => boolean;
}

/** Somebody's own Edit, or the undoing of one. */
export interface OwnEdit {
  readonly edit: string;
  readonly undo: StateChangeUndo;
}

/** As part of what is known to have happened on disk, or as somebody's own. */
type Happening = TakenEpoch | OwnEdit;

interface Marked {
  readonly version: number;
  readonly edit: string;
}

/** Lets blocks go with their files to other names. */
export class Following {
  readonly #ports: FollowingPorts;

  constructor(ports: FollowingPorts) {
    this.#ports = ports;
  }

  /** Finds out which files came by another name. */
  async follow(
    { gone, came, isNew }: Unmatched,
    cause: Invocation,
    epoch: TakenEpoch,
  ): Promise<void> {
    const { disk, files, syncing } = this.#ports;
    const went = new Map([...epoch.went].filter(([file]) => files.hasPath(file) && file.isAway));
    for (const [file, synced] of this.#lost(gone, came)) went.set(file, synced);
    if (went.size === 0) return;
    const renames = await findRenames(went, came, {
      born: (path) => disk.born(path),
      isNew,
      content: async (path) => {
        const found = await syncing.read(path);
        return found.kind === "text" ? found.content : undefined;
      },
    });
    for (const { from, to } of renames) await this.moved(from.path, to, cause, epoch);
  }

  /** The file that this was under another name, if nobody has noticed yet that it went, or only just has. */
  async formerly(path: string, { identity, content }: FoundText): Promise<MountedFile | undefined> {
    const came = [{ path, ...identity }];
    const [rename] = await findRenames(this.#lost([], came), came, {
      born: () => this.#ports.disk.born(path),
      // The same bytes alone may be those of a copy that was always there.
      isNew: () => false,
      content: async () => content,
    });
    return rename?.from;
  }

  /**
   * Files that are not at these paths any more, and those whose numbers came by other names: what came and went between
   * two looks, nobody was told of.
   */
  #lost(gone: readonly string[], came: readonly Came[]): Map<MountedFile, Synced> {
    const { disk, clock, files } = this.#ports;
    const now = clock.now();
    const paths = new Set(gone);
    const inodes = new Set(came.map(({ inode }) => inode));
    const lost = new Map<MountedFile, Synced>();
    for (const file of files.all()) {
      const { path, damaged } = file;
      const known = file.lastKnown(now);
      if (known === undefined || damaged !== undefined || !files.hasPath(file)) continue;
      if (!paths.has(path) && !inodes.has(known.identity.inode)) continue;
      if (disk.look(path) === undefined) lost.set(file, known);
    }
    return lost;
  }

  async moved(
    from: string,
    to: string,
    cause: Invocation,
    epoch = new TakenEpoch(this.#ports.kernel),
  ): Promise<void> {
    const { files } = this.#ports;
    const file = files.at(from);
    if (file === undefined) return;
    // Whoever loads the new path meanwhile waits, or would make a second block of it.
    await files.arriving(to, file, async () => {
      if (files.at(from) === file && files.isFree(to)) await this.label(cause, file, to, epoch);
    });
  }

  /** Says where a file is now. Whoever calls holds its queue and that of its new path. */
  async label(cause: Invocation, file: MountedFile, to: string, how: Happening): Promise<Marked> {
    const { files, ledger } = this.#ports;
    const before = files.at(to);
    const marked = await this.#mark(cause, file, how, { path: to });
    files.move(file, to);
    ledger.note(file.block, file.record);
    // It was there once and its file is gone: its block stays, and the path means another from now on.
    if (before !== undefined && before !== file)
      await this.#mark(cause, before, how instanceof TakenEpoch ? how : undefined, { was: to });
    return marked;
  }

  /** Says that something happened to a file that its block's state does not tell. Whoever calls holds its queue. */
  async mark(cause: Invocation, file: MountedFile, how: OwnEdit): Promise<Marked> {
    const marked = await this.#mark(cause, file, how);
    this.#ports.ledger.note(file.block, file.record);
    return marked;
  }

  /** Says in a block's state where its file is, or was. Its text is as far from its file's as before. */
  async #mark(
    cause: Invocation,
    file: MountedFile,
    how: Happening = new TakenEpoch(this.#ports.kernel),
    place?: { readonly path: string } | { readonly was: string },
  ): Promise<Marked> {
    const commit = (edit: string | undefined, undo?: StateChangeUndo): Promise<Marked> =>
      this.#ports.kernel.changeState(cause, file.block, {
        isAllowed: true,
        edit,
        undo,
        change: (state) => {
          if (place === undefined) return state;
          const { path: _path, was: _was, ...metadata } = state.metadata;
          return { ...state, metadata: { ...metadata, ...place } };
        },
        answer: (applied, made) => ({ version: applied.version, edit: made }),
      });
    const isOwn = !(how instanceof TakenEpoch);
    const marked = await (isOwn ? commit(how.edit, how.undo) : how.within(commit));
    const { version } = marked;
    const { synced, left } = file;
    if (synced !== undefined) file.synced = { ...synced, base: behind(synced.base, version) };
    if (left !== undefined) file.left = behind(left, version);
    if (!file.ahead) file.writer = "person";
    return marked;
  }
}

/** The same after a version that changed no text. */
function behind(base: Base, version: number): Base {
  return "version" in base && base.version === version - 1 ? { version } : base;
}
