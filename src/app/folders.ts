import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { KumikoError, sha256Text } from "../base/index.ts";
import { changeSmallFile, readSmallFile } from "../doors/locked-file.ts";
import type { FolderBook } from "../files/index.ts";
import { fitting } from "./actor.ts";
import type { HomeFolder } from "./home.ts";

/** The kernel that verbs use when no other is named: it is no folder's. */
const BY_NAME = "main";

export interface RegisteredFolder {
  /** Its real path. */
  readonly folder: string;
  readonly kernel: string;
}

type Known = { readonly [folder: string]: string };

interface Book {
  /** Each folder that got a kernel of its own, and keeps it also while it is not mounted. */
  readonly folders: Known;
  /** Each folder that is mounted, and the one kernel that has it: no two of them have a file in common. */
  readonly mounted: Known;
}

/**
 * The kernel that has the folder mounted, or one above it; else the one that was made for it, or for one above it; else a
 * new one, made for it. By real paths, in `folders.json`: the same folder has the same kernel under every name, and
 * whoever starts in a folder is held to the rules with which it is mounted.
 */
export async function kernelOfFolder(home: HomeFolder, folder: string): Promise<RegisteredFolder> {
  const real = await realFolder(folder);
  checkIsPart(real);
  const known = nearestIn(await bookOf(home), real);
  if (known !== undefined) return known;
  const name = nameOf(real);
  const alone = `${name.slice(0, 23)}-${sha256Text(real).slice(0, 8)}`;
  const exists = await home.has(name);
  return changeBook(home, (book) => {
    const before = nearestIn(book, real);
    if (before !== undefined) return { result: before };
    const { folders } = book;
    const mounted = standing(home, book.mounted);
    const other = sharing(mounted, real);
    if (other !== undefined) throw isTaken(real, other);
    // A kernel of that name may be another folder's, or nobody's.
    const taken = exists || name === BY_NAME || Object.values(folders).includes(name);
    const kernel = taken ? alone : name;
    const next = {
      folders: { ...folders, [real]: kernel },
      mounted: { ...mounted, [real]: kernel },
    };
    return { book: next, result: { folder: real, kernel } };
  });
}

/** The same of a folder or a file, also of one that is not there yet or any more, if there is one; none is made. */
export async function registeredFolder(
  home: HomeFolder,
  path: string,
): Promise<RegisteredFolder | undefined> {
  if (!existsSync(fileOf(home))) return undefined;
  return nearestIn(await bookOf(home), await realPlace(path));
}

/** Where that is, whatever links lead there, as mounts know it. A link that is the file itself stays one. */
export async function realPlace(path: string): Promise<string> {
  if (existsSync(path) && (await stat(path)).isDirectory()) return realpath(path);
  return join(await realPlace(dirname(path)), basename(path));
}

/** What a kernel may mount: a folder is taken by one kernel at a time, whichever process asks. */
export function folderBook(home: HomeFolder, kernel: string): FolderBook {
  return {
    async taken() {
      const { mounted } = await bookOf(home);
      return Object.keys(mounted).filter((folder) => mounted[folder] === kernel);
    },
    async take(root) {
      // Most often it is: then nobody has to wait.
      if ((await bookOf(home)).mounted[root] === kernel) return;
      checkIsPart(root);
      await changeBook(home, (book) => {
        const mounted = standing(home, book.mounted);
        const other = sharing(mounted, root);
        if (other !== undefined) throw isTaken(root, other);
        return { book: { ...book, mounted: { ...mounted, [root]: kernel } }, result: undefined };
      });
    },
    async leave(root) {
      await changeBook(home, (book) => {
        if (book.mounted[root] !== kernel) return { result: undefined };
        const mounted = entriesWhere(book.mounted, (folder) => folder !== root);
        return { book: { ...book, mounted }, result: undefined };
      });
    },
  };
}

/** Whoever removed a kernel by hand has no way to unmount its folders. */
function standing(home: HomeFolder, mounted: Known): Known {
  return entriesWhere(mounted, (_, kernel) => existsSync(home.folderOf(kernel)));
}

function entriesWhere(known: Known, keep: (folder: string, kernel: string) => boolean): Known {
  return Object.fromEntries(Object.entries(known).filter(([folder, each]) => keep(folder, each)));
}

