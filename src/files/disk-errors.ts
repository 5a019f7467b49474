import { KumikoError } from "../base/index.ts";

export type SystemError = NodeJS.ErrnoException & { readonly code: string };

export function isSystemError(error: unknown): error is SystemError {
  return (
    error instanceof Error &&
    typeof (error as NodeJS.ErrnoException).code === "string" &&
    "syscall" in error
  );
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return isSystemError(error) && codes.includes(error.code);
}

const MEANINGS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full; make room and try again",
  EDQUOT: "the quota is used up; make room and try again",
  EROFS: "the file system is read-only",
  EACCES: "its permissions do not allow it",
  EPERM: "the system does not permit it",
  EMFILE: "too many files are open",
  ENOENT: "it is not there",
  ENOTDIR: "it is no folder",
  EIO: "the disk failed",
  ENAMETOOLONG: "the name is longer than the file system takes",
};

/** What the system said, as a refusal to write; what else it is stays as it is. */
export function unwritable(error: unknown, path: string): unknown {
  if (!isSystemError(error)) return error;
  const sentence = `${path} cannot be written: ${meaning(error)}. What was there is untouched.`;
  return new KumikoError("file_unwritable", sentence, facts(error, path), { cause: error });
}

/** What the system said, as a refusal to read; what else it is stays as it is. */
export function unreadable(error: unknown, path: string): unknown {
  if (!isSystemError(error)) return error;
  const sentence = `${path} cannot be read: ${meaning(error)}.`;
  return new KumikoError("file_unreadable", sentence, facts(error, path), { cause: error });
}

function meaning(error: SystemError): string {
  const known = MEANINGS[error.code];
  return known === undefined ? `the system said ${error.code}` : `${known} (${error.code})`;
}

function facts(error: SystemError, path: string): { path: string; reason: string } {
  return { path, reason: error.code };
}
