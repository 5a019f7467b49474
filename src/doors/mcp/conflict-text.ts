import { type Answer, named, text } from "./plain-words.ts";

/** What of one's own does not stand: whoever wrote it hears of it here. */
export function conflictsText(conflicts: unknown): string {
  return (conflicts as readonly Answer[])
    .map(
      (each) =>
        `\n\nConflict ${text(each["conflict"])} in ${named(each["path"])}: ${lostText(each)}`,
    )
    .join("");
}

function lostText(conflict: Answer): string {
  const { stood, gone, theirs, mine, lost } = conflict;
  const inBlock = writersText(mine);
  if (stood === "nobody")
    return `both sides changed the same lines, and the file is not written until somebody decides with file_resolve.\n${sidesText(conflict)}`;
  const why =
    gone === true
      ? "the file was deleted before these lines of yours were saved"
      : `${stood === "disk" ? text(theirs) : inBlock} changed the same lines, and these of yours do not stand there now`;
  return `${why}; decide with file_resolve:\n${linesText(lost)}`;
}

/** One as it stands, whoever asks. */
export function conflictText(conflict: Answer): string {
  const { stood, gone, path, block_id: block, version } = conflict;
  const stands =
    gone === true
      ? "the file was deleted: memory brings it back"
      : stood === "nobody"
        ? "the file is not written until somebody decides"
        : `${text(stood)}'s lines stand there now`;
  const head = `Conflict ${text(conflict["conflict"])} in ${text(named(path))} (${text(block)}, version ${text(version)}): ${stands}; decide with file_resolve.`;
  return `${head}\n${sidesText(conflict)}`;
}

function writersText(mine: unknown): string {
  const writers = mine as readonly string[];
  return writers.length === 0 ? "others" : writers.join(" and ");
}

function sidesText({ theirs, mine, memory, disk }: Answer): string {
  const inBlock = writersText(mine);
  return `disk, by ${text(theirs)}:\n${linesText((disk as Answer)["text"])}memory, by ${inBlock}:\n${linesText((memory as Answer)["text"])}`;
}

/** Lines in a row with others; the last of a file may have no newline. */
function linesText(lines: unknown): string {
  return lines === "" ? "(no lines)\n" : text(lines).replace(/\n?$/, "\n");
}
