import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { KumikoError } from "../base/index.ts";
import { readSmallFile, replaceSmallFile } from "../doors/locked-file.ts";
import { listedHolder } from "./lock-holder.ts";
import { readOwnerToken } from "./owner-token.ts";

/** `server.json`: which server a home has. */
export interface ServerNote {
  readonly pid: number;
  readonly url: string;
  readonly since: number;
  readonly version: string;
  /** It is an agent's `kumiko mcp`, and ends with the agent. */
  readonly in_agent?: boolean;
}

/** How long a server may take between taking its lock and saying where it is. */
const STARTING = 10_000;
const RETRY = 50;
/** How long one that runs may take to say that it does: its process may have been stopped. */
const SILENCE = 5_000;

/** A home's one server is whoever holds this; the system drops it with the process. */
export async function lockHome(home: string, command: string): Promise<Disposable> {
  const { FolderLock } = await import("../store/sqlite/lock.ts");
  // Whoever looks for a server holds it for a moment.
  for (let tries = 0; ; tries++) {
    try {
      return FolderLock.take(join(home, "server"), false, command);
    } catch (error) {
      // One that is just writing its name has none yet; of a server it is there with the next try.
      const holder = isInUse(error) ? error.facts["command"] : undefined;
      const looked = holder === LOOKING || holder === null;
      if (!looked || tries >= 20) throw error;
      await later(RETRY / 5);
    }
  }
}

const LOOKING = "looking for a server";

/**
 * The server of a home, if one runs. What `server.json` says counts only while the lock is held by the process it
 * names: a port that a dead server left may be anybody's, and would be sent the owner's token.
 */
export async function findServer(
  home: string,
  starting = STARTING,
): Promise<ServerNote | undefined> {
  const until = performance.now() + starting;
  for (;;) {
    const lock = join(home, "server.lock");
    if (!existsSync(lock)) return undefined;
    const listed = await readNote(home);
    // Where the system says so, SQLite need not be loaded. What it says is no more than that: in a container a process has
    // another number than it knows of itself.
    if (listed !== undefined && (await listedHolder(lock)) === listed.pid) return listed;
    const holder = await holderOf(home);
    if (holder === undefined) return undefined;
    const note = await readNote(home);
    if (note?.pid === holder) return note;
    if (performance.now() >= until) return undefined;
    await later(RETRY);
  }
}

/**
 * Whether that server is the home's still. What one says that is not may be another home's word: an address is
 * anybody's as soon as its server has gone.
 */
export async function serves(home: string, { pid, since }: ServerNote): Promise<boolean> {
  const now = await findServer(home);
  return now?.pid === pid && now.since === since;
}

/** Throws when the server of a home does not say a word, so that nobody waits for an answer that may rightly be long in coming. */
export async function checkAnswers(
  home: string,
  note: ServerNote,
  signal?: AbortSignal,
): Promise<void> {
  const { httpRequest } = await import("./http-request.ts");
  const asked = { method: "GET", headers: {}, patience: SILENCE } as const;
  try {
    await httpRequest(new URL("/healthz", note.url), { ...asked, ...(signal && { signal }) });
  } catch (error) {
    throw unanswered(home, note, error);
  }
}

export function unanswered(home: string, { url, pid }: ServerNote, cause: unknown): KumikoError {
  return new KumikoError(
    "unreachable",
    `The server of ${home} at ${url} (process ${pid}) does not answer. Wait for it, or stop it: kill ${pid}`,
    { home, url, pid },
    { cause },
  );
}

/** Whether a server is there and says nothing, also to whoever asks it again. */
export function isSilent({ cause }: KumikoError): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ETIMEDOUT";
}

/** Asks the server of a home, as its owner. */
export async function askServer(
  home: string,
  note: ServerNote,
  method: "GET" | "POST",
  path: string,
  { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal } = {},
): Promise<unknown> {
  const token = await readOwnerToken(home);
  const request = {
    ...(signal !== undefined && { signal }),
    method,
    headers: {
      authorization: `Bearer ${token ?? ""}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  const { httpRequest } = await import("./http-request.ts");
  await checkAnswers(home, note, signal);
  // A server that has moved on elsewhere is not followed with a token.
  const asked = httpRequest(new URL(path, note.url), request);
  const said = await asked.catch((error: unknown) => {
    throw unanswered(home, note, error);
  });
  const answer = JSON.parse(said) as { error?: ReturnType<KumikoError["toJSON"]> };
  if (answer.error === undefined) return answer;
  const { code, message, facts } = answer.error;
  throw new KumikoError(code, message, facts);
}

/** Undefined where an address says none. */
export function portOf({ url }: ServerNote): number | undefined {
  return Number(new URL(url).port) || undefined;
}

export async function writeNote(home: string, note: ServerNote): Promise<void> {
  await replaceSmallFile(join(home, "server.json"), `${JSON.stringify(note, null, 2)}\n`);
}

export async function removeNote(home: string): Promise<void> {
  await rm(join(home, "server.json"), { force: true });
}

/** What a server said of itself, also one that was killed. */
export async function readNote(home: string): Promise<ServerNote | undefined> {
  const text = await readSmallFile(join(home, "server.json"));
  return text === undefined ? undefined : (JSON.parse(text) as ServerNote);
}

/** The process that holds the server's lock. */
async function holderOf(home: string): Promise<number | undefined> {
  const { FolderLock } = await import("../store/sqlite/lock.ts");
  try {
    FolderLock.take(join(home, "server"), false, LOOKING)[Symbol.dispose]();
    return undefined;
  } catch (error) {
    // Where this process cannot write, it has no token of a server either.
    if (isUnwritable(error)) return undefined;
    if (!isInUse(error)) throw error;
    const { pid, command } = error.facts;
    // Somebody else just looks, or a server is just writing its name.
    return typeof pid === "number" && command !== LOOKING ? pid : NOBODY;
  }
}

const NOBODY = -1;

function isUnwritable(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return code.startsWith("SQLITE_READONLY") || code === "SQLITE_CANTOPEN";
}

function isInUse(error: unknown): error is KumikoError {
  return error instanceof KumikoError && error.code === "in_use";
}
