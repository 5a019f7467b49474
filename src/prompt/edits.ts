import type { BlockFacts } from "./block-facts.ts";
import type { StoredItem } from "./stored.ts";
import { inverseStep } from "./tree.ts";

/** Anchored at what stands before it, not at an offset: an id means the same whatever else moved. */
export type Step =
  | {
      readonly kind: "splice";
      readonly parent: string;
      /** The chunk or child behind which it happens; null: at the beginning of the block. */
      readonly after: string | null;
      readonly removed: readonly StoredItem[];
      readonly inserted: readonly StoredItem[];
    }
  | {
      readonly kind: "set";
      readonly block: string;
      readonly before: BlockFacts;
      readonly after: BlockFacts;
    };

/** All that one operation changed: plain data, to be stored, sent, applied elsewhere or taken back. */
export interface Edit {
  readonly name: string;
  readonly steps: readonly Step[];
}

export type EditListener = (edit: Edit) => void;

/** The edit that takes another back. */
export function inverse(edit: Edit): Edit {
  return { name: `undo ${edit.name}`, steps: edit.steps.map(inverseStep).toReversed() };
}
