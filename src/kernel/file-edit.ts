import type { NewCommit } from "./ports.ts";

/** How what somebody does to a file counts for undo. */
export type StateChangeUndo = NonNullable<NewCommit["undo"]>;

/** Edits that change no text but what is on disk. Their ids say so. */
type FileEditKind = "moves" | "deletes";

const FILE_EDIT = /^e[^-]+-\d+-(moves|deletes)$/;

export function fileEdit(edit: string, kind: FileEditKind): string {
  return `${edit}-${kind}`;
}

export function fileEditKind(edit: string): FileEditKind | undefined {
  return FILE_EDIT.exec(edit)?.[1] as FileEditKind | undefined;
}

/** The undoing of such an Edit, or its redoing. */
export interface FileFlip {
  readonly kind: FileEditKind;
  readonly block: string;
  /** The position at which the Edit was made. */
  readonly position: number;
  readonly flips: string;
  readonly active: boolean;
  /** The Edit that this is. */
  readonly edit: string;
}
