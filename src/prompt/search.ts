import { KumikoError } from "../base/errors.ts";
import { Chunk } from "./chunk.ts";
import type { PromptBlock } from "./prompt-block.ts";

export function findAllIn(text: string, pattern: string): number[] {
  if (pattern === "") throw new KumikoError("invalid_argument", "The text to be found is empty.");
  const found: number[] = [];
  for (let at = text.indexOf(pattern); at !== -1; at = text.indexOf(pattern, at + 1))
    found.push(at);
  return found;
}

/** All matches, whether or not the pattern is global; a string is a pattern too. */
export function matchesIn(text: string, pattern: RegExp | string): RegExpExecArray[] {
  try {
    const { source, flags } = typeof pattern === "string" ? new RegExp(pattern, "u") : pattern;
    return [...text.matchAll(new RegExp(source, flags.includes("g") ? flags : `${flags}g`))];
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new KumikoError(
      "invalid_pattern",
      `The pattern cannot be read: ${reason}.`,
      { reason },
      { cause },
    );
  }
}

export function chunkAround(block: PromptBlock, offset: number): Chunk | null {
  if (!Number.isInteger(offset) || offset < 0 || offset >= block.length) return null;
  const found = block.tree.at(block.start + offset, false);
  return found?.item instanceof Chunk ? found.item : null;
}
