import { KumikoError } from "../../base/index.ts";
import type { BatchOutcome } from "../ports.ts";

/** How often an edit is translated again because another server was faster. */
const ATTEMPTS = 8;

export type Refused = Extract<BatchOutcome, { kind: "moved" | "answered" | "occupied" }>;

/** Another server on the same store was faster; nothing was written, and who asked tries again. */
export function outrun({ kind }: Refused): KumikoError {
  return new KumikoError(
    "outrun",
    "Other servers changed the same blocks again and again while this was being written; nothing of it was " +
      "kept. Try again in a moment.",
    { why: kind },
  );
}

/** Tries as often as it makes sense: each time against what the others have written meanwhile. */
export async function untilNotOutrun<Result>(
  task: (attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await task(attempt);
    } catch (error) {
      const faster = error instanceof KumikoError && error.code === "outrun";
      if (!faster || attempt >= ATTEMPTS) throw error;
    }
  }
}
