import { join } from "node:path";
import { type Clock, compileGlob, KumikoError, type Timers } from "../base/index.ts";
import { unifiedDiff } from "../blocks/index.ts";
import type { CallerKind, Decision, FileIndex, FileStep, Kernel } from "../kernel/index.ts";
import type { FileOperation, FolderRules } from "../permission/index.ts";
import type { Conflicts } from "./conflicts.ts";
import { Folder } from "./contained.ts";
import { Disk } from "./disk.ts";
import { FileSource } from "./file-source.ts";
import { timeText } from "./file-stat.ts";
import { LedgerTail } from "./ledger-tail.ts";
import type { FileStatus } from "./file-status.ts";
import { FolderIndex } from "./folder-index.ts";
import { Ignored, isRuleFile, parentOf } from "./ignored.ts";
import { Listing, type Unlisted } from "./listing.ts";
import { MountTroubles } from "./mount-troubles.ts";
import { type EpochPart, leavingOut, pathsOf } from "./epoch-part.ts";
import { RULES_FILE } from "./rule-text.ts";
import { RulesInForce } from "./rules-in-force.ts";
import type { Unseen } from "./scan.ts";
import type { SpareFiles } from "./spare-files.ts";
import { sweep } from "./sweep.ts";
import type { WatchTrouble } from "./watch-trouble.ts";
import { type FolderWatch, watchFolder } from "./watch.ts";

/** When the files of each mount were last all known. */
const SEEN = "mounts-seen";

/** What is written down of a mount. */
export interface MountSettings {
  /** The folder's real path. */
  readonly root: string;
  /** Files are written only when somebody says so. */
  readonly manual?: boolean | undefined;
  /** Rules before those of the file, each as `--rule` takes it. */
  readonly rules?: readonly string[] | undefined;
}

export interface MountOptions {
  readonly kernel: Kernel;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly conflicts: Conflicts;
  /** Whoever watches stays: what he finds half saved at his start is nobody's any more. */
  readonly watch: boolean;
  /** Where Kumiko keeps what is its own: no file of any folder. */
  readonly home?: string | undefined;
  /** A folder of the kernel's own. */
  readonly place?: string | undefined;
  /** What may take the place of files; stays its owner's. */
  readonly spares?: SpareFiles | undefined;
  /** For searches in files that have no blocks; whoever opens the mount owns it. */
  readonly index: FileIndex;
  /** The rules of a folder are others now: what became secret is to leave the index, with every word of it. */
  rulesRead(mount: string): void;
  /** What goes wrong without anyone asking, also when it is made good without anybody's help. */
  onTrouble(mount: string, error: KumikoError): void;
}

export interface FileCaller {
  readonly actor: string;
  readonly kind: CallerKind;
}

export interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly permission: string;
  readonly loaded: boolean;
  readonly dirty: boolean;
  readonly conflict: boolean;
  /** `folder`: a link that leads to one. */
  readonly status: FileStatus | "folder";
  /** When the file was last changed, in UTC. */
  readonly disk_mtime?: string;
}

/** What a link is that leads to no file of the folder: nobody may read or change anything by it. */
const NO_FILE = { permission: "none", loaded: false, dirty: false, conflict: false } as const;

/** A folder with its rules: who may do what there, what is in it, how each file stands. */
export class Mount implements AsyncDisposable {
  readonly name: string;
  readonly root: string;
  readonly source: FileSource;
  readonly ignored: Ignored;
  readonly index: FolderIndex;
  readonly #folder: Folder;
  readonly #listing: Listing;
  readonly #options: MountOptions;
  readonly #inForce: RulesInForce;
  readonly #troubles: MountTroubles;
  #watching: FolderWatch | undefined;
  #isCaughtUp = false;
  #closed = false;

