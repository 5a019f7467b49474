import { realPlace, registeredFolder } from "../../app/folders.ts";
import { HomeFolder, homeFolder } from "../../app/index.ts";
import { readOwnerToken } from "../../app/owner-token.ts";
import { findServer } from "../../app/running.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type AgentName, agents } from "./agents.ts";
import { hookEvents, type NewTurn, type OwnToolCall } from "./hook-payload.ts";

export interface HookFlags {
  readonly home?: string;
  readonly kernel?: string;
  readonly actor?: string;
  readonly verbose?: boolean;
}

/** Milliseconds that an agent's tool may be kept waiting, all in all. */
const LIMIT = 5_000;
/** Of these, for a server that is just starting. */
const STARTING = 1_000;
/** And for its first answer. */
const ANSWER = 2_500;
/** And until it is back when it is lost. */
const LOST = 500;

/**
 * Tells the running server that an agent changes a file with its own tools. Whatever goes wrong, the agent's tool is
 * not to suffer for it: with an exit code of 2 it would be refused. Then the change is blamed on `disk`.
 */
export async function runHook(terminal: Terminal, name: string, flags: HookFlags): Promise<number> {
  let outcome: string;
  try {
    outcome = await told(terminal, name, flags);
  } catch (error) {
    outcome = error instanceof Error ? error.message : String(error);
  }
  if (flags.verbose === true) await terminal.complain(`kumiko hook: ${outcome}\n`);
  return exitCode.fine;
}

/** Says what came of it. */
async function told(terminal: Terminal, name: string, flags: HookFlags): Promise<string> {
  const over = AbortSignal.timeout(LIMIT);
  const hooks = agents[name as AgentName]?.hooks;
  if (hooks === undefined) return `${name} is no agent that has hooks here`;
  const events = hookEvents(await terminal.readInput(), terminal.folder);
  if (events.length === 0) return "this is about no file";
  const place = homeFolder(flags.home, terminal.environment, terminal.folder);
  const found = await Promise.all(
    events.map(async (event) => {
      const path = event.kind === "given_up" ? undefined : await realPlace(event.path);
      const kernel = flags.kernel ?? (await kernelOf(place, path, event.folder));
      return { event, path, kernel };
    }),
  );
  if (found.every(({ kernel }) => kernel === undefined)) {
    const [{ event, path }] = found as [(typeof found)[number]];
    return `${path ?? event.folder} is in no folder that has a kernel`;
  }
  const note = await findServer(place, STARTING);
  const token = note === undefined ? undefined : await readOwnerToken(place);
  if (note === undefined || token === undefined) return `no server runs for ${place}`;
  // As `kumiko mcp` has it, so that both are one agent: what the person said, else what the agent calls itself.
  const actor = flags.actor ?? (terminal.environment["KUMIKO_AGENT"] || hooks.actor);
  const { serverAccess } = await import("../home/server-access.ts");
  const patience = { first: ANSWER, later: LOST };
  await using access = await serverAccess({ url: note.url, token }, patience);
  const outcomes = found.map(async ({ event, path, kernel }) => {
    if (kernel === undefined) return `${path} is in no folder that has a kernel`;
    const made = {
      name: "file_changed",
      arguments: saidOf(event, path),
      actor,
      ...("call" in event && event.call !== undefined && { call_id: event.call }),
    };
    await access.kernel(kernel, (each) => each.executeTool(made), { retry: false });
    return `${actor} ${toldAs[event.kind]} ${path ?? "in this session"} in ${kernel}`;
  });
  return (await untilOver(over, everyOne(outcomes))).join("; ");
}

/** What came of each: a file that cannot be told of keeps nobody from the others. */
async function everyOne(outcomes: readonly Promise<string>[]): Promise<string[]> {
  const ended = await Promise.allSettled(outcomes);
  return ended.map((each) => (each.status === "fulfilled" ? each.value : String(each.reason)));
}

const toldAs = {
  begins: "is about to change",
  ended: "changed",
  given_up: "has nothing under way",
};

function saidOf(
  event: OwnToolCall | NewTurn,
  path: string | undefined,
): { [name: string]: unknown } {
  if (event.kind === "given_up") return { given_up: true, turn: event.turn };
  const { kind, tool, turn, announced } = event;
  return {
    path,
    ...(kind === "begins" && { begins: true, ...announced }),
    ...(tool !== undefined && { tool }),
    ...(turn !== undefined && { turn }),
  };
}

/** That of the file's folder; else that of the folder in which the agent works, which may have mounted others. */
async function kernelOf(
  place: string,
  path: string | undefined,
  works: string,
): Promise<string | undefined> {
  const home = new HomeFolder(place, "kumiko hook");
  const own = path === undefined ? undefined : await registeredFolder(home, path);
  return (own ?? (await registeredFolder(home, works)))?.kernel;
}

async function untilOver<Answer>(over: AbortSignal, answer: Promise<Answer>): Promise<Answer> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(new Error(`the server took longer than ${LIMIT / 1000} s`));
  over.addEventListener("abort", stop, { once: true });
  if (over.aborted) stop();
  try {
    return await Promise.race([answer, promise]);
  } finally {
    over.removeEventListener("abort", stop);
    // Closing the connection fails what nobody waits for any more.
    answer.catch(() => undefined);
  }
}
