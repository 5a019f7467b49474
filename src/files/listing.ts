import type { Dirent } from "node:fs";
import { join } from "node:path";
import type { Clock, Glob } from "../base/index.ts";
import { type Ignored, nameOf, parentOf } from "./ignored.ts";
import { below } from "./known.ts";
import { errorCodeOf, type Look, lookAt } from "./look.ts";
import { listEntries, unreadableRoot } from "./scan.ts";
import { inSlices } from "./slices.ts";

/** A name may come to a folder without moving its time when both happen within one tick of the system. */
const TICK = 100_000_000n;
/** So many folders that cannot be looked into are told of. */
const UNLISTED = 100;
/** So many names of folders that were listed are remembered. */
const REMEMBERED = 200_000;

export interface ListingOptions {
  readonly root: string;
  readonly ignored: Ignored;
  /** Wall time: it is compared with the times of folders. */
  readonly clock: Clock;
}

export interface Wanted {
  /** Behind this path. */
  readonly after: string;
  readonly glob?: Glob | undefined;
  /** Also what rules leave out. */
  readonly ignored: boolean;
}

interface FoundFile {
  readonly path: string;
  readonly size: number;
  /** When it was last changed. */
  readonly nanoseconds: bigint;
  readonly isLink: boolean;
}

/** What is there, and cannot be looked into. */
export interface Unlisted {
  readonly path: string;
  /** What the system says, such as `EACCES`. */
  readonly reason: string;
}

interface Page {
  readonly files: FoundFile[];
  readonly more: boolean;
  readonly unlisted: Unlisted[];
}

interface Walk extends Wanted {
  /** The only folder in which there can be something. */
  readonly only: string;
  /** What the system said of each path that it refused. */
  readonly refused: Map<string, string>;
}

interface FolderNames {
  readonly inode: bigint;
  readonly nanoseconds: bigint;
  /** In order; those of folders end in `/`. */
  readonly names: readonly string[];
}

/**
 * The files of a folder in the order of their paths, from any path on: what is before it is not looked at, nor what
 * is behind the last that is taken. Nothing is believed that the disk does not say: a folder's names are remembered as
 * long as its time stands.
 */
export class Listing {
  readonly #options: ListingOptions;
  readonly #folders = new Map<string, FolderNames>();
  #remembered = 0;

  constructor(options: ListingOptions) {
    this.#options = options;
  }

  async page(wanted: Wanted, limit: number): Promise<Page> {
    const refused = new Map<string, string>();
    const walk = { ...wanted, only: literalFolder(wanted.glob?.pattern), refused };
    const files = await inSlices(this.#take(walk, limit + 1));
    const unlisted = [...refused].map(([path, reason]) => ({ path, reason }));
    return { files: files.slice(0, limit), more: files.length > limit, unlisted };
  }

  *#take(walk: Walk, count: number): Generator<undefined, FoundFile[]> {
    const taken: FoundFile[] = [];
    for (const each of this.#below("", walk.after, walk)) {
      if (each !== undefined) taken.push(each);
      if (taken.length === count) break;
      yield;
    }
    return taken;
  }

  /** `after` is from the folder on. Gives undefined where somebody else may have a turn. */
  *#below(folder: string, after: string, walk: Walk): Generator<FoundFile | undefined> {
    const names = this.#names(folder, walk);
    for (let at = firstBehind(names, after); at < names.length; at++) {
      yield undefined;
      const name = names[at]!;
      const isFolder = name.endsWith("/");
      const path = below(folder, isFolder ? name.slice(0, -1) : name);
      if (this.#isLeftOut(path, isFolder, walk)) continue;
      if (isFolder) {
        const rest = after.startsWith(name) ? after.slice(name.length) : "";
        if (leadsTo(path, walk.only)) yield* this.#below(path, rest, walk);
      } else if (walk.glob?.matches(path) !== false) {
        const look = this.#look(path, walk);
        if (look === undefined) continue;
        const { size, nanoseconds, kind } = look;
        yield { path, size, nanoseconds, isLink: kind === "link" };
      }
    }
  }

