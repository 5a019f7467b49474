import type { NewCommit } from "./ports.ts";

/** How what somebody does to a file counts for undo. */
export type StateChangeUndo = NonNullable<NewCommit["undo"]>;

/** What may happen to a whole file; its text stays as it is. */
export type WholeFileChange = "moves" | "deletes";

/** Edits that did something to whole files: one, or several beside changes of text. Their ids say so. */
export type FileEditKind = WholeFileChange | "patches";

const FILE_EDIT = /^e[^-]+-\d+-(moves|deletes|patches)$/;

export function fileEdit(edit: string, kind: FileEditKind): string {
  return `${edit}-${kind}`;
}

export function isFileEdit(edit: string): boolean {
  return FILE_EDIT.test(edit);
}

/** The undoing of what such an Edit did to one file, or its redoing. */
export interface FileFlip {
  readonly block: string;
  /** The position at which that was done. */
  readonly position: number;
  readonly flips: string;
  readonly active: boolean;
  /** The Edit that this is. */
  readonly edit: string;
}
