import { once } from "node:events";
import { basename } from "node:path";
import { actorName } from "../../app/index.ts";
import { type LogLevel, logLevels, openLog } from "../../app/log.ts";
import { findServer, type ServerNote } from "../../app/running.ts";
import { type RunningServer, startServer, USUAL_PORT } from "../../app/server.ts";
import { KumikoError } from "../../base/index.ts";
import { parseRuleFlag } from "../../permission/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { ruleLines } from "../files/mount-lines.ts";
import { drawing } from "../files/mount-progress.ts";
import { type MountingFlags, mountSettings } from "../files/mount-options.ts";
import { widest } from "../home/columns.ts";
import { bold, dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { readVersion } from "../version.ts";
import { agentNames, agents, startedAs } from "./agents.ts";
import { askAsOwner } from "./ask.ts";
import { forgetOpened, openInBrowser } from "./browser.ts";
import { endsWithAgent } from "./in-agent.ts";
import { isUsualHome, mcpCommand, sharedMcpCommand } from "./mcp-start.ts";
import { linkTo } from "./owner.ts";
import { type OwnFlags, placeOf } from "./place.ts";
import { quoted } from "./quoted.ts";

/** For so many milliseconds a server is started, or found, before it is given up. */
const PATIENCE = 10_000;

export interface ServeFlags extends OwnFlags, MountingFlags {
  readonly port?: number;
  readonly host?: string;
  readonly allowHost: readonly string[];
  readonly open?: boolean;
  readonly log: string;
}

/** What is told of a server, whoever started it. */
interface Place {
  readonly url: string;
  readonly kernel: string;
  readonly folder: string;
  readonly manual?: boolean | undefined;
  readonly rules?: readonly string[] | undefined;
  readonly trouble?: string | undefined;
  readonly link: string;
  readonly joined: boolean;
  readonly pid: number;
  readonly in_agent: boolean;
}

/** Runs the server of the home until it is interrupted; when one runs already, it takes this folder in. */
export async function serve(terminal: Terminal, flags: ServeFlags): Promise<number> {
  using interruption = terminal.interruption();
  // One that cannot be read is refused before the folder gets a kernel.
  for (const rule of flags.rule) parseRuleFlag(rule);
  const server = await startedOrFound(terminal, flags);
  if ("pid" in server) return join(terminal, flags, server);
  await using running = server;
  const { url } = running;
  const own = { pid: process.pid, joined: false, in_agent: false };
  await tell(terminal, flags, { url, ...running.folder!, link: await running.link(), ...own });
  if (!flags.json) await showingLook(terminal, running, interruption.signal);
  if (!interruption.signal.aborted) await once(interruption.signal, "abort");
  // Whoever interrupts again does not want to wait: the system then ends the process at once.
  interruption[Symbol.dispose]();
  if (!flags.json) await terminal.complain("stopping …\n");
  const gaveUp = await running.close();
  await forgetOpened(placeOf(terminal, flags));
  if (gaveUp.length > 0 && !flags.json)
    await terminal.complain(`kumiko: did not wait any longer for ${gaveUp.join(", ")}\n`);
  return exitCode.fine;
}

/** It answers already; a large folder is looked at for a while before changes on disk are told. */
async function showingLook(
  terminal: Terminal,
  running: RunningServer,
  interrupted: AbortSignal,
): Promise<void> {
  if (interrupted.aborted) return;
  using stopped = new DisposableStack();
  const stopping = Promise.withResolvers<void>();
  const stop = (): void => stopping.resolve();
  interrupted.addEventListener("abort", stop);
  stopped.defer(() => interrupted.removeEventListener("abort", stop));
  await drawing(terminal, (take) => Promise.race([running.watched(take), stopping.promise]));
}

/** One that was stopping when we came is gone a moment later. */
async function startedOrFound(
  terminal: Terminal,
  flags: ServeFlags,
): Promise<RunningServer | ServerNote> {
  const home = placeOf(terminal, flags);
  const until = performance.now() + PATIENCE;
  do {
    const left = Math.max(0, until - performance.now());
    const server = (await started(terminal, flags)) ?? (await findServer(home, left));
    if (server !== undefined) return server;
  } while (performance.now() < until);
  throw new KumikoError(
    "unreachable",
    `A server of ${home} was just stopping or does not come up; try again.`,
    { home },
  );
}

/** Undefined when the home has a server. */
async function started(terminal: Terminal, flags: ServeFlags): Promise<RunningServer | undefined> {
  const log = await openLog({
    level: levelOf(flags.log),
    readable: terminal.interactive,
    write: (line) => void terminal.complain(line),
  });
  const { host = "127.0.0.1", port, allowHost } = flags;
  const settings = mountSettings(flags);
  try {
    return await startServer({
      home: placeOf(terminal, flags),
      folder: terminal.folder,
      mount: true,
      ...(isSaid(settings) && { settings }),
      actor: actorName(undefined, terminal.environment),
      version: readVersion(),
      host,
      port: port ?? USUAL_PORT,
      anyPort: port === undefined,
      allowHosts: allowHost,
      log,
    });
  } catch (error) {
    if (!(error instanceof KumikoError)) {
      log.debug({ err: error }, "the server does not start");
      throw notStarted(error);
    }
    if (!isAnotherServer(error)) throw error;
    return undefined;
  }
}

/** A person is told what went wrong; where in our program, the log says to who asks for it. */
function notStarted(error: unknown): KumikoError {
  const why = error instanceof Error ? error.message : String(error);
  return new KumikoError(
    "internal",
    `The server could not start: ${why}. With --log debug it says more.`,
    {},
    { cause: error },
  );
}

/** Ports and kernels may be in use as well. */
function isAnotherServer({ code, facts: { file } }: KumikoError): boolean {
  return code === "in_use" && typeof file === "string" && basename(file) === "server";
}

/** Has the running server take this folder in, and says where that is. */
async function join(terminal: Terminal, flags: ServeFlags, found: ServerNote): Promise<number> {
  const home = placeOf(terminal, flags);
  const { url, pid, in_agent = false } = found;
  if (flags.port !== undefined || flags.host !== undefined || flags.allowHost.length > 0) {
    throw new KumikoError(
      "in_use",
      `A server of ${home} already runs at ${url}: stop it first, or leave out --port, --host and --allow-host.${
        in_agent ? ` ${endsWithAgent(pid)}` : ""
      }`,
      { home, url },
    );
  }
  if (isSaid(mountSettings(flags))) {
    throw new KumikoError(
      "in_use",
      `A server of ${home} already runs at ${url}: run \`kumiko serve\` without what is said of the folder, ` +
        "and say that with `kumiko mount .`.",
      { home, url },
    );
  }
  const known = (await askAsOwner(terminal, flags, found, "POST", "/kernels", {
    body: { folder: terminal.folder, mount: true },
  })) as NonNullable<RunningServer["folder"]>;
  const link = await linkTo(terminal, flags, url);
  await tell(terminal, flags, { url, ...known, link, joined: true, pid, in_agent });
  return exitCode.fine;
}

function isSaid(settings: object): boolean {
  return Object.keys(settings).length > 0;
}

async function tell(terminal: Terminal, flags: ServeFlags, place: Place): Promise<void> {
  const home = placeOf(terminal, flags);
  const mcp = mcpCommand(terminal, flags);
  if (flags.open === true) await openInBrowser(terminal, home, place.link);
  if (flags.json) {
    await printJson(terminal, { ok: true, ...place, home, mcp });
    return;
  }
  const strong = (text: string): string => bold(terminal, text);
  const lines = [
    `${strong("Kumiko")} ${readVersion()} ${place.joined ? "already runs" : "runs"} at ${strong(place.url)}`,
    ...(place.in_agent ? [endsWithAgent(place.pid)] : []),
    "",
    `  folder  ${place.folder}  ${dim(terminal, `kernel ${place.kernel}`)}`,
    ...[...(place.manual === true ? ["saved by hand"] : []), ...ruleLines(place)].map(
      (line) => `          ${dim(terminal, line)}`,
    ),
    ...(place.trouble === undefined ? [] : [`          ${styled(terminal, "red", place.trouble)}`]),
    `  home    ${home}`,
    `  page    ${place.link}`,
    `          ${dim(terminal, "good once and for an hour; kumiko status --link prints another")}`,
    "",
    "Connect an agent that works in this folder; without --write, what it needs is only shown:",
    "",
    ...connectLines(terminal, flags),
    ...(place.joined ? [] : ["", dim(terminal, "Ctrl-C stops it.")]),
  ];
  await terminal.print(`${lines.join("\n")}\n`);
  if (!place.joined && !isLoopback(flags.host)) {
    await terminal.complain(
      `kumiko: other machines can reach ${place.url}, and nothing on the way is encrypted: anyone there who reads a token has it.\n`,
    );
  }
}

/** With paths of this machine only where the agent would not find this command or this home otherwise. */
function connectLines(terminal: Terminal, flags: ServeFlags): string[] {
  const { missing } = sharedMcpCommand(terminal);
  const command = missing ? quoted(startedAs().at(-1)!) : "kumiko";
  const home = flags.home === undefined ? "" : ` --home ${quoted(placeOf(terminal, flags))}`;
  const own = missing || !isUsualHome(terminal, flags) ? ` --absolute${home}` : "";
  const width = widest(agentNames.map((name) => agents[name].title));
  return agentNames.map((name) => {
    const title = bold(terminal, agents[name].title.padEnd(width));
    return `  ${title}  ${command} connect ${name} --write${own}`;
  });
}

function isLoopback(host: string | undefined): boolean {
  return host === undefined || host === "localhost" || host === "::1" || host.startsWith("127.");
}

function levelOf(text: string): LogLevel {
  const level = logLevels.find((each) => each === text);
  if (level !== undefined) return level;
  throw new KumikoError(
    "invalid_argument",
    `--log takes one of ${logLevels.join(", ")}, not "${text}".`,
    { argument: "log", value: text },
  );
}
