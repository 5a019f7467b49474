import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** A program that is given paths, each with a NUL behind it, and answers each with a length and as many bytes of names. */
type Program = readonly [name: string, ...args: string[]];

/** `llistxattr`, by its number: Perl has no name for it. */
const CALL: { readonly [arch: string]: number } = { x64: 195, arm64: 12 };
const PERL = `$| = 1; $/ = "\\0";
while (my $path = <STDIN>) {
  chomp $path;
  my $names = "\\0" x 65536;
  my $length = syscall(${CALL[process.arch]}, $path, $names, 65536);
  $length = 0 if $length < 0;
  print pack("N", $length), substr($names, 0, $length);
}`;
const PYTHON = `import os, struct
rest = b""
while read := os.read(0, 65536):
  *paths, rest = (rest + read).split(b"\\0")
  for path in paths:
    try: names = b"\\0".join(os.fsencode(name) for name in os.listxattr(path, follow_symlinks=False))
    except OSError: names = b""
    os.write(1, struct.pack(">I", len(names)) + names)`;

/** Nearly every Linux has one of them. The quickest first. */
export const PROGRAMS: readonly Program[] = [
  ...(process.arch in CALL ? [["perl", "-e", PERL] satisfies Program] : []),
  ["python3", "-I", "-S", "-c", PYTHON],
];
const LENGTH = 4;
const IDLE = 30_000;
const PATIENCE = 5_000;

type Child = ChildProcessByStdio<Writable, Readable, null>;
type Told = (names: readonly string[] | undefined) => void;

/**
 * Names of files' extended attributes. Node has no way to them, so a program that is left running for a moment lists them:
 * to start it takes a hundred times as long as to ask it. It keeps nothing alive and ends with this process.
 */
export class AttributeLister {
  /** Those that may be there. */
  #programs: readonly Program[];
  #child: Child | undefined;
  #waiting: Told[] = [];
  #bytes = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;

  constructor(programs = PROGRAMS) {
    this.#programs = programs;
  }

  /** None where no program can be used. */
  async namesOf(target: string): Promise<readonly string[]> {
    for (;;) {
      const [program] = this.#programs;
      if (program === undefined) return [];
      const names = await this.#ask(program, target);
      if (names !== undefined) return names;
      this.#programs = this.#programs.filter((each) => each !== program);
    }
  }

  /** Undefined when the program cannot be used. */
  #ask(program: Program, target: string): Promise<readonly string[] | undefined> {
    const child = (this.#child ??= this.#start(program));
    const { promise, resolve } = Promise.withResolvers<readonly string[] | undefined>();
    this.#waiting.push(resolve);
    child.ref();
    child.stdin.write(`${target}\0`);
    this.#endAfter(PATIENCE);
    return promise;
  }

  #start([name, ...args]: Program): Child {
    const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };
    const child = spawn(name, args, { cwd: "/", env, stdio: ["pipe", "pipe", "ignore"] });
    const gone = (): void => this.#gone(child);
    child.on("error", gone);
    child.on("close", gone);
    child.stdin.on("error", gone);
    child.stdout.on("data", (chunk: Buffer) => this.#hear(child, chunk));
    for (const end of [child.stdin, child.stdout] as { unref?: () => void }[]) end.unref?.();
    return child;
  }

  #hear(child: Child, chunk: Buffer): void {
    if (child !== this.#child) return;
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= LENGTH) {
      const end = LENGTH + this.#bytes.readUInt32BE();
      if (this.#bytes.length < end) break;
      const names = this.#bytes.toString("utf8", LENGTH, end).split("\0");
      this.#bytes = this.#bytes.subarray(end);
      this.#waiting.shift()?.(names.filter((name) => name !== ""));
    }
    if (this.#waiting.length > 0) return;
    child.unref();
    this.#endAfter(IDLE);
  }

  #endAfter(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#gone(this.#child), milliseconds).unref();
  }

  /** Whoever waits for it hears that it cannot be used; one that nobody waits for is only ended. */
  #gone(child: Child | undefined): void {
    if (child === undefined || child !== this.#child) return;
    this.#child = undefined;
    this.#bytes = Buffer.alloc(0);
    clearTimeout(this.#timer);
    child.kill();
    for (const tell of this.#waiting.splice(0)) tell(undefined);
  }
}
