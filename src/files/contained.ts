import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { KumikoError } from "../base/index.ts";
import { hasCode, isSystemError, unreadable } from "./disk-errors.ts";
import { type FileStat, statOf } from "./file-stat.ts";
import { FolderHandle, hasHandles } from "./folder-handle.ts";
import { isWithin } from "./ignored.ts";
import { findFolding, isSameFile, listedName, type NameFolding } from "./name-folding.ts";
import type { SpareFiles } from "./spare-files.ts";
import { Spot } from "./spot.ts";
import { isTemporaryName } from "./temporary-name.ts";

/** What a path means: plain data, looked up again by handles whenever it is used. */
export interface Place {
  readonly folder: Folder;
  /** From the folder, with "/" between the names, through no link; "" is the folder itself. */
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | "absent";
  /** Of a file that was just found there. */
  readonly seen?: FileStat | undefined;
}

interface Step {
  readonly name: string;
  readonly ofLink: boolean;
}

/** As many as the system follows. */
const MOST_LINKS = 40;
/** What Linux and macOS take for a path and, on every file system in use, for a name; in bytes. */
const LONGEST_PATH = 4096;
const LONGEST_NAME = 255;

/**
 * A folder that nothing asked of it leaves. It holds the folder open: that one stays meant even if another is put in its
 * place, and `check` notices.
 */
export class Folder implements Disposable {
  /** Its real path when it was opened. */
  readonly path: string;
  #folding: NameFolding;
  /** A folder in it that is Kumiko's own: nothing there is meant by any path. */
  readonly own: string | undefined;
  /** Of this folder and of those that stood in its place before: whoever is at work there may use them still. */
  readonly #owned = new DisposableStack();
  #handle: FolderHandle;
  #identity: { readonly ino: bigint; readonly dev: bigint };
  #spares: SpareFiles | undefined;

  private constructor(
    path: string,
    handle: FolderHandle,
    { own, spares }: { own: string | undefined; spares: SpareFiles | undefined },
  ) {
    this.path = path;
    this.own = own;
    this.#spares = spares;
    this.#handle = this.#owned.use(handle);
    this.#identity = statSync(handle.at("."), { bigint: true });
    this.#folding = findFolding(handle);
  }

  /**
   * The caller owns it. `home` is where Kumiko keeps what is its own, in the folder or elsewhere. `handles: false` is the
   * weaker way of systems without /proc. `spares` stay their owner's.
   */
  static open(
    path: string,
    {
      handles = hasHandles,
      home,
      spares,
    }: {
      readonly handles?: boolean;
      readonly home?: string | undefined;
      readonly spares?: SpareFiles | undefined;
    } = {},
  ): Folder {
    try {
      const real = realpathSync.native(path);
      using owned = new DisposableStack();
      const own = home === undefined ? undefined : below(real, realAsFarAsThere(home));
      if (own === "") throw isHome(real);
      const folder = new Folder(real, owned.use(FolderHandle.open(real, handles)), { own, spares });
      owned.move();
      return folder;
    } catch (error) {
      throw unreadable(error, path);
    }
  }

  get folding(): NameFolding {
    return this.#folding;
  }

  /** What may take the place of files in it; undefined where they are made beside each. */
  get spares(): SpareFiles | undefined {
    return this.#spares;
  }

  doWithoutSpares(): void {
    this.#spares = undefined;
  }

  get ignoresCase(): boolean {
    return this.folding.ignoresCase;
  }

