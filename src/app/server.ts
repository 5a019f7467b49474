import { realpath } from "node:fs/promises";
import type { Logger } from "pino";
import { KumikoError, realTimers, type Timers } from "../base/index.ts";
import { Hall, Metrics, TokenStore } from "../doors/index.ts";
import { type FrontOptions, HttpFront } from "../doors/http/index.ts";
import type { McpDoorOptions } from "../doors/mcp/door.ts";
import type { Notice } from "../protocol/index.ts";
import { Deadline } from "./deadline.ts";
import { allTools } from "./all-tools.ts";
import { doorsOf } from "./doors.ts";
import { folderWatched } from "./folder-watched.ts";
import { foldersByKernel, kernelOfFolder } from "./folders.ts";
import { HomeFolder, usingHome } from "./home.ts";
import { openLog } from "./log.ts";
import { makeFolder } from "./make-folder.ts";
import { type FolderSettings, type FoundFolder, mountAgain } from "./open-folder.ts";
import { ownerOf } from "./owner-token.ts";
import { lockHome, portOf, readNote, removeNote, writeNote } from "./running.ts";
import { openWorld } from "./world.ts";
import { boundHeapGrowth } from "./heap-growth.ts";
import { compileEarly } from "./compile-early.ts";

export interface ServerOptions {
  /** The home folder. */
  readonly home: string;
  /** Its kernel is made if there is none, and kept open. */
  readonly folder?: string | undefined;
  /** It is mounted also when somebody unmounted it. */
  readonly mount?: boolean | undefined;
  /** It is mounted with these, or the server does not start. */
  readonly settings?: FolderSettings | undefined;
  /** Whose token the owner's is when there is none yet. */
  readonly actor?: string | undefined;
  readonly version?: string | undefined;
  readonly host?: string | undefined;
  /** 0: any that is free. */
  readonly port?: number | undefined;
  /** Takes any free port when that one is taken. */
  readonly anyPort?: boolean | undefined;
  readonly allowHosts?: readonly string[] | undefined;
  readonly limits?: FrontOptions["limits"];
  readonly callsPerSecond?: number | undefined;
  /** It is an agent's `kumiko mcp`, and ends with the agent. It listens where a server did that was killed, if one was. */
  readonly inAgent?: boolean | undefined;
  /** By which a kernel in use is waited for. */
  readonly timers?: Timers | undefined;
  /** Milliseconds that a server which stops waits for others. */
  readonly draining?: number | undefined;
  /** Adds to what every MCP server offers: for tests of the protocol, and set by nothing else. */
  readonly equipMcp?: McpDoorOptions["equip"];
  /** Silent when there is none. */
  readonly log?: Logger | undefined;
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly hall: Hall;
  readonly ownerToken: string;
  /** Of the folder it was started for. */
  readonly kernel: string | undefined;
  readonly folder: FoundFolder | undefined;
  /** The page's address, with a token in its fragment that is good for one exchange. */
  link(): Promise<string>;
  /** Resolves when its folder was looked at and is watched; meanwhile it is told how far that is. */
  watched(onProgress: (notice: Notice<"progress">) => void): Promise<void>;
  /** Drains, and says what it gave up on. */
  close(): Promise<readonly string[]>;
}

/** "kumi" on a telephone; what is near 4317 is often taken by collectors of traces. */
export const USUAL_PORT = 5864;

const DRAINING = 10_000;
/** Milliseconds for which a kernel that a command has is waited for: longer than most commands take. */
const PATIENCE = 2_000;

/** Starts the one server of a home; `in_use` when it has one. The caller disposes of it. */
export function startServer(options: ServerOptions): Promise<RunningServer> {
  return usingHome(options.home, () => start(options));
}

