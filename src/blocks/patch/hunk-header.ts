import type { HunkHeader } from "./types.ts";

const numbered = /^@@\s*-(\d+)(?:,(\d+))?\s+\+(\d+)(?:,(\d+))?\s*(?:@@(.*))?$/;
const oldOnly = /^@@\s*-(\d+)(?:,(\d+))?\s*@@(.*)$/;

/** Counts are believed only where both are printed and not both 0, as in a placeholder. */
export function readHunkHeader(line: string): HunkHeader {
  const full = numbered.exec(line);
  if (full !== null) {
    const oldCount = full[2] === undefined ? 1 : Number(full[2]);
    const newCount = full[4] === undefined ? 1 : Number(full[4]);
    const placeholder = oldCount === 0 && newCount === 0;
    return {
      header: line,
      oldStart: placeholder ? null : Number(full[1]),
      oldCount: placeholder ? null : oldCount,
      newStart: placeholder ? null : Number(full[3]),
      newCount: placeholder ? null : newCount,
      hint: (full[5] ?? "").trim(),
    };
  }
  const old = oldOnly.exec(line);
  if (old !== null) {
    return { ...headless, header: line, oldStart: Number(old[1]), hint: old[3]!.trim() };
  }
  const [between, behind] = line.slice(2).split("@@", 2);
  return { ...headless, header: line, hint: behind?.trim() || between!.trim() };
}

/** A hunk that starts without any `@@` line. */
export const headless: HunkHeader = {
  header: "",
  oldStart: null,
  oldCount: null,
  newStart: null,
  newCount: null,
  hint: "",
};
