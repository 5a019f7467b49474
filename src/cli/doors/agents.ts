import { realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { Terminal } from "../terminal.ts";
import { HookSettings, type HooksText } from "./agent-hooks.ts";
import { opencodePlugin } from "./opencode-plugin.ts";

/** What `kumiko connect` knows. */
export const agentNames = ["claude-code", "codex", "opencode", "cursor"] as const;
export type AgentName = (typeof agentNames)[number];

/** What makes an agent use Kumiko: an MCP server on standard input and output, named in a file of the agent's. */
export interface Agent {
  readonly title: string;
  readonly format: "json" | "jsonc" | "toml";
  /** Below the folder that the agent works in. */
  readonly project: string;
  /** Below the person's home. */
  readonly global: string;
  /** The ending of a second file beside that one, which the agent reads as well. */
  readonly otherEnding?: string;
  /** Where in the file it is named. */
  readonly keys: readonly [string, string];
  entry(command: readonly string[]): { readonly [name: string]: unknown };
  /** What a person has to know beside. */
  readonly notes?: readonly string[];
  /** Undefined where none are installed: what the agent's own tools change is blamed on `disk`. */
  readonly hooks?: AgentHooks;
}

/** How an agent tells others what its own tools change: by a file in which it is said what it runs before and after. */
interface AgentHooks {
  readonly project: string;
  readonly global: string;
  /** What the agent calls itself over MCP: with both kinds of tools it is one actor. */
  readonly actor: string;
  readonly text: HooksText;
}

export const agents: { readonly [name in AgentName]: Agent } = {
  "claude-code": {
    title: "Claude Code",
    format: "json",
    project: ".mcp.json",
    global: ".claude.json",
    keys: ["mcpServers", "kumiko"],
    entry: ([command, ...args]) => ({ type: "stdio", command, args }),
    hooks: {
      project: ".claude/settings.json",
      global: ".claude/settings.json",
      actor: "claude-code",
      text: new HookSettings({
        PreToolUse: "Edit|MultiEdit|Write|NotebookEdit",
        PostToolUse: "Edit|MultiEdit|Write|NotebookEdit",
        // A call that the person refused ends without an event of its own.
        UserPromptSubmit: null,
      }),
    },
  },
  codex: {
    title: "Codex",
    format: "toml",
    project: ".codex/config.toml",
    global: ".codex/config.toml",
    keys: ["mcp_servers", "kumiko"],
    entry: ([command, ...args]) => ({ command, args }),
    hooks: {
      project: ".codex/hooks.json",
      global: ".codex/hooks.json",
      actor: "codex-mcp-client",
      text: new HookSettings({
        PreToolUse: "apply_patch",
        PostToolUse: "apply_patch",
        UserPromptSubmit: null,
      }),
    },
    notes: [
      "Codex reads a folder's own file only when it trusts the folder.",
      "Codex runs hooks once you trust them: /hooks in Codex shows them. Until then what it changes with its own tool is blamed on disk.",
      "Codex asks before an edit by Kumiko's tools, and `codex exec`, where nobody can answer, refuses it: -c 'mcp_servers.kumiko.default_tools_approval_mode=\"approve\"' lets it.",
    ],
  },
  opencode: {
    title: "opencode",
    format: "jsonc",
    project: "opencode.json",
    global: ".config/opencode/opencode.json",
    otherEnding: ".jsonc",
    keys: ["mcp", "kumiko"],
    entry: (command) => ({ type: "local", command, enabled: true }),
    hooks: {
      project: ".opencode/plugin/kumiko.js",
      global: ".config/opencode/plugin/kumiko.js",
      actor: "opencode",
      text: opencodePlugin,
    },
    notes: [
      "opencode puts packages of its own into a folder .opencode in which there is a plugin, and keeps them out of git.",
    ],
  },
  cursor: {
    title: "Cursor",
    format: "json",
    project: ".cursor/mcp.json",
    global: ".cursor/mcp.json",
    keys: ["mcpServers", "kumiko"],
    entry: ([command, ...args]) => ({ command, args }),
  },
};

/** The file in which an agent looks, for one folder or for all. */
export function configurationFile(
  terminal: Pick<Terminal, "folder" | "environment">,
  { project, global }: Pick<Agent, "project" | "global">,
  everywhere: boolean,
): string {
  if (!everywhere) return join(terminal.folder, project);
  const {
    HOME = "",
    XDG_CONFIG_HOME = "",
    CODEX_HOME = "",
    CLAUDE_CONFIG_DIR = "",
  } = terminal.environment;
  if (global.startsWith(".config/") && isAbsolute(XDG_CONFIG_HOME))
    return join(XDG_CONFIG_HOME, global.slice(".config/".length));
  if (global.startsWith(".codex/") && isAbsolute(CODEX_HOME))
    return join(CODEX_HOME, global.slice(".codex/".length));
  if (global.startsWith(".claude/") && isAbsolute(CLAUDE_CONFIG_DIR))
    return join(CLAUDE_CONFIG_DIR, global.slice(".claude/".length));
  return join(HOME, global);
}

/** The command by which this one was started, for programs that know no PATH of ours. */
export function startedAs(): readonly [string, ...string[]] {
  const script = process.argv[1];
  return script === undefined ? ["kumiko"] : [process.execPath, realpathSync(script)];
}
