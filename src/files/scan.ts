import { type Dirent, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { KumikoError } from "../base/index.ts";
import type { Ignored } from "./ignored.ts";
import { errorCodeOf, type Look, lookAt } from "./look.ts";
import { checkNotAborted, inSlices } from "./slices.ts";

/** So many entries are handed on together. */
const TOGETHER = 1000;

export interface Entry extends Omit<Look, "device" | "born"> {
  /** Relative to the root, with `/`. */
  readonly path: string;
  /** Left out by rules; what is in an ignored folder is not listed. */
  readonly ignored: boolean;
}

/** What could not be looked at. Everything else is. */
export interface Unseen {
  readonly path: string;
  /** `bad_name`: not valid UTF-8; in `path` it is shown as well as it can be. */
  readonly why: "unreadable" | "bad_name";
  readonly reason: string;
}

export interface ScanOptions {
  readonly ignored: Ignored;
  readonly signal?: AbortSignal;
  onUnseen?(unseen: Unseen): void;
  /** After every thousand entries. */
  onProgress?(entries: number): void;
}

/** Everything in a folder but what is ours, itself: no link is followed. Folders come before what is in them. */
export async function* scan(root: string, options: ScanOptions): AsyncGenerator<Entry[]> {
  const entries = walk(realRoot(root), options);
  let count = 0;
  for (;;) {
    const some = await inSlices(take(entries, TOGETHER), options.signal);
    if (some.length === 0) return;
    count += some.length;
    options.onProgress?.(count);
    yield some;
    checkNotAborted(options.signal);
  }
}

function* take(entries: Generator<Entry>, count: number): Generator<undefined, Entry[]> {
  const taken: Entry[] = [];
  while (taken.length < count) {
    const next = entries.next();
    if (next.done === true) break;
    taken.push(next.value);
    yield;
  }
  return taken;
}

function* walk(root: string, options: ScanOptions): Generator<Entry> {
  const unseen = (path: string, error: unknown) => {
    options.onUnseen?.({ path, why: "unreadable", reason: errorCodeOf(error) });
  };
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let names: string[];
    try {
      names = listFolder(root, folder, (bad) => options.onUnseen?.(bad));
    } catch (error) {
      // A root that is not there is no empty folder.
      if (folder === "") throw unreadableRoot(root, error);
      // A folder that went since it was listed is no trouble.
      if (errorCodeOf(error) !== "ENOENT") unseen(folder, error);
      continue;
    }
    for (const name of names) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (options.ignored.isOwn(path)) continue;
      let look: Look | undefined;
      try {
        look = lookAt(join(root, path));
      } catch (error) {
        unseen(path, error);
      }
      if (look === undefined) continue;
      const ignored = options.ignored.isIgnored(path, look.kind === "folder");
      if (look.kind === "folder" && !ignored) folders.push(path);
      const { kind, size, inode, nanoseconds, touched, mode, links } = look;
      yield { path, kind, size, inode, nanoseconds, touched, mode, links, ignored };
    }
  }
}

type OnBad = (bad: Unseen) => void;

/** The names in a folder that can be written down. Throws what the system says when it cannot be listed. */
export function listFolder(root: string, folder: string, onBad: OnBad): string[] {
  const names = unreplaced(root, folder, (place) => readdirSync(place));
  const bad = badNames(root, folder, names, onBad);
  return bad.size === 0 ? names : names.filter((name) => !bad.has(name));
}

/** The same with what each of them is. */
export function listEntries(root: string, folder: string, onBad: OnBad): Dirent[] {
  const read = (place: string): Dirent[] => readdirSync(place, { withFileTypes: true });
  const entries = unreplaced(root, folder, read);
  const names = entries.map(({ name }) => name);
  const bad = badNames(root, folder, names, onBad);
  return bad.size === 0 ? entries : entries.filter(({ name }) => !bad.has(name));
}

function unreplaced<Listed>(root: string, folder: string, read: (place: string) => Listed): Listed {
  const place = join(root, folder);
  const before = lookAt(place);
  const listed = read(place);
  // Had a link taken its place meanwhile, these would be names of elsewhere.
  const after = lookAt(place);
  if (before?.kind !== "folder" || after?.inode !== before.inode || after.kind !== "folder") {
    throw Object.assign(new Error(`"${folder}" was replaced while it was listed.`), {
      code: "ENOENT",
    });
  }
  return listed;
}

/** Those that are not valid UTF-8. */
function badNames(
  root: string,
  folder: string,
  names: readonly string[],
  onBad: OnBad,
): ReadonlySet<string> {
  const bad = new Set<string>();
  if (!names.some((name) => name.includes("\uFFFD"))) return bad;
  for (const bytes of readdirSync(join(root, folder), { encoding: "buffer" })) {
    const name = bytes.toString("utf8");
    if (Buffer.from(name, "utf8").equals(bytes)) continue;
    bad.add(name);
    const path = folder === "" ? name : `${folder}/${name}`;
    onBad({ path, why: "bad_name", reason: `not valid UTF-8: ${bytes.toString("hex")}` });
  }
  return bad;
}

function realRoot(root: string): string {
  try {
    return realpathSync(root);
  } catch (error) {
    throw unreadableRoot(root, error);
  }
}

export function unreadableRoot(root: string, error: unknown): KumikoError {
  return new KumikoError(
    "file_unreadable",
    `The folder "${root}" cannot be listed (${errorCodeOf(error)}). Check that it exists and may be read.`,
    { path: root, reason: errorCodeOf(error) },
    { cause: error },
  );
}
