import { KumikoError } from "../base/errors.ts";
import type { BlockInit } from "./block-facts.ts";
import { PromptBlock } from "./prompt-block.ts";
import { contentAfter, firstContent } from "./tree.ts";

/** `index` is a place among the children; null: behind them all. */
export function putChild(
  parent: PromptBlock,
  name: string,
  given: PromptBlock | BlockInit | string,
  index: number | null,
): PromptBlock {
  const child = given instanceof PromptBlock ? given : new PromptBlock(given);
  if (child.parent !== null) {
    throw wrongParent("The block stands in another one; take it out first, or use move.", child);
  }
  if (parent.root === child) throw cycle(child);
  const before = index === null ? null : childAt(parent, index);
  return parent.tree.edit(name, () => {
    parent.mutator.insertChild(child, before);
    return child;
  });
}

export function takeChild(parent: PromptBlock, child: PromptBlock, keepText: boolean): PromptBlock {
  checkChild(parent, child);
  const { tree } = parent;
  return tree.edit("removeChild", () => {
    if (!keepText) {
      parent.mutator.removeChild(child);
      return child;
    }
    const count = [...child.contents()].length;
    const contents = tree.splice(child, firstContent(child), count, []);
    tree.splice(parent, contentAfter(child), 0, contents);
    tree.splice(parent, child, 1, []);
    return child;
  });
}

export function moveBlock(block: PromptBlock, target: PromptBlock, index?: number): void {
  const { parent, tree } = block;
  if (parent === null) throw wrongParent("The root of a tree cannot be moved.", block);
  if (target.root !== block.root) {
    throw wrongParent(
      "The target stands in another tree; take the block out and append it there.",
      block,
    );
  }
  for (const above of target.ancestors()) if (above === block) throw cycle(block);
  // The place is counted as if the block were already gone.
  const others = target.children.filter((child) => child !== block);
  const before = index === undefined ? null : placeAmong(others, index);
  tree.edit("move", () => {
    parent.mutator.removeChild(block);
    target.mutator.insertChild(block, before);
  });
}

function childAt(parent: PromptBlock, index: number): PromptBlock | null {
  return placeAmong(parent.children, index);
}

function placeAmong(children: readonly PromptBlock[], index: number): PromptBlock | null {
  if (Number.isInteger(index) && index >= 0 && index <= children.length) {
    return children[index] ?? null;
  }
  throw new KumikoError(
    "out_of_range",
    `There is no place ${index} among ${children.length} children.`,
    { index, from: 0, to: children.length },
  );
}

function checkChild(parent: PromptBlock, child: PromptBlock): void {
  if (child.parent !== parent) throw wrongParent("The block is not a child of this one.", child);
}

function cycle(block: PromptBlock): KumikoError {
  return wrongParent("A block cannot stand inside itself.", block);
}

function wrongParent(sentence: string, block: PromptBlock): KumikoError {
  return new KumikoError("wrong_parent", `${sentence} Nothing was changed.`, { block: block.id });
}
