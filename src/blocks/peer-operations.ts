import type { LoroDoc, PeerID } from "loro-crdt";
import { checkWellFormed, KumikoError } from "../base/index.ts";

/** One operation of a replica: a peer's, and its number among them. */
export interface OperationId {
  readonly peer: string;
  readonly counter: number;
}

/** Places and lengths are in code points, as Loro numbers operations: each inserted or deleted one has a number. */
export type TextOperation =
  | { readonly kind: "insert"; readonly at: number; readonly text: string }
  | {
      readonly kind: "delete";
      readonly at: number;
      /** Negative: the numbers of what is deleted run backwards. */
      readonly length: number;
      readonly first: OperationId;
    };

/** Operations that were made on top of the same others. */
export interface PeerChange {
  /** What their author had seen last. */
  readonly after: readonly OperationId[];
  readonly operations: readonly TextOperation[];
}

/** What one peer did to a text, as plain data: an update that was looked through, and nothing else of it. */
export interface PeerOperations {
  readonly peer: string;
  /** The number of the first operation; the others follow. */
  readonly counter: number;
  readonly changes: readonly PeerChange[];
}

/** Operations that follow from a document as it was at a version, in the form in which Loro takes them. */
export interface CheckedOperations {
  readonly operations: PeerOperations;
  readonly version: number;
  /** To be imported one after the other. */
  readonly json: readonly string[];
}

/** How many operations are long, and how many of them come first then. */
const MUCH = 4_000;
const BEGINNING = 1_000;
const CONTAINER = "cid:root-text:Text";

/** The number behind the last operation. */
export function endOf({ counter, changes }: PeerOperations): number {
  return changes.reduce((end, change) => end + lengthOf(change), counter);
}

/**
 * Refuses what does not follow from what the document holds. Loro takes the author's word for much of this; a
 * clock near its end, for one, would make every later operation of anybody trap.
 */
export function checkOperations(doc: LoroDoc, operations: PeerOperations): void {
  const { peer, counter, changes } = operations;
  const version = doc.version();
  try {
    const known = (of: string): number => version.get(of as PeerID) ?? 0;
    const next = known(peer);
    if (counter !== next) {
      throw rejected(`they begin with number ${counter}, and ${next} is the next one`, { next });
    }
    let own = counter;
    for (const change of changes) {
      if (change.operations.length === 0) throw rejected("a change holds no operation");
      const behind = change.after.some((id) => id.peer === peer && id.counter === own - 1);
      for (const { peer: of, counter: at } of change.after) {
        if (at >= (of === peer ? own : known(of))) {
          throw rejected("they are made on top of operations that are not here");
        }
      }
      if (own > 0 && !behind && !comesAfter(doc, change, { peer, counter: own - 1 })) {
        throw rejected("they are not made on top of the peer's own operations before");
      }
      for (const operation of change.operations) {
        if (operation.kind === "insert") checkWellFormed(operation.text);
        else checkDeleted(operation, (of) => (of === peer ? own : known(of)));
        own += operationLength(operation);
      }
    }
  } finally {
    version.free();
  }
}

/** As Loro reads it: a text takes it less time than an object. Clocks are our own. */
export function toLoroJson(doc: LoroDoc, given: PeerOperations): string[] {
  const operations = withBeginning(given);
  const { peer } = operations;
  const made: { counter: number; lamport: number; end: number }[] = [];
  const lamportOf = (id: OperationId): number => {
    const own = id.peer === peer ? made.find(({ end }) => id.counter < end) : undefined;
    if (own !== undefined && id.counter >= own.counter) {
      return own.lamport + id.counter - own.counter;
    }
    const change = doc.getChangeAt({ peer: id.peer as PeerID, counter: id.counter });
    return change.lamport + id.counter - change.counter;
  };
  let { counter } = operations;
  const changes = operations.changes.map((change) => {
    const lamport = change.after.reduce((latest, id) => Math.max(latest, lamportOf(id) + 1), 0);
    const first = counter;
    const ops = change.operations.map((operation) => {
      const op = { container: CONTAINER, content: contentOf(operation), counter };
      counter += operationLength(operation);
      return op;
    });
    made.push({ counter: first, lamport, end: counter });
    const deps = change.after.map((id) => named(id));
    return { id: named({ peer, counter: first }), timestamp: 0, deps, lamport, msg: null, ops };
  });
  const written = (some: typeof changes): string =>
    JSON.stringify({ schema_version: 1, start_version: {}, peers: null, changes: some });
  if (operations === given) return [written(changes)];
  return [written(changes.slice(0, 1)), written(changes.slice(1))];
}

