import type { Wanted } from "./characters.ts";
import type { Caller } from "./dice.ts";
import { type Facts, factsOf, type Model, type ModelBlock, type Stream } from "./model.ts";
import type { Placed } from "./placing.ts";

export type Answer = { readonly [name: string]: unknown };

/** What becomes of one block; without `wanted`, its text may be anything that the event says. */
export interface Effect {
  readonly wanted?: Wanted | undefined;
  readonly facts: Facts;
}

/** What must come of a call, asked of the model as it is when the call is carried out. */
export type Expected =
  | { readonly kind: "refused"; readonly code: string }
  /** By block; a block that is not yet there is called `new`. */
  | { readonly kind: "written"; readonly effects: ReadonlyMap<string, Effect> }
  /** A conflict, or this. */
  | { readonly kind: "unsure"; readonly effects: ReadonlyMap<string, Effect> }
  | { readonly kind: "read" };

export interface Call {
  readonly tool: string;
  readonly caller: Caller;
  readonly input: { readonly [name: string]: unknown };
  expected(model: Model): Expected;
  /** Blocks of which nothing waits to be written any more once it is answered. */
  readonly settles?: readonly string[] | "all";
  /** Streams that end with it, whether it is refused or not. */
  ends?(stream: Stream): boolean;
  /** By block: the version that the caller's positions mean. */
  readonly bases?: ReadonlyMap<string, number | undefined>;
  /** Text that is taken in, to be written now or soon. */
  readonly appended?: { readonly block: string; readonly text: string };
  /** Looks at an answer when the model has caught up; `before` has the texts that were changed. */
  check?(answer: Answer, model: Model, before: ReadonlyMap<string, string>): void;
  /** What the caller was shown by the answer, beside what an edit shows. */
  shows?(answer: Answer, model: Model): void;
}

export function refused(code: string): Expected {
  return { kind: "refused", code };
}

export const read: Expected = { kind: "read" };
export const unchanged: Expected = { kind: "written", effects: new Map() };

/** The first text makes a waiting block run. */
export function whenWritten(facts: Facts): Facts {
  return facts.status === "pending" ? { ...facts, status: "running" } : facts;
}

/** What an edit of text comes to, block by block. */
export function written(edits: readonly (readonly [ModelBlock, Placed])[]): Expected {
  if (edits.some(([, placed]) => placed === "refused")) return refused("conflict");
  const effects = new Map<string, Effect>();
  for (const [block, placed] of edits) {
    const facts = whenWritten(factsOf(block));
    if (typeof placed === "string") effects.set(block.id, { facts });
    else if (!isSame(placed, block)) effects.set(block.id, { wanted: placed, facts });
  }
  const unsure = edits.some(([, placed]) => placed === "unsure");
  return { kind: unsure ? "unsure" : "written", effects };
}

function isSame(wanted: Wanted, { text }: ModelBlock): boolean {
  const now = text.visible();
  return wanted.length === now.length && wanted.every((each, index) => each === now[index]);
}
