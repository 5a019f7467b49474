import { join } from "node:path";
import { onTestFailed } from "vitest";
import { main } from "../../src/cli/main.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { type Ended, root, runProgram } from "./process.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Setting {
  readonly input?: string;
  readonly environment?: { readonly [name: string]: string };
  /** What the person at the terminal answers when asked. */
  readonly answers?: readonly string[];
  /** How wide the terminal is, where that matters. */
  readonly columns?: number;
  /** Where it is run; its own folder otherwise. */
  readonly folder?: string;
}

/** A home folder of its own, and the command over it: in this process, or as a program. */
export interface Home extends Disposable {
  readonly folder: TemporaryFolder;
  run(args: readonly string[], setting?: Setting): Promise<Run>;
  /** Runs it with --json and gives what it printed; it must have printed one value and nothing else. */
  json(args: readonly string[], setting?: Setting): Promise<{ [name: string]: unknown }>;
  program(args: readonly string[], input?: string): Promise<Ended>;
  readonly environment: NodeJS.ProcessEnv;
}

export const command = join(root, "bin", "kumiko");

export function temporaryHome(): Home {
  const folder = temporaryFolder();
  const own = { KUMIKO_HOME: join(folder.path, "home"), KUMIKO_ACTOR: "ann" };
  const environment = { ...process.env, ...own, NO_COLOR: "1" };
  const run = async (args: readonly string[], setting: Setting = {}): Promise<Run> => {
    let out = "";
    let err = "";
    const answers = setting.answers?.values();
    const terminal: Terminal = {
      folder: setting.folder ?? folder.path,
      environment: { ...own, ...setting.environment },
      colour: false,
      columns: setting.columns,
      interactive: setting.answers !== undefined,
      readInput: () => Promise.resolve(Buffer.from(setting.input ?? "")),
      print: (text) => Promise.resolve(void (out += text)),
      printBytes: (bytes) => Promise.resolve(void (out += Buffer.from(bytes).toString())),
      complain: (text) => Promise.resolve(void (err += text)),
      ask: (question) => {
        err += question;
        return Promise.resolve(answers?.next().value ?? "");
      },
      interruption: () => ({ signal: new AbortController().signal, [Symbol.dispose]() {} }),
    };
    const code = await main(args, terminal);
    return { code, out, err };
  };
  // What a refusal says is what one wants to know where nobody can try again.
  let last = "";
  onTestFailed(() => void process.stderr.write(`${last}\n`));
  return {
    folder,
    environment,
    run,
    async json(args, setting) {
      const { out, err } = await run([...args, "--json"], setting);
      last = `kumiko ${args.join(" ")} --json: ${out}`;
      if (err !== "") throw new Error(`it complained: ${err}`);
      return JSON.parse(out) as { [name: string]: unknown };
    },
    program: (args, input) =>
      runProgram(process.execPath, [command, ...args], {
        cwd: folder.path,
        env: environment,
        ...(input !== undefined && { input }),
      }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
