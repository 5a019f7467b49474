/** ripgrep, as our searches are measured against it. */
import { spawnSync } from "node:child_process";

/** Throws when it is not installed. */
export function hasRipgrep(): void {
  if (spawnSync("rg", ["--version"]).status === 0) return;
  throw new Error(
    "ripgrep (rg) is not installed, so search cannot be measured against it: apt-get install ripgrep.",
  );
}

/** In how many lines of a folder's files it finds something. */
export function ripgrep(query: string, folder: string): number {
  const { stdout } = spawnSync("rg", ["-n", query, folder], { maxBuffer: 1 << 28 });
  return stdout.toString().split("\n").length - 1;
}
