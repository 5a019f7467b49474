import type { ErrorCode } from "../base/index.ts";

/** As diff and patch: 1 is an answer, 2 is trouble. */
export const exitCode = {
  fine: 0,
  different: 1,
  rejected: 1,
  trouble: 2,
  interrupted: 130,
} as const;

export function exitCodeOf(code: ErrorCode): number {
  return code === "patch_rejected" || code === "ambiguous" ? exitCode.rejected : exitCode.trouble;
}
