import type { FilePatch, Hunk, HunkLine } from "./types.ts";

/** The patch that takes this one back. */
export function reverseFilePatch(patch: FilePatch): FilePatch {
  const kinds = { create: "delete", delete: "create", modify: "modify", rename: "rename" } as const;
  return {
    ...patch,
    oldPath: patch.newPath,
    newPath: patch.oldPath,
    kind: kinds[patch.kind],
    newMode: null,
    hunks: patch.hunks.map(reverseHunk),
  };
}

function reverseHunk(hunk: Hunk): Hunk {
  return {
    ...hunk,
    oldStart: hunk.newStart,
    oldCount: hunk.newCount,
    newStart: hunk.oldStart,
    newCount: hunk.oldCount,
    lines: removedFirst(hunk.lines.map(reverseLine)),
    oldNoNewline: hunk.newNoNewline,
    newNoNewline: hunk.oldNoNewline,
  };
}

function reverseLine(line: HunkLine): HunkLine {
  if (line.kind === "context") return line;
  return { kind: line.kind === "added" ? "removed" : "added", text: line.text };
}

/** Within a change, removed lines stand before added ones, as in every diff. */
function removedFirst(lines: readonly HunkLine[]): HunkLine[] {
  const ordered: HunkLine[] = [];
  let added: HunkLine[] = [];
  for (const line of lines) {
    if (line.kind === "added") {
      added.push(line);
      continue;
    }
    if (line.kind === "context") {
      for (const waiting of added) ordered.push(waiting);
      added = [];
    }
    ordered.push(line);
  }
  return [...ordered, ...added];
}
