import type { Logger } from "pino";
import { withoutSecrets } from "../doors/index.ts";

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

/** `12:03:01 warn  the message  key=value`, with the stack of an error below it. */
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
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const said = [`${clock} ${level.padEnd(5)} ${msg}`, ...facts].join("  ");
  return err === undefined ? `${said}\n` : `${said}\n${err.stack ?? err.message ?? ""}\n`;
}
