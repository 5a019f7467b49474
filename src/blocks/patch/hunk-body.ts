import { malformed } from "./malformed.ts";
import {
  isBodyLine,
  isBullet,
  isFileHeader,
  isHalfHeader,
  isMarker,
  startsSomethingElse,
} from "./shape.ts";
import type { HunkLine } from "./types.ts";

export interface HunkBody {
  readonly lines: readonly HunkLine[];
  readonly oldNoNewline: boolean;
  readonly newNoNewline: boolean;
  /** The first line of the patch after the hunk. */
  readonly next: number;
}

export interface Counts {
  readonly old: number;
  readonly new: number;
}

/**
 * Counts decide where the hunk ends if they lead to a plausible end, because only they can tell a
 * removed `-- x` from a file header; otherwise the shape of the lines decides.
 */
export function readHunkBody(
  lines: readonly string[],
  start: number,
  counts: Counts | null,
): HunkBody {
  const counted = counts === null ? null : readByCounts(lines, start, counts);
  if (counted !== null && endsPlausibly(lines, counted)) return counted;
  return readByShape(lines, start, counts);
}

class BodyReader {
  readonly lines: HunkLine[] = [];
  old = 0;
  new = 0;
  oldNoNewline = false;
  newNoNewline = false;

  /** False: the line cannot belong to a hunk body. */
  take(line: string): boolean {
    if (isMarker(line)) return this.#mark();
    if (line === "" || line.startsWith(" ")) this.#push("context", line.slice(1));
    else if (line.startsWith("-")) this.#push("removed", line.slice(1));
    else if (line.startsWith("+")) this.#push("added", line.slice(1));
    else return false;
    return true;
  }

  #push(kind: HunkLine["kind"], text: string): void {
    this.lines.push({ kind, text });
    if (kind !== "added") this.old++;
    if (kind !== "removed") this.new++;
  }

  #mark(): boolean {
    const last = this.lines[this.lines.length - 1];
    if (last === undefined) return false;
    if (last.kind !== "added") this.oldNoNewline = true;
    if (last.kind !== "removed") this.newNoNewline = true;
    return true;
  }

  /** A line of a side that was marked as ending without newline cannot be followed by another. */
  contradictsMarker(line: string): boolean {
    if (isMarker(line)) return false;
    const touchesOld = !line.startsWith("+");
    const touchesNew = !line.startsWith("-");
    return (touchesOld && this.oldNoNewline) || (touchesNew && this.newNoNewline);
  }

  body(next: number): HunkBody {
    return {
      lines: this.lines,
      oldNoNewline: this.oldNoNewline,
      newNoNewline: this.newNoNewline,
      next,
    };
  }
}

function readByCounts(lines: readonly string[], start: number, counts: Counts): HunkBody | null {
  const reader = new BodyReader();
  let at = start;
  while (reader.old < counts.old || reader.new < counts.new) {
    const line = lines[at];
    if (line === undefined || reader.contradictsMarker(line) || !reader.take(line)) return null;
    if (reader.old > counts.old || reader.new > counts.new) return null;
    at++;
  }
  if (at < lines.length && isMarker(lines[at]!) && reader.take(lines[at]!)) at++;
  return reader.body(at);
}

function endsPlausibly(lines: readonly string[], body: HunkBody): boolean {
  if (swallowsFileHeader(lines, body)) return false;
  let at = body.next;
  if (at >= lines.length || startsSomethingElse(lines, at)) return true;
  const afterBlank = lines[at] === "";
  while (lines[at] === "") at++;
  if (at >= lines.length || startsSomethingElse(lines, at)) return true;
  if (!isBodyLine(lines[at]!)) return true;
  return afterBlank && isBullet(lines[at]!);
}

/** Counts too large by one on both sides would take the next file's header for a replaced line. */
function swallowsFileHeader(lines: readonly string[], body: HunkBody): boolean {
  const at = body.next - 2;
  if (
    body.lines.length < 2 ||
    !(lines[body.next] ?? "").startsWith("@@") ||
    !isFileHeader(lines, at)
  )
    return false;
  const named = (line: string): boolean =>
    /^(--- a\/|\+\+\+ b\/|(---|\+\+\+) \/dev\/null)/.test(line);
  return named(lines[at]!) && named(lines[at + 1]!);
}

function readByShape(lines: readonly string[], start: number, counts: Counts | null): HunkBody {
  const reader = new BodyReader();
  let at = start;
  let blanks = 0;
  for (; at < lines.length && !startsSomethingElse(lines, at); at++) {
    const line = lines[at]!;
    // Blank lines count only once something follows them: they may also stand below the diff.
    if (line === "") {
      blanks++;
      continue;
    }
    if (!isBodyLine(line) && !isMarker(line)) {
      refuseStrayLine(lines, at);
      break;
    }
    if (line.startsWith("+++ ") && isHalfHeader(lines, at))
      throw malformed("a file begins here, and needs a `---` line before it.", at + 1);
    for (; blanks > 0; blanks--) reader.take("");
    if (reader.contradictsMarker(line)) {
      throw malformed("the hunk goes on after a line marked as the end of the file.", at + 1);
    }
    if (!reader.take(line)) throw malformed("a no-newline marker follows no line.", at + 1);
  }
  if (counts !== null && !reader.contradictsMarker("")) {
    const owed = Math.min(counts.old - reader.old, counts.new - reader.new, blanks);
    for (let blank = 0; blank < owed; blank++) reader.take("");
  }
  return reader.body(at);
}

/** A line that lost its prefix in the middle of a hunk must not silently cut the hunk short. */
function refuseStrayLine(lines: readonly string[], at: number): void {
  let next = at + 1;
  while (lines[next] === "") next++;
  if (next >= lines.length || startsSomethingElse(lines, next)) return;
  const following = lines[next]!;
  const direct = next === at + 1 && isBodyLine(following);
  const later = /^[+-]/.test(following) && !isBullet(following);
  if (!direct && !later) return;
  throw malformed(
    "it begins with none of ' ', '+', '-' and '\\', yet the hunk seems to go on after it. Give every line of a hunk its prefix.",
    at + 1,
    { line: lines[at]!.slice(0, 200) },
  );
}
