import { resolve } from "node:path";
import { type PatchedFile, patchedFiles } from "./codex-patch.ts";

/** What an agent's hook says of one of the agent's own tools. */
export interface OwnToolCall {
  readonly kind: "begins" | "ended";
  /** The file it changes, absolute. */
  readonly path: string;
  /** Where the agent works. */
  readonly folder: string;
  readonly tool: string | undefined;
  /** The agent's session. */
  readonly turn: string | undefined;
  readonly call: string | undefined;
  /** What it will write, as `file_changed` takes it; nothing once it is written. */
  readonly announced: { readonly [name: string]: unknown };
}

/** Its person speaks again: what it announced and did not do was refused, or stopped. */
export interface NewTurn {
  readonly kind: "given_up";
  readonly folder: string;
  readonly turn: string;
}

/**
 * What an agent hands to a hook on standard input: one event for each file, none when it is about no file. Claude Code and
 * Codex hand over the same, but for the arguments of their tools.
 */
export function hookEvents(input: Uint8Array, folder: string): readonly (OwnToolCall | NewTurn)[] {
  const payload = recordOf(JSON.parse(Buffer.from(input).toString("utf8")));
  const event = textOf(payload["hook_event_name"]);
  const works = textOf(payload["cwd"]) ?? folder;
  const turn = textOf(payload["session_id"]);
  if (event === "UserPromptSubmit")
    return turn === undefined ? [] : [{ kind: "given_up", folder: works, turn }];
  const begins = event === "PreToolUse";
  if (!begins && event !== "PostToolUse") return [];
  const tool = textOf(payload["tool_name"]);
  const call = textOf(payload["tool_use_id"]);
  return changesBy(tool, recordOf(payload["tool_input"])).map(({ path, announced }) => ({
    kind: begins ? "begins" : "ended",
    path: resolve(works, path),
    folder: works,
    tool,
    turn,
    call,
    announced: begins ? announced : {},
  }));
}

type Fields = { readonly [name: string]: unknown };

/** Which files a tool changes, and how. */
function changesBy(tool: string | undefined, used: Fields): readonly PatchedFile[] {
  if (tool === "apply_patch") return patchedFiles(textOf(used["command"]) ?? "");
  const path = textOf(used["file_path"]) ?? textOf(used["notebook_path"]);
  return path === undefined ? [] : [{ path, announced: announcedBy(used) }];
}

/** Of a tool whose arguments say nothing of what it writes nothing is believed beforehand. */
function announcedBy(used: Fields): Fields {
  const { content, edits, new_source: source } = used;
  if (typeof content === "string") return { content };
  const replacements = Array.isArray(edits) ? edits.map(replacementOf) : [replacementOf(used)];
  const known = replacements.filter((each) => each !== undefined);
  if (known.length > 0 && known.length === replacements.length) return { edits: known };
  return { holds: typeof source === "string" ? notebookLines(source) : [] };
}

function replacementOf(value: unknown): Fields | undefined {
  const { old_string: old, new_string: by, replace_all: all } = recordOf(value);
  if (typeof old !== "string" || typeof by !== "string") return undefined;
  return { old, new: by, ...(all === true && { all }) };
}

/** Lines of a cell, as they stand in the notebook's JSON. */
function notebookLines(source: string): string[] {
  const lines = source.split("\n").filter((line) => line.trim() !== "");
  return [...new Set(lines)].slice(0, LINES).map((line) => JSON.stringify(line).slice(1, -1));
}

/** Enough to know a cell by. */
const LINES = 200;

function recordOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
