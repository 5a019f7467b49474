import { randomUUID } from "node:crypto";
import { lstat, mkdtemp, open, readdir, rename, rm, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { checkIdPart, KumikoError } from "../base/index.ts";
import type { KernelFolders, KernelInfo, Store } from "../kernel/index.ts";
import { makeFolder } from "./make-folder.ts";

export interface Environment {
  readonly [name: string]: string | undefined;
}

/** `--home`, else `$KUMIKO_HOME`, else the XDG data folder. */
export function homeFolder(
  named: string | undefined,
  environment: Environment,
  folder: string,
): string {
  if (named === "") throw new KumikoError("invalid_argument", "--home needs a folder.", {});
  const chosen = named ?? (environment["KUMIKO_HOME"] || undefined);
  if (chosen !== undefined) return resolve(folder, chosen);
  const data = environment["XDG_DATA_HOME"];
  // The XDG rules: a path that is not absolute is to be ignored.
  if (data !== undefined && isAbsolute(data)) return join(data, "kumiko");
  return join(environment["HOME"] || homedir(), ".local", "share", "kumiko");
}

/**
 * The home folder: `kernels/<id>/state.db`, `kernels/<id>/scratch/`, `archives/`. Nobody but its owner may
 * look inside: what people say to their agents is nobody else's business.
 */
export class HomeFolder implements KernelFolders {
  readonly place: string;
  /** Told to other processes that find a kernel in use. */
  readonly #command: string;
  readonly #hasCompany: () => boolean;

  /** `hasCompany`: whether others would wait while somebody's write holds this process. */
  constructor(place: string, command: string, hasCompany = () => true) {
    this.place = place;
    this.#command = command;
    this.#hasCompany = hasCompany;
  }

  /** The folder of a kernel, whether it is there or not. */
  folderOf(kernel: string): string {
    checkIdPart(kernel, "The kernel");
    return join(this.place, "kernels", kernel);
  }

  async has(kernel: string): Promise<boolean> {
    const folder = this.folderOf(kernel);
    return (await this.#readable(folder, () => stat(folder)))?.isDirectory() ?? false;
  }

  async list(): Promise<KernelInfo[]> {
    const folder = join(this.place, "kernels");
    const names = (await this.#readable(folder, () => readdir(folder))) ?? [];
    const found: KernelInfo[] = [];
    for (const kernel of names.filter((name) => KERNEL.test(name)).toSorted()) {
      const info = await this.#readable(folder, () => describeFolder(join(folder, kernel)));
      if (info !== undefined) found.push({ kernel, ...info });
    }
    return found;
  }

  async create(kernel: string): Promise<boolean> {
    const target = this.folderOf(kernel);
    try {
      return await this.#make(target);
    } catch (error) {
      throw unusable(error, this.place);
    }
  }

  /** A kernel is made with its database: one that lost it is damaged, never a new and empty one. */
  async openStore(kernel: string): Promise<Store> {
    const file = await this.#database(kernel);
    const { isReadOnly, openReadOnlyStore } = await import("../store/index.ts");
    if (!(await isReadOnly(file))) return this.#open(file);
    return openReadOnlyStore(file, { command: this.#command });
  }

  /** Whether this process cannot write to a kernel: a backup, a snapshot, somebody else's. */
  async isReadOnly(kernel: string): Promise<boolean> {
    const file = join(this.folderOf(kernel), "state.db");
    const found = await this.#readable(file, () => stat(file));
    if (found === undefined) return false;
    const { isReadOnly } = await import("../store/index.ts");
    return isReadOnly(file);
  }

  /**
   * Looks at a copy of a kernel's store, in whatever state it is: nothing of the kernel is changed, not even by
   * opening it. The copy is gone when `look` is done.
   */
  async examine<Result>(kernel: string, look: (store: Store) => Promise<Result>): Promise<Result> {
    const file = await this.#database(kernel);
    await using copied = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "kumiko-copy-"));
    copied.defer(() => rm(folder, { recursive: true, force: true }));
    const copy = join(folder, "state.db");
    try {
      const { copyDatabase, openCopy } = await import("../store/index.ts");
      await copyDatabase(file, copy, this.#command);
      return await look(copied.use(await openCopy(copy, { command: this.#command })));
    } catch (error) {
      throw unreadable(error, file, copy);
    }
  }

  async #database(kernel: string): Promise<string> {
    const file = join(this.folderOf(kernel), "state.db");
    const size = (await this.#readable(file, () => stat(file)))?.size;
    if (size === undefined || size === 0) throw lostDatabase(kernel, file, size);
    return file;
  }

  async #make(target: string): Promise<boolean> {
    const kernels = join(this.place, "kernels");
    for (const folder of [kernels, join(this.place, "archives")]) await makeFolder(folder, 0o700);
    const temporary = join(kernels, `.new-${randomUUID()}`);
    try {
      await makeFolder(join(temporary, "scratch"), 0o700);
      await (await this.#open(join(temporary, "state.db")))[Symbol.asyncDispose]();
      // Onto a folder with something in it this fails: whoever was first stays.
      await rename(temporary, target);
      await using handle = await open(kernels, "r");
      await handle.sync();
      return true;
    } catch (error) {
      if (isSystemError(error) && ["ENOTEMPTY", "EEXIST"].includes(error.code)) return false;
      throw error;
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  }

  /** SQLite is loaded when the first database is opened, not when somebody asks which there are. */
  async #open(file: string): Promise<Store> {
    const { openSqliteStore } = await import("../store/index.ts");
    return openSqliteStore(file, { command: this.#command, hasCompany: this.#hasCompany });
  }

  async #readable<Result>(path: string, read: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await read();
    } catch (error) {
      if (isSystemError(error) && error.code === "ENOENT") return undefined;
      throw unusable(error, path);
    }
  }
}

const KERNEL = /^[a-z0-9-]{1,32}$/;

async function describeFolder(folder: string): Promise<Omit<KernelInfo, "kernel"> | undefined> {
  const status = await stat(folder);
  if (!status.isDirectory()) return undefined;
  return { folder, created: Math.round(status.birthtimeMs), bytes: await bytesBelow(folder) };
}

/** Links are not followed: what they point to is elsewhere. */
export async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  for (const entry of entries) {
    if (entry.isFile()) bytes += await sizeOf(join(entry.parentPath, entry.name));
  }
  return bytes;
}

/** A file that is gone meanwhile has no bytes. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await lstat(file)).size;
  } catch (error) {
    if (isSystemError(error) && error.code === "ENOENT") return 0;
    throw error;
  }
}

function lostDatabase(kernel: string, file: string, size: number | undefined): KumikoError {
  const what = size === undefined ? "is missing" : "is empty";
  return new KumikoError(
    "damaged",
    `${file} ${what}, so the kernel ${kernel} cannot be opened. Restore the file from a backup; ` +
      `if there is nothing to save, remove the kernel's folder.`,
    { kernel, file, size: size ?? null, table: null, block: null },
  );
}

/** SQLite's own words about a file that it cannot make sense of, said of the file that people know. */
function unreadable(error: unknown, file: string, copy: string): Error {
  if (error instanceof KumikoError && !error.message.includes(copy)) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const facts = error instanceof KumikoError ? error.facts : {};
  const cause = String(facts["cause"] ?? (error instanceof Error ? error.message : error));
  if (code === "SQLITE_FULL" || /disk is full|SQLITE_FULL/.test(cause)) {
    return new KumikoError(
      "file_unreadable",
      `${file} could not be looked at, because the disk is full: make room, also in the temporary folder, and try again. Nothing is known to be wrong with it.`,
      { file, reason: "ENOSPC" },
      { cause: error },
    );
  }
  if (error instanceof KumikoError || code.startsWith("SQLITE_")) {
    return new KumikoError(
      "damaged",
      `${file} cannot be read as a database (${cause}): its beginning or its structure is destroyed, and no ` +
        "block can be told from another in it. Keep the file, and restore a backup beside it.",
      { file, cause, table: null, block: null },
      { cause: error },
    );
  }
  if (!isSystemError(error)) return error instanceof Error ? error : new Error(String(error));
  return new KumikoError(
    "file_unreadable",
    `${file} could not be copied to be looked at (${error.code}); the temporary folder needs as much room as the file has.`,
    { file, reason: error.code },
    { cause: error },
  );
}

/** Uses the files of a home: one that cannot be made, read or written is a refusal and no fault of ours. */
export async function usingHome<Result>(
  place: string,
  use: () => Promise<Result>,
): Promise<Result> {
  try {
    return await use();
  } catch (error) {
    if (isSystemError(error)) throw isAbout(error.path, place) ? unusable(error, place) : error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // SQLite's own words for a lock that cannot be made.
    const lock = code === "SQLITE_CANTOPEN" || code === "SQLITE_READONLY";
    throw lock ? unusableHome(place, code, error) : error;
  }
}

/** Something in the home, or a folder above it that would have to be made. */
function isAbout(path: string | undefined, place: string): boolean {
  return path !== undefined && (path.startsWith(place) || place.startsWith(path));
}

function unusable(error: unknown, path: string): Error {
  if (!isSystemError(error)) return error instanceof Error ? error : new Error(String(error));
  return unusableHome(path, error.code, error);
}

function unusableHome(path: string, reason: string, cause: unknown): KumikoError {
  return new KumikoError(
    "file_unwritable",
    `${path} cannot be used as Kumiko's home (${reason}). Choose another with --home or $KUMIKO_HOME.`,
    { path, reason },
    { cause },
  );
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && "syscall" in error && "code" in error;
}
