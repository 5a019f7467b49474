import { type Clock, monotonicClock } from "../base/index.ts";
import { compare, type Comparison } from "./compare.ts";
import { countFiles } from "./count-files.ts";
import { inSlices } from "./slices.ts";

/** So many files are told of together. */
const TOGETHER = 1000;
/** Milliseconds after which somebody may wait: only then is it worth counting how many there are. */
const PATIENCE = 500;

interface FirstLookOptions {
  readonly signal: AbortSignal;
  /** How many were looked at, and of how many, as soon as that is known. */
  readonly onProgress?: ((files: number, total: number | undefined) => void) | undefined;
  readonly clock?: Clock;
}

/** Takes a folder as it is for known. */
export async function firstLook(
  comparison: Comparison,
  { signal, onProgress, clock = monotonicClock }: FirstLookOptions,
): Promise<void> {
  const { root, ignored, known } = comparison;
  const begun = clock.now();
  const over = new AbortController();
  const counted = AbortSignal.any([signal, over.signal]);
  let files = 0;
  let total: number | undefined;
  let counting: Promise<void> | undefined;
  const count = async (): Promise<void> => {
    try {
      total = await inSlices(countFiles(root, ignored), counted);
    } catch (error) {
      if (!counted.aborted) throw error;
    }
  };
  const adopting: Comparison = {
    ...comparison,
    differs: (path, look) => {
      if (look === undefined) return;
      known.putFile(path, look);
      files += 1;
      if (files % TOGETHER !== 0 || onProgress === undefined) return;
      if (clock.now() - begun >= PATIENCE) counting ??= count();
      onProgress(files, total === undefined ? undefined : Math.max(files, total));
    },
    found: () => undefined,
    missing: () => undefined,
  };
  try {
    await inSlices(compare(adopting, "", { deep: true }), signal);
  } finally {
    over.abort();
    await counting;
  }
}