/**
 * Loro takes half a second for a large insertion that does not follow an operation of the same peer, and next to
 * nothing when it does: of what is long, the beginning becomes a change of its own.
 */
function withBeginning(given: PeerOperations): PeerOperations {
  const { peer, counter, changes } = given;
  const [first, ...others] = changes;
  const [operation, ...rest] = first?.operations ?? [];
  if (first === undefined || operation === undefined) return given;
  if (endOf(given) - counter <= MUCH) return given;
  const [beginning, ...behind] = cut(operation);
  const after = [{ peer, counter: counter + operationLength(beginning!) - 1 }];
  const operations = [...behind, ...rest];
  const parts = [
    { after: first.after, operations: [beginning!] },
    { after, operations },
    ...others,
  ];
  return { peer, counter, changes: parts.filter((part) => part.operations.length > 0) };
}

function cut(operation: TextOperation): TextOperation[] {
  if (operation.kind === "delete" || operation.text.length <= BEGINNING) return [operation];
  const { at, text } = operation;
  const low = text.charCodeAt(BEGINNING);
  const end = low >= 0xdc00 && low <= 0xdfff ? BEGINNING - 1 : BEGINNING;
  const beginning: TextOperation = { kind: "insert", at, text: text.slice(0, end) };
  const behind = at + operationLength(beginning);
  return [beginning, { kind: "insert", at: behind, text: text.slice(end) }];
}

function contentOf(operation: TextOperation): object {
  if (operation.kind === "insert") {
    return { type: "insert", pos: operation.at, text: operation.text };
  }
  const { at, length, first } = operation;
  return { type: "delete", pos: at, len: length, start_id: named(first) };
}

function named({ peer, counter }: OperationId): string {
  return `${counter}@${peer}`;
}

function comesAfter(doc: LoroDoc, { after }: PeerChange, { peer, counter }: OperationId): boolean {
  // Those of the same update are its own: only what the document holds can be asked for.
  const others = after.filter((id) => id.peer !== peer);
  if (others.length === 0) return false;
  const frontiers = others.map((id) => ({ peer: id.peer as PeerID, counter: id.counter }));
  const seen = doc.frontiersToVV(frontiers);
  try {
    return (seen.get(peer as PeerID) ?? 0) > counter;
  } finally {
    seen.free();
  }
}

function checkDeleted(
  { length, first }: Extract<TextOperation, { kind: "delete" }>,
  known: (peer: string) => number,
): void {
  if (length === 0) throw rejected("a deletion deletes nothing");
  if (first.counter + Math.abs(length) > known(first.peer)) {
    throw rejected("they delete what is not here");
  }
}

function lengthOf({ operations }: PeerChange): number {
  return operations.reduce((length, operation) => length + operationLength(operation), 0);
}

/** How many numbers an operation takes. */
export function operationLength(operation: TextOperation): number {
  if (operation.kind === "delete") return Math.abs(operation.length);
  const { text } = operation;
  let pairs = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) pairs++;
  }
  return text.length - pairs;
}

function rejected(why: string, facts: { next?: number } = {}): KumikoError {
  return new KumikoError("import_rejected", `The operations cannot be taken: ${why}.`, {
    why,
    ...facts,
  });
}
