import { readFile, stat } from "node:fs/promises";
import { KumikoError } from "../base/index.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Strict: what would not be written back byte for byte is refused. A byte order mark stays in the text. */
export function decodeText(bytes: Uint8Array, path: string): string {
  if (bytes.includes(0)) {
    throw new KumikoError("file_unreadable", `${path} holds a NUL byte: it is not a text file.`, {
      path,
    });
  }
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new KumikoError("file_unreadable", `${path} is not valid UTF-8.`, { path }, { cause });
  }
}

/** Null when there is no such file. Opening a pipe or a device could wait for ever: only plain files are read. */
export async function readPlainFile(
  file: string,
  path: string,
): Promise<{ bytes: Uint8Array; mode: number; uid: number; gid: number } | null> {
  try {
    const status = await stat(file);
    if (!status.isFile())
      throw new KumikoError("file_unreadable", `${path} is not a plain file.`, { path });
    const bytes = await readFile(file);
    return { bytes, mode: status.mode & 0o7777, uid: status.uid, gid: status.gid };
  } catch (error) {
    if (isMissing(error)) return null;
    throw asUnreadable(error, path);
  }
}

export function asUnreadable(error: unknown, path: string): Error {
  if (!isSystemError(error)) return error instanceof Error ? error : new Error(String(error));
  return new KumikoError(
    "file_unreadable",
    `${path} cannot be read: ${error.code}.`,
    { path, reason: error.code },
    {
      cause: error,
    },
  );
}

export function isMissing(error: unknown): boolean {
  return isSystemError(error) && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return (
    error instanceof Error &&
    typeof (error as NodeJS.ErrnoException).code === "string" &&
    "syscall" in error
  );
}
