import { isAbsolute } from "node:path";
import { registeredFolder } from "../../app/folders.ts";
import type { HomeFolder } from "../../app/index.ts";
import type { Terminal } from "../terminal.ts";
import { DEFAULT_KERNEL, type HomeFlags } from "./options.ts";

export interface ChosenKernel {
  readonly id: string;
  /** Nobody named it: it may be made when it is needed. */
  readonly implied: boolean;
}

/**
 * `--kernel`, else `$KUMIKO_KERNEL`, else the kernel that has the file or folder that is spoken of, or one above it, mounted,
 * or that was made for it; else the same of the folder where the person stands; else `main`.
 */
export async function chosenKernel(
  terminal: Terminal,
  flags: Pick<HomeFlags, "kernel">,
  home: HomeFolder,
  /** What is no absolute path, a block or `@name/path`, is looked for where the person stands. */
  spokenOf?: string,
): Promise<ChosenKernel> {
  const named = flags.kernel ?? (terminal.environment["KUMIKO_KERNEL"] || undefined);
  if (named !== undefined) return { id: named, implied: named === DEFAULT_KERNEL };
  const isPath = spokenOf !== undefined && isAbsolute(spokenOf);
  const found =
    (isPath ? await registeredFolder(home, spokenOf) : undefined) ??
    (await registeredFolder(home, terminal.folder));
  return { id: found?.kernel ?? DEFAULT_KERNEL, implied: true };
}