/** One that has files in common with the folder. */
function sharing(mounted: Known, real: string): RegisteredFolder | undefined {
  const all = Object.entries(mounted).map(([folder, kernel]) => ({ folder, kernel }));
  return all.find(({ folder }) => isIn(real, folder) || isIn(folder, real));
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);
}

function isTaken(root: string, { folder, kernel }: RegisteredFolder): KumikoError {
  const both =
    root === folder ? `${root} is` : `${root} and ${folder} have files in common, which are`;
  return new KumikoError(
    "already_exists",
    `${both} mounted in the kernel ${kernel} already, and a file is in one folder of one kernel only. ` +
      `Use it there (--kernel ${kernel}), or let it go first: kumiko unmount ${folder}`,
    { folder: root, root: folder, kernel },
  );
}

/** The system's own files are no project: its devices and processes would be looked at as well. */
function checkIsPart(folder: string): void {
  if (dirname(folder) !== folder) return;
  throw new KumikoError(
    "invalid_argument",
    `${folder} is all of this machine, which is more than Kumiko looks after: go to the folder of a project.`,
    { folder },
  );
}

/** What is mounted goes before what only was, which is passed over where it cannot be again: parts of it are another's. */
function nearestIn({ folders, mounted }: Book, real: string): RegisteredFolder | undefined {
  const free = entriesWhere(folders, (folder, kernel) => {
    const others = entriesWhere(mounted, (_, each) => each !== kernel);
    return sharing(others, folder) === undefined;
  });
  return nearest(mounted, real) ?? nearest(free, real);
}

function nearest(known: Known, real: string): RegisteredFolder | undefined {
  for (let folder = real; ; folder = dirname(folder)) {
    const kernel = known[folder];
    if (kernel !== undefined) return { folder, kernel };
    if (dirname(folder) === folder) return undefined;
  }
}

/** Which folder each kernel is for; kernels that were made by name are for none. */
export async function foldersByKernel(home: HomeFolder): Promise<ReadonlyMap<string, string>> {
  const { folders } = await bookOf(home);
  return new Map(Object.entries(folders).map(([folder, kernel]) => [kernel, folder]));
}

/** Those that have a folder, their own or another. */
export async function kernelsWithFolders(home: HomeFolder): Promise<ReadonlySet<string>> {
  const { folders, mounted } = await bookOf(home);
  return new Set([...Object.values(folders), ...Object.values(mounted)]);
}

async function bookOf(home: HomeFolder): Promise<Book> {
  const file = fileOf(home);
  return parsed(file, await readSmallFile(file));
}

function changeBook<Result>(
  home: HomeFolder,
  change: (book: Book) => { readonly book?: Book; readonly result: Result },
): Promise<Result> {
  const file = fileOf(home);
  return changeSmallFile(file, (text) => {
    const { book, result } = change(parsed(file, text));
    return book === undefined ? { result } : { text: written(book), result };
  });
}

function fileOf({ place }: HomeFolder): string {
  return join(place, "folders.json");
}

async function realFolder(folder: string): Promise<string> {
  try {
    const real = await realpath(folder);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    throw notAFolder(folder, error);
  }
  throw notAFolder(folder);
}

function notAFolder(folder: string, cause?: unknown): KumikoError {
  const message = `${folder} is not a folder that can be opened.`;
  return new KumikoError(
    "invalid_argument",
    message,
    { argument: "folder", value: folder },
    { cause },
  );
}

/** A name without any letter that fits is "folder". */
function nameOf(real: string): string {
  const name = basename(real);
  return /[a-z0-9]/i.test(name.normalize("NFKD")) ? fitting(name) : "folder";
}

function parsed(file: string, text: string | undefined): Book {
  if (text === undefined) return { folders: {}, mounted: {} };
  try {
    const { format, folders, mounted = {} } = JSON.parse(text) as { [name: string]: unknown };
    if (format === 1 && isKnown(folders) && isKnown(mounted)) return { folders, mounted };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new KumikoError(
    "damaged",
    `${file} does not say which folder has which kernel. Put back a copy of it; if it is removed, folders get new kernels.`,
    { file, table: null, block: null },
  );
}

function isKnown(value: unknown): value is Known {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((kernel) => typeof kernel === "string")
  );
}

function written({ folders, mounted }: Book): string {
  const beside = Object.keys(mounted).length > 0 ? { mounted } : {};
  return `${JSON.stringify({ format: 1, folders, ...beside }, null, 2)}\n`;
}
