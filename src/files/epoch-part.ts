import { parentOf } from "./ignored.ts";
import type { Known } from "./known.ts";
import { isSame, type Look, type Stamp } from "./look.ts";
import type { Quiet } from "./quiet.ts";

/** What happened on disk, each path at rest: an epoch, or a part of one. Paths are relative to the root. */
export interface EpochPart {
  /** Parts of one number are one epoch, which took too long to be told at once. */
  readonly epoch: number;
  /** Files and links that came or are not as they were. */
  readonly changed: readonly string[];
  readonly gone: readonly string[];
  /** Folders that came or went. */
  readonly folders: readonly string[];
  /** The same file by another name; neither name is in `changed` or `gone`. Its content may have changed as well. */
  readonly moved: readonly { readonly from: string; readonly to: string }[];
  /** How the files are that changed or were moved; links are not among them. */
  readonly there: readonly (readonly [path: string, stamp: Stamp])[];
}

/** Every file that it tells of, by all its names. */
export function pathsOf({ changed, gone, moved }: EpochPart): string[] {
  return [...changed, ...gone, ...moved.flatMap(({ from, to }) => [from, to])];
}

/** The same where some are no files: what was moved to their names is gone. */
export function leavingOut(part: EpochPart, isLeftOut: (path: string) => boolean): EpochPart {
  const lost = part.moved.filter(({ to }) => isLeftOut(to));
  return {
    ...part,
    changed: part.changed.filter((path) => !isLeftOut(path)),
    gone: [...part.gone, ...lost.map(({ from }) => from)],
    moved: part.moved.filter(({ to }) => !isLeftOut(to)),
    there: part.there.filter(([path]) => !isLeftOut(path)),
  };
}

/** A part in the making: what was found of paths that came to rest. */
export class Gathering {
  /** Paths at which there is nothing to tell. */
  readonly nothing: string[] = [];
  readonly #changed = new Map<string, Look>();
  readonly #gone = new Map<string, Stamp>();
  readonly #came = new Set<string>();
  readonly #went = new Set<string>();
  /** How files were known before it was finished. */
  readonly #before = new Map<string, Stamp | undefined>();

  get isEmpty(): boolean {
    return this.paths().length === 0;
  }

  holdsAll(paths: Iterable<string>): boolean {
    const held = new Set([...this.paths(), ...this.nothing]);
    for (const path of paths) if (!held.has(path)) return false;
    return true;
  }

  paths(): string[] {
    return [
      ...new Set([...this.#changed.keys(), ...this.#gone.keys(), ...this.#came, ...this.#went]),
    ];
  }

  parents(): Set<string> {
    return new Set(this.paths().map(parentOf));
  }

  add(path: string, look: Look | undefined, known: Known): void {
    const knownFile = known.file(path);
    const isFolder = look?.kind === "folder";
    const isFile = look?.kind === "file" || look?.kind === "link";
    const isKnownFolder = known.folder(path) !== undefined;
    if (isFolder) this.#came.add(path);
    if (!isFolder && isKnownFolder) {
      this.#went.add(path);
      // Whatever was in it went with it.
      for (const [file, stamp] of known.files(path)) this.#gone.set(file, stamp);
    }
    if (isFile && (knownFile === undefined || !isSame(knownFile, look)))
      this.#changed.set(path, look);
    else if (!isFile && knownFile !== undefined) this.#gone.set(path, knownFile);
    else if (!isFolder && !isKnownFolder) this.nothing.push(path);
  }

  /** One half of a move waits for the other, which is not at rest. */
  holdMoves(quiet: Quiet, known: Known): void {
    const restless = new Set<bigint>();
    for (const path of quiet.paths()) {
      if (this.#changed.has(path) || this.#gone.has(path)) continue;
      const look = quiet.looked(path);
      // A folder may have got the number of a file that went.
      if (look?.kind === "folder") continue;
      const inode = look?.inode ?? known.file(path)?.inode;
      if (inode !== undefined) restless.add(inode);
    }
    if (restless.size === 0) return;
    for (const [path, { inode }] of this.#changed) {
      if (restless.has(inode) && known.file(path) === undefined) this.#changed.delete(path);
    }
    for (const [path, { inode }] of this.#gone) {
      if (restless.has(inode) && quiet.has(path)) this.#gone.delete(path);
    }
  }

  /** Makes it known, and gives it to be told. */
  finish(epoch: number, known: Known): EpochPart {
    const moved = this.#moves(known);
    for (const path of [...this.#gone.keys(), ...this.#changed.keys()])
      this.#before.set(path, known.file(path));
    for (const path of this.#gone.keys()) known.dropFile(path);
    for (const path of this.#went) known.dropFolder(path);
    for (const [path, look] of this.#changed) known.putFile(path, look);
    const there = [...this.#changed].filter(([, { kind }]) => kind === "file");
    for (const { from, to } of moved) {
      this.#gone.delete(from);
      this.#changed.delete(to);
    }
    return {
      epoch,
      changed: [...this.#changed.keys()],
      gone: [...this.#gone.keys()],
      folders: [...this.#came, ...this.#went],
      moved,
      there,
    };
  }

  /** Makes it unknown again: the next look finds all of it. */
  takeBack(known: Known): void {
    for (const [path, stamp] of this.#before) {
      if (stamp === undefined) known.dropFile(path);
      else known.putFile(path, stamp);
    }
  }

  #moves(known: Known): { from: string; to: string }[] {
    const went = new Map<bigint, { path: string; stamp: Stamp }>();
    for (const [path, stamp] of this.#gone) went.set(stamp.inode, { path, stamp });
    const moves: { from: string; to: string }[] = [];
    for (const [to, look] of this.#changed) {
      const from = went.get(look.inode);
      if (from === undefined || known.file(to) !== undefined) continue;
      if (!hasKeptItsNumber(from.stamp, look)) continue;
      went.delete(look.inode);
      moves.push({ from: from.path, to });
    }
    return moves;
  }
}

/** The number of a file that was deleted is soon given to a new one, which is younger than what was known. */
function hasKeptItsNumber(stamp: Stamp, look: Look): boolean {
  return look.born === 0n ? stamp.nanoseconds === look.nanoseconds : look.born <= stamp.touched;
}