  #isLeftOut(path: string, isFolder: boolean, { ignored: all }: Wanted): boolean {
    const { ignored } = this.#options;
    // What git keeps for itself is nobody's file, however much is asked for.
    if (ignored.isOwn(path) || nameOf(path) === ".git") return true;
    return !all && ignored.isIgnored(path, isFolder);
  }

  /** Undefined when it went meanwhile, or cannot be looked at. */
  #look(path: string, walk: Walk): Look | undefined {
    try {
      return lookAt(join(this.#options.root, path));
    } catch (error) {
      // That is so of all that is in a folder which may be read and not entered: it is told of the folder.
      this.#refused(errorCodeOf(error) === "EACCES" ? parentOf(path) : path, error, walk);
      return undefined;
    }
  }

  /** A folder that went meanwhile is no trouble. */
  #refused(path: string, error: unknown, { refused }: Walk): void {
    const code = errorCodeOf(error);
    if (code === "") throw error;
    if (code !== "ENOENT" && refused.size < UNLISTED) refused.set(path === "" ? "." : path, code);
  }

  #names(folder: string, walk: Walk): readonly string[] {
    const { root, clock } = this.#options;
    try {
      const look = lookAt(join(root, folder));
      const known = this.#folders.get(folder);
      if (known?.inode === look?.inode && known?.nanoseconds === look?.nanoseconds && known)
        return known.names;
      const names = listEntries(root, folder, () => undefined).flatMap(named);
      names.sort();
      const now = BigInt(Math.floor(clock.now())) * 1_000_000n;
      if (look !== undefined && now - look.nanoseconds > TICK)
        this.#remember(folder, { inode: look.inode, nanoseconds: look.nanoseconds, names });
      return names;
    } catch (error) {
      // A root that is not there is no empty folder.
      if (folder === "") throw unreadableRoot(root, error);
      this.#refused(folder, error, walk);
      return [];
    }
  }

  /** Those that were listed longest ago are forgotten first. */
  #remember(folder: string, listed: FolderNames): void {
    this.#forget(folder);
    this.#folders.set(folder, listed);
    this.#remembered += listed.names.length + 1;
    for (const oldest of this.#folders.keys()) {
      if (this.#remembered <= REMEMBERED) return;
      this.#forget(oldest);
    }
  }

  #forget(folder: string): void {
    const known = this.#folders.get(folder);
    if (known === undefined) return;
    this.#remembered -= known.names.length + 1;
    this.#folders.delete(folder);
  }
}

/** So that the order of names is that of paths: `a-b`, then what is in `a`, then `a0`. */
function named(entry: Dirent): string[] {
  if (entry.isDirectory()) return [`${entry.name}/`];
  return entry.isFile() || entry.isSymbolicLink() ? [entry.name] : [];
}

/** The first name that is behind a path, or the folder that the path leads into. */
function firstBehind(names: readonly string[], after: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (names[middle]! <= after) low = middle + 1;
    else high = middle;
  }
  const before = names[low - 1];
  return before?.endsWith("/") === true && after.startsWith(before) ? low - 1 : low;
}

/** The folder in which everything is that a pattern can match, as far as it is spelled plainly; "" is all. */
function literalFolder(pattern = ""): string {
  // Without a `/` inside, a pattern matches at any depth.
  if (!pattern.replace(/\/$/, "").includes("/")) return "";
  const names = pattern.replace(/^\//, "").replace(/\/$/, "").split("/");
  const other = names.findIndex((name) => !/^[\w .@=,~%-]+$/.test(name));
  return names.slice(0, other === -1 ? names.length : other).join("/");
}

/** Whether a folder is on the way to another, or below it. */
function leadsTo(folder: string, other: string): boolean {
  return other === "" || `${other}/`.startsWith(`${folder}/`) || folder.startsWith(`${other}/`);
}
