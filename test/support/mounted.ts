import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { kernelOfFolder } from "../../src/app/folders.ts";
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import type { Invocation, Kernel } from "../../src/kernel/index.ts";
import { fileTools, Mounts } from "../../src/files/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export type Answer = { [name: string]: unknown };

/** A folder with files and a kernel that has it, as the product opens them. */
export class Mounted implements AsyncDisposable {
  readonly folder: string;
  readonly home: string;
  /** What is told of damage; nobody expects any. */
  onDamage = (report: object): void => {
    throw new Error(`damage: ${JSON.stringify(report)}`);
  };
  readonly #owned: DisposableStack;
  readonly #registry = new ToolRegistry([...blockTools, ...fileTools]);
  #watch = false;
  #named: string | undefined;
  #liveDocuments: number | undefined;
  #world: AsyncDisposable | undefined;
  #kernel: Kernel | undefined;

  private constructor(owned: DisposableStack, folder: string, home: string) {
    this.#owned = owned;
    this.folder = folder;
    this.home = home;
  }

  static async with(
    files: { [path: string]: string | Uint8Array } = {},
    {
      watch = false,
      folder: named,
      home,
      kernel,
      liveDocuments,
    }: {
      watch?: boolean;
      folder?: string;
      /** One that has no folder of its own. */
      kernel?: string;
      /** In the folder; by default elsewhere. */
      home?: string;
      liveDocuments?: number;
    } = {},
  ): Promise<Mounted> {
    const owned = new DisposableStack();
    const place = owned.use(temporaryFolder()).path;
    const folder = named ?? join(place, "project");
    const own = home === undefined ? join(place, "home") : join(folder, home);
    const mounted = new Mounted(owned, folder, own);
    mkdirSync(mounted.folder, { recursive: true });
    mkdirSync(mounted.home, { recursive: true });
    for (const [path, content] of Object.entries(files)) mounted.write(path, content);
    mounted.#watch = watch;
    mounted.#named = kernel;
    mounted.#liveDocuments = liveDocuments;
    await mounted.start();
    return mounted;
  }

  /** What another process has made of a place, or will. */
  static async at(place: string, { watch = true } = {}): Promise<Mounted> {
    const mounted = new Mounted(new DisposableStack(), join(place, "project"), join(place, "home"));
    mkdirSync(mounted.home, { recursive: true });
    mounted.#watch = watch;
    await mounted.start();
    return mounted;
  }

  get kernel(): Kernel {
    return this.#kernel!;
  }

  get mounts(): Mounts {
    return Mounts.of(this.kernel);
  }

  async start(): Promise<void> {
    const home = new HomeFolder(this.home, "a test");
    const kernel = this.#named ?? (await kernelOfFolder(home, this.folder)).kernel;
    const options = { watch: this.#watch, liveDocuments: this.#liveDocuments };
    const world = openWorld(home, (report) => this.onDamage(report), options);
    this.#world = world;
    this.#kernel = await world.openOrCreate(kernel);
    if (this.#named !== undefined) await world.attachFiles(this.#kernel);
  }

  async stop(): Promise<void> {
    await this.#world?.[Symbol.asyncDispose]();
    this.#world = undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** What its tools are called. */
  get tools(): ToolRegistry {
    return this.#registry;
  }

  async call<Result = Answer>(
    tool: string,
    input: object,
    by: Partial<Invocation> = { actor: "claude", kind: "agent" },
  ): Promise<Result> {
    const invocation = { actor: "ann", reader: by.actor ?? "ann", ...by };
    return (await this.#registry.execute(this.kernel, tool, invocation, input)) as Result;
  }

  /** The block's text as an agent reads it. */
  async text(path: string): Promise<string> {
    const { content } = await this.call<{ content: string }>("block_read", {
      block_id: path,
      line_numbers: false,
    });
    return content;
  }

  path(path: string): string {
    return join(this.folder, path);
  }

  write(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), content);
  }

  read(path: string): string {
    return readFileSync(this.path(path), "utf8");
  }

  bytes(path: string): Buffer {
    return readFileSync(this.path(path));
  }

  /** A real program in the folder. */
  run(program: string, ...args: string[]): string {
    if (program === "git") this.#nextTick();
    return execFileSync(program, args, { cwd: this.folder, encoding: "utf8" });
  }

  /** Of what was saved in the tick of the file system's clock in which git begins, nobody can tell that git has seen it. */
  #nextTick(): void {
    const probe = join(this.home, "tick");
    const written = (): bigint => {
      writeFileSync(probe, "");
      return statSync(probe, { bigint: true }).mtimeNs;
    };
    const first = written();
    while (written() === first);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.stop();
    } finally {
      this.#owned.dispose();
    }
  }
}
