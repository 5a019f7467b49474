import { KumikoError } from "../base/index.ts";
import type { Hall } from "../doors/index.ts";
import type { Kernel } from "../kernel/index.ts";
import type { RegisteredFolder } from "./folders.ts";

/** A folder as who starts in it finds it. */
export interface FoundFolder extends RegisteredFolder {
  /** Why its files cannot be used, or what is wrong with it. */
  readonly trouble?: string | undefined;
}

/**
 * Mounts a folder in its open kernel again if somebody unmounted it. For people who serve it: an agent that starts there
 * is not to undo what a person did.
 */
export async function mountAgain(
  { world }: Hall,
  kernel: Kernel,
  found: RegisteredFolder,
): Promise<FoundFolder> {
  const { listFolders, mountFolder, Mounts } = await import("../files/index.ts");
  await world.attachFiles(kernel);
  const mounts = Mounts.of(kernel);
  const { folder } = found;
  const known = listFolders(mounts).find((each) => each.folder === folder);
  if (known !== undefined) return { ...found, trouble: known.trouble };
  try {
    const { trouble } = await mountFolder(mounts, { folder });
    return { ...found, trouble };
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    return { ...found, trouble: error.message };
  }
}
