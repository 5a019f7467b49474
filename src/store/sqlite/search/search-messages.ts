import type { FoundLine, SearchPart } from "../../../base/search/index.ts";
import type { SearchRequest } from "../../../kernel/ports.ts";
import type { Refusal } from "../requests.ts";

/** To the searcher: a search, and the texts it asked for on the way. */
export type ToSearcher =
  | {
      readonly search: Omit<SearchRequest, "signal" | "caller" | "milliseconds" | "slice"> & {
        /** Units that earlier parts have found already. */
        readonly shown: number;
        readonly part: SearchPart;
      };
    }
  | { readonly text: { readonly version: number; readonly text: string } }
  | { readonly unreadable: string };

export interface FoundInBlock {
  readonly block: string;
  readonly path: string | undefined;
  readonly version: number;
  readonly line: FoundLine;
}

/** From it: what it finds as it finds it, at last `done`. */
export type FromSearcher =
  | { readonly ready: true }
  | { readonly found: readonly FoundInBlock[] }
  | { readonly more: string }
  | { readonly slow: string }
  /** Its keyframe is not of its last version: the searcher waits for the text. */
  | { readonly need: string }
  | { readonly unreadable: { readonly block: string; readonly why: string } }
  | { readonly unusable: string }
  | { readonly refused: Refusal }
  | {
      readonly done: {
        readonly truncated: boolean;
        readonly timedOut: boolean;
        /** Blocks whose last text is at rest and not in the index. */
        readonly unindexed: number;
      };
    };

/** To the indexer: which keyframes to look at; all of them without names. */
export type ToIndexer =
  | { readonly index: readonly string[] | undefined; readonly number: number }
  | { close: true };

export type FromIndexer =
  | { readonly indexed: number }
  /** What was there could not be used and was deleted. */
  | { readonly dropped: string }
  | { readonly failed: string };
