import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { HomeFolder } from "../../app/index.ts";
import { findServer, type ServerNote } from "../../app/running.ts";
import { KumikoError, nearest } from "../../base/index.ts";
import {
  connect,
  type Feed,
  type FeedNews,
  type KernelClient,
  type KumikoClient,
} from "../../client/index.ts";
import type { LiveTopic } from "../../protocol/index.ts";
import { exitCode } from "../exit-code.ts";
import { chosenKernel } from "../home/chosen-kernel.ts";
import { isUnauthorised, ownerToken } from "../home/owner-token.ts";
import { dim } from "../home/paint.ts";
import type { Terminal } from "../terminal.ts";
import { noServer, type OwnFlags, placeOf } from "./place.ts";
import { WatchedEvents } from "./watched-event.ts";
import { WatchedFiles } from "./watched-files.ts";

export interface WatchFlags extends OwnFlags {
  readonly kernel?: string;
  readonly context?: string;
  readonly topic: readonly string[];
  readonly from?: number;
}

/** How often to look whether a server that is gone runs elsewhere. */
const LOOK = 1_000;

/** Shows what happens until it is interrupted, over every restart of the server. */
export async function watch(terminal: Terminal, flags: WatchFlags): Promise<number> {
  const topics = topicsOf(flags.topic);
  using interruption = terminal.interruption();
  const place = placeOf(terminal, flags);
  let note = await findServer(place);
  if (note === undefined) throw noServer(place);
  const home = new HomeFolder(place, "kumiko watch");
  const { id } = await chosenKernel(terminal, flags, home);
  const watching = new Watching(terminal, flags, topics);
  const { signal } = interruption;
  while (note !== undefined) note = await watching.until(signal, place, note, id);
  return exitCode.fine;
}

/** One person who watches, whichever server there is. */
class Watching {
  readonly #terminal: Terminal;
  readonly #flags: WatchFlags;
  readonly #topics: ReadonlySet<string>;
  readonly #events: WatchedEvents;
  readonly #files: WatchedFiles;
  #position: number | undefined;
  /** The token that the server did not take, until it takes another. */
  #refused: string | undefined;

  constructor(terminal: Terminal, flags: WatchFlags, topics: ReadonlySet<string>) {
    this.#terminal = terminal;
    this.#events = new WatchedEvents(terminal);
    this.#files = new WatchedFiles(terminal);
    this.#flags = flags;
    this.#topics = topics;
    this.#position = flags.from;
  }

  /** Gives the server to go on with, when it runs elsewhere now; undefined when it was interrupted. */
  async until(
    signal: AbortSignal,
    place: string,
    note: ServerNote,
    kernel: string,
  ): Promise<ServerNote | undefined> {
    const token = await ownerToken(this.#terminal, place, this.#refused);
    try {
      return await this.#with(token, signal, place, note, kernel);
    } catch (error) {
      // One that was lost, revoked or replaced is renewed, and the new one is tried once.
      if (!isUnauthorised(error) || this.#refused !== undefined) throw error;
      this.#refused = token;
      return note;
    }
  }

  async #with(
    token: string,
    signal: AbortSignal,
    place: string,
    note: ServerNote,
    kernel: string,
  ): Promise<ServerNote | undefined> {
    await using client = connect({ url: note.url, token, WebSocket });
    const stop = new AbortController();
    const stopping = AbortSignal.any([signal, stop.signal]);
    using telling = new DisposableStack();
    const told = client.onState((state) => {
      if (state !== "offline") return;
      void this.#say(`the connection was lost; looking for the server again`);
    });
    telling.use(told);
    // Refused now when there is none of that name.
    await untilStopped(stopping, client.world.attachKernel(kernel));
    if (signal.aborted) return undefined;
    this.#refused = undefined;
    await this.#checkContext(client, kernel);
    const behind = this.#position === undefined ? "" : `, behind position ${this.#position}`;
    // From here on nothing is missed, however long subscribing takes.
    this.#position ??= await client.kernel(kernel).position();
    await using feed = this.#follow(client, kernel);
    await this.#say(`watching ${kernel} at ${note.url}${behind}`);
    const moved = this.#moved(client, place, note, stopping);
    try {
      return await Promise.race([feed.ended.then(() => undefined), moved]);
    } finally {
      stop.abort();
      this.#position = feed.position ?? this.#position;
    }
  }

  /** A name that nobody uses would be waited for in silence. */
  async #checkContext(client: KumikoClient, kernel: string): Promise<void> {
    const { context } = this.#flags;
    if (context === undefined) return;
    const names = (await client.kernel(kernel).listContexts()).map((each) => each.context);
    if (!names.includes(context)) throw unknownContext(kernel, context, names);
  }

