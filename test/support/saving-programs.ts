/** Real programs that save files of a folder, in processes of their own, while everything else goes on. */

import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { KeyedQueue, type Random } from "../../src/base/index.ts";
import { type Ended, root, runProgram } from "./process.ts";
import { hasVim } from "./programs.ts";
import { git } from "./writers.ts";

const LINES = 30;
/** So often a program is started that refuses to write over what it did not read: vim and git look before they write. */
const ATTEMPTS = 50;
/** Who takes longer, in milliseconds, may take out what it did not see: more is not promised. */
const PROMISED = 1_500;
/** What is appended is in its file so much later at most, and as much again on a busy machine. */
const SAVED_WITHIN = 4_000;
const OXFMT = join(root, "node_modules", "oxfmt", "bin", "oxfmt");
const IN_PLACE =
  "import sys; p, n, t = sys.argv[1:]; f = open(p, 'r+'); l = f.read().split('\\n'); " +
  "l.insert(int(n) - 1, t); f.seek(0); f.write('\\n'.join(l)); f.truncate()";
const IN_PARTS =
  "import sys, time; p, n, t = sys.argv[1:]; l = open(p).read().split('\\n'); l.insert(int(n) - 1, t); " +
  "s = '\\n'.join(l); q = len(s) // 4 + 1; f = open(p, 'w', buffering=1); f.close(); f = open(p, 'r+')\n" +
  "for at in range(0, len(s), q): f.write(s[at:at + q]); f.flush(); time.sleep(0.03)";

/** What each file says at first: a formatter finds nothing to do in it, nor in a token's line. */
export const START = `${Array.from({ length: LINES }, (_, line) => `export const line_${line} = ${line};`).join("\n")}\n`;

/** A line of its own, by which it is known who wrote it. */
export function tokenLine(token: string): string {
  return `// ${token}`;
}

interface Task {
  readonly path: string;
  readonly line: number;
  readonly token: string;
}

/**
 * Each save adds a line that is found again. No two programs save one file at once: they would write over each other, and
 * nobody could help it.
 */
export class SavingPrograms {
  readonly #folder: string;
  readonly #random: Random;
  readonly #queue = new KeyedQueue();
  readonly written: { readonly token: string; readonly path: string }[] = [];
  readonly paths: string[];
  /** When a program was slow, on a busy machine. */
  readonly #slow: { readonly path: string; readonly from: number; readonly to: number }[] = [];
  /** Those that nobody else may change just now. */
  readonly held = new Set<string>();

  constructor(folder: string, random: Random, paths: readonly string[]) {
    this.#folder = folder;
    this.#random = random;
    this.paths = [...paths];
  }

  /** One that others may change. */
  free(random: Random): string {
    return random.pick(this.paths.filter((path) => !this.held.has(path)));
  }

  async start(): Promise<void> {
    await git(this.#folder, "init", "-q");
  }

  /** One save, in the next of all ways. */
  async save(number: number): Promise<void> {
    const ways = [...this.#ways.keys()];
    const name = ways[number % ways.length]!;
    const path = name === "fresh" ? `fresh/${number}/deep/file.ts` : this.#random.pick(this.paths);
    const other = name === "checkout" ? this.#random.pick(this.paths) : path;
    const line = 1 + this.#random.below(LINES);
    const keys = name === "checkout" ? ["git", path, other] : [path];
    await this.#queue.run(keys, async () => {
      await this.#ways.get(name)!({ path, line, token: `<w${number}>` }, other);
    });
  }

