import { BlockDocument, type SavedDocument, type Stamp } from "../../src/blocks/index.ts";

/** A stamp with a time of its own choosing: tests never ask a clock. */
export function stamp(actor: string, edit: string, time = 1_700_000_000_000): Stamp {
  return { actor, edit, time };
}

/** A document that begins with a text nobody can undo. */
export function documentOf(text: string, peer = "2"): BlockDocument {
  return BlockDocument.create({ peer, baseline: { text, stamp: stamp("disk", "baseline") } });
}

/** Everything a refused call may not change. */
export function stateOf(document: BlockDocument): {
  version: number;
  text: string;
  saved: SavedDocument;
} {
  return { version: document.version, text: document.read(), saved: document.save() };
}

/** Loads what was saved, under a peer. */
export function loaded(saved: SavedDocument, peer = "2"): BlockDocument {
  return BlockDocument.load(saved, { peer });
}
