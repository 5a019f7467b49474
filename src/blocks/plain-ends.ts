import type { EditOperation } from "../protocol/index.ts";
import type { EditTarget } from "./translation.ts";

/** Whether a return is text here: in the version that is addressed, or in the one that stands now. */
function hasReturns(target: EditTarget, base: number | undefined): boolean {
  return target.read(base).includes("\r") || target.read().includes("\r");
}

/**
 * Operations whose writer takes the lines for CRLF, as they may be in the file, in the line ends of the text: what they
 * write in place of such lines, too.
 */
export function plainOperations(
  target: EditTarget,
  operations: readonly EditOperation[],
  base: number | undefined,
): readonly EditOperation[] {
  if (!operations.some(expectsReturn) || hasReturns(target, base)) return operations;
  return operations.map((each) => (expectsReturn(each) ? plainOperation(each) : each));
}

function expectsReturn(each: EditOperation): boolean {
  return each.op !== "insert" && each.expected_text?.includes("\r") === true;
}

function plainOperation(each: EditOperation): EditOperation {
  if (each.op === "insert") return each;
  const plain = { ...each, expected_text: plainEnds(each.expected_text ?? "") };
  return plain.op === "replace" ? { ...plain, content: plainEnds(plain.content) } : plain;
}

interface Replacement {
  readonly old: string;
  readonly new: string;
}

/** The same of what is looked for. A return at its end is the line's end: `one\r` is not found in `ones`. */
export function plainReplacement(
  target: EditTarget,
  find: Replacement,
  base: number | undefined,
): Replacement {
  const { old, new: insert } = find;
  if (!old.includes("\r") || old === "\r" || hasReturns(target, base)) return find;
  const end = old.endsWith("\r") ? "\n" : "";
  return { old: `${plainEnds(old)}${end}`, new: `${plainEnds(insert)}${end}` };
}

function plainEnds(text: string): string {
  const plain = text.replaceAll("\r\n", "\n");
  return plain.endsWith("\r") ? plain.slice(0, -1) : plain;
}