  #follow(client: KumikoClient, kernel: string): Feed {
    const { context } = this.#flags;
    const topics = [...this.#topics].filter((topic) => topic !== "block") as LiveTopic[];
    const from = this.#position;
    // Only blocks can be chosen by their context at the server.
    const chosen = topics.length > 0 ? { topics } : { context };
    const watched = client.kernel(kernel);
    return watched.feed((news) => this.#show(watched, news), { from, ...chosen });
  }

  async #show(kernel: KernelClient, news: FeedNews): Promise<void> {
    const { json } = this.#flags;
    if (news.kind === "resumed") {
      const missed =
        news.missed.length === 0 ? "nothing" : `perhaps something of ${news.missed.join(", ")}`;
      await this.#say(
        `connected again; it goes on behind position ${news.position}, ${missed} was missed`,
      );
    } else if (news.kind === "unavailable") {
      const which = news.blocks.map(({ block_id: block }) => block ?? "one").join(", ");
      await this.#say(`damaged on disk and left out: ${which}`);
    } else if (news.kind === "blocks") {
      const events = news.events.filter(({ block }) => this.#isWanted(block));
      const lines: string[] = [];
      for (const event of events) {
        const path = await this.#files.pathOf(kernel, event);
        lines.push(
          json
            ? JSON.stringify({ topic: "block", ...event, path })
            : this.#events.event(event, path ?? event.block),
        );
      }
      await this.#print(lines);
    } else {
      const events = news.events.filter(({ notice }) => this.#isOfContext(notice));
      await this.#print(
        events.map((event) => (json ? JSON.stringify(event) : this.#events.notice(event))),
      );
    }
  }

  #isWanted(block: string): boolean {
    const { context } = this.#flags;
    return this.#topics.has("block") && (context === undefined || block.startsWith(`${context}~`));
  }

  /** What belongs to no conversation is shown whichever is watched. */
  #isOfContext(notice: object): boolean {
    const { context } = this.#flags;
    return context === undefined || !("context" in notice) || notice.context === context;
  }

  async #print(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#terminal.print(`${lines.join("\n")}\n`);
  }

  /** About the watching itself, beside what is watched. */
  #say(text: string): Promise<void> {
    return this.#terminal.complain(`${dim(this.#terminal, `kumiko: ${text}`)}\n`);
  }

  /** Until it is stopped, or another server has the home. */
  async #moved(
    client: KumikoClient,
    place: string,
    { url }: ServerNote,
    signal: AbortSignal,
  ): Promise<ServerNote | undefined> {
    while (!signal.aborted) {
      await sleep(LOOK, undefined, { signal }).catch(() => undefined);
      if (client.state !== "offline" || signal.aborted) continue;
      const found = await findServer(place);
      if (found !== undefined && found.url !== url) return found;
    }
    return undefined;
  }
}

async function untilStopped(signal: AbortSignal, waiting: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  await Promise.race([waiting, promise]);
  waiting.catch(() => undefined);
}

const known: readonly string[] = [
  "block",
  "context",
  "resource",
  "config",
  "progress",
  "elicitation",
  "approval",
] satisfies ("block" | LiveTopic)[];

function topicsOf(named: readonly string[]): ReadonlySet<string> {
  const unknown = named.find((topic) => !known.includes(topic));
  if (unknown === undefined) return new Set(named.length === 0 ? ["block"] : named);
  throw new KumikoError(
    "invalid_argument",
    `There is no topic ${unknown}; there are: ${known.join(", ")}.`,
    { argument: "topic", value: unknown },
  );
}

function unknownContext(kernel: string, context: string, contexts: string[]): KumikoError {
  const meant = nearest(context, contexts);
  const near = meant === undefined ? "" : ` Did you mean ${meant}?`;
  const there = contexts.length === 0 ? " It has none yet." : ` There are: ${contexts.join(", ")}.`;
  return new KumikoError(
    "unknown_context",
    `The kernel ${kernel} has no context ${context}.${near}${there}`,
    { context, kernel, contexts },
  );
}
