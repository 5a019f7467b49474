/** What single lines of a patch look like, without knowing where they stand. */

export function isFileHeader(lines: readonly string[], at: number): boolean {
  return /^--- \S/.test(lines[at] ?? "") && /^\+\+\+ \S/.test(lines[at + 1] ?? "");
}

/** Half a file header directly before a hunk, which is another file's then. */
export function isHalfHeader(lines: readonly string[], at: number): boolean {
  if (!/^(---|\+\+\+) \S/.test(lines[at] ?? "")) return false;
  let next = at + 1;
  while (lines[next] === "") next++;
  return lines[next]?.startsWith("@@") === true;
}

/** What other tools than git write above `---` and `+++`. */
export function isForeignHeader(line: string): boolean {
  return /^(Index: |diff -)/.test(line);
}

/** A ```diff block that has neither file header nor `@@`. */
export function isHeadlessFence(lines: readonly string[], at: number): boolean {
  if (!/^```(diff|patch)\s*$/.test(lines[at]!)) return false;
  return isBodyLine(lines[at + 1] ?? "") && !isFileHeader(lines, at + 1);
}

export function startsSomethingElse(lines: readonly string[], at: number): boolean {
  const line = lines[at]!;
  return (
    line.startsWith("@@") ||
    line.startsWith("```") ||
    line.startsWith("diff -") ||
    line.startsWith("Index: ") ||
    /^(Only in .*: |Binary files .* differ)/.test(line) ||
    isFileHeader(lines, at) ||
    isMailSignature(lines, at)
  );
}

/** git format-patch ends in `-- ` and git's version, which is no removed line. */
function isMailSignature(lines: readonly string[], at: number): boolean {
  return (
    /^-- ?$/.test(lines[at]!) &&
    /^\d+\.\d+/.test(lines[at + 1] ?? "") &&
    (lines[at + 2] ?? "") === ""
  );
}

export function isBodyLine(line: string): boolean {
  return /^[ +-]/.test(line);
}

export function isMarker(line: string): boolean {
  return line.startsWith("\\ ");
}

/** A list in the prose below a diff. ` * ` is left out: a documentation comment has lines of that shape. */
export function isBullet(line: string): boolean {
  return /^[-+] [^\s*]/.test(line);
}
