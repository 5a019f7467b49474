import { spawn } from "node:child_process";
import { command, type Home } from "./kumiko.ts";

/** A command that goes on until it is stopped, and what it has printed; killed when its owner is done. */
export interface Following extends AsyncDisposable {
  readonly out: string;
  readonly err: string;
  /** Until it has printed so, on either stream; rejects when it ends before. */
  until(printed: (out: string, err: string) => boolean): Promise<void>;
  /** Sends a signal and gives the exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
  readonly ended: Promise<number | null>;
}

export function following(home: Home, args: readonly string[]): Following {
  const child = spawn(process.execPath, [command, ...args], {
    cwd: home.folder.path,
    env: home.environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  const looking = new Set<() => void>();
  const look = (): void => {
    for (const each of looking) each();
  };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
    look();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk;
    look();
  });
  const ended = Promise.withResolvers<number | null>();
  child.on("close", (code) => ended.resolve(code));
  return {
    get out() {
      return out;
    },
    get err() {
      return err;
    },
    async until(printed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = (): void => {
        if (printed(out, err)) resolve();
      };
      looking.add(check);
      check();
      await Promise.race([promise, ended.promise]);
      looking.delete(check);
      if (!printed(out, err)) throw new Error(`it ended, having printed: ${out}${err}`);
    },
    async stop(signal) {
      child.kill(signal);
      return ended.promise;
    },
    ended: ended.promise,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended.promise;
    },
  };
}
