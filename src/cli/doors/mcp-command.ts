import { randomUUID } from "node:crypto";
import { setTimeout as later } from "node:timers/promises";
import type { Readable, Writable } from "node:stream";
import { actorName, fitting, homeFolder } from "../../app/index.ts";
import type { RegisteredFolder } from "../../app/folders.ts";
import { checkAnswers, findServer, readNote, type ServerNote } from "../../app/running.ts";
import type { RunningServer } from "../../app/server.ts";
import { KumikoError } from "../../base/index.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { readVersion } from "../version.ts";
import { askAsOwner } from "./ask.ts";
import { McpRelay } from "./mcp-relay.ts";
import type { RelayTarget } from "./relay-requests.ts";

export interface McpFlags {
  readonly home?: string;
  readonly kernel?: string;
  readonly context?: string;
  readonly actor?: string;
  readonly tools?: string;
}

interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

interface Hosted {
  readonly server: RunningServer;
  readonly kernel: string;
  /** In which the agent's paths are; none when it was told its kernel. */
  readonly folder: string | undefined;
}

/** Another process may just be opening or closing the same home. */
const TRIES = 100;
const RETRY = 100;

/**
 * MCP on standard input and output. It joins the server that runs for the home; without one it is the server, for
 * as long as its client stays, and others join it. Nothing but the protocol is printed.
 */
export async function runMcp(
  terminal: Terminal,
  flags: McpFlags,
  streams: Streams = { input: process.stdin, output: process.stdout },
): Promise<number> {
  using interruption = terminal.interruption();
  const { signal } = interruption;
  const place = homeFolder(flags.home, terminal.environment, terminal.folder);
  await using held = new AsyncDisposableStack();
  const settling = new Settling(terminal, flags, place, (server) => void held.use(server));
  const reader = `mcp-${randomUUID()}`;
  const hosted = await settling.hostUnlessFound();
  const failed = (error: unknown): void => void terminal.complain(`kumiko mcp: ${said(error)}\n`);
  if (hosted === undefined) {
    const { tools, context } = flags;
    await new McpRelay({
      ...streams,
      signal,
      headers: { "kumiko-reader": reader, ...given({ tools, context }) },
      actorOf: (client) => settling.actorOf(client),
      target: () => settling.target(),
      answers: () => settling.answers(),
      isLeftToUs: () => settling.isLeftToUs(),
      failed,
    }).run();
    return exitCode.fine;
  }
  const { server, kernel, folder } = hosted;
  const { serveStdio } = await import("../../doors/mcp/stdio.ts");
  await serveStdio({
    ...streams,
    hall: server.hall,
    principal: await server.hall.tokens.authenticate(server.ownerToken),
    tools: flags.tools,
    sight: { kernel, folder, reader, context: flags.context, actor: settling.chosenActor },
    actorOf: (client) => settling.actorOf(client),
    signal,
    failed,
  });
  return exitCode.fine;
}

/** Which server the calls go to, and as whom. */
class Settling {
  readonly #terminal: Terminal;
  readonly #flags: McpFlags;
  readonly #place: string;
  readonly #keep: (server: RunningServer) => void;
  /** The server that the calls went to. */
  #last: ServerNote | undefined;

  constructor(
    terminal: Terminal,
    flags: McpFlags,
    place: string,
    keep: (server: RunningServer) => void,
  ) {
    this.#terminal = terminal;
    this.#flags = flags;
    this.#place = place;
    this.#keep = keep;
    if (this.chosenActor !== undefined) actorName(this.chosenActor, {});
  }

  /** Who acts, when somebody said so: never who the person is that started the agent. */
  get chosenActor(): string | undefined {
    return this.#flags.actor ?? (this.#terminal.environment["KUMIKO_AGENT"] || undefined);
  }

  /** Else the client's own name, made to fit. */
  actorOf(client: string): string {
    const chosen = this.chosenActor;
    if (chosen !== undefined) return chosen;
    const name = /[a-z0-9]/i.test(client.normalize("NFKD")) ? fitting(client) : "agent";
    // What it does would be told as another's, and undone by them as their own.
    const others = ["disk", "system", actorName(undefined, this.#terminal.environment)];
    return others.includes(name) ? fitting(`agent-${name}`) : name;
  }

  /** The server that runs, or one of our own: whoever was the server may have gone with its client. */
  async target(): Promise<RelayTarget> {
    await this.hostUnlessFound();
    const note = await findServer(this.#place);
    if (note === undefined) throw gone();
    this.#last = note;
    await checkAnswers(this.#place, note);
    const named = this.#flags.kernel;
    const { kernel, folder } =
      named === undefined ? await this.#registered(note) : { kernel: named, folder: undefined };
    const { renewOwner } = await import("./owner.ts");
    const token = await renewOwner(this.#terminal, { home: this.#place, json: false });
    return {
      url: new URL("/mcp", note.url),
      headers: {
        authorization: `Bearer ${token}`,
        "kumiko-kernel": kernel,
        ...(folder !== undefined && { "kumiko-folder": encodeURIComponent(folder) }),
      },
    };
  }

  /** Throws when there is a server that does not say a word. */
  async answers(): Promise<void> {
    const note = await findServer(this.#place);
    if (note !== undefined) await checkAnswers(this.#place, note);
  }

  /**
   * An agent's server ends with the agent, and one that was killed was wanted still. Where a person stopped theirs, they may be
   * about to start it again: it would find ours.
   */
  async isLeftToUs(): Promise<boolean> {
    return this.#last?.in_agent === true || (await readNote(this.#place)) !== undefined;
  }

  async hostUnlessFound(): Promise<Hosted | undefined> {
    for (let tries = 0; ; tries++) {
      if ((await findServer(this.#place)) !== undefined) return undefined;
      try {
        return await this.#host();
      } catch (error) {
        // Somebody else was faster, or another command has the kernel for a moment.
        const busy = error instanceof KumikoError && error.code === "in_use";
        if (!busy || tries >= TRIES) throw error;
        await later(RETRY);
      }
    }
  }

  async #host(): Promise<Hosted> {
    const { kernel } = this.#flags;
    const { startServer, USUAL_PORT } = await import("../../app/server.ts");
    const { openLog } = await import("../../app/log.ts");
    const log = await openLog({
      level: "warn",
      readable: true,
      write: (line) => void this.#terminal.complain(line),
    });
    const server = await startServer({
      home: this.#place,
      folder: kernel === undefined ? this.#terminal.folder : undefined,
      // Where people look for it; others may have it.
      port: USUAL_PORT,
      anyPort: true,
      inAgent: true,
      actor: this.#owner(),
      version: readVersion(),
      log,
    });
    this.#keep(server);
    if (kernel !== undefined) await server.hall.world.open(kernel);
    return { server, kernel: kernel ?? server.kernel!, folder: server.folder?.folder };
  }

  async #registered(note: ServerNote): Promise<RegisteredFolder> {
    const flags = { home: this.#place, json: false };
    const { folder } = this.#terminal;
    const answer = await askAsOwner(this.#terminal, flags, note, "POST", "/kernels", {
      body: { folder },
    });
    return answer as RegisteredFolder;
  }

  #owner(): string {
    return actorName(undefined, this.#terminal.environment);
  }
}

function given(named: { readonly [name: string]: string | undefined }): { [name: string]: string } {
  const all = Object.entries(named).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(all.map(([name, value]) => [`kumiko-${name}`, value]));
}

function gone(): KumikoError {
  return new KumikoError("unreachable", "The server that was just there is gone.", {});
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
