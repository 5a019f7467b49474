import { expect } from "vitest";
import { KumikoError } from "../../src/base/index.ts";
import { BlockDocument, type Splice } from "../../src/blocks/index.ts";

/** A document that was loaded with a text. */
export function loaded(text: string, peer = "7"): BlockDocument {
  return BlockDocument.create({
    peer,
    baseline: { text, stamp: { actor: "disk", edit: "load", time: 0 } },
  });
}

let commits = 0;

/** Commits as an Edit of its own. */
export function edited(document: BlockDocument, splices: readonly Splice[], actor = "ann"): void {
  commits++;
  document.commit(splices, { actor, edit: `${actor}-${commits}`, time: commits });
}

/** The error a call is refused with, after checking that the document is as it was. */
export function refusal(document: BlockDocument, call: () => unknown): KumikoError {
  const before = [document.version, document.read(), document.save().record];
  let refused: unknown;
  try {
    call();
  } catch (error) {
    refused = error;
  }
  expect(refused).toBeInstanceOf(KumikoError);
  expect([document.version, document.read(), document.save().record]).toEqual(before);
  return refused as KumikoError;
}
