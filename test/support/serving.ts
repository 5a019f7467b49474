import { type ChildProcess, spawn } from "node:child_process";
import { command, type Home } from "./kumiko.ts";

export interface Serving extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What `--json` printed. */
  readonly told: {
    readonly url: string;
    readonly kernel: string;
    readonly folder: string;
    readonly pid: number;
  };
  /** What it has printed by now. */
  readonly output: () => string;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
}

/** `kumiko serve` as a program of its own; killed when its owner is done. */
export async function serving(home: Home, port = 0, program: string = command): Promise<Serving> {
  const args = [program, "serve", "--port", String(port), "--json", "--log", "error"];
  const child = spawn(process.execPath, args, {
    cwd: home.folder.path,
    env: home.environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  const first = Promise.withResolvers<string>();
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
    if (out.includes("\n")) first.resolve(out.slice(0, out.indexOf("\n")));
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
  const ended = Promise.withResolvers<{ code: number | null; signal: string | null }>();
  child.on("close", (code, signal) => {
    ended.resolve({ code, signal });
    first.reject(new Error(`it ended with ${code}: ${out}`));
  });
  const told = JSON.parse(await first.promise) as Serving["told"] & { readonly ok: boolean };
  if (!told.ok) throw new Error(`it does not serve: ${out}`);
  return {
    child,
    told,
    output: () => out,
    ended: ended.promise,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended.promise;
    },
  };
}
