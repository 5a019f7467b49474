import type { Attrs } from "./block-facts.ts";
import type { PromptBlock } from "./prompt-block.ts";
import { TreeWriter } from "./tree-writer.ts";

/** Why a block ended: it was closed, something around it was, or the input ended. */
export type Ending = "closed" | "implied" | "truncated";

/** What a parser tells while text arrives. A block's path is its place among children, from the root. */
export type ParseEvent =
  | {
      readonly type: "open";
      readonly id: string;
      readonly path: string;
      readonly tags: readonly string[];
      readonly style: readonly string[];
      readonly attrs: Attrs;
    }
  | {
      readonly type: "delta";
      readonly id: string;
      readonly path: string;
      readonly text: string;
      readonly style: string;
      readonly logprob: number | null;
    }
  | { readonly type: "close"; readonly id: string; readonly path: string; readonly ending: Ending };

/** What a parser found odd. It goes on all the same, and loses nothing. */
export interface Diagnostic {
  readonly code: "unclosed" | "stray_close" | "truncated" | "too_deep";
  readonly message: string;
  /** In the whole text. */
  readonly offset: number;
}

export interface Parsed {
  readonly tree: PromptBlock;
  readonly diagnostics: readonly Diagnostic[];
}

/** Builds the tree that a parser built, from nothing but its events. */
export function reduceEvents(events: Iterable<ParseEvent>): PromptBlock {
  let writer: TreeWriter | undefined;
  for (const event of events) {
    if (event.type === "open") {
      if (writer === undefined) writer = new TreeWriter({ style: event.style, id: event.id });
      else writer.open(event.style, event.tags, event.attrs, event.id);
    } else if (event.type === "delta")
      writer?.write(event.text, 0, event.text.length, event.style, event.logprob);
    else writer?.close(event.ending);
  }
  return (writer ?? new TreeWriter({})).root;
}
