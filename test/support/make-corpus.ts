/**
 * Writes test/corpus/document-<format>.json: a document with everything a format can hold. Run once per
 * format, by hand, and never again: the file is what released versions wrote.
 *
 *   node test/support/make-corpus.ts <name>
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BlockDocument, translateEdit } from "../../src/blocks/index.ts";

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

using document = BlockDocument.create({
  peer: "7",
  baseline: { text: "one\ntwo\nthree 🪵\n", stamp: { actor: "disk", edit: "load", time: 1000 } },
});
document.birth({ actor: "system", edit: "birth", time: 1001 });
using replica = BlockDocument.load(document.save(), { peer: "9" });
for (const [index, key] of [..."typed"].entries()) {
  document.commit([{ at: 3 + index, remove: 0, insert: key }], {
    actor: "ann",
    edit: "typing-1",
    time: 1100 + index * 90,
  });
}
for (let at = 7; at > 4; at--) {
  document.commit([{ at, remove: 1, insert: "" }], {
    actor: "ann",
    edit: "typing-1",
    time: 1700 - at,
  });
}
document.commit(
  translateEdit(document, [{ op: "replace", start_line: 1, end_line: 2, content: "TWO" }], 1),
  {
    actor: "claude",
    edit: "call-41",
    time: 2000,
    call: "toolu_1",
    message: "shout",
    model: "model-x",
    turn: "turn-3",
    tool: "block_edit",
  },
);
document.flip(document.planUndo({ actor: "claude" }), { actor: "ann", edit: "undo-1", time: 2100 });
replica.commit([{ at: 0, remove: 3, insert: "ONE ✓" }], {
  actor: "ben",
  edit: "offline",
  time: 2200,
});
const first = replica.versionVector();
const early = replica.exportSince();
replica.commit([{ at: 5, remove: 0, insert: "!" }], { actor: "ben", edit: "offline", time: 2300 });
document.import(replica.exportSince(first), { actor: "ben", edit: "merge-1", time: 2400 });
const waiting = document.save();
document.import(early, { actor: "ben", edit: "merge-1", time: 2500 });
document.flip(document.planRedo({ actor: "ann" }), { actor: "ann", edit: "redo-1", time: 2600 });
document.commit(
  [
    { at: 0, remove: 0, insert: "§" },
    { at: 3, remove: 1, insert: "" },
  ],
  {
    actor: "claude",
    edit: "call-42",
    time: 2700,
  },
);
// Ben takes away all that Claude put there, so that undoing it holds what Claude removed.
document.commit([{ at: document.read().indexOf("TWO"), remove: 3, insert: "2" }], {
  actor: "ben",
  edit: "ben-1",
  time: 2800,
});
document.flip(document.planUndo({ actor: "ann", edit: "call-41" }), {
  actor: "ann",
  edit: "undo-2",
  time: 2900,
});
// Dora writes where a line was that Claude takes away, so that her text stands behind hidden text.
document.commit([{ at: 0, remove: document.read().indexOf("\n") + 1, insert: "" }], {
  actor: "claude",
  edit: "call-43",
  time: 3000,
});
document.commit([{ at: 0, remove: 0, insert: "zero " }], {
  actor: "dora",
  edit: "dora-1",
  time: 3100,
});
document.flip(document.planUndo({ actor: "claude" }), {
  actor: "claude",
  edit: "undo-3",
  time: 3200,
});
const update = document.exportSince();
const saved = document.save({ snapshot: true });
const content = {
  versions: Array.from({ length: document.version + 1 }, (_, version) => document.read(version)),
  blame: document.blame(),
  history: document.history().entries,
  record: base64(document.save().record),
  covered_record: base64(saved.record),
  index: base64(saved.index!),
  snapshot: { version: saved.snapshot!.version, bytes: base64(saved.snapshot!.bytes) },
  waiting_record: base64(waiting.record),
  early_update: base64(early),
  loro_update_sha256: sha256(update),
};
const file = join(import.meta.dirname, "..", "corpus", `${process.argv[2] ?? "document"}.json`);
writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
