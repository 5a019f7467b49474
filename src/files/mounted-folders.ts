import { realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import { KumikoError } from "../base/index.ts";
import type { Mounts } from "./mounts.ts";
import type { Mount } from "./mount.ts";

/** So many troubles of one folder are said at once. */
const TOLD = 5;

export interface MountRequest {
  /** An absolute path. */
  readonly folder: string;
  readonly name?: string | undefined;
  /** What is not said here stays as it was said before. */
  readonly manual?: boolean | undefined;
  readonly rules?: readonly string[] | undefined;
}

/** A folder of a kernel as people see it. */
export interface MountedFolder {
  readonly mount: string;
  readonly folder: string;
  /** Files that have blocks. */
  readonly files: number;
  readonly unsaved: number;
  readonly conflicts: number;
  readonly manual: boolean;
  /** Those that it was mounted with, each as `--rule` takes it. */
  readonly rules: string[];
  /** What is wrong with it now. */
  readonly trouble?: string | undefined;
}

function hasAnotherName(root: string, mount: string): KumikoError {
  return new KumikoError(
    "already_exists",
    `${root} is mounted already, as @${mount}, and keeps that name: files of it are @${mount}/path.`,
    { folder: root, mount, root },
  );
}

/** Mounts a folder under its name, or under the one it has or had. Resolves when it is being watched. */
export async function mountFolder(mounts: Mounts, request: MountRequest): Promise<MountedFolder> {
  const root = realFolder(request.folder);
  const roots = await mounts.kept.roots();
  const [had] = [...roots].find(([, each]) => each === root) ?? [];
  const known = mounts.list().find((each) => each.root === root)?.name ?? had;
  const name = request.name ?? known ?? freeName(roots, basename(root));
  const other = mounts
    .list()
    .find((each) => each.name !== name && (isIn(root, each.root) || isIn(each.root, root)));
  if (other !== undefined) {
    if (other.root === root) throw hasAnotherName(root, other.name);
    throw new KumikoError(
      "already_exists",
      `${root} and ${other.root}, which is mounted as @${other.name}, have files in common, and a file is in one folder only. ` +
        `Unmount @${other.name} first, or mount another folder.`,
      { folder: root, mount: other.name, root: other.root },
    );
  }
  const before = await mounts.kept.settingsOf(root, name);
  const { manual = before?.manual, rules = before?.rules } = request;
  const mount = await mounts.mount(name, {
    root,
    ...(manual !== undefined && { manual }),
    ...(rules !== undefined && rules.length > 0 && { rules }),
  });
  await mounts.watched();
  return described(mounts, mount);
}

/** By its name or its folder. */
export async function unmountFolder(
  mounts: Mounts,
  given: string,
): Promise<{ mount: string; folder: string }> {
  const all = listFolders(mounts);
  const wanted = given.startsWith("/") ? given : given.replace(/^@/, "");
  const found = all.find(({ mount, folder }) => mount === wanted || folder === wanted);
  if (found === undefined) {
    const names = all.map(({ mount, folder }) => `@${mount} (${folder})`);
    throw new KumikoError(
      "not_on_disk",
      `${given} is not mounted` +
        (names.length > 0 ? `; there are: ${names.join(", ")}.` : ", and nothing else is."),
      { value: given, mounts: all.map(({ mount }) => mount) },
    );
  }
  await mounts.unmount(found.mount);
  return { mount: found.mount, folder: found.folder };
}

/** Those that cannot be mounted now come last. */
export function listFolders(mounts: Mounts): MountedFolder[] {
  const listed = mounts.list().map((mount) => described(mounts, mount));
  const names = new Set(listed.map(({ mount }) => mount));
  const failed = mounts.troubles().filter(({ mount }) => !names.has(mount));
  return [
    ...listed,
    ...failed.map(({ mount, root, error }) => ({
      mount,
      folder: root,
      files: 0,
      unsaved: 0,
      conflicts: 0,
      manual: false,
      rules: [...mounts.rulesGiven(mount)],
      trouble: error.message,
    })),
  ];
}

function described(mounts: Mounts, { name, root, manual, source }: Mount): MountedFolder {
  const files = source.files.all();
  const own = mounts.conflicts.list().filter(({ block }) => block.startsWith(`@${name}~`));
  const troubles = mounts.troubles().filter(({ mount }) => mount === name);
  return {
    mount: name,
    folder: root,
    files: files.length,
    unsaved: files.filter(({ ahead }) => ahead).length,
    conflicts: own.length,
    manual,
    rules: [...mounts.rulesGiven(name)],
    ...(troubles.length > 0 && { trouble: told(troubles.map(({ error }) => error.message)) }),
  };
}

function told(troubles: readonly string[]): string {
  const more = troubles.length - TOLD;
  return [...troubles.slice(0, TOLD), ...(more > 0 ? [`And ${more} more.`] : [])].join(" ");
}

function realFolder(given: string): string {
  try {
    const real = realpathSync(given);
    if (statSync(real).isDirectory()) return real;
  } catch (cause) {
    throw new KumikoError(
      "invalid_argument",
      `There is no folder ${given} that can be opened.`,
      { folder: given },
      { cause },
    );
  }
  throw new KumikoError("invalid_argument", `${given} is a file: mount the folder it is in.`, {
    folder: given,
  });
}

/** What fits, and never was another folder's. */
function freeName(taken: ReadonlyMap<string, string>, folder: string): string {
  const plain = folder.normalize("NFKD").toLowerCase();
  const fit = plain.replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "");
  const name = fit.slice(0, 28) || "folder";
  for (let number = 1; ; number++) {
    const next = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(next)) return next;
  }
}

function isIn(path: string, root: string): boolean {
  return path === root || path.startsWith(root === "/" ? root : `${root}/`);
}
