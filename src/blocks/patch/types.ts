export interface HunkLine {
  readonly kind: "context" | "removed" | "added";
  /** Without prefix and without `\n`; a `\r` stays. */
  readonly text: string;
}

export interface HunkHeader {
  /** The `@@` line as printed, or "" when there was none. */
  readonly header: string;
  /** Counting from 1, as printed; null when the header has no number that could be meant. */
  readonly oldStart: number | null;
  /** As printed, which may be wrong; null when not printed. */
  readonly oldCount: number | null;
  readonly newStart: number | null;
  readonly newCount: number | null;
  /** What follows the `@@`: for people, and to choose among places when there is no number. */
  readonly hint: string;
}

export interface Hunk extends HunkHeader {
  readonly lines: readonly HunkLine[];
  /** The last old (new) line is marked as having no newline. */
  readonly oldNoNewline: boolean;
  readonly newNoNewline: boolean;
}

export interface FilePatch {
  /** Null: `/dev/null` (create, delete), or not named at all (a bare hunk; both are null and kind is modify). */
  readonly oldPath: string | null;
  readonly newPath: string | null;
  readonly kind: "modify" | "create" | "delete" | "rename";
  /** git's octal file mode for the result, when the patch states one. */
  readonly newMode: string | null;
  readonly hunks: readonly Hunk[];
  /** What was read but has no effect on text, for people. */
  readonly notes: readonly string[];
}

export interface Patch {
  readonly files: readonly FilePatch[];
  /** Files that `diff -r` only mentions, for people. */
  readonly notes: readonly string[];
}
