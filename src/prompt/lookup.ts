import { KumikoError } from "../base/errors.ts";
import type { PromptBlock } from "./prompt-block.ts";

const STEP = /^(?:(\d+)|([^[\]]+)(?:\[(\d+)\])?)$/;

export function blockAtPath(block: PromptBlock, path: string): PromptBlock | null {
  let found: PromptBlock | undefined = block;
  for (const step of path === "" ? [] : path.split(".")) {
    const [, place, tag, nth] = STEP.exec(step) ?? [];
    if (place === undefined && tag === undefined) {
      throw new KumikoError(
        "invalid_argument",
        `"${step}" of the path "${path}" is neither a place (2), a tag (answer) nor one of several (step[1]).`,
        { path, step },
      );
    }
    const children: PromptBlock[] = found?.children ?? [];
    found =
      tag === undefined
        ? children[Number(place)]
        : children.filter(({ tags }) => tags.includes(tag))[Number(nth ?? 0)];
    if (found === undefined) return null;
  }
  return found;
}

export function pathOf(block: PromptBlock): string {
  const steps: number[] = [];
  for (let each = block; each.parent !== null; each = each.parent) {
    let place = 0;
    for (let before = each.previousSibling; before !== null; before = before.previousSibling)
      place++;
    steps.unshift(place);
  }
  return steps.join(".");
}
