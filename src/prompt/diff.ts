import type { PromptBlock } from "./prompt-block.ts";
import { factsOf } from "./tree.ts";

/** What makes one tree of another, by the ids of blocks: one that only stands elsewhere is the same. */
export interface TreeDiff {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Below another block, or in another order among those that stayed. */
  readonly moved: readonly string[];
  /** Whose own text is another one. */
  readonly rewritten: readonly string[];
  /** Whose role, tags, style, attrs or state are others. */
  readonly changed: readonly string[];
}

export function diffTrees(before: PromptBlock, after: PromptBlock): TreeDiff {
  const old = new Map(Array.from(before.depthFirst(), (block) => [block.id, block]));
  const now = new Map(Array.from(after.depthFirst(), (block) => [block.id, block]));
  const both = [...now.values()].filter(({ id }) => old.has(id));
  const moved = new Set<string>();
  for (const block of both) {
    const { parent } = old.get(block.id)!;
    if (block !== after && parent?.id !== block.parent?.id) moved.add(block.id);
    const stayed = ({ id, parent: around }: PromptBlock): boolean =>
      (around === block ? old : now).get(id)?.parent?.id === block.id;
    const was = old.get(block.id)!.children.filter(stayed);
    for (const id of outOfOrder(
      was.map(({ id: each }) => each),
      block.children.filter(stayed).map(({ id: each }) => each),
    )) {
      moved.add(id);
    }
  }
  return {
    added: [...now.keys()].filter((id) => !old.has(id)),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    moved: [...moved],
    rewritten: both.flatMap((block) =>
      ownText(block) === ownText(old.get(block.id)!) ? [] : [block.id],
    ),
    changed: both.flatMap((block) => {
      const same = JSON.stringify(factsOf(block)) === JSON.stringify(factsOf(old.get(block.id)!));
      return same ? [] : [block.id];
    }),
  };
}

function ownText(block: PromptBlock): string {
  return block.chunks.map(({ text }) => text).join("");
}

/** The fewest that must move so that the rest stand in the old order: all but a longest rising row. */
function outOfOrder(before: readonly string[], after: readonly string[]): string[] {
  const places = new Map(before.map((id, place) => [id, place]));
  const ends: number[] = [];
  const previous: number[] = [];
  const row = after.map((id) => places.get(id)!);
  for (const [index, place] of row.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[ends[middle]!]! < place) low = middle + 1;
      else high = middle;
    }
    previous[index] = low === 0 ? -1 : ends[low - 1]!;
    ends[low] = index;
  }
  const kept = new Set<number>();
  for (let index = ends.at(-1) ?? -1; index !== -1; index = previous[index]!) kept.add(index);
  return after.filter((_, index) => !kept.has(index));
}
