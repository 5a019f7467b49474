import { flipOf } from "../../base/index.ts";
import type { UnsavedFile } from "../../kernel/index.ts";
import { styled } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import {
  type FileConflict,
  type ListedFile,
  printConflict,
  printFileDiff,
  printFiles,
  printFileStatus,
  printUnlisted,
  type Unlisted,
} from "./file-answer.ts";
import { printBlame, printHistory } from "./history-answer.ts";
import { bold, diffLines, dim } from "./paint.ts";
import { printFound, printFoundInBlock } from "./search-answer.ts";
import { inVerbs } from "./verb-names.ts";

export type Answer = { readonly [name: string]: unknown };
type Print = (terminal: Terminal, answer: Answer, input: Answer) => string[];

/** Answers as people like to read them. A tool that has no form of its own is printed field by field. */
const forms: { readonly [tool: string]: Print } = {
  block_create: (terminal, { block_id, version }) => [
    `${bold(terminal, block_id)} ${dim(terminal, `version ${String(version)}`)}`,
  ],
  block_append: (terminal, { accepted, durable_version }, { block_id }) => [
    `${bold(terminal, block_id)} is now version ${String(durable_version)} ${dim(terminal, `${String(accepted)} characters added`)}`,
  ],
  block_read: printRead,
  block_list: printList,
  block_history: printHistory,
  block_diff: (terminal, { diff, from, to }) =>
    diff === ""
      ? [dim(terminal, `no difference between version ${String(from)} and ${String(to)}`)]
      : diffLines(terminal, diff),
  block_blame: printBlame,
  block_search: printFoundInBlock,
  kernel_search: printFound,
  block_apply_patch: printPatched,
  file_list: (terminal, { files, unlisted = [] }) => [
    ...printFiles(terminal, files as readonly ListedFile[]),
    ...printUnlisted(unlisted as readonly Unlisted[]),
  ],
  file_diff: printFileDiff,
  file_status: (terminal, answer) => printFileStatus(terminal, answer),
  file_save: printSaved,
  file_load: (terminal, answer) => [`${nameAndVersion(terminal, answer)}, ${statusText(answer)}`],
  file_create: (terminal, answer) => [`made ${nameAndVersion(terminal, answer)}`],
  file_move: (terminal, answer) => [`it is now ${nameAndVersion(terminal, answer)}`],
  file_reload: (terminal, answer) => [`${nameAndVersion(terminal, answer)}, says what is on disk`],
  file_delete: (terminal, { block_id, version }) => [
    `deleted ${bold(terminal, block_id)}; kumiko undo brings it back ${dim(terminal, `version ${String(version)}`)}`,
  ],
  block_undo: (terminal, answer) => printFlip(terminal, "undid", answer),
  block_redo: (terminal, answer) => printFlip(terminal, "redid", answer),
};

export async function printAnswer(
  terminal: Terminal,
  tool: string,
  input: Answer,
  answer: Answer,
): Promise<void> {
  const print = forms[tool] ?? (isEditAnswer(answer) ? printEdit : printFields);
  const { told, rest } = withoutTold(tool, answer);
  const lines = [...print(terminal, rest, input), ...printTold(terminal, told)];
  if (lines.length > 0) await terminal.print(`${lines.join("\n")}\n`);
}

interface Told {
  readonly conflicts?: readonly FileConflict[];
  readonly unsaved?: readonly UnsavedFile[];
}

/** What an answer says beside what was asked for; `file_status` is asked for the conflicts themselves. */
export function withoutTold(tool: string, answer: Answer): { told: Told; rest: Answer } {
  const { unsaved, conflicts, ...rest } = answer;
  const told = { unsaved, ...(tool !== "file_status" && { conflicts }) } as Told;
  return { told, rest: tool === "file_status" ? { ...rest, conflicts } : rest };
}

/** A caller is told once: what is not printed here nobody hears of. */
export function printTold(terminal: Terminal, { conflicts = [], unsaved = [] }: Told): string[] {
  return [
    ...conflicts.flatMap((each) => ["", ...printConflict(terminal, each)]),
    ...printUnsaved(terminal, unsaved),
  ];
}

function nameAndVersion(terminal: Terminal, { block_id, version }: Answer): string {
  return `${bold(terminal, block_id)} ${dim(terminal, `version ${String(version)}`)}`;
}

function statusText({ status }: Answer): string {
  return String(status).replaceAll("_", " ");
}

