import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, compileGlob, KumikoError, type Timers } from "../base/index.ts";
import { unifiedDiff } from "../blocks/index.ts";
import type { CallerKind, Decision, Kernel } from "../kernel/index.ts";
import {
  type FileOperation,
  type FileRule,
  FolderRules,
  parseRuleFlag,
  parseRules,
} from "../permission/index.ts";
import type { Conflicts } from "./conflicts.ts";
import { Folder } from "./contained.ts";
import { Disk } from "./disk.ts";
import { FileSource } from "./file-source.ts";
import { Ignored, parentOf } from "./ignored.ts";
import { errorCodeOf } from "./look.ts";
import { scan } from "./scan.ts";
import type { Batch } from "./batch.ts";
import { sweep } from "./sweep.ts";
import { type FolderWatch, watchFolder, type WatchTrouble } from "./watch.ts";

const RULES_FILE = "kumiko.toml";
const LARGEST = 16 * 1024 * 1024;

/** What is written down of a mount. */
export interface MountSettings {
  /** The folder's real path. */
  readonly root: string;
  /** Files are written only when somebody says so. */
  readonly manual?: boolean | undefined;
  /** Rules before those of the file, each `pattern=level`. */
  readonly rules?: readonly string[] | undefined;
}

export interface MountOptions {
  readonly kernel: Kernel;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly conflicts: Conflicts;
  /** Whoever watches stays: what he finds half saved at his start is nobody's any more. */
  readonly watch: boolean;
  /** What goes wrong without anyone asking. */
  onTrouble(mount: string, error: KumikoError): void;
}

export type FileStatus =
  | "synced"
  | "block_ahead"
  | "disk_ahead"
  | "both_changed"
  | "deleted"
  | "conflict"
  | "binary"
  | "too_large"
  | "not_loaded";

export interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly permission: string;
  readonly loaded: boolean;
  readonly dirty: boolean;
  readonly conflict: boolean;
  readonly status: FileStatus;
}

/** A folder with its rules: who may do what there, what is in it, how each file stands. */
export class Mount implements AsyncDisposable {
  readonly name: string;
  readonly root: string;
  readonly manual: boolean;
  readonly source: FileSource;
  readonly ignored: Ignored;
  readonly #folder: Folder;
  readonly #options: MountOptions;
  readonly #flags: readonly FileRule[];
  #rules: FolderRules;
  #watching: FolderWatch | undefined;
  #closed = false;

  private constructor(
    name: string,
    parts: {
      folder: Folder;
      rules: FolderRules;
      flags: readonly FileRule[];
      ignored: Ignored;
      source: FileSource;
    },
    options: MountOptions,
    manual: boolean,
  ) {
    this.name = name;
    this.root = parts.folder.path;
    this.manual = manual;
    this.#folder = parts.folder;
    this.#rules = parts.rules;
    this.#flags = parts.flags;
    this.ignored = parts.ignored;
    this.source = parts.source;
    this.#options = options;
  }

  /** Refuses rules that cannot be read: nobody is to work under rules that are not those of the file. */
  static async open(name: string, settings: MountSettings, options: MountOptions): Promise<Mount> {
    await using opening = new AsyncDisposableStack();
    const folder = opening.use(Folder.open(settings.root));
    const ignored = new Ignored(folder.path, { ignoresCase: folder.ignoresCase });
    const flags = (settings.rules ?? []).map(parseRuleFlag);
    const { rules, manual, largest } = readRules(folder, ignored, flags);
    const source = opening.use(
      await FileSource.open({
        ...options,
        name,
        disk: new Disk(folder, options),
        largest,
        manual: settings.manual ?? manual,
        rules: () => mount.#rules,
      }),
    );
    const mount = new Mount(
      name,
      { folder, rules, flags, ignored, source },
      options,
      settings.manual ?? manual,
    );
    // Before anybody reads: a file that was being written in place is whole again afterwards.
    await mount.#sweep(options.watch ? { age: 0 } : {});
    opening.move();
    return mount;
  }

  /**
   * From now on takes in what happens on disk, first what happened while nobody looked. Resolves when everything is
   * being watched; the folder can be used meanwhile.
   */
  async watch(): Promise<void> {
    const { clock, timers, kernel } = this.#options;
    const task = { task: `mount @${this.name}`, what: `mounting @${this.name}` };
    let looked = 0;
    const watching = await watchFolder(this.root, {
      ignored: this.ignored,
      clock,
      timers,
      onChanges: (batch) => this.#changed(batch),
      onTrouble: (trouble) => this.#trouble(trouble),
      onProgress: (done) => {
        looked = done;
        kernel.progress({ ...task, state: "running", done });
      },
    });
    if (looked > 0) kernel.progress({ ...task, state: "done", done: looked });
    if (this.#closed) {
      await watching[Symbol.asyncDispose]();
      return;
    }
    this.#watching = watching;
    await this.source.catchUp();
  }

  /** What a process that died left beside files that it was saving. */
  async #sweep(options: { age?: number }): Promise<void> {
    const folders = new Set(["", ...this.source.files().map(({ path }) => parentOf(path))]);
    for (const path of folders) {
      try {
        await sweep(this.#folder, path, { now: this.#options.clock.now(), ...options });
      } catch (error) {
        // A folder that is gone, or closed to us, holds nothing of ours that could be removed.
        if (!(error instanceof KumikoError)) throw error;
      }
    }
  }

