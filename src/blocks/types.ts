/** One replacement in a text, in UTF-16 units. */
export interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

/** Who did it and why: recorded with every commit. */
export interface Stamp {
  readonly actor: string;
  /** The unit of undo: commits that share it are undone together. */
  readonly edit: string;
  /** Milliseconds since 1970, from the caller's clock. */
  readonly time: number;
  /** What was called to do it. */
  readonly tool?: string | undefined;
  readonly call?: string | undefined;
  readonly message?: string | undefined;
  readonly model?: string | undefined;
  readonly turn?: string | undefined;
}

/** What a version did, beyond splices made at that moment. */
export type Special =
  | { readonly kind: "baseline" }
  | { readonly kind: "birth"; readonly hash: string }
  /** Something of the block other than its text. */
  | { readonly kind: "structure" }
  /** `update` is undefined once a snapshot covers it. */
  | { readonly kind: "import"; readonly update: Uint8Array | undefined }
  | {
      readonly kind: "flip";
      readonly target: number;
      readonly active: boolean;
      readonly splices: readonly Splice[];
      readonly held?: Holding;
    };

/**
 * The deletions that a flip made hold or let go, by their first death numbers. Undefined for a flip of old formats, when
 * none ever held: what it undid is judged by its own time.
 */
export type Holding = readonly number[] | undefined;

/**
 * Of each splice of a version: behind how many of the hidden units that follow the visible unit before it its text
 * stands. Undefined when it is none for all, as with everything that old formats recorded.
 */
export type Places = readonly number[] | undefined;

/** What one version did, as a journal keeps it: enough to do it again without anything else. */
export type RecordedChange =
  | { readonly kind: "baseline"; readonly splices: readonly Splice[] }
  | { readonly kind: "text"; readonly splices: readonly Splice[]; readonly places?: Places }
  | { readonly kind: "structure" }
  | { readonly kind: "birth"; readonly hash: string }
  | {
      readonly kind: "import";
      readonly splices: readonly Splice[];
      readonly update: Uint8Array;
      readonly places?: Places;
    }
  | {
      readonly kind: "flip";
      /** The Edit that is switched off or on. */
      readonly edit: string;
      readonly active: boolean;
      readonly splices: readonly Splice[];
      readonly held?: Holding;
    };
