import { resolve } from "node:path";
import { KumikoError } from "../base/index.ts";
import type { Terminal } from "./terminal.ts";
import { asUnreadable, decodeText, isMissing } from "./text-file.ts";
import { readFile } from "node:fs/promises";

/** A file the person names, or standard input for `-`. Pipes such as `<(…)` are welcome here. */
export async function readNamedBytes(terminal: Terminal, name: string): Promise<Uint8Array> {
  if (name === "-") return terminal.readInput();
  try {
    return await readFile(resolve(terminal.folder, name));
  } catch (error) {
    if (!isMissing(error)) throw asUnreadable(error, name);
    throw new KumikoError(
      "file_unreadable",
      `${name} does not exist.`,
      { path: name },
      { cause: error },
    );
  }
}

export function decodeNamed(bytes: Uint8Array, name: string): string {
  return decodeText(bytes, name === "-" ? "standard input" : name);
}
