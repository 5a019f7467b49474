import { isBlockId, KumikoError } from "../base/index.ts";
import type { Invocation } from "../kernel/index.ts";
import type { FileStat } from "./file-stat.ts";
import type { Mount } from "./mount.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { Mounts } from "./mounts.ts";
import { isFolder } from "./refusals.ts";

/** Where paths are that name no folder: in the one where the caller stands, else in the first. */
export function ownMount(mounts: Mounts, folder: string | undefined): Mount {
  if (folder === undefined) return mounts.first();
  const own = mounts.list().find(({ root }) => root === folder);
  if (own !== undefined) return own;
  for (const { root, error } of mounts.failed()) if (root === folder) throw error;
  const names = mounts.list().map(({ name, root }) => `@${name} (${root})`);
  throw new KumikoError(
    "not_on_disk",
    `${folder}, where this was started, is not mounted: a person mounts it with kumiko mount ${folder}` +
      (names.length > 0 ? `; there are: ${names.join(", ")}.` : "."),
    { folder, mounts: names },
  );
}

/** The mount and the path in it that somebody means: `@src/a.ts`, an absolute path, or one in the folder where he is. */
export function findPlace(
  mounts: Mounts,
  given: string,
  by?: Pick<Invocation, "folder">,
): FoundPlace {
  const found = findPlaceOrRoot(mounts, given, by);
  if (found.path === "") throw isFolder(found.mount.root, "not_on_disk");
  return found;
}

/** The same; the path is empty for the mounted folder itself. */
export function findPlaceOrRoot(
  mounts: Mounts,
  given: string,
  { folder }: Pick<Invocation, "folder"> = {},
): FoundPlace {
  const [, name, rest = ""] = /^@([a-z0-9-]{1,32})(?:\/(.*))?$/s.exec(given) ?? [];
  if (name !== undefined && (rest !== "" || mounts.isMounted(name)))
    return placeIn(mounts.named(name), rest === "" ? "." : rest);
  const all = mounts.list();
  if (given.startsWith("/")) {
    const around = innermost(all, given);
    if (around !== undefined) return placeIn(around, given);
    const failed = innermost(mounts.failed(), given);
    if (failed !== undefined) throw failed.error;
  }
  if (all.length === 0 && folder === undefined) {
    for (const { error } of mounts.failed()) throw error;
    throw new KumikoError(
      "not_on_disk",
      `"${given}" is no block (a block is written context~actor~number, for example main~claude~42), and no folder is ` +
        "mounted in which it could be a path: mount one with `kumiko mount`.",
      { value: given },
    );
  }
  return placeIn(ownMount(mounts, folder), given);
}

/** A path in a mount. */
export interface FoundPlace {
  readonly mount: Mount;
  readonly path: string;
  /** What it was called, which may be a link to it. */
  readonly given?: string | undefined;
  /** What was just found there. */
  readonly seen?: FileStat | undefined;
}

function placeIn(mount: Mount, given: string): FoundPlace {
  const { path, seen } = mount.source.disk.resolve(given);
  return { mount, path, given, seen };
}

/** The same of what may be a block as well. Without a mount it is one that is no file. */
export function meant(
  mounts: Mounts,
  given: string,
  invocation: Invocation,
): Omit<FoundPlace, "mount"> & { readonly mount?: Mount; readonly known?: MountedFile } {
  if (!isBlockId(given)) return findPlace(mounts, given, invocation);
  const found = mounts.fileOf(given);
  if (found !== undefined) return { mount: found.mount, path: found.file.path, known: found.file };
  if (!given.startsWith("@")) return { path: given };
  throw new KumikoError("not_on_disk", `${given} is a file of a folder that is not mounted now.`, {
    block: given,
  });
}

/** What to give to mean that file. */
export function givenFor(
  mounts: Mounts,
  { mount, path }: { readonly mount: Mount; readonly path: string },
  folder: string | undefined,
): string {
  const isOwn = folder === undefined ? mount === mounts.first() : mount.root === folder;
  if (!isOwn) return `@${mount.name}/${path}`;
  return isBlockId(path) || path.startsWith("@") ? `./${path}` : path;
}

/** A folder in a folder has rules of its own. */
function innermost<Each extends { readonly root: string }>(
  mounts: readonly Each[],
  absolute: string,
): Each | undefined {
  const around = mounts.filter(({ root }) => absolute === root || absolute.startsWith(`${root}/`));
  return around.toSorted((left, right) => right.root.length - left.root.length)[0];
}
