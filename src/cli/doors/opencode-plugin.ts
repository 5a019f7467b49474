import type { HooksText } from "./agent-hooks.ts";
import { NotEditable } from "./text-scanner.ts";

const FIRST_LINE =
  "// Written by `kumiko connect opencode`; `kumiko connect opencode --remove` takes it away.";

/** What opencode runs by itself: it has no hooks that are commands. It hands on what Claude Code's hooks are given. */
function pluginText(command: readonly string[]): string {
  return `${FIRST_LINE}
// It tells Kumiko what opencode changes with its own tools, so that this is blamed on opencode and not on the disk.
import { spawn } from "node:child_process";

const command = ${JSON.stringify(command)};

/** The tools that change files, and their arguments by the names that Kumiko knows. */
const tools = {
  edit: ({ filePath, ...change }) => ({ file_path: filePath, ...replacement(change) }),
  multiedit: ({ filePath, edits }) => ({ file_path: filePath, edits: edits?.map(replacement) }),
  write: ({ filePath, content }) => ({ file_path: filePath, content }),
  apply_patch: ({ patchText }) => ({ command: patchText }),
};

function replacement({ oldString, newString, replaceAll }) {
  if (oldString === "") return { content: newString };
  return { old_string: oldString, new_string: newString, replace_all: replaceAll };
}

function tell(payload) {
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), {
      stdio: ["pipe", "ignore", "ignore"],
      timeout: 10_000,
    });
    child.on("error", resolve);
    child.on("close", resolve);
    child.stdin.on("error", () => undefined);
    child.stdin.end(JSON.stringify(payload));
  });
}

/** Whatever goes wrong here, opencode's tool is not to suffer for it. */
const harmless = (hook) => (...given) => hook(...given).catch(() => undefined);

export const Kumiko = async ({ directory: cwd }) => {
  /** What calls were given, until they end: not every version says it again. */
  const begun = new Map();
  const told = async (hook_event_name, { tool, sessionID, callID }, args) => {
    if (args === undefined) return;
    const call = { tool_name: tool, tool_use_id: callID, tool_input: tools[tool](args) };
    await tell({ hook_event_name, cwd, session_id: sessionID, ...call });
  };
  return {
    "tool.execute.before": harmless(async (call, { args }) => {
      if (!Object.hasOwn(tools, call.tool)) return;
      begun.set(call.callID, { args, session: call.sessionID });
      await told("PreToolUse", call, args);
    }),
    "tool.execute.after": harmless(async (call) => {
      if (!Object.hasOwn(tools, call.tool)) return;
      const args = call.args ?? begun.get(call.callID)?.args;
      begun.delete(call.callID);
      await told("PostToolUse", call, args);
    }),
    // A call that failed or was refused ends without a word.
    "chat.message": harmless(async ({ sessionID }) => {
      for (const [call, { session }] of begun) if (session === sessionID) begun.delete(call);
      await tell({ hook_event_name: "UserPromptSubmit", cwd, session_id: sessionID });
    }),
  };
};
`;
}

/** The whole file is ours; one that is somebody else's is left alone. */
export const opencodePlugin: HooksText = {
  with(text, command) {
    if (text.trim() !== "" && !isOurs(text)) throw new NotEditable("it is not one of Kumiko's");
    return pluginText(command);
  },
  without: (text) => (isOurs(text) ? "" : text),
};

function isOurs(text: string): boolean {
  return text.startsWith(FIRST_LINE);
}
