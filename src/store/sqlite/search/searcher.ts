/** A thread that searches: it reads and looks through texts by itself, and may be ended at any moment. */

import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { KumikoError } from "../../../base/errors.ts";
import { asPatternError, TextMatcher, WatchedScan } from "../../../base/search/index.ts";
import type { BlockRow } from "../../../kernel/ports.ts";
import { compareSearched, searchedRow, type SearchedRow } from "../../searched-rows.ts";
import { Connection } from "../connection.ts";
import { NativeGate } from "../native-gate.ts";
import { damagedRow } from "../row-hash.ts";
import { Tables } from "../tables.ts";
import { type Candidate, CandidateFinder } from "./candidates.ts";
import type { FoundInBlock, FromSearcher, ToSearcher } from "./search-messages.ts";
import { TextCache } from "./text-cache.ts";

type Task = Extract<ToSearcher, { search: unknown }>["search"];

const port = parentPort!;
const { file, gate: shared } = workerData as { file: string; gate: SharedArrayBuffer };
/** Everything that calls SQLite goes through it, and nothing that may never come back. */
const gate = new NativeGate(shared);
const tables = gate.run(() => new Tables(Connection.reader(file), false));
const finder = gate.run(() => new CandidateFinder(tables, file));
const cache = new TextCache();
/** Rows as they were at a moment: searches that follow one another read them once. */
let rows:
  | { readonly moment: string; readonly known: Map<string, BlockRow | undefined> }
  | undefined;
const anywhere = { kinds: undefined, context: undefined, pathPrefix: undefined };
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const send = (message: FromSearcher): void => port.postMessage(message);

send({ ready: true });
for (;;) {
  const [message] = (await once(port, "message")) as [ToSearcher];
  if (!("search" in message)) throw new Error("a text came that nobody asked for");
  try {
    await search(message.search);
  } catch (error) {
    const refused = asPatternError(message.search.query.query, error);
    if (!(refused instanceof KumikoError)) throw refused;
    const { code, message: sentence, facts } = refused;
    send({ refused: { code, sentence, facts } });
  }
}

async function search(task: Task): Promise<void> {
  const matcher = new TextMatcher(task.query);
  cache.begin();
  const buffered: FoundInBlock[] = [];
  const flush = (): void => {
    if (buffered.length > 0) send({ found: buffered.splice(0) });
  };
  let at: { path: string | undefined; version: number };
  const scan = new WatchedScan(matcher, task, task.part, {
    slow: (block) => {
      flush();
      send({ slow: block });
    },
    more: (block) => {
      flush();
      send({ more: block });
    },
    found: (block, line) => {
      buffered.push({ block, ...at, line });
      // The next line may be the one from which nobody comes back.
      if (!matcher.isLiteral || buffered.length >= 32) flush();
    },
  });
  const { blocks, unindexed, moment } = gate.run(() => finder.find(matcher));
  if (rows?.moment !== moment) rows = { moment, known: new Map() };
  if (finder.unusable !== undefined) send({ unusable: finder.unusable });
  const { known } = rows;
  for (const { row, path, candidate } of gate.run(() => inOrder(blocks, task, known))) {
    const text = await lastText(row.block, candidate);
    if (text === undefined) continue;
    at = { path, version: text.version };
    if (!scan.scan(row.block, text.text)) break;
  }
  flush();
  send({ done: { truncated: scan.truncated, timedOut: scan.timedOut, unindexed } });
}

function inOrder(
  blocks: readonly Candidate[],
  task: Task,
  known: Map<string, BlockRow | undefined>,
): readonly (SearchedRow & { readonly candidate: Candidate })[] {
  const find = (block: string): BlockRow | undefined => {
    if (!known.has(block))
      known.set(
        block,
        readable(block, () => tables.rows.get(block)),
      );
    return known.get(block);
  };
  const searched: (SearchedRow & { readonly candidate: Candidate })[] = [];
  for (const candidate of blocks) {
    const name = readable(`#${candidate[0]}`, () => tables.names.text(candidate[0]));
    const row = name === undefined ? undefined : find(name);
    const wanted = row && searchedRow(row, task, find);
    if (wanted !== undefined) searched.push({ ...wanted, candidate });
  }
  return behind(task.part, searched.toSorted(compareSearched), find);
}

/** A block keeps its place for life, so what comes behind it is the same whoever asks. */
function behind<Searched extends SearchedRow>(
  { behind: block }: Task["part"],
  searched: readonly Searched[],
  find: (block: string) => BlockRow | undefined,
): readonly Searched[] {
  if (block === undefined) return searched;
  const row = find(block);
  if (row === undefined) throw damagedRow({ table: "rows", key: block, block }, "it is gone");
  const last = searchedRow(row, anywhere, find)!;
  return searched.filter((each) => compareSearched(each, last) > 0);
}

/** From the keyframe when that is of the last version, else from the kernel. */
async function lastText(
  block: string,
  [id, version]: Candidate,
): Promise<{ version: number; text: string } | undefined> {
  const cached = cache.get(id, version);
  if (cached !== undefined) return { version, text: cached };
  const found = readable(block, () => {
    const keyframe = gate.run(() => tables.keyframes.get(block));
    // One that is newer was put meanwhile: it is of a last version too.
    if (keyframe === undefined || keyframe.version < version) return { version, text: undefined };
    const text = decoder.decode(keyframe.bytes);
    cache.put(id, keyframe.version, text);
    return { version: keyframe.version, text };
  });
  if (found === undefined) return undefined;
  if (found.text !== undefined) return { version: found.version, text: found.text };
  send({ need: block });
  const [message] = (await once(port, "message")) as [ToSearcher];
  if ("text" in message) return message.text;
  send({ unreadable: { block, why: "unreadable" in message ? message.unreadable : "no answer" } });
  return undefined;
}

/** What is damaged is named and left out; it costs nobody else's results. */
function readable<Result>(block: string, read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "damaged") throw error;
    send({ unreadable: { block, why: error.message } });
    return undefined;
  }
}
