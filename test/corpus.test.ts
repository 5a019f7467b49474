import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BlockDocument } from "../src/blocks/index.ts";

/** What test/support/make-corpus.ts wrote when the format was new. */
interface Corpus {
  versions: string[];
  blame: unknown;
  history: unknown;
  record: string;
  covered_record: string;
  index: string;
  snapshot: { version: number; bytes: string };
  waiting_record: string;
  early_update: string;
  loro_update_sha256: string;
}

const folder = join(import.meta.dirname, "corpus");
const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));
const peer = "7";

describe.each(readdirSync(folder))("old bytes: %s", (file) => {
  const corpus = JSON.parse(readFileSync(join(folder, file), "utf8")) as Corpus;

  const expectCorpus = (document: BlockDocument): void => {
    const versions = Array.from({ length: document.version + 1 }, (_, at) => document.read(at));
    expect(versions).toEqual(corpus.versions);
    expect(document.blame()).toEqual(corpus.blame);
    expect(JSON.parse(JSON.stringify(document.history().entries))).toEqual(corpus.history);
  };

  test("RECORD-1: a record alone gives every version, blame and history", () => {
    using document = BlockDocument.load({ record: bytes(corpus.record) }, { peer });
    expectCorpus(document);
  });

  test("RECORD-2: a record gives the Loro update it gave when it was written", () => {
    using document = BlockDocument.load({ record: bytes(corpus.record) }, { peer });
    const update = document.exportSince();
    expect(createHash("sha256").update(update).digest("hex")).toBe(corpus.loro_update_sha256);
  });

  test("RECORD-1: record, index and snapshot give the same, and merging goes on", () => {
    const { version, bytes: snapshot } = corpus.snapshot;
    const saved = {
      record: bytes(corpus.covered_record),
      index: bytes(corpus.index),
      snapshot: { version, bytes: bytes(snapshot) },
    };
    using document = BlockDocument.load(saved, { peer });
    expectCorpus(document);
    using other = BlockDocument.load({ record: bytes(corpus.record) }, { peer: "8" });
    other.commit([{ at: 0, remove: 0, insert: "more " }], { actor: "ben", edit: "b", time: 3000 });
    document.import(other.exportSince(document.versionVector()), {
      actor: "ben",
      edit: "m",
      time: 3001,
    });
    expect(document.read()).toBe(other.read());
  });

  test("MERGE-2: an update that waited when it was saved lands when the other arrives", () => {
    using document = BlockDocument.load({ record: bytes(corpus.waiting_record) }, { peer });
    const { version } = document;
    document.import(bytes(corpus.early_update), { actor: "ben", edit: "merge-1", time: 2500 });
    expect(document.read()).toBe(corpus.versions[version + 1]);
  });
});
