import { inspect } from "node:util";
import type { Logger } from "pino";
import { type Log, withoutSecrets } from "../doors/index.ts";

export const logLevels = ["silent", "error", "warn", "info", "debug", "trace"] as const;
export type LogLevel = (typeof logLevels)[number];

interface LogOptions {
  readonly level: LogLevel;
  /** For people; otherwise one JSON object per line. */
  readonly readable: boolean;
  readonly write: (line: string) => void;
}

/** What the process says about itself. Whatever looks like a token is taken out of every line, wherever it stands. */
export async function openLog({ level, readable, write }: LogOptions): Promise<Logger> {
  const { pino, stdSerializers } = await import("pino");
  return pino(
    {
      level,
      base: null,
      formatters: { level: (name) => ({ level: name }) },
      serializers: { err: stdSerializers.err },
    },
    { write: (line: string) => write(withoutSecrets(readable ? forPeople(line) : line)) },
  );
}

/** Tells people of faults of ours and of nothing else, for a process that does one thing and has little to say. */
export function faultLog(write: (line: string) => void): Log {
  const nothing = (): void => undefined;
  const log: Log = {
    error: ({ err, ...facts }, msg) => {
      const line = { time: Date.now(), level: "error", msg, err: toldError(err), ...facts };
      write(withoutSecrets(forPeople(JSON.stringify(line))));
    },
    warn: nothing,
    info: nothing,
    debug: nothing,
    child: () => log,
  };
  return log;
}

/** Not everything that is thrown is an error: Loro throws texts. */
function toldError(err: unknown): { message: string; stack?: string | undefined } | undefined {
  if (err === undefined) return undefined;
  if (!(err instanceof Error)) return { message: inspect(err) };
  const cause = toldError(err.cause);
  const because = cause === undefined ? "" : `\ncaused by ${cause.stack ?? cause.message}`;
  return { message: err.message, stack: `${err.stack ?? err.message}${because}` };
}

/** What would move the cursor, colour, or turn around what people read, and what would look like another line. */
const DECEIVING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Much of what is logged was said by others. */
function plain(text: string): string {
  return text.replace(
    DECEIVING,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
}

/** `12:03:01 warn  the message  key=value`, with the stack of an error, a little to the right, below it. */
function forPeople(line: string): string {
  const {
    time,
    level,
    msg = "",
    err,
    ...rest
  } = JSON.parse(line) as {
    readonly time: number;
    readonly level: string;
    readonly msg?: string;
    readonly err?: { readonly message?: string; readonly stack?: string };
  };
  const clock = new Date(time).toTimeString().slice(0, 8);
  const facts = Object.entries(rest).map(
    ([name, value]) =>
      `${plain(name)}=${plain(typeof value === "string" ? value : JSON.stringify(value))}`,
  );
  const said = [`${clock} ${level.padEnd(5)} ${plain(msg)}`, ...facts].join("  ");
  if (err === undefined) return `${said}\n`;
  const below = (err.stack ?? err.message ?? "").split("\n").map((each) => `  ${plain(each)}`);
  return `${[said, ...below].join("\n")}\n`;
}
