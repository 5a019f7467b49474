/** What a patch of Codex's own tool will make of one file, as `file_changed` takes it. */
export interface PatchedFile {
  readonly path: string;
  readonly announced: { readonly [name: string]: unknown };
}

interface Hunk {
  /** Lines that are there, and those that are there instead. */
  readonly old: string[];
  readonly new: string[];
}

interface Section {
  readonly kind: "Add" | "Update";
  path: string;
  readonly hunks: Hunk[];
}

const HEADER = /^\*\*\* (Add|Update|Delete) File: (.+)$/;
const MOVE = /^\*\*\* Move to: (.+)$/;
/** As many as `file_changed` takes. */
const MOST = 1_000;

/**
 * The files that a patch writes, in its order. Those it deletes are not among them: nobody is blamed for what is not there.
 * What is no such patch has none.
 */
export function patchedFiles(patch: string): PatchedFile[] {
  const sections: Section[] = [];
  let now: Section | undefined;
  for (const line of patch.replaceAll("\r\n", "\n").split("\n")) {
    const [, kind, path] = HEADER.exec(line) ?? [];
    const moved = MOVE.exec(line)?.[1];
    if (path !== undefined) {
      now = kind === "Delete" ? undefined : { kind: kind as Section["kind"], path, hunks: [] };
      if (now !== undefined) sections.push(now);
    } else if (now === undefined) continue;
    else if (moved !== undefined) now.path = moved;
    else if (line.startsWith("@@")) now.hunks.push({ old: [], new: [] });
    else take(now, line);
  }
  return sections.map((section) => ({ path: section.path, announced: announcedBy(section) }));
}

/** A line of a hunk; one before the first `@@` opens it. */
function take({ hunks }: Section, line: string): void {
  const [sign, text] = [line[0], line.slice(1)];
  if (sign !== "+" && sign !== "-" && sign !== " ") return;
  if (hunks.length === 0) hunks.push({ old: [], new: [] });
  const hunk = hunks.at(-1)!;
  if (sign !== "+") hunk.old.push(text);
  if (sign !== "-") hunk.new.push(text);
}

function announcedBy({ kind, hunks }: Section): PatchedFile["announced"] {
  if (kind === "Add") return { content: linesOf(hunks.flatMap((hunk) => hunk.new)) };
  if (hunks.length <= MOST && hunks.every(({ old }) => old.length > 0))
    return { edits: hunks.map((hunk) => ({ old: linesOf(hunk.old), new: linesOf(hunk.new) })) };
  // Where it adds lines without saying behind which, they are known by themselves.
  const added = hunks.flatMap(({ old, new: by }) => by.filter((line) => !old.includes(line)));
  return { holds: [...new Set(added.filter((line) => line.trim() !== ""))].slice(0, MOST) };
}

/** Codex ends every line, also the last one. */
function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
