import type { ErrorCode } from "../base/index.ts";

/** As diff and patch: 1 is an answer, 2 is trouble. */
export const exitCode = {
  fine: 0,
  different: 1,
  rejected: 1,
  /** The edit is in the journal, and its file does not say it yet: who reads the file next reads the old text. */
  unsaved: 1,
  trouble: 2,
  interrupted: 130,
} as const;

/** What was asked for was understood, and does not fit the text that is there. */
const rejections = new Set<ErrorCode>(["patch_rejected", "ambiguous", "conflict", "not_found"]);

export function exitCodeOf(code: ErrorCode): number {
  return rejections.has(code) ? exitCode.rejected : exitCode.trouble;
}
