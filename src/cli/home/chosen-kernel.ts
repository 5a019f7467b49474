import { registeredKernel } from "../../app/folders.ts";
import type { HomeFolder } from "../../app/index.ts";
import type { Terminal } from "../terminal.ts";
import { DEFAULT_KERNEL, type HomeFlags } from "./options.ts";

export interface ChosenKernel {
  readonly id: string;
  /** Nobody named it: it may be made when it is needed. */
  readonly implied: boolean;
}

/** `--kernel`, else `$KUMIKO_KERNEL`, else the kernel of this folder or of one above it, else `main`. */
export async function chosenKernel(
  terminal: Terminal,
  flags: Pick<HomeFlags, "kernel">,
  home: HomeFolder,
): Promise<ChosenKernel> {
  const named = flags.kernel ?? (terminal.environment["KUMIKO_KERNEL"] || undefined);
  if (named !== undefined) return { id: named, implied: named === DEFAULT_KERNEL };
  const id = (await registeredKernel(home, terminal.folder)) ?? DEFAULT_KERNEL;
  return { id, implied: true };
}
