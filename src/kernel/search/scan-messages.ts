import type { ErrorCode, Facts } from "../../base/index.ts";
import type {
  FoundLine,
  PatternReplacement,
  Replacement,
  ScanLimits,
  SearchPart,
  TextQuery,
} from "../../base/search/index.ts";
import type { SearchedText } from "../ports.ts";

/** What scan-worker.ts is asked to do. */
export type ScanTask =
  | {
      readonly scan: {
        readonly query: TextQuery;
        readonly limits: ScanLimits & { readonly shown: number };
        readonly part: SearchPart;
        readonly texts: readonly SearchedText[];
      };
    }
  | { readonly replace: { readonly text: string; readonly wanted: PatternReplacement } };

/** What it says: lines as they are found, at last `done`. */
export type FromScan =
  | { readonly ready: true }
  | { readonly found: readonly { readonly block: string; readonly line: FoundLine }[] }
  | { readonly more: string }
  | { readonly slow: string }
  | { readonly done: { readonly truncated: boolean; readonly timedOut: boolean } }
  | { readonly replacements: readonly Replacement[] }
  | {
      readonly refused: {
        readonly code: ErrorCode;
        readonly sentence: string;
        readonly facts: Facts;
      };
    };
