import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import { realTimers } from "../../src/base/index.ts";
import type { EpochPart } from "../../src/files/epoch-part.ts";
import { Ignored } from "../../src/files/ignored.ts";
import type { WatchTrouble } from "../../src/files/watch-trouble.ts";
import { type FolderWatch, watchFolder, type WatchOptions } from "../../src/files/watch.ts";
import { runProgram } from "./process.ts";

/** For so long a condition may take to come true, in milliseconds, on a busy machine. */
const PATIENCE = 55_000;

/** Watches a real folder, reads every file when it is told of it, and remembers all of that. */
export class Watched implements AsyncDisposable {
  readonly root: string;
  readonly parts: EpochPart[] = [];
  readonly troubles: WatchTrouble[] = [];
  /** What was read of each path, each time it was told. */
  readonly read = new Map<string, string[]>();
  #watch: FolderWatch | undefined;

  private constructor(root: string) {
    this.root = root;
  }

  static async start(root: string, options: Partial<WatchOptions> = {}): Promise<Watched> {
    const watched = new Watched(root);
    watched.#watch = await watchFolder(root, {
      ignored: new Ignored(root),
      clock: { now: () => Date.now() },
      timers: realTimers,
      onChanges: (part) => watched.#take(part),
      onTrouble: (trouble) => watched.troubles.push(trouble),
      ...options,
    });
    return watched;
  }

  get watch(): FolderWatch {
    return this.#watch!;
  }

  get changed(): string[] {
    return this.parts.flatMap(({ changed }) => changed);
  }

  get gone(): string[] {
    return this.parts.flatMap(({ gone }) => gone);
  }

  get moved(): { from: string; to: string }[] {
    return this.parts.flatMap(({ moved }) => moved);
  }

  /** What the file said when it was last told of. */
  last(path: string): string | undefined {
    return this.read.get(path)?.at(-1);
  }

  /** Waits until something holds; says what was told when it never does. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const end = Date.now() + PATIENCE;
    while (!holds()) {
      if (Date.now() > end) {
        const told = JSON.stringify(this.parts.slice(-5)).slice(-1000);
        throw new Error(`${what} did not happen. Told: ${told}; ${JSON.stringify(this.troubles)}`);
      }
      await passing(10);
    }
  }

  /** Waits for a file that is written now to be told of: everything before it has been looked at by then. */
  async settled(name: string): Promise<void> {
    writeFileSync(join(this.root, name), `${name}\n`);
    await this.until(`the news of ${name}`, () => this.last(name) === `${name}\n`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.watch.close();
  }

  #take(part: EpochPart): void {
    this.parts.push(part);
    for (const path of [...part.changed, ...part.moved.map(({ to }) => to)]) {
      const content = readFileSync(join(this.root, path), "utf8");
      this.read.set(path, [...(this.read.get(path) ?? []), content]);
    }
  }
}

/** Runs a line of shell in a folder, to its end, while everything else goes on. */
export async function shell(folder: string, line: string): Promise<void> {
  await run("sh", ["-ec", line], folder);
}

/** Git, as if nobody had configured it. */
export async function git(folder: string, ...args: string[]): Promise<void> {
  const settings = ["user.name=w", "user.email=w@example.org", "commit.gpgsign=false", "gc.auto=0"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  await run("git", [...settings.flatMap((setting) => ["-c", setting]), ...args], folder, env);
}

async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const { code, stderr } = await runProgram(program, args, { cwd, env });
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${stderr}`);
}

const vim = (...commands: string[]) => {
  return `vim -u NONE -es ${[...commands, "%s/old/new/g", "wq"].map((one) => `-c '${one}'`).join(" ")}`;
};

/** How programs save a file, each in its own way: what is written is what was there, every `old` made `new`. */
export const savers: Readonly<Record<string, (file: string) => string>> = {
  "sed -i": (file) => `sed -i s/old/new/g ${file}`,
  "vim -es": (file) => `${vim()} ${file}`,
  "vim -es with swap file and backup": (file) => {
    return `${vim("set swapfile backup backupcopy=no")} ${file}`;
  },
  "vim -es in place": (file) => `${vim("set backupcopy=yes")} ${file}`,
  "rename over": (file) => `sed s/old/new/g ${file} > ${file}.tmp; mv ${file}.tmp ${file}`,
  "delete and write": (file) => {
    return `text=$(sed s/old/new/g ${file}); rm ${file}; printf '%s\\n' "$text" > ${file}`;
  },
  "truncate and write": (file) => {
    return `text=$(sed s/old/new/g ${file}); printf '%s\\n' "$text" > ${file}`;
  },
  "truncate, then write soon": (file) => {
    return `text=$(sed s/old/new/g ${file}); : > ${file}; sleep 0.4; printf '%s\\n' "$text" > ${file}`;
  },
  "truncate, then write in slow parts": (file) => {
    const parts = "while IFS= read -r line; do printf '%s\\n' \"$line\" >&3; sleep 0.15; done";
    return `text=$(sed s/old/new/g ${file}); exec 3> ${file}; printf '%s\\n' "$text" | ${parts}`;
  },
};
