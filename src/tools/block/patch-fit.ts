import { KumikoError } from "../../base/index.ts";
import {
  applyPatchToText,
  type EditTarget,
  type HunkReport,
  type Splice,
  translatePatch,
} from "../../blocks/index.ts";
import type { PatchedNewFile, PatchTarget } from "./patch-targets.ts";

/** Where a hunk was applied. */
export type Hunk = Pick<HunkReport, "hunk" | "line" | "offset" | "fuzz">;

/** What a file says that a patch makes. */
export function filled({ path, fresh, file }: PatchedNewFile): { text: string; hunks: Hunk[] } {
  return naming(path, fresh.name, () => {
    const { text, reports } = applyPatchToText("", file);
    return { text, hunks: reports.map(toHunk) };
  });
}

/** What a patch changes in a block. Of a file that it deletes that has to be everything. */
export function placed(
  document: EditTarget,
  { path, block, file, going }: PatchTarget,
  base: number | undefined,
): { splices: readonly Splice[]; hunks: Hunk[] } {
  return naming(path, block, () => {
    const { splices, reports } = translatePatch(document, file, base === undefined ? {} : { base });
    if (going !== undefined && going.to === undefined) checkNothingStays(document, splices);
    return { splices, hunks: reports.map(toHunk) };
  });
}

/** What others wrote since the version that the patch was made for is not deleted with the rest. */
function checkNothingStays(document: EditTarget, splices: readonly Splice[]): void {
  const removed = splices.reduce((sum, { remove }) => sum + remove, 0);
  const stays = document.read().length - removed;
  if (stays === 0) return;
  throw new KumikoError(
    "conflict",
    `The patch deletes the file, but others wrote ${stays} characters since its base version: make the patch for version ` +
      `${document.version}.`,
    { stays, version: document.version },
  );
}

/** Says in a refusal which file of the patch it is about. */
function naming<Result>(path: string | null, block: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    const facts = { ...error.facts, path, block };
    throw new KumikoError(error.code, `${path ?? block}: ${error.message}`, facts, {
      cause: error,
    });
  }
}

function toHunk({ hunk: number, line, offset, fuzz }: HunkReport): Hunk {
  return { hunk: number, line, offset, fuzz };
}
