import { KumikoError } from "../base/index.ts";
import type { Hall } from "../doors/index.ts";
import type { MountedFolder } from "../files/index.ts";
import type { Kernel } from "../kernel/index.ts";
import type { RegisteredFolder } from "./folders.ts";

/** A folder as who starts in it finds it. */
export interface FoundFolder extends RegisteredFolder {
  /** Its files are written only when somebody says so. */
  readonly manual?: boolean | undefined;
  /** Those that it was mounted with, each as `--rule` takes it. */
  readonly rules?: readonly string[] | undefined;
  /** Why its files cannot be used, or what is wrong with it. */
  readonly trouble?: string | undefined;
}

/** What a person says of a folder; what is not said stays as it was. */
export interface FolderSettings {
  readonly manual?: boolean | undefined;
  readonly rules?: readonly string[] | undefined;
}

/**
 * Mounts a folder in its open kernel again if somebody unmounted it, or said something of it. For people who serve it: an agent that starts there
 * is not to undo what a person did.
 */
export async function mountAgain(
  { world }: Hall,
  kernel: Kernel,
  found: RegisteredFolder,
  settings?: FolderSettings,
): Promise<FoundFolder> {
  const { listFolders, mountFolder, Mounts } = await import("../files/index.ts");
  await world.attachFiles(kernel);
  const mounts = Mounts.of(kernel);
  const { folder } = found;
  const known = listFolders(mounts).find((each) => each.folder === folder);
  const told = ({ manual, rules, trouble }: MountedFolder): FoundFolder => ({
    ...found,
    manual,
    rules,
    trouble,
  });
  if (known !== undefined && settings === undefined) return told(known);
  try {
    return told(await mountFolder(mounts, { folder, ...settings }));
  } catch (error) {
    // Files that were to be guarded by a rule are not served without it.
    if (!(error instanceof KumikoError) || settings !== undefined) throw error;
    return { ...found, trouble: error.message };
  }
}