function printSaved(terminal: Terminal, { saved, left_out = [] }: Answer): string[] {
  const files = saved as readonly Answer[];
  const leftOut = (left_out as readonly Answer[]).map(
    ({ block_id, why }) =>
      `${bold(terminal, block_id)} ${styled(terminal, "red", `is not saved: ${String(why)}`)}`,
  );
  if (files.length === 0 && leftOut.length === 0)
    return [dim(terminal, "nothing waits to be saved")];
  const lines = files.map((file) => {
    const name = bold(terminal, file["block_id"]);
    if (file["status"] === "synced") return `saved ${name}`;
    const why =
      file["status"] === "conflict"
        ? "both sides changed the same lines: `kumiko conflicts` shows them"
        : statusText(file);
    return `${name} ${styled(terminal, "red", `is not saved as it is: ${why}`)}`;
  });
  return [...lines, ...leftOut];
}

/** A file is called by its path here, in the place of its block. */
type Unsaved = Partial<UnsavedFile> & Pick<UnsavedFile, "block_id" | "why">;

/** Whether something was changed and is not on disk. What waits because somebody asked for that is not told as unsaved. */
export function leavesUnsaved(unsaved: unknown = []): boolean {
  return (unsaved as readonly Unsaved[]).some(({ unread }) => unread !== true);
}

/** What is not on disk although the edit stands. */
export function printUnsaved(terminal: Terminal, unsaved: unknown): string[] {
  const files = unsaved as readonly Unsaved[];
  return files.map(({ block_id, path = block_id, why, unread }) =>
    styled(
      terminal,
      "red",
      unread === true
        ? `Only the block was read. ${inVerbs(why)}`
        : `${path} is not on disk as it should be: ${inVerbs(why)} The edit is kept and saved later.`,
    ),
  );
}

function isEditAnswer(answer: Answer): boolean {
  return typeof answer["edit"] === "string" && typeof answer["version"] === "number";
}

function printEdit(terminal: Terminal, answer: Answer, input: Answer): string[] {
  const { block_id = input["block_id"], version, edit, since, unchanged } = answer;
  const what =
    unchanged === true
      ? `still version ${String(version)}: its text was that already`
      : `now version ${String(version)} ${dim(terminal, `edit ${String(edit)}`)}`;
  return [`${bold(terminal, block_id)} is ${what}`, ...printSince(terminal, since)];
}

interface FlippedBlock {
  readonly block_id: string;
  readonly version: number;
  readonly diff: string;
  readonly stayed: number;
  readonly file?: "moves" | "deletes" | undefined;
  readonly made?: boolean | undefined;
  readonly back?: true | undefined;
}

function printFlip(terminal: Terminal, what: string, answer: Answer): string[] {
  const blocks = answer["blocks"] as readonly FlippedBlock[];
  const nothing = blocks.every(isAsBefore) ? ": no text changed by that" : "";
  return [
    `${what} ${bold(terminal, answer["flipped"])} of ${String(answer["actor"])} ${dim(terminal, `edit ${String(answer["edit"])}`)}${nothing}`,
    ...blocks.flatMap(({ block_id, version, diff, stayed, file, made, back }) => [
      // To undo is a version of its own, also where others have written since and the text stays.
      `${bold(terminal, block_id)} is now version ${version}${isAsBefore({ diff, file, made, back }) ? ", with the same text" : ""}`,
      ...(made === false ? ["  the file is gone again: that Edit had made it"] : []),
      ...(made === true ? ["  the file is back"] : []),
      ...(back === true ? ["  the file had been deleted; it is there again"] : []),
      ...(stayed > 0
        ? [
            `  ${stayed} characters of it stay as they are: other Edits have removed or replaced them since`,
          ]
        : []),
      ...(file === undefined ? [] : [`  ${fileFlipped(file, answer)}`]),
      ...(diff === "" ? [] : diffLines(terminal, diff)),
    ]),
  ];
}

function isAsBefore({
  diff,
  file,
  made,
  back,
}: Pick<FlippedBlock, "diff" | "file" | "made" | "back">): boolean {
  return diff === "" && file === undefined && made === undefined && back === undefined;
}

function fileFlipped(file: "moves" | "deletes", { edit }: Answer): string {
  const isRedone = flipOf(String(edit))?.active === true;
  if (file === "moves") return isRedone ? "the file was moved again" : "the file was moved back";
  return isRedone ? "the file was deleted again" : "the file is back";
}

function printRead(terminal: Terminal, answer: Answer, input: Answer): string[] {
  const content = String(answer["content"]);
  const count = Number(answer["line_count"]);
  const range = input["range"] as { start: number; end: number } | undefined;
  const first = Math.min(range?.start ?? 0, count) + 1;
  const lines = count === 0 || first > count ? [] : content.replace(/\n$/, "").split("\n");
  const width = String(first + lines.length - 1).length;
  const head = [
    bold(terminal, input["block_id"]),
    `${String(answer["role"])} ${String(answer["kind"])}, ${String(answer["status"])}`,
    dim(
      terminal,
      `version ${String(answer["version"])}, ${count === 1 ? "1 line" : `${count} lines`}, counted from 1`,
    ),
  ];
  return [
    head.join("  "),
    ...lines.map((line, at) => `${dim(terminal, String(first + at).padStart(width))} ${line}`),
  ];
}

