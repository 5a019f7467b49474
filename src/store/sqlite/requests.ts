import type { ErrorCode, Facts } from "../../base/errors.ts";
import type { Batch, BatchOutcome, Lease, Rewrite } from "../../kernel/ports.ts";

/** What the main thread asks of the writer's thread. */
export type WriteRequest =
  | { readonly do: "commit"; readonly batch: Batch }
  | {
      readonly do: "keyframe";
      readonly block: string;
      readonly version: number;
      readonly text: string;
    }
  | {
      readonly do: "snapshot";
      readonly block: string;
      readonly version: number;
      readonly bytes: Uint8Array;
    }
  | { readonly do: "drop_snapshots"; readonly upTo: number }
  | { readonly do: "compact"; readonly block: string; readonly upTo: number }
  | { readonly do: "forget"; readonly which: { before: number } | { containing: string } }
  | { readonly do: "rewrite"; readonly rewrite: Rewrite }
  | { readonly do: "vacuum" }
  | {
      readonly do: "put";
      readonly space: string;
      readonly key: string;
      readonly value: string | undefined;
    }
  | {
      readonly do: "acquire";
      readonly name: string;
      readonly holder: string;
      readonly now: number;
      readonly milliseconds: number;
    }
  | {
      readonly do: "renew";
      readonly lease: Lease;
      readonly now: number;
      readonly milliseconds: number;
    }
  | { readonly do: "release"; readonly lease: Lease };

export type WriteAnswer =
  | BatchOutcome
  | { readonly granted: boolean; readonly lease: Lease }
  | Lease
  | number
  | undefined;

/** Errors cross threads as what they say. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly sentence: string;
  readonly facts: Facts;
}

export interface Numbered {
  readonly number: number;
  readonly request: WriteRequest;
}

export type Result = { readonly number: number } & (
  | { readonly answer: WriteAnswer }
  | { readonly refusal: Refusal }
);

/** To the writer's thread: `open` comes first, when the database is ready. */
export type ToWriter =
  | { readonly open: string }
  | { readonly requests: readonly Numbered[] }
  | { readonly close: true };

/** From it: results; or `failed` when the database could not be opened. */
export type FromWriter = { readonly failed: Refusal } | { readonly results: readonly Result[] };
