import { styled } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import { printedBytes } from "./bytes.ts";
import { visible, widest } from "./columns.ts";
import { moment } from "./moment.ts";
import { bold, diffLines, dim } from "./paint.ts";
import type { Answer } from "./tool-answer.ts";

export interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly permission: string;
  readonly status: string;
}

/** Permission, status, size, path. */
export function printFiles(terminal: Terminal, files: readonly ListedFile[]): string[] {
  const { columns = Infinity } = terminal;
  const rows = files.map(({ permission, status, size, path }) => ({
    permission,
    status: statusWords(status),
    size: printedBytes(size),
    path: visible(path),
  }));
  const first = widest(rows.map(({ permission }) => permission));
  const second = widest(rows.map(({ status }) => status));
  const third = widest(rows.map(({ size }) => size));
  const room = Math.max(20, columns - first - second - third - 6);
  return rows.map(({ permission, status, size, path }) =>
    [
      dim(terminal, permission.padEnd(first)),
      paintedStatus(terminal, status.padEnd(second)),
      size.padStart(third),
      endOf(path, room),
    ].join("  "),
  );
}

/** What is there, and cannot be looked into. */
export interface Unlisted {
  readonly path: string;
  readonly reason: string;
}

const UNLISTED_SHOWN = 5;

/** In one line: what is missing is said beside what is there. */
export function printUnlisted(unlisted: readonly Unlisted[]): string[] {
  if (unlisted.length === 0) return [];
  const shown = unlisted
    .slice(0, UNLISTED_SHOWN)
    .map(({ path, reason }) => `${visible(path)} (${reason})`);
  const others = unlisted.length - shown.length;
  const more = others > 0 ? ` and ${others} more` : "";
  return [`not listed, because it cannot be looked into: ${shown.join(", ")}${more}`];
}

/** A file that has no block is like the disk. */
function statusWords(status: string): string {
  return status === "not_loaded" ? "" : status.replaceAll("_", " ");
}

function paintedStatus(terminal: Terminal, status: string): string {
  const word = status.trim();
  if (["conflict", "both changed", "deleted"].includes(word))
    return styled(terminal, "red", status);
  if (["block ahead", "disk ahead"].includes(word)) return styled(terminal, "cyan", status);
  return word === "synced" ? styled(terminal, "green", status) : dim(terminal, status);
}

/** The end of a path says which file it is. */
function endOf(path: string, width: number): string {
  return path.length > width ? `…${path.slice(path.length - width + 1).toWellFormed()}` : path;
}

const HEADER_END = "\n---\n";

/** The header that says how they stand, then the diff. */
export function printFileDiff(terminal: Terminal, { diff }: Answer): string[] {
  if (diff === "") return [dim(terminal, "the block says what the file says")];
  const text = String(diff);
  const end = text.indexOf(HEADER_END) + HEADER_END.length;
  const header = text.slice(0, end).trimEnd().split("\n");
  return [...header.map((line) => dim(terminal, line)), ...diffLines(terminal, text.slice(end))];
}

interface StatusOfFile {
  readonly block_id?: string;
  readonly path?: string;
  readonly status: string;
  readonly disk_mtime?: string;
  readonly why?: string;
}

/** `times`: also when each file was changed on disk. */
export function printFileStatus(
  terminal: Terminal,
  answer: Answer,
  { times = false }: { readonly times?: boolean } = {},
): string[] {
  const files = answer["files"] as readonly StatusOfFile[];
  const changed = ({ disk_mtime: time }: StatusOfFile): string =>
    times && time !== undefined
      ? dim(terminal, `  changed on disk ${moment(Date.parse(time))}`)
      : "";
  const width = widest(files.map(({ status }) => statusWords(status) || "no block"));
  const lines = files.flatMap((each) => {
    const { block_id, path, status, why } = each;
    const word = paintedStatus(terminal, (statusWords(status) || "no block").padEnd(width));
    return [
      `${word}  ${visible(path ?? block_id ?? "")}${changed(each)}`,
      ...(why === undefined ? [] : [`  ${styled(terminal, "red", why)}`]),
    ];
  });
  if (lines.length === 0) lines.push(dim(terminal, "no file there has a block yet"));
  const conflicts = answer["conflicts"] as readonly FileConflict[];
  return [...lines, ...conflicts.flatMap((each) => ["", ...printConflict(terminal, each)])];
}

interface Side {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface FileConflict {
  readonly conflict: string;
  readonly block_id: string;
  readonly path?: string;
  readonly version: number;
  readonly stood: "disk" | "memory" | "nobody";
  readonly gone?: true;
  readonly theirs: string;
  readonly mine: readonly string[];
  readonly base: Side;
  readonly disk: Side;
  readonly memory: Side;
}

const standing = {
  disk: "disk's lines stand there now",
  memory: "memory's lines stand there now",
  nobody: "the file waits until somebody decides",
};

/** Both sides and what they were made from, lines counted from 1. */
export function printConflict(terminal: Terminal, each: FileConflict): string[] {
  const { conflict, path, block_id, version, stood, gone, theirs, mine, base, disk, memory } = each;
  const stands = gone === true ? "the file was deleted: memory brings it back" : standing[stood];
  return [
    `${bold(terminal, conflict)}  ${visible(path ?? block_id)}  ${dim(terminal, `version ${version}; ${stands}`)}`,
    ...sideLines(terminal, `both had, lines counted from 1`, base, " "),
    ...sideLines(terminal, sideOf("disk", [theirs]), disk, "-"),
    ...sideLines(terminal, sideOf("memory", mine), memory, "+"),
  ];
}

/** A side by the word that chooses it, and who wrote it when that is known. */
function sideOf(word: "disk" | "memory", authors: readonly string[]): string {
  const known = authors.filter((author) => author !== "disk");
  return known.length === 0 ? word : `${word} (${known.join(", ")})`;
}

function sideLines(terminal: Terminal, title: string, side: Side, mark: string): string[] {
  const { start, text } = side;
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const colour = mark === "-" ? "red" : "green";
  const shown = lines.map((line, at) => {
    const row = `${String(start + at + 1).padStart(6)} | ${line}`;
    return mark === " " ? row : styled(terminal, colour, row);
  });
  return [`  ${title}`, ...(shown.length > 0 ? shown : ["         (nothing)"])];
}