interface Listed {
  readonly block_id: string;
  readonly parent_id: string | null;
  readonly role: string | null;
  readonly kind: string | null;
  readonly status: string | null;
  readonly path?: string;
  readonly summary: string;
  readonly quarantined?: string;
  readonly denied?: string;
}

export function printList(terminal: Terminal, answer: Answer): string[] {
  const blocks = answer["blocks"] as readonly Listed[];
  const depths = new Map<string, number>();
  const rows = blocks.map((block) => {
    const depth = block.parent_id === null ? 0 : (depths.get(block.parent_id) ?? -1) + 1;
    depths.set(block.block_id, depth);
    const states = [block.role, block.kind, block.status === "done" ? null : block.status];
    const broken = block.quarantined === undefined ? "" : "cannot be read";
    const denied = block.denied === undefined ? "" : "may not be read";
    const text = [block.path, oneLine(block.summary), broken, denied].filter(Boolean).join("  ");
    const what = states.filter((state) => state !== null).join(" ");
    return { id: `${"  ".repeat(depth)}${block.block_id}`, what, text };
  });
  const idWidth = Math.max(0, ...rows.map(({ id }) => id.length));
  const whatWidth = Math.max(0, ...rows.map(({ what }) => what.length));
  const lines = rows.map(({ id, what, text }) =>
    `${bold(terminal, id.padEnd(idWidth))}  ${what.padEnd(whatWidth)}  ${text}`.trimEnd(),
  );
  if (blocks.length === 0) lines.push(dim(terminal, "no blocks"));
  if (answer["truncated"] === true)
    lines.push(dim(terminal, `only the first ${blocks.length} are shown; --limit shows more`));
  return lines;
}

interface PatchedFile {
  readonly path?: string | null;
  readonly block_id: string;
  readonly created?: true;
  readonly deleted?: true;
  readonly moved_to?: string;
  readonly mode_kept?: true;
  readonly version: number;
  readonly since: string;
  readonly hunks: readonly {
    readonly hunk: number;
    readonly line: number;
    readonly offset: number;
  }[];
  readonly error?: { readonly message: string };
}

function printPatched(terminal: Terminal, answer: Answer): string[] {
  const dry = answer["dry_run"] === true;
  return (answer["files"] as readonly PatchedFile[]).flatMap((file) => {
    const { block_id, path, version, hunks, error, since, mode_kept: isModeKept } = file;
    const name = [bold(terminal, block_id), path].filter(Boolean).join("  ");
    if (error !== undefined) return [`${name}  ${styled(terminal, "red", error.message)}`];
    const done = isUntouched(file) ? "is as it was" : `is now version ${version}`;
    return [
      `${name} ${dry ? "can be patched" : done}${becoming(file, dry)}`,
      ...hunks.map(({ hunk, line }) => `  hunk ${hunk} at line ${line + 1} (counted from 1)`),
      ...(isModeKept === true ? ["  its mode is not changed: chmod does that"] : []),
      ...printSince(terminal, since),
    ];
  });
}

/** Of a patch for its mode alone. */
function isUntouched({ hunks, created, deleted, moved_to: to }: PatchedFile): boolean {
  return hunks.length === 0 && !(created ?? deleted ?? false) && to === undefined;
}

function becoming({ deleted, moved_to: to }: PatchedFile, dry: boolean): string {
  if (deleted) return dry ? " and deleted" : " and was deleted; kumiko undo brings it back";
  if (to === undefined) return "";
  return dry ? ` and moved to ${to}` : ` and was moved to ${to}`;
}

function printSince(terminal: Terminal, since: unknown): string[] {
  if (typeof since !== "string" || since === "") return [];
  return ["", "Others had changed meanwhile, and it was merged:", ...diffLines(terminal, since)];
}

function printFields(terminal: Terminal, answer: Answer): string[] {
  return Object.entries(answer)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value]) => {
      const title = dim(terminal, `${name}:`);
      if (Array.isArray(value))
        return value.length === 0
          ? [`${title} none`]
          : [title, ...value.map((each) => `  ${asText(each)}`)];
      return [`${title} ${asText(value)}`];
    });
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function oneLine(text: string): string {
  return text
    .replaceAll(/\s*\n\s*/g, " ⏎ ")
    .replaceAll("\t", " ")
    .trim();
}
