import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { KumikoError, sha256Text } from "../base/index.ts";
import { changeSmallFile, readSmallFile } from "../doors/locked-file.ts";
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
  readonly folders: Known;
  /** Folders that kernels have beside their own: whoever stands there means that kernel. */
  readonly mounted: Known;
}

/** The kernel of a folder, by its real path: `folders.json`. The same folder has the same kernel under every name. */
export async function kernelOfFolder(home: HomeFolder, folder: string): Promise<RegisteredFolder> {
  const real = await realFolder(folder);
  const file = fileOf(home);
  const name = nameOf(real);
  const alone = `${name.slice(0, 23)}-${sha256Text(real).slice(0, 8)}`;
  const exists = await home.has(name);
  const kernel = await changeSmallFile(file, (text) => {
    const book = parsed(file, text);
    const known = book.folders;
    const before = known[real];
    if (before !== undefined) return { result: before };
    // A kernel of that name may be another folder's, or nobody's.
    const taken = exists || name === BY_NAME || Object.values(known).includes(name);
    const chosen = taken ? alone : name;
    const folders = { ...known, [real]: chosen };
    return { text: written({ ...book, folders }), result: chosen };
  });
  return { kernel, folder: real };
}

/** The kernel of the folder, or of the nearest one above it that has one; none is made. */
export async function registeredKernel(
  home: HomeFolder,
  folder: string,
): Promise<string | undefined> {
  return (await nearest(home, folder, ({ folders, mounted }) => ({ ...mounted, ...folders })))
    ?.kernel;
}

/** Notes that a kernel has a folder beside its own. */
export function rememberMount(home: HomeFolder, real: string, kernel: string): Promise<void> {
  return changeMounted(home, (mounted) => ({ ...mounted, [real]: kernel }));
}

export function forgetMount(home: HomeFolder, real: string): Promise<void> {
  return changeMounted(home, (mounted) =>
    Object.fromEntries(Object.entries(mounted).filter(([folder]) => folder !== real)),
  );
}

async function changeMounted(home: HomeFolder, change: (mounted: Known) => Known): Promise<void> {
  const file = fileOf(home);
  await changeSmallFile(file, (text) => {
    const book = parsed(file, text);
    const next = { ...book, mounted: change(book.mounted) };
    const same = JSON.stringify(next) === JSON.stringify(book);
    return same ? { result: undefined } : { text: written(next), result: undefined };
  });
}

/** The folder itself, or the nearest one above it, if it has a kernel. */
export async function registeredFolder(
  home: HomeFolder,
  folder: string,
): Promise<RegisteredFolder | undefined> {
  return nearest(home, folder, ({ folders }) => folders);
}

async function nearest(
  home: HomeFolder,
  folder: string,
  which: (book: Book) => Known,
): Promise<RegisteredFolder | undefined> {
  const file = fileOf(home);
  if (!existsSync(file)) return undefined;
  const known = which(parsed(file, await readSmallFile(file)));
  for (let at = await realFolder(folder); ; at = dirname(at)) {
    const kernel = known[at];
    if (kernel !== undefined) return { folder: at, kernel };
    if (dirname(at) === at) return undefined;
  }
}

/** The nearest one above the folder that has a kernel, whatever the folder itself has. */
export async function folderAbove(
  home: HomeFolder,
  folder: string,
): Promise<RegisteredFolder | undefined> {
  const real = await realFolder(folder);
  const above = dirname(real);
  return above === real ? undefined : registeredFolder(home, above);
}

/** Which folder each kernel is for; kernels that were made by name are for none. */
export async function foldersByKernel(home: HomeFolder): Promise<ReadonlyMap<string, string>> {
  const file = fileOf(home);
  const { folders } = parsed(file, await readSmallFile(file));
  return new Map(Object.entries(folders).map(([folder, kernel]) => [kernel, folder]));
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
