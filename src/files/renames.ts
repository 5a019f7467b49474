import type { Content } from "./content.ts";
import { nameOf } from "./ignored.ts";
import type { Synced } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";

/** A file that nobody knew, as a look shows it. */
export interface Came {
  readonly path: string;
  readonly size: number;
  readonly inode: number;
}

export interface RenamePorts {
  /** When the file was made, in nanoseconds; 0 where the file system does not know. */
  born(path: string): bigint;
  /** Whether it is known not to have been there before the others went: a copy is no rename. */
  isNew(path: string): boolean;
  /** Undefined when it cannot be read. */
  content(path: string): Promise<Content | undefined>;
}

/**
 * Which files came by another name: the same inode, or the same bytes. A number that was given away again tells itself by
 * a birth after the last change of the file that had it. So does a file that got its time from elsewhere (`cp -p`, tar,
 * rsync): its bytes decide. Nothing is the same as another because both are empty.
 */
export async function findRenames(
  went: ReadonlyMap<MountedFile, Synced>,
  came: readonly Came[],
  ports: RenamePorts,
): Promise<{ from: MountedFile; to: string }[]> {
  const left = new Map(went);
  const renames: { from: MountedFile; to: string }[] = [];
  const take = (from: MountedFile, to: string): void => {
    left.delete(from);
    renames.push({ from, to });
  };
  const others: Came[] = [];
  for (const each of came) {
    const same = await sameNumber(left, each, ports);
    if (same === undefined) others.push(each);
    else take(same, each.path);
  }
  for (const { path, size } of others) {
    const alike = [...left].filter(([, { identity }]) => identity.size === size);
    if (size === 0 || alike.length === 0 || !ports.isNew(path)) continue;
    const content = await ports.content(path);
    if (content === undefined) continue;
    const same = alike.filter(([, synced]) => synced.content.equals(content)).map(([file]) => file);
    const from = same.find((file) => nameOf(file.path) === nameOf(path)) ?? same[0];
    if (from !== undefined) take(from, path);
  }
  return renames;
}

async function sameNumber(
  went: ReadonlyMap<MountedFile, Synced>,
  { path, size, inode }: Came,
  ports: RenamePorts,
): Promise<MountedFile | undefined> {
  for (const [file, { identity, content }] of went) {
    if (identity.inode !== inode) continue;
    const born = ports.born(path);
    if (born !== 0n && born <= identity.nanoseconds) return file;
    if (size === 0 || size !== identity.size) continue;
    const found = await ports.content(path);
    if (found !== undefined && content.equals(found)) return file;
  }
  return undefined;
}
