/**
 * The thread of the index of files: it is built and asked here and nowhere else. How files are read it is told by who
 * starts it, so that their texts go through no other thread.
 */

import { parentPort, workerData } from "node:worker_threads";
import { answerQuestions } from "../../../base/asked-thread.ts";
import { KumikoError } from "../../../base/errors.ts";
import type { TextQuery } from "../../../base/search/index.ts";
import type { FileReading, IdentifiedFile, ReadFiles } from "../../../kernel/ports.ts";
import { Comparison, deleteFileIndex, FileIndexFile } from "./file-index-file.ts";
import { OtherFormat } from "./index-format.ts";
import { unusable } from "./unusable-index.ts";

/** What is asked; a comparison goes on from `compare` over its pages to `compared`. */
export type FileIndexQuestion =
  | { readonly compare: string }
  | { readonly page: readonly IdentifiedFile[]; readonly folder: string }
  | { readonly compared: string }
  | { readonly take: FileReading }
  | { readonly read: FileReading }
  | { readonly forget: readonly string[] | undefined; readonly folder: string }
  | { readonly candidates: TextQuery; readonly folder: string }
  | { readonly clear: true };

const { file, reader } = workerData as { file: string; reader: string };
const { readFiles } = (await import(reader)) as { readFiles: ReadFiles };
const comparisons = new Map<string, Comparison>();
let opened: FileIndexFile | undefined;

answerQuestions(
  parentPort!,
  async (question) => {
    try {
      return await answer(question as FileIndexQuestion);
    } catch (error) {
      const why = unusable(error);
      if (why === undefined) throw error;
      clear();
      throw new KumikoError(
        "search_failed",
        `The index of files ${file} could not be used and was deleted (${why}). It is built anew; searches are complete without it, only slower.`,
        { file, why },
      );
    }
  },
  () => opened?.[Symbol.dispose](),
);

async function answer(question: FileIndexQuestion): Promise<unknown> {
  if ("clear" in question) clear();
  else if ("compare" in question) begin(question.compare);
  else if ("page" in question) return comparison(question.folder).page(question.page);
  else if ("compared" in question) end(question.compared);
  else if ("take" in question) return take(question.take);
  else if ("read" in question) return readFiles(question.read);
  else if ("candidates" in question)
    return index().candidates(question.folder, question.candidates);
  else forget(question.folder, question.forget);
  return undefined;
}

/** One of another format knows nothing; whoever compares is told so, and needs no other word. */
function begin(folder: string): void {
  try {
    index();
  } catch (error) {
    if (!(error instanceof OtherFormat)) throw error;
    clear();
  }
  comparisons.set(folder, new Comparison(index(), folder));
}

function end(folder: string): void {
  comparison(folder).end();
  comparisons.delete(folder);
}

function comparison(folder: string): Comparison {
  const begun = comparisons.get(folder);
  if (begun !== undefined) return begun;
  throw new KumikoError(
    "search_failed",
    `The index of files ${file} was cleared while it was compared with ${folder}.`,
    { file, cleared: true },
  );
}

async function take(reading: FileReading): Promise<{ path: string; unreadable: boolean }[]> {
  const found = await readFiles(reading);
  index().put(reading.folder, found);
  return found.map((each) => ({ path: each.path, unreadable: "unreadable" in each }));
}

function forget(folder: string, paths: readonly string[] | undefined): void {
  if (paths === undefined) new Comparison(index(), folder).end();
  else index().forget(folder, paths);
}

function clear(): void {
  comparisons.clear();
  opened?.[Symbol.dispose]();
  opened = undefined;
  deleteFileIndex(file);
}

function index(): FileIndexFile {
  opened ??= FileIndexFile.open(file);
  return opened;
}
