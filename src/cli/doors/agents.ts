import { realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { Terminal } from "../terminal.ts";

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
  /** Where in the file it is named. */
  readonly keys: readonly [string, string];
  entry(command: readonly string[]): { readonly [name: string]: unknown };
  /** What a person has to know beside. */
  readonly note?: string;
  /** Undefined where none are installed: what the agent's own tools change is blamed on `disk`. */
  readonly hooks?: AgentHooks;
}

/** How an agent tells others what its own tools change: it runs commands, named in a file, before and after. */
export interface AgentHooks {
  readonly project: string;
  readonly global: string;
  /** What the agent calls itself over MCP: with both kinds of tools it is one actor. */
  readonly actor: string;
  readonly events: readonly string[];
  /** Its tools that change files, as its file names them. */
  readonly matcher: string;
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
      events: ["PreToolUse", "PostToolUse"],
      matcher: "Edit|MultiEdit|Write|NotebookEdit",
    },
  },
  codex: {
    title: "Codex",
    format: "toml",
    project: ".codex/config.toml",
    global: ".codex/config.toml",
    keys: ["mcp_servers", "kumiko"],
    entry: ([command, ...args]) => ({ command, args }),
    note: "Codex reads a folder's own file only when it trusts the folder.",
  },
  opencode: {
    title: "opencode",
    format: "jsonc",
    project: "opencode.json",
    global: ".config/opencode/opencode.json",
    keys: ["mcp", "kumiko"],
    entry: (command) => ({ type: "local", command, enabled: true }),
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

interface AgentConfiguration {
  readonly agent: string;
  /** Where it goes, or how it gets there. */
  readonly where: string;
  readonly text: string;
}

interface Commands {
  /** For files of this machine's user. */
  readonly own: readonly string[];
  /** For files of a project, which people share; undefined when those cannot say enough. */
  readonly shared: readonly string[] | undefined;
}

/** In few lines, for whoever wants to see all of them. */
export function agentConfigurations({ own, shared }: Commands): AgentConfiguration[] {
  return agentNames.map((name) => {
    const agent = agents[name];
    if (name === "claude-code") {
      const text = `claude mcp add kumiko -- ${own.map(quoted).join(" ")}`;
      return { agent: agent.title, where: "run", text };
    }
    const forAll = name === "codex" || shared === undefined;
    const where = forAll ? `~/${agent.global}` : agent.project;
    const text = configurationText(agent, forAll ? own : shared);
    return { agent: agent.title, where, text };
  });
}

/** What to put into the agent's file, in as few lines as there can be. */
function configurationText(agent: Agent, command: readonly string[]): string {
  const { format, keys } = agent;
  const [group, name] = keys;
  const made = agent.entry(command);
  if (format !== "toml") return JSON.stringify({ [group]: { [name]: made } });
  const pairs = Object.entries(made).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return [`[${group}.${name}]`, ...pairs].join("\n");
}

/** As a shell reads it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
