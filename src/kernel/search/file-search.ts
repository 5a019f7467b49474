import { monotonicClock } from "../../base/index.ts";
import { type FoundLine, unitsOf } from "../../base/search/index.ts";
import type { FileTextPage, Indexing } from "../files-port.ts";
import type { SearchAnswer, SearchedText } from "../ports.ts";
import type { Scanner, ScanRequest } from "./scanner.ts";

/** A search that was too slow in so many texts looks at no more. */
const MOST_SLOW = 4;

/** Lines of a file that has no block. */
interface FoundFile {
  /** What tools take for it. */
  readonly file: string;
  readonly lines: readonly FoundLine[];
  /** There are more lines than the limit let through. */
  readonly truncated: boolean;
}

export interface EverywhereAnswer extends SearchAnswer {
  /** Behind all blocks, folder by folder, in the order of their paths. */
  readonly files: readonly FoundFile[];
  /** So many of the files of folders were known; the others were not looked through. */
  readonly indexing: Indexing | undefined;
}

/** Looks through the texts of files for what blocks left of the limits. Its time begins when there are texts. */
export async function searchFiles(
  scanner: Scanner,
  request: ScanRequest,
  blocks: SearchAnswer,
  pages: Iterable<never> | AsyncIterable<FileTextPage>,
): Promise<EverywhereAnswer> {
  let end: number | undefined;
  const files: FoundFile[] = [];
  const slow = [...blocks.slow];
  const unreadable = [...blocks.unreadable];
  let { truncated, timedOut } = blocks;
  let indexing: Indexing | undefined;
  let shown = sum(blocks.found.flatMap(({ lines }) => lines.map(unitsOf)));
  for await (const page of pages) {
    indexing = together(indexing, page.indexing);
    end ??= monotonicClock.now() + request.milliseconds;
    const milliseconds = end - monotonicClock.now();
    timedOut = milliseconds <= 0 || slow.length >= MOST_SLOW;
    if (timedOut) break;
    const texts: SearchedText[] = [];
    for (const [at, file] of page.texts.entries()) {
      // By their number: a path may be longer than a name that is watched.
      if ("text" in file) texts.push({ block: String(at), text: file.text });
      else unreadable.push({ block: file.name, why: file.unreadable });
    }
    if (texts.length === 0) continue;
    const limits = {
      ...request.limits,
      texts: request.limits.texts - blocks.found.length - files.length,
    };
    const scanned = await scanner.scan({ ...request, milliseconds, limits, shown }, texts);
    const nameOf = (block: string): string => page.texts[Number(block)]!.name;
    for (const [block, lines] of scanned.found) {
      files.push({ file: nameOf(block), lines, truncated: scanned.more.has(block) });
      shown += sum(lines.map(unitsOf));
    }
    slow.push(...scanned.slow.map(nameOf));
    ({ truncated, timedOut } = scanned);
    if (truncated || timedOut) break;
  }
  return { ...blocks, files, slow, unreadable, truncated, timedOut, indexing };
}

function together(one: Indexing | undefined, other: Indexing | undefined): Indexing | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { done: one.done + other.done, of: one.of + other.of };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
