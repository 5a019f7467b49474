import type { PositionedText, WholeFileChange } from "../base/index.ts";
import type { TextQuery } from "../base/search/index.ts";
import type { EditTarget, Splice } from "../blocks/index.ts";
import type { FileFlip } from "./file-edit.ts";
import type { CallerKind, ConversationRules, Decision, Operation } from "./gate.ts";
import type { Invocation } from "./invocation.ts";

export interface FileTextQuery {
  readonly query: TextQuery;
  /** Only the files of a folder: `@src`. */
  readonly context: string | undefined;
  /** The beginning of a path in its folder, or of `@src/path`. */
  readonly pathPrefix: string | undefined;
}

export interface FileTextPage {
  readonly texts: readonly ({
    /** What tools take for the file. */
    readonly name: string;
  } & ({ readonly text: string } | { readonly unreadable: string }))[];
  /** Of a folder of so many files these are known by now; the others are not looked through. */
  readonly indexing?: Indexing;
}

export interface Indexing {
  readonly done: number;
  readonly of: number;
}

/** A file that is not what its block says, and why it could not be written. */
export interface UnsavedFile {
  readonly path: string;
  readonly block_id: string;
  readonly why: string;
  /** It was only read: nothing is to be written. */
  readonly unread?: true;
}

/** A file that may be made where none is. */
export interface NewFile {
  /** What tools take for it. */
  readonly name: string;
  /** Makes its block, in an Edit or as a new one; on disk it is made by `make`. Refused when one came meanwhile. */
  create(
    invocation: Invocation,
    content: string,
    how?: { readonly edit?: string | undefined; readonly isProgram?: boolean },
  ): Promise<{ readonly block: string; readonly version: number; readonly edit: string }>;
}

/** What somebody wants to become of a whole file: it may and can be now, and nothing is done yet. */
export interface PlannedGoing {
  readonly block: string;
  /** What tools take for where it goes; undefined when it is deleted. */
  readonly to: string | undefined;
  /**
   * Does it as part of an Edit and gives the block's version. `verify` throws when the block says something else by
   * then than the caller believes.
   */
  carryOut(edit: string, verify: (target: EditTarget) => void): Promise<number>;
}

/** The undoing of what was done to a whole file, or its redoing: it may and can be now. */
export interface PlannedFlip {
  readonly change: WholeFileChange;
  /** What tools take for where the file is to be then; undefined when it is to be gone. */
  readonly to: string | undefined;
  /** Gives the block's version. */
  carryOut(): Promise<number>;
}

/** A block's text as it will be once the change is in the journal. */
export interface AboutToBe {
  readonly block: string;
  /** The version that is changed. */
  readonly before: number;
  readonly version: number;
  readonly splices: readonly Splice[];
  /** With the change, and only until the next one. */
  readonly text: PositionedText;
}

/**
 * What stands behind blocks that are files: folders that are kept in step with them. The kernel asks; it knows
 * nothing of disks itself.
 */
export interface FilePort extends AsyncDisposable {
  /**
   * The block that a caller means, by its id or by a path. A file is loaded, brought up to date and may be used for
   * the operation, or this throws why not. To read, a block does without its file, and the caller is told so.
   */
  target(invocation: Invocation, given: string, operation: Operation): Promise<string>;
  /** For what is no file, by folder; undefined when there never was one. */
  rules(): readonly ConversationRules[] | undefined;
  /** Undefined when the target is no file. */
  authorise(
    caller: { readonly actor: string; readonly kind?: CallerKind | undefined },
    operation: Operation,
    target: string,
  ): Decision | undefined;
  /** Text of a file's block is on its way to nobody: it is in the journal. Never throws. */
  committed(block: string, version: number, by?: CallerKind): void;
  /** Whether a block's text is kept from searches, whoever asks. */
  hidden(block: string): boolean;
  /** Files of whose text a search tells a caller nothing, and folders that are not mounted now: of those nobody. */
  withheld(
    invocation: Invocation,
  ): Promise<{ readonly blocks: readonly string[]; readonly folders: readonly string[] }>;
  /** What a caller has to know, may read and was not told yet; it is now. */
  tell(invocation: Invocation): readonly unknown[];
  /**
   * Texts of files that have no blocks, as they are on disk, in the order of their folders and paths: those that may
   * hold what is looked for and that the caller may read. What has a block when this is called is left out.
   */
  texts(invocation: Invocation, wanted: FileTextQuery): AsyncIterable<FileTextPage>;
  /**
   * Masks what is kept of texts beside their blocks: of one block, or wherever it is. Gives in how many places something
   * was masked.
   */
  purge(mask: (text: string) => string, block?: string): Promise<number>;
  /** What the file of a block says; undefined when the block is no file, throws why it cannot be read. */
  onDisk(block: string): Promise<string | undefined>;
  /** Undefined when there is one at the path; throws when the caller may not make one there. */
  newFile(invocation: Invocation, given: string): Promise<NewFile | undefined>;
  /** Makes files whose blocks were made as new ones; throws why one cannot be. */
  make(blocks: readonly string[]): Promise<void>;
  /** An Edit was taken back: files that it made, or was to make, where others had been are gone again as those were. */
  takenBack(edit: string, blocks: readonly string[]): Promise<void>;
  /** Texts that are about to be in the journal: meanwhile their files are made ready. The caller disposes of it. */
  stage(changes: readonly AboutToBe[]): Disposable | undefined;
  /** Resolves when these are on disk, or it is known and told why not. Takes what was staged for them. */
  saved(blocks: readonly string[], staged?: Disposable): Promise<void>;
  /** The same for blocks of which something was purged, whoever may change their files. */
  purged(blocks: readonly string[]): Promise<void>;
  /** Those of the blocks whose files are not there, and that nobody asked for. */
  away(blocks: readonly string[]): ReadonlySet<string>;
  /**
   * The same for blocks that got a text of earlier days: files of theirs that are not there any more are made again. Without
   * text only those that were `asked` for, and what an Edit made that was done again. Gives those that were made.
   */
  restored(
    invocation: Invocation,
    blocks: readonly string[],
    asked?: ReadonlySet<string>,
  ): Promise<ReadonlySet<string>>;
  /**
   * Looks whether a file can be deleted or, with `to`, moved there. Throws when it cannot, or the caller may not;
   * undefined when what is given is no file.
   */
  going(
    invocation: Invocation,
    given: string,
    to: string | undefined,
  ): Promise<PlannedGoing | undefined>;
  /** The same for the undoing of what somebody did to a file, or its redoing; undefined when its folder is not mounted. */
  flip(invocation: Invocation, flip: FileFlip): Promise<PlannedFlip | undefined>;
  /** An Edit was undone or redone: what it decided about files is open again, or decided again. Before it is saved. */
  flipped(edit: string, active: boolean): Promise<void>;
  /** Those of the blocks whose files could not be written when that was last tried. */
  unsaved(blocks: readonly string[]): readonly UnsavedFile[];
}