  private constructor(
    name: string,
    parts: {
      folder: Folder;
      inForce: RulesInForce;
      troubles: MountTroubles;
      ignored: Ignored;
      source: FileSource;
      index: FolderIndex;
    },
    options: MountOptions,
  ) {
    this.name = name;
    this.root = parts.folder.path;
    this.#folder = parts.folder;
    this.#inForce = parts.inForce;
    this.#troubles = parts.troubles;
    this.ignored = parts.ignored;
    this.source = parts.source;
    this.index = parts.index;
    this.#options = options;
    const { root, ignored } = this;
    this.#listing = new Listing({ root, ignored, clock: options.clock });
  }

  /** Refuses rules that cannot be read: nobody is to work under rules that are not those of the file. */
  static async open(name: string, settings: MountSettings, options: MountOptions): Promise<Mount> {
    await using opening = new AsyncDisposableStack();
    const folder = opening.use(Folder.open(settings.root, options));
    const { ignoresCase, own } = folder;
    const troubles = new MountTroubles({
      mount: name,
      root: folder.path,
      onTrouble: (error) => options.onTrouble(name, error),
    });
    const ignored = new Ignored(folder.path, {
      ignoresCase,
      own,
      onUnreadable: (path, reason) => troubles.ofRuleFile(path, reason),
    });
    const inForce = new RulesInForce(folder, ignored, settings);
    const source = opening.use(
      await FileSource.open({
        ...options,
        name,
        tail:
          options.place === undefined
            ? undefined
            : LedgerTail.of(join(options.place, "noted", name)),
        disk: new Disk(folder, {
          ...options,
          onSettled: (path, error) => troubles.ofSettling(path, error),
        }),
        onRecorded: (error) => troubles.ofRecords(error),
        onLost: (path, error) => troubles.ofLost(path, error),
        onGitWatch: (path, error) => troubles.ofGit(path, error),
        rules: () => inForce.rules,
        get largest() {
          return inForce.largest;
        },
        get manual() {
          return inForce.manual;
        },
      }),
    );
    const index = new FolderIndex({
      root: folder.path,
      index: options.index,
      timers: options.timers,
      get largest() {
        return inForce.largest;
      },
      isSecret: (path) => inForce.rules.levelOf(path).level === "secret",
      hasBlock: (path) => source.files.at(path) !== undefined,
      onTrouble: (error) => options.onTrouble(name, error),
    });
    const parts = { folder, inForce, troubles, ignored, source, index };
    const mount = new Mount(name, parts, options);
    // Before anybody reads: a file that was being written in place is whole again afterwards.
    await mount.#sweep(options.watch ? { age: 0 } : {});
    opening.move();
    return mount;
  }

  /**
   * From now on takes in what happens on disk, first what happened while nobody looked. Resolves when everything is
   * being watched, or it is known and told why not; the folder can be used meanwhile.
   */
  async watch(): Promise<void> {
    try {
      await this.#watch();
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      this.#troubles.came("watch", error);
    }
  }

  async #watch(): Promise<void> {
    const { clock, timers, kernel } = this.#options;
    const task = { task: `mount @${this.name}`, what: `mounting @${this.name}` };
    let looked = 0;
    this.source.git.begin(this.source.files.paths(), (lock) => this.#watching?.gitLocked(lock));
    const watching = await watchFolder(this.root, {
      ignored: this.ignored,
      clock,
      timers,
      onChanges: (part) => this.#changed(part),
      onGit: (folder) => this.source.git.follow(folder),
      onNoticed: (path, stamp) => this.source.files.at(path)?.noticed(stamp),
      onTrouble: (trouble) => this.#trouble(trouble),
      onProgress: (done, total) => {
        looked = done;
        const known = total === undefined ? {} : { total };
        kernel.progress({ ...task, state: "running", done, ...known });
      },
    });
    if (looked > 0) kernel.progress({ ...task, state: "done", done: looked, total: looked });
    if (this.#closed) {
      await watching[Symbol.asyncDispose]();
      return;
    }
    this.#watching = watching;
    this.index.start(() => watching.stamps());
    const seen = kernel.named(SEEN);
    const since = await seen.get(this.name);
    // Not after a crash: what was there until then is not known.
    await seen.put(this.name, undefined);
    await this.source.takingIn.catchUp(
      watching.stamps(),
      since === undefined ? undefined : Number(since),
    );
    this.#isCaughtUp = true;
  }