  async #changed({ changed, gone, moved }: Batch): Promise<void> {
    if ([...changed, ...gone].includes(RULES_FILE)) this.#tryRules();
    await this.source.changed({ changed, gone, renamed: moved });
  }

  /** Rules that cannot be read leave those that are in force: nobody gains by breaking them. */
  #tryRules(): void {
    try {
      this.readRules();
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      this.#options.onTrouble(this.name, error);
    }
  }

  #trouble(trouble: WatchTrouble): void {
    const { kind } = trouble;
    const why = "reason" in trouble ? trouble.reason : sentences[kind];
    if (kind === "unseen" || why === undefined) return;
    const error = new KumikoError(kind === "root_gone" ? "root_gone" : "file_unreadable", why, {
      mount: this.name,
      root: this.root,
      trouble: kind,
    });
    this.#options.onTrouble(this.name, error);
  }

  /** After kumiko.toml or an ignore file changed. Rules that cannot be read leave those that are in force. */
  readRules(): void {
    this.#rules = readRules(this.#folder, this.ignored, this.#flags).rules;
  }

  get rules(): FolderRules {
    return this.#rules;
  }

  decide(path: string, operation: FileOperation, kind: CallerKind): Decision {
    return this.#rules.decide(path, operation, kind);
  }

  /** Throws what the rules say, when that is not allowed. */
  check(
    path: string,
    operation: FileOperation,
    { actor, kind }: { readonly actor: string; readonly kind: CallerKind },
  ): void {
    const { decision, reason } = this.decide(path, operation, kind);
    if (decision === "allow") return;
    throw new KumikoError("denied", `${actor} may not ${operation} ${path}: ${reason}`, {
      actor,
      operation,
      path,
      decision,
    });
  }

  async statusOf(path: string): Promise<FileStatus> {
    return this.source.statusOf(path);
  }

  /** In the order of their paths. */
  async list({
    pattern,
    ignored = false,
    after = "",
    limit,
  }: {
    pattern?: string | undefined;
    ignored?: boolean | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<{ files: ListedFile[]; after?: string }> {
    const glob = pattern === undefined ? undefined : compileGlob(pattern);
    const found: { path: string; size: number }[] = [];
    for await (const entries of scan(this.root, { ignored: this.ignored })) {
      for (const { path, size, kind, ignored: left } of entries) {
        if (kind !== "file" && kind !== "link") continue;
        if ((left && !ignored) || path <= after || glob?.matches(path) === false) continue;
        found.push({ path, size });
      }
    }
    found.sort((a, b) => (a.path < b.path ? -1 : 1));
    const page = found.slice(0, limit);
    const inConflict = new Set(this.#options.conflicts.list().map(({ block }) => block));
    const files: ListedFile[] = [];
    for (const { path, size } of page) {
      const file = this.source.at(path);
      files.push({
        path,
        size,
        permission: this.#rules.levelOf(path).level,
        loaded: file !== undefined,
        dirty: file?.ahead ?? false,
        conflict: file !== undefined && inConflict.has(file.block),
        status: file === undefined ? "not_loaded" : await this.statusOf(path),
      });
    }
    return found.length > limit ? { files, after: page.at(-1)!.path } : { files };
  }

  /** From disk to block, under a header that says how they stand. */
  async diff(path: string): Promise<{ status: FileStatus; diff: string }> {
    const status = await this.statusOf(path);
    const { block, disk, version, modified } = await this.source.bothSides(path);
    if (block.text === disk) return { status, diff: "" };
    const header = [
      `[file:${block.id}:${path}]`,
      `status: ${status}`,
      `disk_mtime: ${modified}`,
      `block_version: ${version}`,
      "---",
    ];
    const names = { oldName: "disk", newName: "block" };
    return { status, diff: `${header.join("\n")}\n${unifiedDiff(disk, block.text, names)}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    try {
      await this.#watching?.[Symbol.asyncDispose]();
      await this.source[Symbol.asyncDispose]();
    } finally {
      this.#folder[Symbol.dispose]();
    }
  }
}

const sentences: { readonly [kind: string]: string } = {
  root_gone:
    "The folder is gone. Nothing in it is taken for deleted; it goes on when the folder is back.",
  root_back: "The folder is back.",
  fault: "Watching the folder met a fault; it goes on.",
};

function readRules(
  folder: Folder,
  ignored: Ignored,
  flags: readonly FileRule[],
): { rules: FolderRules; manual: boolean; largest: number } {
  const text = textOf(join(folder.path, RULES_FILE));
  const rules = text === undefined ? undefined : parseRules(text, RULES_FILE);
  return {
    rules: new FolderRules({
      ...(rules !== undefined && { rules }),
      flags,
      isIgnored: (path) => ignored.isIgnored(path, false),
      ignoreCase: folder.ignoresCase,
    }),
    manual: rules?.mount.save === "manual",
    largest: rules?.mount.largest ?? LARGEST,
  };
}

/** Undefined when there is none. One that cannot be read is not the same as none. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    throw new KumikoError(
      "file_unreadable",
      `The rules in ${RULES_FILE} cannot be read (${errorCodeOf(error)}): nothing is mounted without them.`,
      { path: RULES_FILE, reason: errorCodeOf(error) },
      { cause: error },
    );
  }
}
