/** The same sequential trace through us and through our peers, one commit per transaction. */
import * as automerge from "@automerge/automerge";
import { LoroDoc } from "loro-crdt";
import * as Y from "yjs";
import { BlockDocument, type Splice, type Stamp } from "../../src/blocks/index.ts";
import { Random } from "../../src/base/index.ts";
import type { SequentialTrace } from "../traces.ts";

/** As often as a server under load writes a group: what goes to replicas is part of the work. */
const COMMITS_PER_EXPORT = 50;
/** A person's typing up to a pause this long is one Edit. */
const PAUSE = 1000;

export interface Keystrokes {
  readonly splices: readonly Splice[];
  readonly stamp: Stamp;
}

/**
 * The traces carry no times worth the name, so a person's are made up, from a seed: a key every 80 to
 * 280 ms, and a pause of seconds before going on somewhere else.
 */
export function keystrokes(trace: SequentialTrace): Keystrokes[] {
  const random = new Random(7);
  let time = 1_700_000_000_000;
  let cursor = 0;
  let edit = 0;
  return trace.transactions.map((patches) => {
    const [first] = patches;
    const near = first !== undefined && Math.abs(first[0] - cursor) <= 1;
    const wait = near ? 80 + random.below(200) : 1200 + random.below(20_000);
    if (wait > PAUSE) edit++;
    time += wait;
    const splices = patches.map(([at, remove, insert]) => {
      cursor = at + insert.length;
      return { at, remove, insert };
    });
    return { splices, stamp: { actor: "ann", edit: `typing-${edit}`, time } };
  });
}

export function replayOurs(
  trace: SequentialTrace,
  typed: readonly Keystrokes[],
): { document: BlockDocument; milliseconds: number; exported: number } {
  const document = BlockDocument.create({ peer: "7" });
  const begun = performance.now();
  document.birth({ actor: "system", edit: "birth", time: 0 });
  let seen = document.versionVector();
  let exported = 0;
  for (let index = 0; index < typed.length; index++) {
    const { splices, stamp } = typed[index]!;
    document.commit(splices, stamp);
    if (index % COMMITS_PER_EXPORT === COMMITS_PER_EXPORT - 1) {
      exported += document.exportSince(seen).length;
      seen = document.versionVector();
    }
  }
  exported += document.exportSince(seen).length;
  const milliseconds = performance.now() - begun;
  check(trace, document.read(), typed.length);
  return { document, milliseconds, exported };
}

export function replayYjs(trace: SequentialTrace): number {
  const document = new Y.Doc();
  const text = document.getText("text");
  let bytes = 0;
  document.on("update", (update: Uint8Array) => {
    bytes += update.length;
  });
  const begun = performance.now();
  for (const patches of trace.transactions) {
    document.transact(() => {
      for (const [at, remove, insert] of patches) {
        if (remove > 0) text.delete(at, remove);
        if (insert !== "") text.insert(at, insert);
      }
    });
  }
  const milliseconds = performance.now() - begun;
  check(trace, text.toJSON(), trace.transactions.length, bytes);
  document.destroy();
  return milliseconds;
}

export function replayLoro(trace: SequentialTrace): number {
  const document = new LoroDoc();
  document.setPeerId("7");
  const text = document.getText("text");
  let bytes = 0;
  const unsubscribe = document.subscribeLocalUpdates((update) => {
    bytes += update.length;
  });
  const begun = performance.now();
  for (const patches of trace.transactions) {
    for (const [at, remove, insert] of patches) {
      if (remove > 0) text.delete(at, remove);
      if (insert !== "") text.insert(at, insert);
    }
    document.commit();
  }
  const milliseconds = performance.now() - begun;
  check(trace, text.toString(), trace.transactions.length, bytes);
  unsubscribe();
  document.free();
  return milliseconds;
}

export function replayAutomerge(trace: SequentialTrace): number {
  const begun = performance.now();
  let document = automerge.from({ text: "" });
  for (const patches of trace.transactions) {
    document = automerge.change(document, (draft) => {
      for (const [at, remove, insert] of patches) {
        automerge.splice(draft, ["text"], at, remove, insert);
      }
    });
  }
  const milliseconds = performance.now() - begun;
  check(trace, document.text, trace.transactions.length);
  automerge.free(document);
  return milliseconds;
}

/** The beginning of a trace, for peers that would take minutes for all of it. */
export function beginningOf(trace: SequentialTrace, count: number): SequentialTrace {
  const transactions = trace.transactions.slice(0, count);
  let endContent = trace.startContent;
  for (const [at, remove, insert] of transactions.flat()) {
    endContent = endContent.slice(0, at) + insert + endContent.slice(at + remove);
  }
  return { ...trace, transactions, endContent };
}

/** A replay that ends in another text, or publishes nothing, is no measurement. */
function check(trace: SequentialTrace, text: string, transactions: number, bytes?: number): void {
  if (trace.startContent !== "") throw new Error(`${trace.name} does not begin empty.`);
  if (text !== trace.endContent) throw new Error(`${trace.name} ended in another text.`);
  if (transactions !== trace.transactions.length) throw new Error(`${trace.name} was cut short.`);
  if (bytes === 0) throw new Error(`${trace.name} published no updates.`);
}
