import type { NewCommit } from "./ports.ts";

/** How what somebody does to a file counts for undo. */
export type StateChangeUndo = NonNullable<NewCommit["undo"]>;

/** The undoing of what an Edit did to one file, or its redoing. */
export interface FileFlip {
  readonly block: string;
  /** The position at which that was done. */
  readonly position: number;
  readonly flips: string;
  readonly active: boolean;
  /** The Edit that this is. */
  readonly edit: string;
}
