import type { CallerKind, FileTextPage, TextQuery } from "../kernel/index.ts";
import type { Listed } from "./folder-index.ts";
import type { Mount } from "./mount.ts";
import { scan, type Unseen } from "./scan.ts";

/** So many files that are not in the index are looked through all the same; more are told of. */
const UNINDEXED = 2_000;
/** So many files, with so many units, are read together. */
const TOGETHER = 256;
const UNITS_TOGETHER = 1024 * 1024;

export interface WantedTexts {
  readonly query: TextQuery;
  /** Who asks: what the rules keep from them is left out. */
  readonly kind: CallerKind;
  /** The paths that have blocks: those are searched as that. */
  readonly loaded: ReadonlySet<string>;
  readonly isWanted: (path: string) => boolean;
  /** Whether something that is wanted may be at a path or below it. */
  readonly mayLeadToWanted: (path: string) => boolean;
  /** What a file is called in the answer. */
  readonly name: (path: string) => string;
}

/**
 * The files of a folder that may hold what is looked for, in the order of their paths, with the text that they have at
 * that moment: an index that is behind may cost a file, never make up a line.
 */
export async function* unloadedTexts(
  mount: Mount,
  { query, kind, loaded, isWanted, mayLeadToWanted, name }: WantedTexts,
): AsyncGenerator<FileTextPage> {
  const seen = mount.isWatching ? undefined : await listFiles(mount);
  const listed = seen?.files;
  const { known, unknown, listed: all } = await mount.index.candidates(query, listed);
  // Nobody indexes a folder that is not watched: there is no waiting for it.
  const isIndexing = mount.isWatching && (all === undefined || unknown.length > UNINDEXED);
  if (isIndexing) {
    const of = [...(all ?? [])].length;
    yield { texts: [], indexing: { done: Math.max(0, of - unknown.length), of } };
  }
  // Behind the index, which waits for the first look at everything.
  const unseen = (seen?.unseen ?? mount.unseen()).filter(
    ({ path }) =>
      mayLeadToWanted(path) &&
      !mount.ignored.isIgnored(path, true) &&
      mount.isSearchable(path, kind),
  );
  yield {
    texts: unseen.map(({ path, reason }) => ({
      name: name(path),
      unreadable: `it cannot be looked at (${reason})`,
    })),
  };
  const searched = new Set(isIndexing ? known : [...known, ...unknown]);
  const paths = [...searched].filter(
    (path) =>
      !loaded.has(path) &&
      isWanted(path) &&
      !mount.ignored.isIgnored(path, false) &&
      mount.isSearchable(path, kind),
  );
  paths.sort((one, other) => (one < other ? -1 : 1));
  for (let at = 0; at < paths.length;) {
    const found = await mount.index.read(paths.slice(at, at + TOGETHER), UNITS_TOGETHER);
    at += found.length;
    const texts = found.flatMap((file) => {
      if ("text" in file) return { name: name(file.path), text: file.text };
      return "unreadable" in file ? { name: name(file.path), unreadable: file.unreadable } : [];
    });
    yield { texts };
  }
}

async function listFiles({ root, ignored }: Mount): Promise<{ files: Listed; unseen: Unseen[] }> {
  const files: Listed[] = [];
  const unseen: Unseen[] = [];
  for await (const entries of scan(root, { ignored, onUnseen: (each) => unseen.push(each) })) {
    const plain = entries.filter((entry) => entry.kind === "file" && !entry.ignored);
    files.push(plain.map((entry) => [entry.path, entry] as const));
  }
  return { files: files.flatMap((page) => [...page]), unseen };
}
