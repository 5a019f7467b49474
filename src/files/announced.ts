import { mergeTexts } from "./merge.ts";

/** What somebody says it is about to make of a file. */
export type Announced =
  /** Its whole text. */
  | { readonly content: string }
  /** Replacements, each in the text that the one before it left. */
  | { readonly edits: readonly Replacement[] }
  /** Some of what it will say then and does not say yet. */
  | { readonly holds: readonly string[] };

interface Replacement {
  readonly old: string;
  readonly new: string;
  /** Wherever it stands; otherwise where it stands first. */
  readonly all?: boolean | undefined;
}

/**
 * Whether what happened to a file has in it what was announced. Others may have changed other lines in the same moment;
 * where they changed the same lines, nobody can say whose they are. Tools write the line ends of the file and drop blanks
 * at the ends of lines: both are looked over.
 */
export function holdsAnnounced(
  announced: Announced,
  before: string | undefined,
  after: string,
): boolean {
  const [from, to] = [withPlainEnds(before ?? ""), withPlainEnds(after)];
  // A file that is made empty has no text to be known by.
  if (before === undefined && "content" in announced && announced.content === "") return to === "";
  if ("holds" in announced) {
    const { holds } = announced;
    return holds.every((each) => to.includes(each)) && !holds.every((each) => from.includes(each));
  }
  const meant = madeOf(announced, from);
  if (meant === undefined || meant === from) return false;
  if (meant === to) return true;
  const [base, memory, disk] = [withoutBlanks(from), withoutBlanks(meant), withoutBlanks(to)];
  if (base === memory) return false;
  const merged = mergeTexts({ base, memory, disk }, { stands: "disk", keepsAppended: false });
  return merged.conflicts.length === 0 && merged.text === disk;
}

/**
 * The text with nothing in it but what was announced, where others changed it in the same moment; undefined where nobody
 * did, or they cannot be told apart.
 */
export function announcedPart(
  announced: Announced,
  before: string,
  after: string,
): string | undefined {
  if ("holds" in announced || before.includes("\r") || after.includes("\r")) return undefined;
  const meant = madeOf(announced, before);
  if (meant === undefined || !holdsAnnounced(announced, before, after)) return undefined;
  const isAll = withoutBlanks(meant).trimEnd() === withoutBlanks(after).trimEnd();
  return isAll ? undefined : meant;
}

/** Undefined when it cannot be made of that text. */
function madeOf(
  announced: Exclude<Announced, { holds: unknown }>,
  text: string,
): string | undefined {
  if ("content" in announced) return withPlainEnds(announced.content);
  return announced.edits.reduce<string | undefined>(
    (made, edit) => (made === undefined ? undefined : replaced(made, edit)),
    text,
  );
}

function replaced(text: string, { old, new: by, all = false }: Replacement): string | undefined {
  const [sought, instead] = [withPlainEnds(old), withPlainEnds(by)];
  if (sought === "") return text === "" ? instead : undefined;
  if (!text.includes(sought)) return undefined;
  // As a function: in a text `$&` would mean something.
  return all ? text.replaceAll(sought, () => instead) : text.replace(sought, () => instead);
}

function withPlainEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

function withoutBlanks(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}
