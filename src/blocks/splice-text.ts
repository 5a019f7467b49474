import { KumikoError } from "../base/index.ts";
import { translateRanges } from "./edit-ranges.ts";
import { baseOf, type EditTarget } from "./translation.ts";
import type { Splice } from "./types.ts";

export interface SpliceRequest {
  readonly offset: number;
  readonly deleteCount: number;
  readonly insert?: string | undefined;
  readonly unit?: "byte" | "utf16" | "codepoint" | undefined;
  readonly base: number | undefined;
}

/** Replaces by offset. */
export function translateSplice(target: EditTarget, request: SpliceRequest): Splice[] {
  const { offset, deleteCount, insert = "", unit = "byte" } = request;
  if (request.base === undefined) throw baseRequired(target);
  if (!Number.isInteger(deleteCount) || deleteCount < 0) {
    throw new KumikoError(
      "invalid_argument",
      `delete_count must be 0 or more, not ${deleteCount}.`,
      {
        delete_count: deleteCount,
      },
    );
  }
  const { text } = baseOf(target, request.base);
  const start = text.locate(unit, offset);
  const end = deleteCount === 0 ? start : text.locate(unit, offset + deleteCount);
  return translateRanges(target, [{ start, end, insert }], request.base);
}

/** Adds at the end: the one edit that means the same whatever was read. */
export function translateAppend(target: EditTarget, text: string): Splice[] {
  return translateRanges(
    target,
    [{ start: target.current.length, end: target.current.length, insert: text }],
    undefined,
  );
}

export function baseRequired(target: EditTarget): KumikoError {
  return new KumikoError(
    "base_required",
    // Not which is the newest: whoever passed that unread would write over what others have put there.
    "An edit by position must say which version its positions mean, and it is not known which one you read last: read the " +
      "block (again), or pass the version that you did read as base_version, or give expected_text.",
    { version: target.version },
  );
}
