import { join } from "node:path";
import { FolderRules, type Level, type Rules } from "../permission/index.ts";
import { Folder } from "./contained.ts";
import { Ignored } from "./ignored.ts";
import { lookAt } from "./look.ts";
import { scan } from "./scan.ts";

/** A secret file that has further names: rules are by path, so another may hold for each of them. */
export interface SecretNames {
  readonly path: string;
  /** Those in the folder that are not secret. */
  readonly names: readonly { readonly path: string; readonly level: Level }[];
  /** How many were not found: outside of the folder, or below what is ignored. */
  readonly elsewhere: number;
}

/** By the rules of a folder's file. A link is no name: what it leads to decides. */
export async function secretNames(folder: string, rules?: Rules): Promise<SecretNames[]> {
  using opened = Folder.open(folder);
  const { path: root, ignoresCase } = opened;
  const ignored = new Ignored(root, { ignoresCase });
  const isIgnored = (path: string): boolean => ignored.isIgnored(path, false);
  const held = new FolderRules({ ...(rules && { rules }), isIgnored, ignoreCase: ignoresCase });
  const files = new Map<string, { readonly paths: string[]; readonly links: number }>();
  for await (const entries of scan(root, { ignored }))
    for (const { path, kind, links } of entries) {
      if (kind !== "file" || links === 1) continue;
      const look = lookAt(join(root, path));
      if (look === undefined) continue;
      // Of two file systems in one folder, each has its own numbers.
      const key = `${look.device} ${look.inode}`;
      const known = files.get(key);
      if (known === undefined) files.set(key, { paths: [path], links });
      else known.paths.push(path);
    }
  const found = [...files.values()].flatMap(({ paths, links }): SecretNames[] => {
    const levels = paths.toSorted().map((path) => ({ path, level: held.levelOf(path).level }));
    const secret = levels.find(({ level }) => level === "secret");
    const names = levels.filter(({ level }) => level !== "secret");
    const elsewhere = Math.max(0, links - paths.length);
    if (secret === undefined || names.length + elsewhere === 0) return [];
    return [{ path: secret.path, names, elsewhere }];
  });
  return found.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}
