import { type ErrorCode, type Facts, KumikoError } from "../../base/errors.ts";
import type { Batch, BatchOutcome, Lease, Rewrite } from "../../kernel/ports.ts";
import type { Packed } from "./packed.ts";

/** What can be asked of a writer, on whichever thread it is. */
export type WriteRequest =
  | { readonly do: "commit"; readonly batch: Batch }
  | {
      readonly do: "keyframe";
      readonly block: string;
      readonly version: number;
      readonly text: string | Packed;
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

/** To the writer's thread. `acknowledged`: where the journal ends for others. */
export type ToWriter =
  | { readonly requests: readonly Numbered[]; readonly acknowledged: number }
  | { readonly checkpoint: true }
  | { readonly close: true };

/** From it: `ready` once, or `failed` when the database could not be opened; then results, and one for each checkpoint. */
export type FromWriter =
  | { readonly ready: true }
  | { readonly failed: Refusal }
  | { readonly results: readonly Result[] }
  | { readonly checkpointed: true };

export function errorOf({ code, sentence, facts }: Refusal): KumikoError {
  return new KumikoError(code, sentence, facts);
}
