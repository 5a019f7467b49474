// The agents that are tried: how each is installed, started without a terminal, and led.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chat } from "./wire-chat.mjs";
import { messages } from "./wire-messages.mjs";
import { responses } from "./wire-responses.mjs";

/** The file as it is at first, after Kumiko's tool, and after the agent's own. */
export const file = "notes.md";
export const texts = {
  before: "one\ntwo\nthree\n",
  byKumiko: "TWO by Kumiko's tool",
  byItself: "THREE by its own tool",
};
const prompt = `Put the second and the third line of ${file} into capitals.`;
/** The last thing that the model says. */
export const farewell = "Both lines are in capitals.";

const replaceSecond = { op: "replace", start_line: 1, end_line: 2, content: texts.byKumiko };
const edit = { block_id: file, operations: [replaceSecond] };

/**
 * `prefix` stands before the names of Kumiko's tools, `actor` is whom MCP edits are blamed on and `own`
 * whom edits by its own tool are. `start` says how it is run in a project, with a home of its own.
 */
export const agents = [
  {
    name: "claude-code",
    title: "Claude Code",
    package: "@anthropic-ai/claude-code",
    version: "2.1.197",
    megabytes: 240,
    program: "claude",
    wire: messages,
    prefix: "mcp__kumiko__",
    actor: "claude-code",
    own: { tool: "Edit", actor: "claude-code" },
    steps: ({ project }) => ({
      // It edits nothing that it has not read as it stands.
      own: [
        { call: "Read", input: { file_path: join(project, file) } },
        { call: "Edit", input: replacement(project, "file_path", "old_string", "new_string") },
      ],
      meanwhile: { call: "Read", input: { file_path: join(project, file) } },
    }),
    start: ({ url }) => ({
      args: ["-p", prompt, "--output-format", "json", "--allowedTools", "mcp__kumiko,Read,Edit"],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    }),
    /** Its session, under which its own edits are noted. */
    session: (printed) => JSON.parse(printed).session_id,
  },
  {
    name: "codex",
    title: "Codex",
    package: "@openai/codex",
    version: "0.166.0",
    megabytes: 440,
    program: "codex",
    wire: responses,
    prefix: "mcp__kumiko/",
    actor: "codex-mcp-client",
    own: { tool: "apply_patch", actor: "codex-mcp-client" },
    steps: () => ({
      own: [
        {
          call: "apply_patch",
          input: `*** Begin Patch\n*** Update File: ${file}\n@@\n-three\n+${texts.byItself}\n*** End Patch\n`,
        },
      ],
      meanwhile: { call: "tool_search", input: { query: "kumiko block read edit" } },
    }),
    start: ({ project, home, url }) => {
      mkdirSync(join(home, ".codex"));
      writeFileSync(join(home, ".codex", "config.toml"), codexSettings(project, url));
      // Without a person who says yes, Codex refuses every tool of a server that writes.
      const approval = `mcp_servers.kumiko.default_tools_approval_mode="approve"`;
      const alone = ["--json", "--skip-git-repo-check", "--sandbox", "workspace-write"];
      // And runs no hook that nobody has looked at.
      const trust = "--dangerously-bypass-hook-trust";
      return { args: ["exec", ...alone, trust, "-c", approval, prompt], env: {} };
    },
    session: (printed) => {
      const events = printed.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
      return events.find(({ type }) => type === "thread.started").thread_id;
    },
  },
  {
    name: "opencode",
    title: "opencode",
    package: "opencode-ai",
    version: "1.18.33",
    megabytes: 360,
    program: "opencode",
    wire: chat,
    prefix: "kumiko_",
    actor: "opencode",
    own: { tool: "edit", actor: "opencode" },
    steps: ({ project }) => ({
      own: [
        { call: "read", input: { filePath: join(project, file) } },
        { call: "edit", input: replacement(project, "filePath", "oldString", "newString") },
      ],
      meanwhile: { call: "read", input: { filePath: join(project, file) } },
    }),
    start: ({ url }) => ({
      args: ["run", "--format", "json", prompt],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeSettings(url)),
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
    }),
    session: (printed) => JSON.parse(printed.slice(0, printed.indexOf("\n"))).sessionID,
  },
];

/** All that the model does: it reads and edits by Kumiko's tools, edits by the agent's own, and ends. */
export function stepsOf(agent, place) {
  const { own, meanwhile } = agent.steps(place);
  const steps = [
    { call: `${agent.prefix}block_read`, input: { block_id: file } },
    { call: `${agent.prefix}block_edit`, input: edit },
    ...own,
    { say: farewell },
  ];
  return { steps, meanwhile };
}

function replacement(project, path, before, after) {
  return { [path]: join(project, file), [before]: "three", [after]: texts.byItself };
}

/** A model that this Codex knows has its own tool for patches. A folder's file counts only where the folder is trusted. */
function codexSettings(project, url) {
  return `model = "gpt-5.5"
model_provider = "replay"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

[model_providers.replay]
name = "replay"
base_url = "${url}/v1"
wire_api = "responses"

[projects.${JSON.stringify(project)}]
trust_level = "trusted"
`;
}

/** A provider whose package is part of opencode, so that nothing is fetched. */
function opencodeSettings(url) {
  const limit = { context: 100_000, output: 10_000 };
  return {
    model: "replay/replay",
    small_model: "replay/replay",
    autoupdate: false,
    share: "disabled",
    provider: {
      replay: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${url}/v1`, apiKey: "none" },
        models: { replay: { tool_call: true, limit } },
      },
    },
  };
}
