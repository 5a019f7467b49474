import { resolve } from "node:path";

/** What an agent's hook says of one of the agent's own tools. */
export interface OwnToolCall {
  /** The file it changes, absolute. */
  readonly path: string;
  /** Where the agent works. */
  readonly folder: string;
  /** It is about to; otherwise it has. */
  readonly begins: boolean;
  readonly tool: string | undefined;
  /** The agent's session. */
  readonly turn: string | undefined;
  readonly call: string | undefined;
}

const events: { readonly [event: string]: "before" | "after" } = {
  PreToolUse: "before",
  PostToolUse: "after",
};

/** What Claude Code hands to a hook on standard input; undefined when it is about no file. */
export function claudeCodeCall(input: Uint8Array, folder: string): OwnToolCall | undefined {
  const payload = recordOf(JSON.parse(Buffer.from(input).toString("utf8")));
  const when = events[textOf(payload["hook_event_name"]) ?? ""];
  const { file_path: file, notebook_path: notebook } = recordOf(payload["tool_input"]);
  const path = textOf(file) ?? textOf(notebook);
  if (when === undefined || path === undefined) return undefined;
  const works = textOf(payload["cwd"]) ?? folder;
  return {
    path: resolve(works, path),
    folder: works,
    begins: when === "before",
    tool: textOf(payload["tool_name"]),
    turn: textOf(payload["session_id"]),
    call: textOf(payload["tool_use_id"]),
  };
}

function recordOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
