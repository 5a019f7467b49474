import { lstatSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Clock, KumikoError, type Timers } from "../base/index.ts";
import { mayComeBack } from "./absence.ts";
import type { Folder, Place } from "./contained.ts";
import type { Content } from "./content.ts";
import { isSystemError } from "./disk-errors.ts";
import {
  checkMakes,
  type FileIdentity,
  type FileStat,
  move,
  readHead,
  readWhole,
  remove,
  save,
  settleFolder,
  stat,
} from "./disk-file.ts";
import { REST, restOf, sameIdentity } from "./file-stat.ts";
import { isGitAtWork } from "./git-repository.ts";
import { isBeingWritten } from "./open-elsewhere.ts";
import { type Keeping, stage, type StagedFile } from "./replacing.ts";
import { isTemporaryName } from "./temporary-name.ts";
import type { WholeFile } from "./whole-file.ts";

/** How often, and after how many milliseconds, a file is read again that is just being written. */
const PATIENCE = 20;
const PAUSE = 10;
/** How often a file is looked at that does not come to rest: then it is taken as it is. */
const LOOKS = 20;
/** What the gate of paths and handles says of a place in which there is something else than a file. */
const NO_FILE = ["disk_moved", "outside", "invalid_argument"];
const NO_TARGET = [...NO_FILE, "file_unreadable"];

export interface DiskPorts {
  readonly timers: Timers;
  readonly clock: Clock;
  /** A folder's entry is on the disk, or why it may not be: what was saved is in place, but a power cut may undo it. */
  readonly onSettled: (path: string, error?: unknown) => void;
}

/** The files of one folder by their paths, with what happens to them told as values. */
export class Disk {
  readonly #folder: Folder;
  readonly #timers: Timers;
  readonly #clock: Clock;
  readonly #onSettled: DiskPorts["onSettled"];
  /** Folders in which something was saved, with a path in each. */
  #unsettled = new Map<string, string>();
  readonly #settling = new Set<Promise<void>>();

  constructor(folder: Folder, { timers, clock, onSettled }: DiskPorts) {
    this.#folder = folder;
    this.#timers = timers;
    this.#clock = clock;
    this.#onSettled = onSettled;
  }

  /** The folder's real path. */
  get root(): string {
    return this.#folder.path;
  }

  /** What somebody means, as the path by which a file is known here; `seen` when there is one. */
  resolve(given: string): { readonly path: string; readonly seen?: FileStat | undefined } {
    return this.#folder.resolve(given);
  }

  /** What a link leads to; undefined when that is nothing, outside, in a circle, or cannot be looked at. */
  target(path: string): Place | undefined {
    try {
      const place = this.#folder.resolve(path);
      return place.kind === "absent" ? undefined : place;
    } catch (error) {
      if (error instanceof KumikoError && NO_TARGET.includes(error.code)) return undefined;
      throw error;
    }
  }

  /** The names of files where this path is; none when there is no such folder, or it cannot be read. */
  namesBeside(path: string): string[] {
    try {
      using spot = this.#folder.spot(path);
      return readdirSync(spot.beside("."), { withFileTypes: true }).flatMap((entry) =>
        entry.isFile() && !isTemporaryName(entry.name) ? [entry.name] : [],
      );
    } catch (error) {
      if (error instanceof KumikoError || isSystemError(error)) return [];
      throw error;
    }
  }

  /** What is there, be it a file or not. */
  kindAt(path: string): Place["kind"] {
    return this.#folder.resolve(path, { follow: false }).kind;
  }

  /** The path of the link that somebody means; undefined when it is none, also below a linked folder. */
  linkAt(given: string): string | undefined {
    const { kind, path } = this.#folder.resolve(given, { follow: false });
    return kind === "link" ? path : undefined;
  }

