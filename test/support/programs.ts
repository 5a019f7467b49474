import { execFileSync, spawnSync } from "node:child_process";
import { isFull } from "./counts.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Whether this machine has what a test needs. Where everything is tried, a test that is left out is a failure. */
function needed(what: string, isThere: boolean): boolean {
  if (!isThere && isFull())
    throw new Error(
      `A full run needs ${what}, and it is not to be had here (apt-get install vim git).`,
    );
  return isThere;
}

const runs = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;

export const hasVim = needed("vim", runs("vim"));
needed("git", runs("git"));

/** Whether a disk can be made that is full or cannot be written: only root may, and not in every container. */
export function canMount(): boolean {
  using place = temporaryFolder();
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "kumiko-test", place.path]).status === 0;
  if (isMounted) execFileSync("umount", [place.path]);
  return process.getuid?.() === 0 ? needed("to mount a tmpfs as root", isMounted) : isMounted;
}
