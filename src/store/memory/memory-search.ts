import type {
  BlockRow,
  FoundBlock,
  SearchAnswer,
  SearchHelp,
  SearchIndex,
  SearchRequest,
} from "../../kernel/ports.ts";
import { compareSearched, searchedRow, type SearchedRow } from "../searched-rows.ts";
import type { MemoryDisk } from "./memory-disk.ts";

/** Search without an index: every text is asked for and looked through. */
export class MemorySearch implements SearchIndex {
  readonly #disk: () => MemoryDisk;

  constructor(disk: () => MemoryDisk) {
    this.#disk = disk;
  }

  async search(request: SearchRequest, help: SearchHelp): Promise<SearchAnswer> {
    const unreadable: { block: string; why: string }[] = [];
    const texts: { block: string; text: string }[] = [];
    const read = new Map<string, { path: string | undefined; version: number }>();
    for (const { row, path } of this.#rows(request)) {
      try {
        const { version, text } = await this.#text(row.block, help);
        read.set(row.block, { path, version });
        texts.push({ block: row.block, text });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        unreadable.push({ block: row.block, why });
      }
    }
    const { found, more, truncated, timedOut, slow } = await help.scan(request, texts);
    return {
      found: [...found].map(([block, lines]): FoundBlock => ({
        block,
        ...read.get(block)!,
        lines,
        truncated: more.has(block),
      })),
      truncated,
      timedOut,
      slow,
      unreadable,
    };
  }

  async settled(): Promise<void> {
    this.#disk();
  }

  async #text(block: string, help: SearchHelp): Promise<{ version: number; text: string }> {
    const { keyframes, commitsByBlock } = this.#disk();
    const keyframe = keyframes.get(block);
    const version = commitsByBlock.get(block)!.length;
    return keyframe?.version === version ? keyframe : help.current(block);
  }

  #rows(request: SearchRequest): SearchedRow[] {
    const { rows } = this.#disk();
    const find = (block: string): BlockRow | undefined => rows.get(block);
    return rows
      .page(undefined, Infinity)
      .map((row) => searchedRow(row, request, find))
      .filter((row) => row !== undefined)
      .toSorted(compareSearched);
  }
}
