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
import { withMembers } from "./json-edit.ts";
import { isUsualHome, mcpCommand, sharedMcpCommand } from "./mcp-start.ts";
import { type OwnFlags, placeOf } from "./place.ts";
import { NotEditable } from "./text-scanner.ts";
import { withTable } from "./toml-edit.ts";

export interface ConnectFlags extends OwnFlags {
  readonly write?: boolean;
  readonly global?: boolean;
  /** This machine's paths also in a file that people share. */
  readonly absolute?: boolean;
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
  const { command, notes } = chosenCommand(terminal, flags);
  const path = configurationFile(terminal, agent, flags.global ?? false);
  const alone = edited(agent, command, "", path);
  if (flags.write !== true) {
    if (flags.json)
      await printJson(terminal, { ok: true, agent: name, file: path, text: alone, notes });
    else await terminal.print(described(terminal, agent, path, alone, notes));
    return exitCode.fine;
  }
  const plan = await planned(agent, command, path);
  const changed = plan.text !== plan.old;
  const backup = changed ? await write(terminal, plan) : null;
  const diff = changed
    ? measuredUnifiedDiff(plan.old, plan.text, { oldName: path, newName: path, context: 3 }).text
    : "";
  if (flags.json) {
    await printJson(terminal, { ok: true, agent: name, file: path, changed, backup, diff, notes });
    return exitCode.fine;
  }
  if (!changed) {
    await terminal.print(`${path} already says so: nothing was changed.\n`);
    return exitCode.fine;
  }
  const lines = [
    printedDiff(terminal, diff).trimEnd(),
    "",
    `Written to ${path}: ${bold(terminal, agent.title)} starts \`${command.join(" ")}\` from its next start on.`,
    ...(backup === null ? [] : [dim(terminal, `what was there before: ${backup}`)]),
    ...notesOf(agent, notes),
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

/** What starts Kumiko, and what a person has to know of it. */
function chosenCommand(
  terminal: Terminal,
  flags: ConnectFlags,
): { readonly command: readonly string[]; readonly notes: readonly string[] } {
  if (flags.global === true || flags.absolute === true)
    return { command: mcpCommand(terminal, flags), notes: [] };
  if (flags.home !== undefined) {
    throw new KumikoError(
      "invalid_argument",
      `--home ${flags.home} is a folder of this machine, and a project's file is for everyone who works on it. ` +
        "Say --global for a file of your own, or --absolute to have it there all the same.",
      { argument: "home", value: flags.home },
    );
  }
  const { command, missing } = sharedMcpCommand(terminal);
  const notes = [
    "The file names nothing of this machine, so it can be committed; --absolute writes paths.",
    ...(missing
      ? [
          "There is no `kumiko` on the PATH and none in this project: `npm install --save-dev kumiko`, or --absolute.",
        ]
      : []),
    ...(isUsualHome(terminal, flags)
      ? []
      : [
          `Whoever starts the agent must have $KUMIKO_HOME set, as you have: ${placeOf(terminal, flags)}`,
        ]),
  ];
  return { command, notes };
}

function notesOf({ note }: Agent, notes: readonly string[]): string[] {
  return [...notes, ...(note === undefined ? [] : [note])];
}

function described(
  terminal: Terminal,
  agent: Agent,
  path: string,
  text: string,
  notes: readonly string[],
): string {
  const lines = [
    `${bold(terminal, agent.title)} reads ${path}:`,
    "",
    ...text.trimEnd().split("\n"),
    "",
    dim(terminal, "kumiko connect … --write puts it there and keeps everything else."),
    ...notesOf(agent, notes),
  ];
  return `${lines.join("\n")}\n`;
}
