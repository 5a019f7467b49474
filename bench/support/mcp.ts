/** MCP: our tools over stdio against the reference file server, and over HTTP in both revisions. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { median, row, type Row } from "../harness.ts";
import { type StdioClient, stdioClient } from "./mcp-stdio.ts";
import { httpCalls, type Revision } from "./mcp-http.ts";
import { interleave, takeTurns } from "./rounds.ts";

const BYTES = 100_000;
/** Enough that the one in the middle comes after V8 has compiled what a read runs, for both. */
const READ_ROUNDS = 11;
const READS = 200;
/** Short rounds of edits, and many: the quietest count, and few long ones are quiet from end to end. */
const EDIT_ROUNDS = 15;
const EDITS = 200;
/** Only after 500 does V8 compile what is called once per edit. */
const WARMING_UP = 800;
const SMALL_CALLS = 3_000;
const IN_FLIGHT = 16;

export async function* mcpMeasures(): AsyncGenerator<Row> {
  yield* stdioMeasures("MCP stdio", blockOfOurs, ">= 5");
  for (const revision of ["2025-11-25", "2026-07-28"] as const) yield await httpMeasure(revision);
}

/** The same with a real file on our side too: in the journal and in place on disk before each answer. */
export function mcpFileMeasures(): AsyncGenerator<Row> {
  return stdioMeasures("MCP stdio, a real file", fileOfOurs, ">= 3");
}

async function* stdioMeasures(
  name: string,
  ours: (folder: string, lines: readonly string[]) => Promise<Contestant>,
  goal: string,
): AsyncGenerator<Row> {
  using folder = temporaryFolder();
  const lines = sourceLines();
  await using us = await ours(folder.path, lines);
  await using peer = await theirs(folder.path, lines);
  const read = await interleave(READ_ROUNDS, {
    ours: () => times(READS, () => us.read()),
    peer: () => times(READS, () => peer.read()),
  });
  yield row({
    name: `${name}: reads of 100 KB a second`,
    ours: (READS * 1000) / read.ours,
    peer: (READS * 1000) / read.peer,
    goal: ">= 2",
  });
  await times(WARMING_UP, (index) => us.edit(index));
  await times(WARMING_UP, (index) => peer.edit(index));
  const { results } = await takeTurns(EDIT_ROUNDS, {
    ours: () => onDiskAtRest(() => eachOf(EDITS, (index) => us.edit(index))),
    peer: () => onDiskAtRest(() => eachOf(EDITS, (index) => peer.edit(index))),
  });
  yield row({
    name: `${name}: durable edits of 100 KB a second`,
    ours: (EDITS * 1000) / median(results.ours.map(sumOf)),
    peer: (EDITS * 1000) / median(results.peer.map(sumOf)),
    goal,
  });
  yield row({
    name: `${name}: p99 of durable edits against the peer's median, ms`,
    ours: percentile(results.ours.flat(), 0.99),
    peer: percentile(results.peer.flat(), 0.5),
    goal: "< 1",
  });
}

async function httpMeasure(revision: Revision): Promise<Row> {
  return row({
    name: `MCP HTTP ${revision}: small calls a second, ${IN_FLIGHT} in flight`,
    ours: await httpCalls(revision, SMALL_CALLS, IN_FLIGHT),
    goal: ">= 1000 calls",
  });
}

interface Contestant extends AsyncDisposable {
  read(): Promise<unknown>;
  edit(index: number): Promise<unknown>;
}

async function blockOfOurs(folder: string, lines: readonly string[]): Promise<Contestant> {
  const project = join(folder, "project");
  mkdirSync(project);
  const client = await ourServer(folder, project);
  const content = `${lines.join("\n")}\n`;
  const created = await client.call("block_create", { role: "user", kind: "text", content });
  const { "kumiko/answer": made } = created["_meta"] as { "kumiko/answer": { block_id: string } };
  return working(client, made.block_id, lines);
}

async function fileOfOurs(folder: string, lines: readonly string[]): Promise<Contestant> {
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "ours.txt"), `${lines.join("\n")}\n`);
  return working(await ourServer(folder, project), "ours.txt", lines);
}

function ourServer(folder: string, project: string): Promise<StdioClient> {
  const bin = join(import.meta.dirname, "..", "..", "bin", "kumiko");
  return stdioClient([bin, "mcp", "--home", join(folder, "home")], project);
}

function working(client: StdioClient, block_id: string, lines: readonly string[]): Contestant {
  const places = singular(lines);
  return contestant(client, {
    read: () => client.call("block_read", { block_id }),
    edit: (index) => {
      const line = places[(index * 37) % places.length]!;
      const replacement = changed(lines[line]!, index);
      const operation = { start_line: line, end_line: line + 1, content: replacement };
      return client.call("block_edit", { block_id, operations: [{ op: "replace", ...operation }] });
    },
  });
}

async function theirs(folder: string, lines: readonly string[]): Promise<Contestant> {
  const path = join(folder, "peer.txt");
  writeFileSync(path, `${lines.join("\n")}\n`);
  const manifest = createRequire(import.meta.url).resolve(
    "@modelcontextprotocol/server-filesystem/package.json",
  );
  const client = await stdioClient([join(manifest, "..", "dist", "index.js"), folder], folder);
  const now = [...lines];
  const places = singular(lines);
  return contestant(client, {
    read: () => client.call("read_text_file", { path }),
    edit: (index) => {
      const line = places[(index * 37) % places.length]!;
      const oldText = now[line]!;
      const newText = changed(oldText, index);
      now[line] = newText;
      return client.call("edit_file", { path, edits: [{ oldText, newText }] });
    },
  });
}

function contestant(client: StdioClient, work: Pick<Contestant, "read" | "edit">): Contestant {
  return { ...work, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** The peer leaves its bytes to the system, which writes them later: without this, while the other is measured. */
function onDiskAtRest<Result>(measure: () => Promise<Result>): Promise<Result> {
  execFileSync("sync");
  return measure();
}

let made = 0;

/** One after another, as an agent calls; gives the milliseconds of each. */
async function eachOf(count: number, run: (index: number) => Promise<unknown>): Promise<number[]> {
  const each: number[] = [];
  for (let index = 0; index < count; index++) {
    const before = performance.now();
    await run(made++);
    each.push(performance.now() - before);
  }
  return each;
}

/** The same; gives the milliseconds of all. */
async function times(count: number, run: (index: number) => Promise<unknown>): Promise<number> {
  return sumOf(await eachOf(count, run));
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0);
}

/** What agents edit most: TypeScript, here the project's own. */
function sourceLines(): string[] {
  const folder = join(import.meta.dirname, "..", "..", "src", "blocks");
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const text = files.map((name) => readFileSync(join(folder, name), "utf8")).join("");
  return text.slice(0, BYTES).split("\n");
}

/** Lines that occur once, so that the peer finds the one it is told. */
function singular(lines: readonly string[]): number[] {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const text = lines.join("\n");
  return [...lines.keys()].filter((at) => {
    const line = lines[at]!;
    return (
      line.length > 20 && counts.get(line) === 1 && text.indexOf(line) === text.lastIndexOf(line)
    );
  });
}

function changed(line: string, index: number): string {
  return `${line.replace(/ \/\/ change \d+$/, "")} // change ${index}`;
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}
