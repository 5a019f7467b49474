import type { Hunk } from "./types.ts";

/** What a hunk expects to find: its context and removed lines. */
export interface OldSide {
  readonly texts: readonly string[];
  readonly removed: readonly boolean[];
  readonly leadingContext: number;
  readonly trailingContext: number;
  /** The hunk says that its last line is the last of the text. */
  readonly atEnd: boolean;
}

export function oldSideOf(hunk: Hunk): OldSide {
  const old = hunk.lines.filter((line) => line.kind !== "added");
  const firstChange = hunk.lines.findIndex((line) => line.kind !== "context");
  const lastChange = hunk.lines.findLastIndex((line) => line.kind !== "context");
  return {
    texts: old.map((line) => line.text),
    removed: old.map((line) => line.kind === "removed"),
    leadingContext: firstChange < 0 ? 0 : firstChange,
    trailingContext: firstChange < 0 ? 0 : hunk.lines.length - 1 - lastChange,
    atEnd: hunk.oldNoNewline || hunk.newNoNewline,
  };
}

/**
 * Where the hunk says its old side begins, counting from 0, or null. A header whose old side is empty
 * names the line before the insertion; line 0 with something to match is a placeholder.
 */
export function statedLine(hunk: Hunk, old: OldSide): number | null {
  if (hunk.oldStart === null) return null;
  if (old.texts.length === 0 && hunk.oldCount === 0) return hunk.oldStart;
  return hunk.oldStart === 0 ? null : hunk.oldStart - 1;
}