  readonly #ways = new Map<string, (task: Task, other: string) => Promise<void>>([
    ["sed", (task) => this.#script(task, `sed -i '${insertion(task)}' ${task.path}`)],
    [
      "truncate",
      (task) => this.#script(task, `text=$(${sed(task)}); printf '%s\\n' "$text" > ${task.path}`),
    ],
    [
      "rename",
      (task) =>
        this.#script(task, `${sed(task)} > ${task.path}.new; mv ${task.path}.new ${task.path}`),
    ],
    ["link", (task) => this.#byLink(task)],
    [
      "append",
      (task) => this.#script(task, `printf '%s\\n' '${tokenLine(task.token)}' >> ${task.path}`),
    ],
    ["place", (task) => this.#program(task, "python3", "-c", IN_PLACE, ...given(task))],
    ["parts", (task) => this.#program(task, "python3", "-c", IN_PARTS, ...given(task))],
    ["format", (task) => this.#formatted(task)],
    ["checkout", (task, other) => this.#checkout(task, other)],
    ["fresh", (task) => this.#fresh(task)],
    ...(hasVim
      ? ([
          ["vim", (task: Task) => this.#vim(task)],
          ["vim in place", (task: Task) => this.#vim(task, "set backupcopy=yes")],
        ] as const)
      : []),
  ]);

  /** Whether a program was slow over this file that may not have seen what was said at this time. */
  wasSlowOver(path: string, at: number): boolean {
    return this.#slow.some(
      ({ path: over, from, to }) => over === path && from - SAVED_WITHIN < at && at < to + PROMISED,
    );
  }

  async #timed(path: string, program: string, args: readonly string[]): Promise<Ended> {
    const from = performance.now();
    const ended = await runProgram(program, args, { cwd: this.#folder });
    const to = performance.now();
    if (to - from > PROMISED) this.#slow.push({ path, from, to });
    return ended;
  }

  async #run({ path }: Task, program: string, ...args: readonly string[]): Promise<Ended> {
    const ended = await this.#timed(path, program, args);
    if (ended.code === 0) return ended;
    throw new Error(`${program} ${args.join(" ")} ended with ${ended.code}: ${ended.stderr}`);
  }

  async #program(task: Task, program: string, ...args: readonly string[]): Promise<void> {
    await this.#run(task, program, ...args);
    this.written.push(task);
  }

  #script(task: Task, script: string): Promise<void> {
    return this.#program(task, "sh", "-ec", script);
  }

  /** The link stays, what it leads to is replaced. */
  async #byLink(task: Task): Promise<void> {
    const link = join("links", task.path.replaceAll("/", "-"));
    if (!existsSync(join(this.#folder, link)))
      symlinkSync(join("..", task.path), join(this.#folder, link));
    const fresh = `${task.path}.new`;
    await this.#script(task, `${sed(task)} > ${fresh}; mv ${fresh} "$(readlink -f ${link})"`);
  }

  /** Leaves its line for a real formatter to put right, in place. */
  async #formatted(task: Task): Promise<void> {
    const { path, line, token } = task;
    const messy = `export   const  ${token.replaceAll(/[<>]/g, "")}  =  ${line}  ;   ${tokenLine(token)}`;
    await this.#script(task, `sed -i '${line}i ${messy}' ${path}`);
    await this.#run(task, process.execPath, OXFMT, path);
  }

  async #vim(task: Task, ...first: readonly string[]): Promise<void> {
    const { path, line, token } = task;
    const note = join(".git", `vim-${token.replaceAll(/[<>]/g, "")}`);
    const commands = [
      ...first,
      `${line}put! ='${tokenLine(token)}'`,
      "w!",
      `if !&modified | call writefile([], "${note}") | endif`,
      "qa!",
    ];
    const args = ["-u", "NONE", "-es", ...commands.flatMap((each) => ["-c", each]), path];
    for (let attempt = 1; !existsSync(join(this.#folder, note)); attempt++) {
      if (attempt > ATTEMPTS) throw new Error(`vim does not write ${path}`);
      // Nobody is there to be asked whether it may write over what it has not read.
      await this.#timed(path, "sh", [
        "-c",
        'exec vim "$@" < /dev/null > /dev/null 2>&1',
        "sh",
        ...args,
      ]);
    }
    this.written.push(task);
  }

  /**
   * Another branch, in which two files are otherwise. Git refuses when one of them was changed since it was committed, so
   * nobody else changes them until that is done; then it is run while everybody goes on.
   */
  async #checkout(task: Task, other: string): Promise<void> {
    const { path, token } = task;
    const files = [...new Set([path, other])].map((each, index) => ({
      ...task,
      path: each,
      token: `${token}${index}`,
    }));
    const names = files.map((each) => each.path).join(" ");
    const changed = files.map((each) => {
      const blob = `git cat-file blob $now:${each.path} | sed '${insertion(each)}' | git hash-object -w --stdin`;
      return `git update-index --cacheinfo 100644,$(${blob}),${each.path}`;
    });
    const prepare = [
      "export GIT_AUTHOR_NAME=w GIT_AUTHOR_EMAIL=w@example.org GIT_COMMITTER_NAME=w GIT_COMMITTER_EMAIL=w@example.org",
      "export GIT_INDEX_FILE=.git/other",
      `git add ${names}`,
      "now=$(git commit-tree -m now $(git write-tree))",
      ...changed,
      "next=$(git commit-tree -p $now -m next $(git write-tree))",
      "unset GIT_INDEX_FILE",
      "git update-ref --no-deref HEAD $now",
      "git read-tree $now",
      "echo $next",
    ];
    for (let attempt = 1; ; attempt++) {
      for (const each of files) this.held.add(each.path);
      const { stdout: next } = await this.#run(task, "sh", "-ec", prepare.join("\n"));
      for (const each of files) this.held.delete(each.path);
      const args = ["checkout", "-q", next.trim()];
      const { code, stderr } = await runProgram("git", args, { cwd: this.#folder });
      if (code === 0) break;
      if (!stderr.includes("would be overwritten")) throw new Error(`git: ${stderr}`);
      if (attempt === ATTEMPTS) throw new Error(`git never found ${names} as they were committed`);
    }
    this.written.push(...files);
  }

  /** A file in a folder that was not there. */
  async #fresh(task: Task): Promise<void> {
    const { path, token } = task;
    const folder = path.slice(0, path.lastIndexOf("/"));
    await this.#script(
      task,
      `mkdir -p ${folder}; printf '%s' '${START}${tokenLine(token)}\n' > ${path}`,
    );
    this.paths.push(path);
  }
}

function insertion({ line, token }: Task): string {
  return `${line}i ${tokenLine(token)}`;
}

function sed(task: Task): string {
  return `sed '${insertion(task)}' ${task.path}`;
}

function given({ path, line, token }: Task): string[] {
  return [path, String(line), tokenLine(token)];
}
