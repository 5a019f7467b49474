import { checkWellFormed, KumikoError } from "../../base/index.ts";
import {
  type OperationId,
  operationLength,
  type PeerChange,
  type PeerOperations,
  type TextOperation,
} from "../../blocks/index.ts";

const CONTAINER = "cid:root-text:Text";
const LARGEST = 0x7fffffff;
const ID = /^(0|[1-9][0-9]{0,9})@([1-9][0-9]{0,19})$/;

export interface OperationLimits {
  readonly operations: number;
  /** UTF-16 units inserted. */
  readonly units: number;
  /** Operations that one was made on top of: as many as there are branches. */
  readonly after: number;
}

const operationLimits: OperationLimits = {
  operations: 100_000,
  units: 1_000_000,
  after: 256,
};

/**
 * What the vetting worker says an update holds, made anew from nothing but what may be in it: inserting into and
 * deleting from the one text. The worker has had hostile bytes in its memory, so that its word counts for nothing.
 */
export function vettedOperations(
  changes: unknown,
  peer: string,
  counter: number,
  limits: OperationLimits = operationLimits,
): PeerOperations {
  const budget = { operations: limits.operations, units: limits.units };
  let next = counter;
  const made = list(changes, limits.operations, "changes").map((each): PeerChange => {
    const change = object(each, "a change");
    expectId(change["id"], { peer, counter: next });
    if ((change["msg"] ?? null) !== null) throw rejected("a change carries a message");
    // The first of a text that was empty rest on nothing.
    const after = list(change["deps"], limits.after, "deps", 0).map(operationId);
    const operations = list(change["ops"], limits.operations, "ops").map((one) => {
      const operation = operationOf(object(one, "an operation"), next, budget);
      next += operationLength(operation);
      return operation;
    });
    return { after, operations };
  });
  return { peer, counter, changes: made };
}

function operationOf(
  op: Json,
  counter: number,
  budget: { operations: number; units: number },
): TextOperation {
  if (--budget.operations < 0) throw rejected("it holds too many operations");
  if (op["container"] !== CONTAINER) throw rejected("it touches something other than the text");
  if (op["counter"] !== counter) throw rejected("its operations do not follow each other");
  const content = object(op["content"], "a content");
  const at = whole(content["pos"], 0);
  if (content["type"] === "insert") {
    const { text } = content;
    if (typeof text !== "string" || text === "") throw rejected("an insertion inserts no text");
    budget.units -= text.length;
    if (budget.units < 0) throw rejected("it inserts too much at once");
    checkWellFormed(text);
    return { kind: "insert", at, text };
  }
  if (content["type"] !== "delete") throw rejected("it does more than inserting and deleting");
  const length = whole(content["len"], -LARGEST);
  if (length === 0) throw rejected("a deletion deletes nothing");
  const first = operationId(content["start_id"]);
  return { kind: "delete", at, length, first };
}

type Json = { readonly [name: string]: unknown };

function object(value: unknown, what: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw rejected(`${what} is none`);
  }
  return value as Json;
}

function list(value: unknown, limit: number, what: string, least = 1): readonly unknown[] {
  if (!Array.isArray(value) || value.length < least) throw rejected(`it has no ${what}`);
  if (value.length > limit) throw rejected(`it has too many ${what}`);
  return value;
}

function whole(value: unknown, minimum: number): number {
  if (Number.isInteger(value) && (value as number) >= minimum && (value as number) <= LARGEST) {
    return value as number;
  }
  throw rejected("a number is none that can be");
}

function operationId(value: unknown): OperationId {
  const match = typeof value === "string" ? ID.exec(value) : null;
  if (match === null) throw rejected("an operation is named in no way that can be");
  return { counter: whole(Number(match[1]), 0), peer: match[2]! };
}

function expectId(value: unknown, { peer, counter }: OperationId): void {
  const found = operationId(value);
  if (found.peer !== peer) throw rejected("it holds operations of another peer");
  if (found.counter !== counter) throw rejected("its operations do not follow each other");
}

function rejected(why: string): KumikoError {
  return new KumikoError("import_rejected", `The update cannot be taken: ${why}.`, { why });
}
