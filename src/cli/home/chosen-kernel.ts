import { statSync } from "node:fs";
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
 * `--kernel`, else `$KUMIKO_KERNEL`, else the kernel that has this folder or one above it mounted, or for which it was
 * made, else `main`.
 */
export async function chosenKernel(
  terminal: Terminal,
  flags: Pick<HomeFlags, "kernel">,
  home: HomeFolder,
  /** The folder that is spoken of, when that is another than where the person stands. */
  spokenOf?: string,
): Promise<ChosenKernel> {
  const named = flags.kernel ?? (terminal.environment["KUMIKO_KERNEL"] || undefined);
  if (named !== undefined) return { id: named, implied: named === DEFAULT_KERNEL };
  const found =
    (isFolder(spokenOf) ? await registeredFolder(home, spokenOf) : undefined) ??
    (await registeredFolder(home, terminal.folder));
  return { id: found?.kernel ?? DEFAULT_KERNEL, implied: true };
}

function isFolder(path: string | undefined): path is string {
  return path !== undefined && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