  /** Takes what stands at its path now for the folder. Whoever calls knows that it is. */
  reopen(): void {
    try {
      using opening = new DisposableStack();
      const handle = opening.use(this.#handle.again());
      const identity = statSync(handle.at("."), { bigint: true });
      if (identity.ino === this.#identity.ino && identity.dev === this.#identity.dev) return;
      this.#folding = findFolding(handle);
      this.#identity = identity;
      opening.move();
      this.#handle = this.#owned.use(handle);
    } catch (error) {
      throw unreadable(error, this.path);
    }
  }

  /** Refuses when the folder is gone, is not mounted any more or was replaced by another. */
  check(): void {
    let reason = "another folder stands in its place";
    try {
      const now = statSync(this.path, { bigint: true });
      if (now.ino === this.#identity.ino && now.dev === this.#identity.dev) return;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      reason = error.code;
    }
    throw new KumikoError(
      "root_gone",
      `The folder ${this.path} is not there (${reason}). Nothing in it is taken for deleted; it goes on when the folder is back.`,
      { path: this.path, reason },
    );
  }

  /**
   * What a path means that somebody gave, relative to the folder or absolute. Links are followed as long as they stay
   * inside, and the answer is what they lead to; with `follow: false` a link at the end is itself the answer.
   */
  resolve(given: string, { follow = true } = {}): Place {
    checkShape(given);
    this.check();
    using walk = new Walk(this, this.#handle, given);
    return walk.to(follow);
  }

  /**
   * The folder that holds a place, opened name by name. The caller owns it. With `make`, missing folders are made;
   * `unchecked` is for who calls `check` himself before anything is put there.
   */
  spot(path: string, { make = false, unchecked = false } = {}): Spot {
    checkShape(path);
    if (this.isOwn(path)) throw ofOurs(path);
    if (!unchecked) this.check();
    return Spot.open(this.#handle, path.split("/"), make);
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }

  /** A path below the folder as the names from it on; undefined when it is not below it. */
  namesOf(absolute: string): string[] | undefined {
    const found = below(this.path, absolute);
    return found === "" ? [] : found?.split("/");
  }

  isOwn(path: string): boolean {
    return this.own !== undefined && isWithin(path, this.own);
  }
}

/** One path being looked up: the names so far, and open handles of those that are folders. */
class Walk implements Disposable {
  readonly #folder: Folder;
  readonly #root: FolderHandle;
  readonly #given: string;
  readonly #names: string[] = [];
  /** Of the first so many names; shorter when what follows is a file or absent. */
  readonly #handles: FolderHandle[] = [];
  #left: Step[];
  #leaf: "file" | "link" | "absent" | undefined;
  #seen: FileStat | undefined;
  #links = 0;

  constructor(folder: Folder, root: FolderHandle, given: string) {
    this.#folder = folder;
    this.#root = root;
    this.#given = given;
    this.#left = isAbsolute(given) ? this.#inside(given, false) : steps(given.split("/"), false);
  }

  to(follow: boolean): Place {
    for (let step = this.#left.shift(); step !== undefined; step = this.#left.shift()) {
      if (step.name === "" || step.name === ".") continue;
      if (this.#leaf === "file" || this.#leaf === "link") throw this.#notAFolder();
      if (step.name === "..") this.#up(step);
      else this.#down(step, follow || this.#left.length > 0);
    }
    // A slash at the end says that a folder is meant.
    if (/\/\.?$/.test(this.#given)) {
      if (this.#leaf === "file") throw this.#notAFolder();
      if (this.#leaf === "absent") throw noFolder(this.#given);
    }
    // Whoever could write those could have the sweep write for them.
    const path = this.#names.join("/");
    if (this.#names.some((name) => isTemporaryName(name)) || this.#folder.isOwn(path))
      throw ofOurs(this.#given);
    return {
      folder: this.#folder,
      path,
      kind: this.#leaf ?? "folder",
      seen: this.#leaf === "file" ? this.#seen : undefined,
    };
  }

  [Symbol.dispose](): void {
    for (const handle of this.#handles.splice(0)) handle[Symbol.dispose]();
  }

  #up({ ofLink }: Step): void {
    if (this.#names.length === 0) {
      if (!ofLink) throw outside(this.#given);
      // A link may leave the folder by one name and come back by another.
      const rest = this.#left.map((step) => step.name).join("/");
      this.#jump(`${dirname(this.#folder.path)}/${rest}`);
      return;
    }
    this.#names.pop();
    if (this.#handles.length > this.#names.length) this.#handles.pop()![Symbol.dispose]();
    this.#leaf = this.#names.length > this.#handles.length ? "absent" : undefined;
  }

  #down(step: Step, follow: boolean): void {
    const { name } = step;
    if (this.#leaf === "absent") {
      this.#names.push(name);
      return;
    }
    const parent = this.#handles.at(-1) ?? this.#root;
    try {
      const found = lstatSync(parent.at(name), { bigint: true, throwIfNoEntry: false });
      if (found === undefined) this.#end(name, "absent");
      else if (found.isSymbolicLink() && follow) this.#follow(parent.at(name));
      else {
        const listed = this.#listed(parent, name);
        if (found.isSymbolicLink()) this.#end(listed, "link");
        else if (found.isFile()) {
          this.#seen = statOf(found);
          this.#end(listed, "file");
        } else if (found.isDirectory()) {
          this.#handles.push(parent.open(name));
          this.#names.push(listed);
        } else throw notPlain(this.#given);
      }
    } catch (error) {
      // Swapped between the look and the opening: look again, as often as links are followed.
      if (!hasCode(error, "ENOENT", "ENOTDIR", "ELOOP", "EINVAL")) {
        throw hasCode(error, "ENAMETOOLONG")
          ? tooLong(this.#given)
          : unreadable(error, this.#given);
      }
      this.#countLink();
      this.#left.unshift(step);
    }
  }

  #end(name: string, leaf: "file" | "link" | "absent"): void {
    this.#names.push(name);
    this.#leaf = leaf;
  }

  #follow(link: string): void {
    this.#countLink();
    const target = linkTarget(link);
    if (target === undefined) throw notPlain(this.#given);
    if (isAbsolute(target)) this.#jump([target, ...this.#left.map((step) => step.name)].join("/"));
    else this.#left.unshift(...steps(target.split("/"), true));
  }

  /** Goes on at an absolute path, from the folder itself. */
  #jump(absolute: string): void {
    this.#countLink();
    this.#left = this.#inside(absolute, true);
    this.#names.length = 0;
    this[Symbol.dispose]();
    this.#leaf = undefined;
  }

  #inside(absolute: string, ofLink: boolean): Step[] {
    const names =
      this.#folder.namesOf(absolute) ?? this.#folder.namesOf(realAsFarAsThere(absolute));
    // The same answer whether or not there is something: nobody learns here what stands outside.
    if (names === undefined) throw outside(this.#given);
    return steps(names, ofLink);
  }

  #listed(parent: FolderHandle, name: string): string {
    const { ignoresCase, ignoresForm } = this.#folder.folding;
    if (!ignoresCase && !ignoresForm) return name;
    const look = (one: string) =>
      lstatSync(parent.at(one), { bigint: true, throwIfNoEntry: false });
    return listedName(name, readdirSync(parent.at(".")), (candidate) =>
      isSameFile(look(name), look(candidate)),
    );
  }

  #countLink(): void {
    this.#links += 1;
    if (this.#links <= MOST_LINKS) return;
    throw new KumikoError(
      "file_unreadable",
      `${printed(this.#given)} goes through too many links, perhaps in a circle.`,
      { path: this.#given, reason: "ELOOP" },
    );
  }

  #notAFolder(): KumikoError {
    const path = this.#names.join("/");
    return new KumikoError(
      "invalid_argument",
      `${printed(this.#given)} goes through ${printed(path)}, which is not a folder.`,
      { path: this.#given, file: path },
    );
  }
}

function steps(names: readonly string[], ofLink: boolean): Step[] {
  return names.map((name) => ({ name, ofLink }));
}

/** What can be said about a path without looking. */
function checkShape(given: string): void {
  if (given === "") throw unusable(given, "is empty");
  if (given.includes("\0")) throw unusable(given, "holds a NUL character");
  if (!given.isWellFormed()) throw unusable(given, "holds half of a surrogate pair");
  if (Buffer.byteLength(given) > LONGEST_PATH) throw tooLong(given);
  if (given.length <= LONGEST_NAME / 3) return;
  if (given.split("/").some((name) => Buffer.byteLength(name) > LONGEST_NAME)) throw tooLong(given);
}

function linkTarget(link: string): string | undefined {
  const bytes = readlinkSync(link, "buffer");
  const target = bytes.toString("utf8");
  // Otherwise a link to a name that is no UTF-8 would be taken for one to a name with U+FFFD.
  return Buffer.from(target, "utf8").equals(bytes) ? target : undefined;
}

/** The real path of what is there, and behind it the names of what is not. */
function realAsFarAsThere(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const above = dirname(path);
    if (above === path) return path;
    // Where a link leads nowhere, its name stands for itself and is looked up from the folder again.
    return join(realAsFarAsThere(above), path.slice(above.length));
  }
}

/** An absolute path as one from the folder; undefined when it is not below it. */
function below(folder: string, absolute: string): string | undefined {
  if (absolute === folder) return "";
  const prefix = folder === "/" ? "/" : `${folder}/`;
  return absolute.startsWith(prefix) ? absolute.slice(prefix.length) : undefined;
}

function isHome(path: string): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `${path} is where Kumiko keeps what is its own: mount another folder, or choose another home with --home.`,
    { path },
  );
}

function ofOurs(given: string): KumikoError {
  return unusable(given, "names a file of Kumiko's own");
}

function outside(given: string): KumikoError {
  return new KumikoError(
    "outside",
    `${printed(given)} leads out of the folder. Give a path inside it.`,
    { path: given },
  );
}

function notPlain(given: string): KumikoError {
  return new KumikoError(
    "file_unreadable",
    `${printed(given)} is neither a plain file nor a folder.`,
    { path: given, reason: "not_plain" },
  );
}

function noFolder(given: string): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `${printed(given)} names a folder, by the slash at its end, and there is none: for a file leave the slash out, or add the file's name. Folders are made with their files.`,
    { path: given },
  );
}

function tooLong(given: string): KumikoError {
  return unusable(given.length > 80 ? `${given.slice(0, 80)}…` : given, "is too long for a path");
}

function unusable(given: string, how: string): KumikoError {
  const path = given.toWellFormed();
  return new KumikoError("invalid_argument", `The path ${printed(path)} ${how}.`, { path });
}

function printed(path: string): string {
  return JSON.stringify(path);
}