  /** What a process that died left beside files that it was saving. */
  async #sweep(options: { age?: number }): Promise<void> {
    const folders = new Set(["", ...this.source.files.all().map(({ path }) => parentOf(path))]);
    for (const path of folders) {
      try {
        const now = this.#options.clock.now();
        this.#troubles.ofSweep(await sweep(this.#folder, path, { now, ...options }));
      } catch (error) {
        if (!(error instanceof KumikoError)) throw error;
        // A folder that is gone holds nothing of ours.
        if (error.code !== "file_absent") this.#troubles.came(`sweep ${path}`, error);
      }
    }
  }

  /** What an earlier process had begun to do with whole files, some of this folder, when it died. */
  cutOff(edit: string, steps: readonly FileStep[]): void {
    const left = (): string[] => steps.flatMap((step) => this.#leftOf(step) ?? []);
    if (left().length > 0) this.#troubles.ofCutOff(edit, left);
  }

  /** What is still to become of a file, in words. */
  #leftOf({ block, to }: FileStep): string | undefined {
    const { files, disk } = this.source;
    const file = files.of(block);
    if (file === undefined) return undefined;
    const { path } = file;
    const now = disk.kindAt(path) === "file" ? `@${this.name}/${path}` : undefined;
    if (now === to) return undefined;
    if (to === undefined) return `${path} is to be deleted`;
    const there = to.slice(to.indexOf("/") + 1);
    if (now !== undefined) return `${path} is to be moved to ${there}`;
    // Where it was moved before its block could say so, a new block has it.
    return disk.kindAt(there) === "absent" ? `${there} is to be there` : undefined;
  }

  /** An Edit was undone or redone: what was cut off of it is of no interest any more. */
  flipped(edit: string): void {
    this.#troubles.ofCutOff(edit);
  }

  async #changed(part: EpochPart): Promise<void> {
    const told = pathsOf(part);
    const isOnlyNoticed = (path: string): boolean => this.ignored.isOnlyNoticed(path);
    const { epoch, changed, gone, moved, there } = leavingOut(part, isOnlyNoticed);
    const came = [...changed, ...moved.map(({ to }) => to)];
    const went = [...gone, ...moved.map(({ from }) => from)];
    this.index.changed(came, went);
    // A rule file that they do not ignore any more is no news to the watch.
    if (told.some(isRuleFile)) this.index.again();
    const wasManual = this.manual;
    if (told.includes(RULES_FILE)) this.#tryRules();
    await this.source.takingIn.changed({ epoch, changed, gone, renamed: moved, there });
    if (wasManual && !this.manual) await this.source.saving.saveAhead();
    this.#troubles.over("fault");
  }

  #tryRules(): void {
    try {
      this.readRules();
      this.#troubles.over("rules");
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      this.#troubles.came("rules", error);
    }
  }

  /** After kumiko.toml changed. Rules that cannot be read throw and leave those that are in force. */
  readRules(): void {
    this.#inForce.readAgain();
    this.#options.rulesRead(this.name);
  }

  #trouble(trouble: WatchTrouble): void {
    // Before anything of it is looked at: a copy may stand in its place.
    if (trouble.kind === "root_back") this.#folder.reopen();
    this.#troubles.ofWatch(trouble);
  }

  /** What is wrong with it now. */
  troubles(): KumikoError[] {
    return this.#troubles.list();
  }

  /** What the watch could not look at, and cannot still. */
  unseen(): Unseen[] {
    return this.#troubles.unseen();
  }

  /** Why kumiko.toml cannot be read now: the rules that it had before hold meanwhile. */
  get rulesTrouble(): KumikoError | undefined {
    return this.#inForce.trouble;
  }

  get rules(): FolderRules {
    return this.#inForce.rules;
  }

  /** Whether files are written only when somebody says so. */
  get manual(): boolean {
    return this.#inForce.manual;
  }

  /** Whether changes on disk are told: what is known of the folder is then what is in it. */
  get isWatching(): boolean {
    return this.#options.watch;
  }

  /** Whether what a file says may be shown to whoever searches. */
  isSearchable(path: string, kind: CallerKind): boolean {
    const { decision, level } = this.rules.decide(path, "read", kind);
    return decision === "allow" && level !== "secret";
  }

  decide(path: string, operation: FileOperation, kind: CallerKind): Decision {
    return this.rules.decide(path, operation, kind);
  }

  /** Throws what the rules say, when that is not allowed. */
  check(path: string, operation: FileOperation, caller: FileCaller): void {
    const refusal = this.refusal(path, operation, caller);
    if (refusal !== undefined) throw refusal;
  }

  refusal(
    path: string,
    operation: FileOperation,
    { actor, kind }: FileCaller,
  ): KumikoError | undefined {
    const answer = this.decide(path, operation, kind);
    const { decision } = answer;
    if (decision === "allow") return undefined;
    return new KumikoError("denied", `${actor} may not ${operation} ${path}: ${answer.reason}`, {
      actor,
      operation,
      path,
      decision,
    });
  }

  async statusOf(path: string): Promise<FileStatus> {
    return (await this.source.standing.of(path)).status;
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
  }): Promise<{ files: ListedFile[]; after?: string; unlisted?: Unlisted[] }> {
    const glob = pattern === undefined ? undefined : compileGlob(pattern);
    const page = await this.#listing.page({ after, glob, ignored }, limit);
    const inConflict = new Set(this.#options.conflicts.list().map(({ block }) => block));
    const files = await Promise.all(
      page.files.map(async ({ path, size, nanoseconds, isLink }): Promise<ListedFile> => {
        const own = { path, kind: "file", seen: { nanoseconds } };
        const target = isLink ? this.source.disk.target(path) : own;
        if (target === undefined) return { path, size, ...NO_FILE, status: "unreadable" };
        if (target.kind === "folder") return { path, size, ...NO_FILE, status: "folder" };
        const file = this.source.files.at(target.path);
        const changed = target.seen && timeText(target.seen.nanoseconds);
        return {
          path,
          size,
          permission: this.rules.levelOf(target.path).level,
          loaded: file !== undefined,
          dirty: file?.ahead ?? false,
          conflict: file !== undefined && inConflict.has(file.block),
          status:
            file === undefined
              ? this.source.standing.glance(target.path)
              : await this.statusOf(target.path),
          ...(changed !== undefined && { disk_mtime: changed }),
        };
      }),
    );
    return {
      files,
      ...(page.more && { after: files.at(-1)!.path }),
      ...(page.unlisted.length > 0 && { unlisted: page.unlisted }),
    };
  }

  /** From disk to block, under a header that says how they stand. */
  async diff(path: string): Promise<{ status: FileStatus; diff: string }> {
    const status = await this.statusOf(path);
    const { block, disk, version, modified } = await this.source.standing.bothSides(path);
    if (block.text === disk) return { status, diff: "" };
    const header = [
      `[file:${block.id}:${path}]`,
      `status: ${status}`,
      `disk_mtime: ${modified ?? "unknown"}`,
      `block_version: ${version}`,
      "---",
    ];
    const names = { oldName: "disk", newName: "block" };
    return { status, diff: `${header.join("\n")}\n${unifiedDiff(disk, block.text, names)}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const { clock, kernel } = this.#options;
    try {
      if (this.#isCaughtUp) await kernel.named(SEEN).put(this.name, String(clock.now()));
      await this.#watching?.[Symbol.asyncDispose]();
      await this.index[Symbol.asyncDispose]();
      await this.source[Symbol.asyncDispose]();
    } finally {
      this.#folder[Symbol.dispose]();
    }
  }
}
