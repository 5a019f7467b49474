import type { TextRope } from "../base/index.ts";
import { type OperationId, operationLength } from "./peer-operations.ts";

/** One insertion of a replica, as plain data: what a person types is hardly ever anything else. */
export interface Typing {
  readonly peer: string;
  /** The number of its first operation. */
  readonly counter: number;
  /** The last operations of everything its author had seen. */
  readonly after: readonly OperationId[];
  /** In the text that they give, in UTF-16 units. */
  readonly at: number;
  readonly text: string;
}

/** The number behind its last operation. */
export function endOfTyping({ counter, text }: Typing): number {
  return counter + operationLength({ kind: "insert", at: 0, text });
}

/** What of it comes from a number on: typed on top of its own beginning. */
export function behind(typing: Typing, from: number): Typing {
  const { peer, counter, at, text } = typing;
  if (from === counter) return typing;
  const rest = [...text].slice(from - counter).join("");
  const after = [{ peer, counter: from - 1 }];
  return { peer, counter: from, after, at: at + text.length - rest.length, text: rest };
}

/** Whether that can have been typed into a text: whole characters, and not between the halves of one. */
export function fits(rope: TextRope, { at, text }: Typing): boolean {
  if (text === "" || !text.isWellFormed() || at > rope.length) return false;
  const around = rope.slice(Math.max(0, at - 1), Math.min(at + 1, rope.length));
  return around.length < 2 || !/^[\ud800-\udbff][\udc00-\udfff]$/.test(around);
}

/** Whether two sets of last operations are the same. */
export function sameOperations(
  left: readonly OperationId[],
  right: readonly OperationId[],
): boolean {
  return (
    left.length === right.length &&
    left.every(({ peer, counter }) =>
      right.some((other) => other.peer === peer && other.counter === counter),
    )
  );
}
