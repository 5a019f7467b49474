import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { HomeFolder } from "../../app/index.ts";
import type { LocalOptions } from "../../app/local.ts";
import { findServer, serves, type ServerNote, unanswered } from "../../app/running.ts";
import { KumikoError } from "../../base/index.ts";
import type { Terminal } from "../terminal.ts";
import type { Access, How } from "./access.ts";
import { isUnauthorised, ownerToken } from "./owner-token.ts";

interface Opening extends Pick<LocalOptions, "actor" | "onDamage"> {
  readonly home: HomeFolder;
  /** Seconds to wait for a kernel that another process has, or for a server. */
  readonly wait: number;
  readonly json: boolean;
  readonly signal: AbortSignal;
  /** Whether what is wanted can be had there; `in_use` is waited for. */
  readonly enter: (access: Access) => Promise<void>;
}

const AGAIN = 50;
/** A server gets as long to answer at once; it may just have gone. */
const ANSWER = 2_500;
/** And as long to come back to the same place, before it is looked for elsewhere. */
const LOST = 500;
/** From when on somebody who waits is told for whom. */
const SILENT = 500;
/** How often a call goes on elsewhere. */
const TRIES = 3;

/** What there is of the home, again when it is lost. The caller disposes of it. */
export async function openAccess(terminal: Terminal, opening: Opening): Promise<Access> {
  const waiting = new Waiting(terminal, opening);
  const find = (): Promise<Access> => found(terminal, opening, waiting);
  return new Steady(await find(), find, opening, waiting);
}

/** Says once, on standard error, what a command waits for. */
class Waiting {
  readonly #terminal: Terminal;
  readonly #quiet: boolean;
  #since: number | undefined;
  #told = false;

  constructor(terminal: Terminal, { json }: Opening) {
    this.#terminal = terminal;
    this.#quiet = json;
  }

  async for({ message }: KumikoError): Promise<void> {
    this.#since ??= performance.now();
    if (!this.#told && !this.#quiet && performance.now() - this.#since >= SILENT) {
      this.#told = true;
      await this.#terminal.complain(`kumiko: waiting: ${message}\n`);
    }
    await sleep(AGAIN);
  }
}

/**
 * Goes on elsewhere when a server is lost: with another, or in this process. What may be made again is, under the same
 * call_id, and so is what was not sent. A kernel that another process has is waited for.
 */
class Steady implements Access {
  readonly #find: () => Promise<Access>;
  readonly #opening: Opening;
  readonly #until: number;
  readonly #waiting: Waiting;
  #access: Access;

  constructor(first: Access, find: () => Promise<Access>, opening: Opening, waiting: Waiting) {
    this.#waiting = waiting;
    this.#access = first;
    this.#find = find;
    this.#opening = opening;
    this.#until = performance.now() + opening.wait * 1000;
  }

  get server(): string | undefined {
    return this.#access.server;
  }

  get lost(): AbortSignal {
    return this.#access.lost;
  }

  world: Access["world"] = (run, how) => this.#try((access) => access.world(run, how), how);

  kernel: Access["kernel"] = (id, run, how) =>
    this.#try((access) => access.kernel(id, run, how), how);

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#access[Symbol.asyncDispose]();
  }

  async #try<Result>(
    call: (access: Access) => Promise<Result>,
    { retry, waits = true }: How,
  ): Promise<Result> {
    for (let tries = 0; ; tries++) {
      const access = this.#access;
      try {
        return await call(access);
      } catch (error) {
        if (!(error instanceof KumikoError) || this.#opening.signal.aborted) throw error;
        if (waits && error.code === "in_use" && performance.now() < this.#until) {
          await this.#waiting.for(error);
          continue;
        }
        const again =
          (error.code === "offline" && (retry || error.facts["sent"] === false)) ||
          (isUnauthorised(error) && access.server !== undefined && tries === 0);
        if (!again || tries >= TRIES) throw error;
        await this.#goOn(access);
      }
    }
  }

  /** Calls that are lost together go on together. */
  async #goOn(from: Access): Promise<void> {
    if (this.#access !== from) return;
    await from[Symbol.asyncDispose]();
    const next = await this.#find();
    if (this.#access === from) this.#access = next;
    else await next[Symbol.asyncDispose]();
  }
}

/**
 * The home's server if one runs, else this process. There is one writer to a kernel: a server that does not answer
 * is gone round only when the kernel's lock can be had, which says that the server has it not.
 */
async function found(terminal: Terminal, opening: Opening, waiting: Waiting): Promise<Access> {
  const { home, wait, signal } = opening;
  const until = performance.now() + wait * 1000;
  let silent: KumikoError | undefined;
  for (;;) {
    const note = await findServer(home.place);
    try {
      return note === undefined || silent !== undefined
        ? await inProcess(terminal, opening, note === undefined ? undefined : silent)
        : await withServer(terminal, note, opening);
    } catch (error) {
      if (!(error instanceof KumikoError) || signal.aborted) throw error;
      if (isUnauthorised(error) && note !== undefined && !(await serves(home.place, note)))
        continue;
      const over = performance.now() >= until;
      if (error.code === "offline" && note !== undefined) {
        if (over) silent = unanswered(home.place, note, error);
        continue;
      }
      if (error.code !== "in_use") throw error;
      if (over) throw silent ?? error;
      await waiting.for(error);
    }
  }
}

/** A token that is not good any more is read again once: another command may have replaced it. */
async function withServer(
  terminal: Terminal,
  { url }: ServerNote,
  { home, enter }: Opening,
): Promise<Access> {
  const { serverAccess } = await import("./server-access.ts");
  const patience = { first: ANSWER, later: LOST };
  const token = await ownerToken(terminal, home.place);
  try {
    return await entered(await serverAccess({ url, token }, patience), enter);
  } catch (error) {
    if (!isUnauthorised(error)) throw error;
    const another = await ownerToken(terminal, home.place, token);
    return entered(await serverAccess({ url, token: another }, patience), enter);
  }
}

/** `silent` is the server that does not answer. */
async function inProcess(
  terminal: Terminal,
  { home, actor, onDamage, enter, json }: Opening,
  silent: KumikoError | undefined,
): Promise<Access> {
  const { localAccess } = await import("./local-access.ts");
  const access = await entered(await localAccess(terminal, home, { actor, onDamage }), enter);
  const left = silent === undefined && existsSync(join(home.place, "server.json"));
  if (silent !== undefined) await terminal.complain(`kumiko: ${silent.message}\n`);
  else if (left && !json)
    await terminal.complain(
      `kumiko: the last server of ${home.place} ended without stopping; this goes on without one.\n`,
    );
  return access;
}

async function entered(access: Access, enter: (access: Access) => Promise<void>): Promise<Access> {
  await using opening = new AsyncDisposableStack();
  opening.use(access);
  await enter(access);
  opening.move();
  return access;
}
