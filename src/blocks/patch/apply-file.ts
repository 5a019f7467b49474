import { KumikoError } from "../../base/index.ts";
import { joinText, splitText } from "../diff/lines.ts";
import { applyHunks, type ApplyOptions, type HunkReport, type PatchOutcome } from "./apply.ts";
import type { FilePatch, Hunk } from "./types.ts";

/** `applyHunks`, and what the patch says about the file as a whole. A file that does not exist is "". */
export function applyFilePatch(
  text: string,
  patch: FilePatch,
  options: ApplyOptions = {},
): PatchOutcome {
  if (patch.kind === "create" && text !== "") {
    throw new KumikoError(
      "patch_rejected",
      "The patch creates the file, but it exists and is not empty.",
      {
        path: patch.newPath,
        kind: patch.kind,
      },
    );
  }
  const hunks = patch.kind === "create" ? patch.hunks.map(ofNewFile) : patch.hunks;
  const outcome = applyHunks(text, hunks, options);
  if (patch.kind === "delete") {
    const left = splitText(applyChanges(text, outcome)).lines;
    if (left.length > 0) {
      throw new KumikoError(
        "patch_rejected",
        `The patch deletes the file, but ${left.length} of its lines are not in the patch.`,
        {
          path: patch.oldPath,
          kind: patch.kind,
          lines_left: left.length,
          first_left: left[0]!.slice(0, 200),
        },
      );
    }
  }
  return outcome;
}

/** In a file that is made there is one place only, whatever number a hunk says. */
function ofNewFile(hunk: Hunk, at: number): Hunk {
  const other = hunk.lines.find(({ kind }) => kind !== "added");
  if (other === undefined) return { ...hunk, oldStart: null };
  throw new KumikoError(
    "patch_rejected",
    `The patch creates the file, and not every line of hunk ${at + 1} begins with +: give them all one, blank lines too.`,
    { hunk: at + 1, counted_from: 1, line: other.text.slice(0, 200) },
  );
}

export function applyChanges(text: string, outcome: PatchOutcome): string {
  const old = splitText(text).lines;
  const lines: string[] = [];
  let at = 0;
  for (const change of outcome.changes) {
    while (at < change.startLine) lines.push(old[at++]!);
    for (const line of change.lines) lines.push(line);
    at = change.endLine;
  }
  while (at < old.length) lines.push(old[at++]!);
  return joinText({ lines, finalNewline: outcome.finalNewline });
}

export function applyPatchToText(
  text: string,
  patch: FilePatch,
  options: ApplyOptions = {},
): { text: string; reports: readonly HunkReport[] } {
  const outcome = applyFilePatch(text, patch, options);
  return { text: applyChanges(text, outcome), reports: outcome.reports };
}
