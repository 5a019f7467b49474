import type { PositionedText } from "../base/index.ts";
import type { Splice } from "../blocks/index.ts";
import type { TextForm } from "./text-form.ts";

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/**
 * The bytes of a file whose text was changed, in pieces and made of those it had: the same as `writeText` makes of the whole
 * text, in a tenth of the time. Undefined where the whole text has to be looked at.
 */
export function splicedBytes(
  before: Uint8Array,
  form: TextForm,
  { text, splices }: { readonly text: PositionedText; readonly splices: readonly Splice[] },
): Uint8Array[] | undefined {
  if (form.encoding !== "utf-8" || form.crlf) return undefined;
  const { start, end } = changedRange(splices);
  const changed = text.slice(start, end);
  if (/[\0\r]/.test(changed) || !changed.isWellFormed()) return undefined;
  const ahead = (form.bom ? MARK.length : 0) + text.count("byte", start);
  const behind = text.total("byte") - text.count("byte", end);
  const pieces = [
    before.subarray(0, ahead),
    Buffer.from(changed, "utf8"),
    before.subarray(before.length - behind),
  ];
  return keepsForm(pieces, form) ? pieces : undefined;
}

/** Around all splices, in the text that they made. */
function changedRange(splices: readonly Splice[]): { start: number; end: number } {
  let start = Infinity;
  let end = 0;
  for (const { at, remove, insert } of splices) {
    start = Math.min(start, at);
    end = Math.max(end, at + remove) + insert.length - remove;
  }
  return { start: Math.min(start, end), end };
}

/** Whether bytes are sure to be read as what they were made from: a bare line end, and no mark that was a character. */
function keepsForm(pieces: readonly Uint8Array[], { bom }: TextForm): boolean {
  const [ahead] = pieces;
  // Whatever comes behind the first line end changes nothing of this.
  const isDecided = ahead!.length >= MARK.length && ahead!.includes(LINE_FEED);
  const bytes = isDecided ? ahead! : Buffer.concat(pieces);
  const first = bytes.indexOf(LINE_FEED);
  if (first === -1 || bytes[first - 1] === CARRIAGE_RETURN) return false;
  return bom || !MARK.equals(bytes.subarray(0, MARK.length));
}