async function start(options: ServerOptions): Promise<RunningServer> {
  const { home: place, version = "0.0.0", host = "127.0.0.1", inAgent = false } = options;
  const log = options.log ?? (await openLog({ level: "silent", readable: false, write() {} }));
  const clock = { now: () => Date.now() };
  const since = clock.now();
  await makeFolder(place, 0o700);
  await using starting = new AsyncDisposableStack();
  starting.use(await lockHome(place, "kumiko serve"));
  // Whose clients come back there.
  const killed = inAgent ? await readNote(place) : undefined;
  let connected: HttpFront["connections"] | undefined;
  // Whoever has the process to itself, over pipes, need not wait for others.
  const hasCompany = (): boolean => connected?.isEmpty === false;
  starting.use(boundHeapGrowth(hasCompany));
  const home = new HomeFolder(place, "kumiko serve", hasCompany);
  const world = starting.use(
    openWorld(home, (report) => log.error({ ...report }, "damaged"), {
      watch: true,
      hasCompany,
      onTrouble: (mount, error) =>
        log.warn({ mount, why: error.message, ...faultOf(error) }, "trouble with a folder"),
    }),
  );
  const tokens = starting.use(
    await TokenStore.open(place, {
      clock,
      timers: realTimers,
      onTrouble: (error) => log.error({ err: error }, "tokens cannot be read"),
    }),
  );
  const { token, principal } = await ownerOf(place, tokens, options.actor ?? "owner");
  const closing = new AbortController();
  const metrics = new Metrics();
  starting.use(compileEarly());
  const hall = new Hall({
    world,
    registry: await allTools(),
    tokens,
    log,
    metrics,
    clock,
    version,
    closing: closing.signal,
    callsPerSecond: options.callsPerSecond,
    patience: PATIENCE,
    timers: options.timers,
  });
  const open = async (): Promise<FoundFolder | undefined> =>
    options.folder === undefined ? undefined : await openNow(hall, home, options.folder, options);
  // Nobody comes in before the rules hold that it is started with. Otherwise nobody waits for the folder.
  const guarded = options.settings === undefined ? undefined : await open();
  const wanted = (killed && portOf(killed)) ?? options.port;
  const front = starting.use(await listen(hall, { ...options, host, port: wanted }));
  const { connections, port } = front;
  connected = connections;
  const folders = (): ReturnType<typeof foldersByKernel> => foldersByKernel(home);
  const surroundings = { connections, since, inAgent, folders };
  front.add(...doorsOf(hall, home, surroundings, { equip: options.equipMcp }));
  const folder = guarded ?? (await open());
  const url = `http://${urlHost(host)}:${port}`;
  await writeNote(place, { pid: process.pid, url, since, version, in_agent: inAgent });
  starting.defer(() => removeNote(place));
  log.info({ url, home: place }, "listening");

  const owned = starting.move();
  let closed: Promise<readonly string[]> | undefined;
  const close = (): Promise<readonly string[]> =>
    (closed ??= drain({
      hall,
      front,
      owned,
      log,
      milliseconds: options.draining ?? DRAINING,
      stop: () => closing.abort(stopping()),
    }));
  return {
    url,
    port,
    hall,
    ownerToken: token,
    kernel: folder?.kernel,
    folder,
    link: async () => `${url}/#token=${(await tokens.mintLink(principal, "link")).token}`,
    watched: (onProgress) => folderWatched(world, folder?.kernel, onProgress),
    close,
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}

/** What is wrong outside of our program is said by the sentence: where that stood tells nobody anything. */
function faultOf({ code, cause }: KumikoError): { err?: unknown } {
  const isSaid = code === "invalid_rules" || cause === undefined || cause instanceof KumikoError;
  return isSaid ? {} : { err: cause };
}

/** A command that has the kernel for a moment keeps nobody from starting: the first visitor opens it then. */
async function openNow(
  hall: Hall,
  home: HomeFolder,
  given: string,
  { mount = false, settings }: ServerOptions,
): Promise<FoundFolder> {
  const found = await kernelOfFolder(home, given);
  if (settings !== undefined && found.folder !== (await realpath(given)))
    throw isBelow(given, found);
  try {
    const kernel = await hall.world.openOrCreate(found.kernel);
    return mount ? await mountAgain(hall, kernel, found, settings) : found;
  } catch (error) {
    const isInUse = error instanceof KumikoError && error.code === "in_use";
    if (!isInUse || settings !== undefined) throw error;
    hall.log.warn({ kernel: found.kernel, why: error.message }, "the kernel is in use");
    return { ...found, trouble: error.message };
  }
}

/** Rules name paths from the folder that is mounted, and hold for all of it. */
function isBelow(given: string, { folder, kernel }: FoundFolder): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `${given} is a part of ${folder}, which the kernel ${kernel} has. How files are saved and who may change them is said of the whole folder: kumiko mount ${folder}`,
    { folder: given, root: folder, kernel },
  );
}

async function listen(
  hall: Hall,
  options: ServerOptions & { readonly host: string },
): Promise<HttpFront> {
  const { host, port = 0, allowHosts, limits } = options;
  try {
    return await HttpFront.listen(hall, { host, port, allowHosts, limits });
  } catch (error) {
    const taken = error instanceof KumikoError && error.facts["reason"] === "EADDRINUSE";
    if (!taken || options.anyPort !== true) throw error;
    hall.log.info({ port }, "the port is taken; using another");
    return HttpFront.listen(hall, { host, port: 0, allowHosts, limits });
  }
}

interface Draining {
  readonly hall: Hall;
  readonly front: HttpFront;
  readonly owned: AsyncDisposableStack;
  readonly log: Logger;
  readonly milliseconds: number;
  stop(): void;
}

/** Refuses new work, lets what is under way finish, ends what listens, and closes the kernels. */
async function drain({ hall, front, owned, log, ...rest }: Draining): Promise<readonly string[]> {
  // Visitors cannot use up the time that kernels need to write what they took in.
  const half = rest.milliseconds / 2;
  using visitors = new Deadline(half, realTimers);
  rest.stop();
  front.stop();
  const { connections } = front;
  const open = (kind: "socket" | "request"): string =>
    counted(connections.list().filter((each) => each.kind === kind).length, kind);
  await visitors.wait(hall.idle(), () => counted(hall.callsUnderWay, "call"));
  await visitors.wait(connections.end("socket", stopping()), () => open("socket"));
  await visitors.wait(connections.none("request"), () => open("request"));
  using kernels = new Deadline(half, realTimers);
  await kernels.wait(owned.disposeAsync(), () => "closing the kernels");
  const gaveUp = [...visitors.gaveUp, ...kernels.gaveUp];
  if (gaveUp.length > 0) log.warn({ gave_up: gaveUp }, "stopped without waiting");
  else log.info("stopped");
  return gaveUp;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function stopping(): KumikoError {
  return new KumikoError("closing", "The server is stopping.", {});
}

/** An address that means all of them is no address to go to. */
function urlHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
