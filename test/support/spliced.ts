import type { Splice } from "../../src/blocks/index.ts";

/** A plain text after splices, each in what the one before it left. */
export function spliced(text: string, splices: readonly Splice[]): string {
  return splices.reduce(
    (now, { at, remove, insert }) => now.slice(0, at) + insert + now.slice(at + remove),
    text,
  );
}
