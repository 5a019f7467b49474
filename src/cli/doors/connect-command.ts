import { KumikoError } from "../../base/index.ts";
import { measuredUnifiedDiff } from "../../blocks/patch/index.ts";
import { printedDiff, printJson } from "../answer.ts";
import { realTarget } from "../contained-path.ts";
import { exitCode } from "../exit-code.ts";
import type { FileChange } from "../file-change.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { decodeText, readPlainFile } from "../text-file.ts";
import { writeFiles } from "../write-files.ts";
import { type Agent, type AgentName, agentNames, agents, configurationFile } from "./agents.ts";
import { NotEditable, withMembers } from "./json-edit.ts";
import { mcpCommand } from "./mcp-start.ts";
import type { OwnFlags } from "./place.ts";
import { withTable } from "./toml-edit.ts";

export interface ConnectFlags extends OwnFlags {
  readonly write?: boolean;
  readonly global?: boolean;
}

/** The agent's file, as it is and as it should be. */
interface Plan {
  readonly path: string;
  readonly real: string;
  readonly before: Awaited<ReturnType<typeof readPlainFile>>;
  readonly old: string;
  readonly text: string;
}

/** Prints what an agent needs to use Kumiko, or puts it into the agent's file and leaves everything else there. */
export async function connectAgent(
  terminal: Terminal,
  name: string,
  flags: ConnectFlags,
): Promise<number> {
  const agent = agentOf(name);
  const command = mcpCommand(terminal, flags);
  const path = configurationFile(terminal, agent, flags.global ?? false);
  const alone = edited(agent, command, "", path);
  if (flags.write !== true) {
    if (flags.json) await printJson(terminal, { ok: true, agent: name, file: path, text: alone });
    else await terminal.print(described(terminal, agent, path, alone));
    return exitCode.fine;
  }
  const plan = await planned(agent, command, path);
  const changed = plan.text !== plan.old;
  const backup = changed ? await write(terminal, plan) : null;
  const diff = changed
    ? measuredUnifiedDiff(plan.old, plan.text, { oldName: path, newName: path, context: 3 }).text
    : "";
  if (flags.json) {
    await printJson(terminal, { ok: true, agent: name, file: path, changed, backup, diff });
    return exitCode.fine;
  }
  if (!changed) {
    await terminal.print(`${path} already says so: nothing was changed.\n`);
    return exitCode.fine;
  }
  const lines = [
    printedDiff(terminal, diff).trimEnd(),
    "",
    `${bold(terminal, agent.title)} uses Kumiko from its next start on.`,
    ...(backup === null ? [] : [dim(terminal, `what was there before: ${backup}`)]),
    ...(agent.note === undefined ? [] : [agent.note]),
  ];
  await terminal.print(`${lines.join("\n")}\n`);
  return exitCode.fine;
}

function agentOf(name: string): Agent {
  if (agentNames.includes(name as AgentName)) return agents[name as AgentName];
  throw new KumikoError(
    "invalid_argument",
    `No agent is known as ${name}; there are: ${agentNames.join(", ")}. Any other is told to start \`kumiko mcp\`.`,
    { argument: "agent", value: name, known: [...agentNames] },
  );
}

async function planned(agent: Agent, command: readonly string[], path: string): Promise<Plan> {
  const real = await realTarget(path, path);
  const before = await readPlainFile(real, path);
  const old = before === null ? "" : decodeText(before.bytes, path);
  return { path, real, before, old, text: edited(agent, command, old, path) };
}

/** An agent's file with Kumiko in it. */
function edited(agent: Agent, command: readonly string[], old: string, path: string): string {
  const entry = agent.entry(command);
  const blank = old.trim() === "";
  try {
    if (agent.format === "toml") return withTable(old, agent.keys, entry);
    if (!blank && agent.format === "json") JSON.parse(old.replace(/^\uFEFF/, ""));
    return withMembers(blank ? "{}\n" : old, keysIn(agent, old), entry);
  } catch (error) {
    if (!(error instanceof NotEditable || error instanceof SyntaxError)) throw error;
    throw new KumikoError(
      "file_unreadable",
      `${path} was left as it is: ${error.message}. Put it right, or add by hand what \`kumiko connect\` prints without --write.`,
      { path },
      { cause: error },
    );
  }
}

/** Newer files of opencode name servers one level deeper. */
function keysIn({ keys }: Agent, old: string): readonly string[] {
  const [group, name] = keys;
  return group === "mcp" && /"mcp"\s*:\s*\{\s*"servers"\s*:/.test(old)
    ? [group, "servers", name]
    : keys;
}

/** Gives the name under which what was there is kept. */
async function write(terminal: Terminal, plan: Plan): Promise<string | null> {
  const { path, real, before, text } = plan;
  using interruption = terminal.interruption();
  const kept = { executable: false, mode: before?.mode ?? null, owner: owner(before) };
  const backup = before === null ? null : await freeName(`${path}.before-kumiko`);
  const changes: FileChange[] = [
    {
      ...kept,
      path,
      file: real,
      before: before?.bytes ?? null,
      after: Buffer.from(text),
    },
  ];
  if (backup !== null && before !== null) {
    const file = await realTarget(backup, backup);
    changes.unshift({ ...kept, path: backup, file, before: null, after: before.bytes });
  }
  await writeFiles(changes, interruption.signal);
  return backup;
}

function owner(before: Plan["before"]): FileChange["owner"] {
  return before === null ? null : { uid: before.uid, gid: before.gid };
}

/** An earlier copy is never written over: it may be the only one of what a person had. */
async function freeName(name: string): Promise<string> {
  for (let number = 1; ; number++) {
    const tried = number === 1 ? name : `${name}-${number}`;
    if ((await readPlainFile(tried, tried)) === null) return tried;
  }
}

function described(terminal: Terminal, agent: Agent, path: string, text: string): string {
  const lines = [
    `${bold(terminal, agent.title)} reads ${path}:`,
    "",
    ...text.trimEnd().split("\n"),
    "",
    dim(terminal, "kumiko connect … --write puts it there and keeps everything else."),
    ...(agent.note === undefined ? [] : [agent.note]),
  ];
  return `${lines.join("\n")}\n`;
}