  /** Throws why no file can be made there, as far as that shows beforehand. */
  checkMakes(path: string): void {
    checkMakes(this.#place(path));
  }

  /** Undefined when there is no such file, also when a folder or a link is in its place. */
  identity(path: string): FileStat | undefined {
    try {
      return stat(this.#place(path));
    } catch (error) {
      if (error instanceof KumikoError && NO_FILE.includes(error.code)) return undefined;
      throw error;
    }
  }

  /** The same; `unseen` when it may be there and cannot be looked at. */
  look(path: string): FileIdentity | "unseen" | undefined {
    try {
      return this.identity(path);
    } catch (error) {
      if (error instanceof KumikoError) return "unseen";
      throw error;
    }
  }

  /**
   * Its identity once nobody is writing it: whoever took half of a file for all of it would save over the other half.
   * What is known of it needs no waiting, nor one that is said to have been gone for a while. An error when it may be there
   * and cannot be looked at.
   */
  async atRest(
    path: string,
    known?: FileIdentity,
    { isSaidGone = false } = {},
  ): Promise<FileStat | KumikoError | undefined> {
    try {
      for (let waited = 0; ; waited += PAUSE) {
        const found = await this.#atRest(path, known);
        if (found !== undefined || isSaidGone) return found;
        const now = this.#clock.now();
        if (!mayComeBack(this.root, path, { isKnown: known !== undefined, waited, now }))
          return undefined;
        await this.#pause();
      }
    } catch (error) {
      // A folder that cannot be entered, or a root that is gone.
      if (error instanceof KumikoError) return error;
      throw error;
    }
  }

  async #atRest(path: string, known?: FileIdentity): Promise<FileStat | undefined> {
    let found = this.identity(path);
    for (let look = 1; found !== undefined && look < LOOKS; look++) {
      if (known !== undefined && sameIdentity(found, known)) return found;
      const rest = restOf(found, known);
      const age = this.#ageOf(found);
      if (age >= rest && !(await this.#isUnfinished(path, found, known))) return found;
      await this.#pause(age >= rest ? REST : Math.min(rest, rest - age));
      const again = this.identity(path);
      // Written by a clock that is ahead of ours.
      if (age < 0 && again !== undefined && sameIdentity(found, again)) return again;
      found = again;
    }
    return found;
  }

  /** Git writes down what it wrote when it is done: until then its files look like those of any other program. */
  async #isUnfinished(
    path: string,
    found: FileStat,
    known: FileIdentity | undefined,
  ): Promise<boolean> {
    const folder = join(this.root, dirname(path));
    if (known !== undefined && isGitAtWork(folder, this.#clock.now())) return true;
    return isBeingWritten(found, known, this.#ageOf(found));
  }

  /** Milliseconds since it was written. */
  #ageOf({ nanoseconds }: FileIdentity): number {
    return this.#clock.now() - Number(nanoseconds / 1_000_000n);
  }

  /** When a file was made, in nanoseconds; 0 when there is none, or the file system does not know. */
  born(path: string): bigint {
    try {
      using spot = this.#folder.spot(path);
      return lstatSync(spot.target, { bigint: true, throwIfNoEntry: false })?.birthtimeNs ?? 0n;
    } catch (error) {
      if (error instanceof KumikoError || isSystemError(error)) return 0n;
      throw error;
    }
  }

  /** Undefined when there is none; an error when it is there and cannot be read. */
  async read(path: string, limit: number): Promise<WholeFile | KumikoError | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await readWhole(this.#place(path), limit);
      } catch (error) {
        if (!(error instanceof KumikoError)) throw error;
        if (error.code !== "being_written" || attempt === PATIENCE) return error;
        await this.#pause();
      }
    }
  }

  /** Its size and its first bytes; undefined when there is no such file, an error when it cannot be read. */
  begins(
    path: string,
    length: number,
  ): { readonly size: number; readonly bytes: Uint8Array } | KumikoError | undefined {
    try {
      return readHead(this.#place(path), length);
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      return NO_FILE.includes(error.code) ? undefined : error;
    }
  }

  /** Makes ready what may be saved soon; undefined when that cannot be: whoever saves it then is told why. */
  stage(path: string, pieces: readonly Uint8Array[], seen?: FileStat): StagedFile | undefined {
    try {
      return stage(this.#place(path), pieces, seen);
    } catch (error) {
      if (error instanceof KumikoError || isSystemError(error)) return undefined;
      throw error;
    }
  }

  /** Writes over what is expected to be there, or where nothing is; `moved` when something else is there. */
  async save(
    path: string,
    bytes: Uint8Array,
    expected: Content | "absent",
    {
      staged,
      keeping,
      mode,
    }: {
      staged?: StagedFile | undefined;
      keeping?: Keeping | undefined;
      /** Of a file that is made. */
      mode?: number | undefined;
    } = {},
  ): Promise<FileStat | "moved"> {
    try {
      const isNew = expected === "absent";
      const how = { expected, staged, keeping, mode, settle: isNew };
      const saved = await save(this.#place(path), bytes, how);
      if (isNew) this.#settlingOf(path, saved.settled);
      else this.#unsettled.set(dirname(path), path);
      return saved.stat;
    } catch (error) {
      if (isMoved(error)) return "moved";
      throw error;
    }
  }

  /** False when something else than that is there, or nothing. */
  async remove(path: string, expected: Content): Promise<boolean> {
    try {
      const removed = await remove(this.#place(path), { expected });
      await this.#settled(path, removed.settled);
      return true;
    } catch (error) {
      if (isMoved(error)) return false;
      throw error;
    }
  }

  /** Refuses to go over something that is there. */
  async move(from: string, to: string): Promise<void> {
    const place: Place = { folder: this.#folder, path: to, kind: "absent" };
    await this.#settled(to, move(this.#place(from), place).settled);
  }

  /**
   * Resolves when what was saved is in its folders on the disk as well, or it was told why not. Nobody who saves waits for
   * it: the journal has what was saved, and an old file that a power cut brings back is saved over again, as long as it is
   * not written down that the new one was there. One sync is for all saves of a moment.
   */
  async settle(): Promise<void> {
    const unsettled = this.#unsettled;
    this.#unsettled = new Map();
    for (const path of unsettled.values()) this.#settlingOf(path, settleFolder(this.#place(path)));
    await Promise.all(this.#settling);
  }

  /** The next to settle waits for this file's folder as well, and for those above: they may have been made with it. */
  unsettled(path: string): void {
    for (let each = path; dirname(each) !== each; each = dirname(each))
      this.#unsettled.set(dirname(each), each);
  }

  #settlingOf(path: string, settled: Promise<void>): void {
    const settling = this.#settled(path, settled);
    this.#settling.add(settling);
    void settling.finally(() => this.#settling.delete(settling));
  }

  /** It has happened, so whoever asked for it is not refused. */
  async #settled(path: string, settled: Promise<void>): Promise<void> {
    try {
      await settled;
      this.#onSettled(path);
    } catch (error) {
      this.#onSettled(path, error);
    }
  }

  #place(path: string): Place {
    return { folder: this.#folder, path, kind: "file" };
  }

  #pause(milliseconds = PAUSE): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#timers.after(milliseconds, resolve);
    return promise;
  }
}

const MOVED = ["disk_moved", "file_absent", "being_written", "already_exists"];

function isMoved(error: unknown): boolean {
  return error instanceof KumikoError && MOVED.includes(error.code);
}
