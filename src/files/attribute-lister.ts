import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { hasCode, isSystemError } from "./disk-errors.ts";

/**
 * A program that is given paths, each with a NUL behind it, and answers each with a length and as many bytes of names; with
 * `UNREADABLE` for a length where it cannot tell.
 */
type Program = readonly [name: string, ...args: string[]];

const UNREADABLE = 0xff_ff_ff_ff;
/** `llistxattr`, by its number: Perl has no name for it. What a file system knows nothing of, no file has. */
const CALL: { readonly [arch: string]: number } = { x64: 195, arm64: 12 };
const PERL = `use Errno qw(ENOTSUP);
$| = 1; $/ = "\\0";
while (my $path = <STDIN>) {
  chomp $path;
  my $names = "\\0" x 65536;
  my $length = syscall(${CALL[process.arch]}, $path, $names, 65536);
  if ($length < 0 && $! != ENOTSUP) { print pack("N", ${UNREADABLE}); next; }
  $length = 0 if $length < 0;
  print pack("N", $length), substr($names, 0, $length);
}`;
const PYTHON = `import errno, os, struct
rest = b""
while read := os.read(0, 65536):
  *paths, rest = (rest + read).split(b"\\0")
  for path in paths:
    try: names = b"\\0".join(os.fsencode(name) for name in os.listxattr(path, follow_symlinks=False))
    except OSError as error: names = b"" if error.errno == errno.ENOTSUP else None
    os.write(1, struct.pack(">I", ${UNREADABLE} if names is None else len(names)) + (names or b""))`;

/** Nearly every Linux has one of them. The quickest first. */
export const PROGRAMS: readonly Program[] = [
  ...(process.arch in CALL ? [["perl", "-e", PERL] satisfies Program] : []),
  ["python3", "-I", "-S", "-c", PYTHON],
];
const LENGTH = 4;
const IDLE = 30_000;
const PATIENCE = 5_000;
/** One that ends, or says nothing, may have been ended by somebody. */
const ATTEMPTS = 2;

type Child = ChildProcessByStdio<Writable, Readable, null>;
type Answer = readonly string[] | "unreadable" | "missing" | "failed";

/**
 * Names of files' extended attributes. Node has no way to them, so a program that is left running for a moment lists them:
 * to start it takes a hundred times as long as to ask it. It keeps nothing alive and ends with this process.
 */
export class AttributeLister {
  /** Those that may be there. */
  #programs: readonly Program[];
  readonly #patience: number;
  #child: Child | undefined;
  #waiting: ((answer: Answer) => void)[] = [];
  #bytes = Buffer.alloc(0);
  #idle: NodeJS.Timeout | undefined;

  constructor(programs = PROGRAMS, patience = PATIENCE) {
    this.#programs = programs;
    this.#patience = patience;
  }

  /** Undefined when it cannot be found out now; none where there is no program that could tell. */
  async namesOf(target: string): Promise<readonly string[] | undefined> {
    for (let failures = 0; failures < ATTEMPTS;) {
      const [program] = this.#programs;
      if (program === undefined) return [];
      const answer = await this.#ask(program, target);
      if (answer === "unreadable") return undefined;
      if (answer === "failed") failures += 1;
      else if (answer !== "missing") return answer;
      else this.#programs = this.#programs.filter((each) => each !== program);
    }
    return undefined;
  }

  async #ask(program: Program, target: string): Promise<Answer> {
    this.#child ??= this.#start(program);
    const child = this.#child;
    if (child === undefined) return "failed";
    clearTimeout(this.#idle);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting.push(resolve);
    child.ref();
    child.stdin.write(`${target}\0`);
    // Its own: others who ask later would put off the end of its patience.
    const deadline = setTimeout(() => this.#gone(child, "failed"), this.#patience);
    const answer = await promise;
    clearTimeout(deadline);
    return answer;
  }

  /** Undefined when nothing can be started now. */
  #start([name, ...args]: Program): Child | undefined {
    const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
    let child: Child;
    try {
      child = spawn(name, args, { cwd: "/", env, stdio: ["pipe", "pipe", "ignore"] });
    } catch (error) {
      if (isSystemError(error)) return undefined;
      throw error;
    }
    const isMissing = (error: unknown): boolean => hasCode(error, "ENOENT", "EACCES");
    child.on("error", (error) => this.#gone(child, isMissing(error) ? "missing" : "failed"));
    // Without a descriptor left there are no pipes.
    if ((child.stdin as Writable | undefined) === undefined) return undefined;
    child.on("close", () => this.#gone(child, "failed"));
    // Why is told by the two above.
    child.stdin.on("error", () => undefined);
    child.stdout.on("data", (chunk: Buffer) => this.#hear(child, chunk));
    for (const end of [child.stdin, child.stdout] as { unref?: () => void }[]) end.unref?.();
    return child;
  }

  #hear(child: Child, chunk: Buffer): void {
    if (child !== this.#child) return;
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= LENGTH) {
      const length = this.#bytes.readUInt32BE();
      const end = LENGTH + (length === UNREADABLE ? 0 : length);
      if (this.#bytes.length < end) break;
      const names = this.#bytes.toString("utf8", LENGTH, end).split("\0");
      this.#bytes = this.#bytes.subarray(end);
      const tell = this.#waiting.shift();
      tell?.(length === UNREADABLE ? "unreadable" : names.filter((name) => name !== ""));
    }
    if (this.#waiting.length > 0) return;
    child.unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#gone(child, "failed"), IDLE).unref();
  }

  /** Whoever waits for it hears why; one that nobody waits for is only ended. */
  #gone(child: Child, why: "missing" | "failed"): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    this.#bytes = Buffer.alloc(0);
    clearTimeout(this.#idle);
    child.kill("SIGKILL");
    for (const tell of this.#waiting.splice(0)) tell(why);
  }
}
