import { rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { KumikoError } from "../../base/index.ts";
import { measuredUnifiedDiff } from "../../blocks/patch/index.ts";
import { printedDiff, printJson } from "../answer.ts";
import { realTarget } from "../contained-path.ts";
import { exitCode } from "../exit-code.ts";
import type { FileChange } from "../file-change.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { decodeText, isSystemError, readPlainFile } from "../text-file.ts";
import { writeFiles } from "../write-files.ts";
import { type Agent, type AgentName, agentNames, agents, configurationFile } from "./agents.ts";
import { withMembers, without } from "./json-edit.ts";
import {
  isUsualHome,
  mcpCommand,
  ownCommand,
  sharedCommand,
  sharedMcpCommand,
} from "./mcp-start.ts";
import { type OwnFlags, placeOf } from "./place.ts";
import { NotEditable } from "./text-scanner.ts";
import { withoutTable, withTable } from "./toml-edit.ts";

export interface ConnectFlags extends OwnFlags {
  readonly write?: boolean;
  /** Takes out again what `write` puts there. */
  readonly remove?: boolean;
  readonly global?: boolean;
  /** This machine's paths also in a file that people share. */
  readonly absolute?: boolean;
}

/** A file of the agent's, and what Kumiko needs in it. */
interface Part {
  readonly path: string;
  /** The text with it. */
  readonly add: (old: string) => string;
  /** The text without it. */
  readonly take: (old: string) => string;
}

/** The agent's file, as it is and as it should be. */
interface Plan {
  readonly path: string;
  readonly real: string;
  readonly before: Awaited<ReturnType<typeof readPlainFile>>;
  readonly old: string;
  /** Null: it was made by us, and nothing else is in it. */
  readonly text: string | null;
  /** The copy of what was there before us, when that is what is there again. */
  readonly spare?: { readonly path: string; readonly bytes: Uint8Array } | undefined;
  /** Whether what is there now is worth a copy. */
  readonly copies: boolean;
}

/** What became of a file. */
interface Written {
  readonly file: string;
  readonly changed: boolean;
  /** Under which name what was there is kept. */
  readonly backup: string | null;
  readonly diff: string;
}

/** Prints what an agent needs to use Kumiko, or puts it into the agent's files and leaves everything else there. */
export async function connectAgent(
  terminal: Terminal,
  name: string,
  flags: ConnectFlags,
): Promise<number> {
  const agent = agentOf(name);
  if (flags.write === true && flags.remove === true) {
    throw new KumikoError("invalid_argument", "Say --write or --remove, not both.", {
      argument: "remove",
    });
  }
  const { command, hook, notes } = chosenCommands(terminal, name, flags);
  const all = notesOf(agent, notes);
  const { hooks } = agent;
  const everywhere = flags.global ?? false;
  const remove = flags.remove === true;
  const mcp: Part = {
    path: await fileWithEntry(agent, configurationFile(terminal, agent, everywhere)),
    add: (old) => withEntry(agent, command, old),
    take: (old) => withoutEntry(agent, old),
  };
  const own: Part | undefined = hooks && {
    path: configurationFile(terminal, hooks, everywhere),
    add: (old) => hooks.text.with(old, hook),
    take: (old) => hooks.text.without(old),
  };
  if (flags.write !== true && !remove) {
    const [text, hooksText] = [mcp.add(""), own?.add("")];
    if (flags.json) {
      const said = own === undefined ? null : { file: own.path, text: hooksText };
      await printJson(terminal, {
        ok: true,
        agent: name,
        file: mcp.path,
        text,
        hooks: said,
        notes: all,
      });
    } else {
      const parts = [mcp, ...(own === undefined ? [] : [own])];
      await terminal.print(described(terminal, agent, parts, all));
    }
    return exitCode.fine;
  }
  const plan = remove ? removal : addition;
  const plans = [await plan(mcp), ...(own === undefined ? [] : [await plan(own)])];
  const [entry, hooked] = await write(terminal, plans);
  if (!everywhere)
    for (const { path, text } of plans)
      if (text === null) await removeEmptied(terminal, dirname(path));
  const notable = remove ? [] : all;
  if (flags.json) {
    const said = { ...entry!, hooks: hooked ?? null, notes: notable };
    await printJson(terminal, { ok: true, agent: name, ...said });
    return exitCode.fine;
  }
  const lines = [entry!, ...(hooked === undefined ? [] : [hooked])].flatMap((each) => {
    const says = remove ? "has nothing of Kumiko" : "already says so";
    if (!each.changed) return [`${each.file} ${says}: nothing was changed.`];
    const start = `starts \`${command.join(" ")}\` from its next start on.`;
    const tells = "says what it changes with its own tools, from its next start on.";
    const does = `${bold(terminal, agent.title)} ${each === entry ? start : tells}`;
    return [
      printedDiff(terminal, each.diff).trimEnd(),
      "",
      remove ? `Taken out of ${each.file}.` : `Written to ${each.file}: ${does}`,
      ...(each.backup === null ? [] : [dim(terminal, `what was there before: ${each.backup}`)]),
    ];
  });
  const changed = entry!.changed || hooked?.changed === true;
  await terminal.print(`${[...lines, ...(changed ? notable : [])].join("\n")}\n`);
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

const TAKEN_BY_HAND = "take out by hand what is Kumiko's";

type Read = Pick<Plan, "path" | "real" | "before" | "old">;

async function read({ path }: Pick<Part, "path">): Promise<Read> {
  const real = await realTarget(path, path);
  const before = await readPlainFile(real, path);
  return { path, real, before, old: before === null ? "" : decodeText(before.bytes, path) };
}

/** Of the files that the agent reads the one with our entry, else the first that is there: no second one is made beside it. */
async function fileWithEntry(agent: Agent, first: string): Promise<string> {
  const { otherEnding } = agent;
  if (otherEnding === undefined) return first;
  const there: { path: string; old: string }[] = [];
  for (const path of [first, first.replace(/\.[a-z]+$/, otherEnding)]) {
    const { before, old } = await read({ path });
    if (before !== null) there.push({ path, old });
  }
  if (there.length < 2) return there[0]?.path ?? first;
  const own = there.find(
    ({ path, old }) =>
      edited(path, "put what it says into the other one", () => withoutEntry(agent, old)) !== old,
  );
  return own?.path ?? first;
}

/** What has our entry already has a copy from before it, or was made by us. */
async function addition(part: Part): Promise<Plan> {
  const found = await read(part);
  const byHand = "add by hand what `kumiko connect` prints without --write";
  return edited(part.path, byHand, () => ({
    ...found,
    text: part.add(found.old),
    copies: part.take(found.old) === found.old,
  }));
}

/**
 * What was there before us when nothing else changed since, byte for byte; else all but our entry. A file that is left
 * with nothing and has no copy was made by us.
 */
async function removal(part: Part): Promise<Plan> {
  const found = await read(part);
  const path = copyOf(part.path);
  const copy = await readPlainFile(path, path);
  return edited(part.path, TAKEN_BY_HAND, (): Plan => {
    const taken = part.take(found.old);
    const plan = { ...found, text: taken, copies: false };
    if (taken === found.old) return plan;
    if (copy === null) return isBlank(taken) ? { ...plan, text: null } : plan;
    const earlier = decodeText(copy.bytes, path);
    return part.take(part.add(earlier)) === taken
      ? { ...plan, text: earlier, spare: { path, bytes: copy.bytes } }
      : plan;
  });
}

function isBlank(text: string): boolean {
  return /^\s*(\{\s*\}\s*)?$/.test(text.replace(/^\uFEFF/, ""));
}

/** `byHand`: what a person does where this command cannot. */
function edited<Result>(path: string, byHand: string, edit: () => Result): Result {
  try {
    return edit();
  } catch (error) {
    if (!(error instanceof NotEditable || error instanceof SyntaxError)) throw error;
    const why =
      error instanceof SyntaxError
        ? `it has to be plain JSON (comments and trailing commas are not, and could not be kept), and it is not: ${error.message}`
        : error.message;
    throw new KumikoError(
      "file_unreadable",
      `${path} was left as it is: ${why}. Put it right, or ${byHand}.`,
      { path },
      { cause: error },
    );
  }
}

/** An agent's file with Kumiko in it. */
function withEntry(agent: Agent, command: readonly string[], old: string): string {
  const entry = agent.entry(command);
  if (agent.format === "toml") return withTable(old, agent.keys, entry);
  checkJson(agent, old);
  return withMembers(old.trim() === "" ? "{}\n" : old, keysIn(agent, old), entry);
}

function withoutEntry(agent: Agent, old: string): string {
  if (agent.format === "toml") return withoutTable(old, agent.keys);
  checkJson(agent, old);
  return old.trim() === "" ? old : without(old, keysIn(agent, old));
}

function checkJson({ format }: Agent, old: string): void {
  if (old.trim() !== "" && format === "json") JSON.parse(old.replace(/^\uFEFF/, ""));
}

/** Newer files of opencode name servers one level deeper. */
function keysIn({ keys }: Agent, old: string): readonly string[] {
  const [group, name] = keys;
  return group === "mcp" && /"mcp"\s*:\s*\{\s*"servers"\s*:/.test(old)
    ? [group, "servers", name]
    : keys;
}

/** Writes what changes, all of it or nothing, each beside a copy of what was there before us. */
async function write(terminal: Terminal, plans: readonly Plan[]): Promise<Written[]> {
  using interruption = terminal.interruption();
  const changes: FileChange[] = [];
  const written: Written[] = [];
  for (const { path, real, before, old, text, spare, copies } of plans) {
    const changed = text !== old;
    const copied = changed && copies && before !== null;
    const backup = copied ? await freeName(copyOf(path)) : null;
    const names = { oldName: path, newName: path, context: 3 };
    const diff = changed ? measuredUnifiedDiff(old, text ?? "", names).text : "";
    written.push({ file: path, changed, backup, diff });
    if (!changed) continue;
    const kept = { executable: false, mode: before?.mode ?? null, owner: owner(before) };
    if (backup !== null && before !== null) {
      const file = await realTarget(backup, backup);
      changes.push({ ...kept, path: backup, file, before: null, after: before.bytes });
    }
    const after = text === null ? null : (spare?.bytes ?? Buffer.from(text));
    changes.push({ ...kept, path, file: real, before: before?.bytes ?? null, after });
    if (spare !== undefined) {
      const file = await realTarget(spare.path, spare.path);
      changes.push({ ...kept, path: spare.path, file, before: spare.bytes, after: null });
    }
  }
  await writeFiles(changes, interruption.signal);
  return written;
}

/** Why a folder stays: something is in it, it is a link, it is gone already, or it is not ours to remove. */
const STAYS = ["ENOTEMPTY", "EEXIST", "ENOTDIR", "ENOENT", "EACCES", "EPERM", "EROFS", "EBUSY"];

/** Folders of the agent's in which nothing is left were made for the file that went. */
async function removeEmptied(terminal: Terminal, folder: string): Promise<void> {
  if (folder === terminal.folder) return;
  try {
    await rmdir(folder);
  } catch (error) {
    if (!isSystemError(error) || !STAYS.includes(error.code)) throw error;
    return;
  }
  await removeEmptied(terminal, dirname(folder));
}

/** Under which name what was there before us is kept. */
function copyOf(path: string): string {
  return `${path}.before-kumiko`;
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

interface Commands {
  /** What starts Kumiko for the agent. */
  readonly command: readonly string[];
  /** What the agent's hooks run. */
  readonly hook: readonly string[];
  /** What a person has to know of it. */
  readonly notes: readonly string[];
}

function chosenCommands(terminal: Terminal, name: string, flags: ConnectFlags): Commands {
  const words = ["hook", name];
  if (flags.global === true || flags.absolute === true) {
    const hook = ownCommand(terminal, flags, words);
    return { command: mcpCommand(terminal, flags), hook, notes: [] };
  }
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
  return { command, hook: sharedCommand(terminal, words).command, notes };
}

function notesOf({ title, notes: own = [], hooks }: Agent, notes: readonly string[]): string[] {
  const unhooked = `No hooks are installed for ${title}: what it changes with its own tools is blamed on \`disk\`.`;
  return [...notes, ...own, ...(hooks === undefined ? [unhooked] : [])];
}

function described(
  terminal: Terminal,
  agent: Agent,
  parts: readonly Part[],
  notes: readonly string[],
): string {
  const lines = [
    ...parts.flatMap(({ path, add }) => [
      `${bold(terminal, agent.title)} reads ${path}:`,
      "",
      ...add("").trimEnd().split("\n"),
      "",
    ]),
    dim(terminal, "kumiko connect … --write puts it there and keeps everything else."),
    ...notes,
  ];
  return `${lines.join("\n")}\n`;
}
