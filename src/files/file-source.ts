import { type Clock, KumikoError, monotonicClock, type Timers } from "../base/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import type { FolderRules } from "../permission/index.ts";
import { Claims } from "./claims.ts";
import { textOf } from "./common-base.ts";
import { type Conflict, type Conflicts, isUndecided } from "./conflicts.ts";
import { type Decided, Deciding } from "./deciding.ts";
import type { Disk } from "./disk.ts";
import type { FileStat } from "./file-stat.ts";
import { GitLooks } from "./git-looks.ts";
import { Following } from "./following.ts";
import { parentOf } from "./ignored.ts";
import { Going } from "./going.ts";
import { DISK, type FoundText } from "./found-text.ts";
import { LateWrites } from "./late-writes.ts";
import { type Base, Ledger, withMask } from "./ledger.ts";
import type { LedgerTail } from "./ledger-tail.ts";
import { type MadeElsewhere, mergeMade } from "./made-elsewhere.ts";
import { Making } from "./making.ts";
import { MountedFile } from "./mounted-file.ts";
import { MountedFiles } from "./mounted-files.ts";
import { Records } from "./records.ts";
import { absent, displaced } from "./refusals.ts";
import { Saving } from "./saving.ts";
import { Standing } from "./standing.ts";
import { Syncing } from "./syncing.ts";
import { TakingIn } from "./taking-in.ts";
import { Writing } from "./writing.ts";

export interface FileSourceOptions {
  readonly kernel: Kernel;
  /** Of the mount: its blocks are `@name~file~7`. */
  readonly name: string;
  readonly disk: Disk;
  readonly conflicts: Conflicts;
  readonly timers: Timers;
  readonly clock: Clock;
  rules(): FolderRules;
  /** The source owns it. */
  readonly tail?: LedgerTail | undefined;
  /** What is known of files is written down, or why not. */
  onRecorded(error?: unknown): void;
  /** What a program wrote to a file just when it was replaced could not be taken in. */
  onLost(path: string, error: unknown): void;
  /** When git has its locks is known at once, or why it is not. */
  onGitWatch(folder: string, error?: unknown): void;
  readonly largest: number;
  /** Whether files are written only when somebody says so. */
  readonly manual: boolean;
}

/** One folder whose files are blocks: loaded when they are asked for, in step with the disk from then on. */
export class FileSource implements AsyncDisposable {
  readonly name: string;
  readonly disk: Disk;
  readonly claims: Claims;
  readonly git: GitLooks;
  readonly files: MountedFiles;
  readonly saving: Saving;
  readonly making: Making;
  readonly going: Going;
  readonly takingIn: TakingIn;
  readonly standing: Standing;
  readonly #options: FileSourceOptions;
  readonly #ledger: Ledger;
  readonly #late: LateWrites;
  readonly #syncing: Syncing;
  readonly #deciding: Deciding;
  readonly #following: Following;

  private constructor(options: FileSourceOptions) {
    this.#options = options;
    const { kernel, name, timers, clock, disk, conflicts } = options;
    this.name = name;
    this.disk = disk;
    const values = kernel.named(`files-${name}`);
    const ledger = new Ledger(values, {
      timers,
      settle: () => disk.settle(),
      unsettled: (path) => disk.unsettled(path),
      textAt: (block, version) => kernel.tryOut(block, (target) => textOf({ version }, target)),
      tail: options.tail,
      onWritten: (error) => options.onRecorded(error),
    });
    const claims = new Claims(clock);
    const files = new MountedFiles({ kernel, name, disk });
    const late = new LateWrites({
      timers,
      clock: monotonicClock,
      get largest() {
        return options.largest;
      },
      take: (written) => this.takingIn.late(written),
      onLost: ({ path }, error) => options.onLost(path, error),
    });
    this.git = new GitLooks({
      root: disk.root,
      onWatch: (folder, error) => options.onGitWatch(folder, error),
    });
    const records = new Records({ kernel, ledger, conflicts });
    const syncing = new Syncing({
      late,
      kernel,
      disk,
      clock,
      conflicts,
      records,
      claims,
      git: this.git,
      get largest() {
        return options.largest;
      },
      rules: () => options.rules(),
    });
    const writing = new Writing({ kernel, disk, records, late, conflicts, syncing });
    const saving = new Saving({
      kernel,
      files,
      writing,
      timers,
      clock,
      rules: () => options.rules(),
      get manual() {
        return options.manual;
      },
    });
    const following = new Following({ kernel, disk, clock, files, ledger, syncing });
    const refresh = (file: MountedFile) => this.refresh(file);
    this.#ledger = ledger;
    this.#late = late;
    this.claims = claims;
    this.files = files;
    this.#syncing = syncing;
    this.saving = saving;
    this.#following = following;
    this.#deciding = new Deciding({ kernel, conflicts, records, syncing });
    this.making = new Making({ kernel, disk, files, ledger, records, writing, saving, refresh });
    this.going = new Going({
      kernel,
      name,
      disk,
      files,
      conflicts,
      records,
      syncing,
      saving,
      following,
      making: this.making,
      get manual() {
        return options.manual;
      },
    });
    this.takingIn = new TakingIn({
      kernel,
      disk,
      files,
      claims,
      syncing,
      saving,
      following,
      get largest() {
        return options.largest;
      },
    });
    this.standing = new Standing({
      kernel,
      name,
      disk,
      conflicts,
      files,
      syncing,
      get largest() {
        return options.largest;
      },
      load: (path) => this.load(path),
    });
  }

  /** Finds its blocks of earlier days; what happened to their files meanwhile is found by `takingIn`. */
  static async open(options: FileSourceOptions): Promise<FileSource> {
    const source = new FileSource(options);
    await source.files.find(await source.#ledger.read());
    for (const conflict of options.conflicts.list()) {
      // Of other folders as well.
      const file = source.files.of(conflict.block);
      if (file?.synced !== undefined && isUndecided(conflict)) file.waits = true;
    }
    return source;
  }

  /** The file's block, made if there is none, with what is on disk now. */
  async load(path: string): Promise<MountedFile> {
    const { files } = this;
    const known = files.at(path);
    if (known !== undefined) return this.#inStep(known);
    const loaded = await files.queue.run([`path ${path}`], async () => {
      const meanwhile = files.at(path);
      if (meanwhile !== undefined) return this.#inStep(meanwhile);
      let seen: FileStat | undefined;
      const found = await this.#syncing.read(path, { seen: (stat) => (seen = stat) });
      if (found.kind === "unreadable") throw found.error;
      if (found.kind !== "text") throw absent(this, path);
      const former = await this.#following.formerly(path, found);
      if (former !== undefined) return { from: former.path };
      // What is there already is loaded when it is announced: what is new under an announced path is its author's.
      const after = found.text;
      const { cause } = this.claims.of(path, { before: undefined, after }) ?? { cause: DISK };
      const file = await this.#begin(path, found, cause);
      file.seen = seen;
      return file;
    });
    if (loaded instanceof MountedFile) return loaded;
    await this.#following.moved(loaded.from, path, DISK);
    return this.load(path);
  }

  /**
   * Brings a file into step with the disk; gives why its block is all that can be had of it, if so. With what the caller
   * just saw there, it is not looked at again.
   */
  async refresh(file: MountedFile, seen?: FileStat): Promise<KumikoError | undefined> {
    const { files } = this;
    if (!files.hasPath(file)) return displaced(file, files.at(file.path));
    if (seen !== undefined && !files.queue.has(file.block) && this.#syncing.isSame(file, seen))
      return undefined;
    const ahead = await files.queue.run([file.block], () => this.#syncing.tryCatchUp(file));
    if (ahead instanceof KumikoError) return ahead;
    if (ahead || file.wanted) await this.saving.saveAll([file.block]);
    return file.isAway ? absent(this, file.path, file) : undefined;
  }

  /** Makes the block what the file says, and gives up what was not saved. */
  async reload(invocation: Invocation, path: string): Promise<MountedFile> {
    const file = this.files.at(path) ?? (await this.load(path));
    const isDone = await this.files.queue.run([file.block], () =>
      this.#syncing.reload(file, invocation),
    );
    if (!isDone) throw absent(this, path, file);
    this.saving.nothingWaits(file);
    return file;
  }

  /** Puts into a block what somebody decided, and saves it. */
  async resolve(
    invocation: Invocation,
    conflict: Conflict,
    choice: Decided,
  ): Promise<string | undefined> {
    const { files } = this;
    const file = files.of(conflict.block)!;
    if (!files.hasPath(file) && choice !== "now") throw displaced(file, files.at(file.path));
    const edit = await files.queue.run([file.block], () =>
      this.#deciding.carryOut(invocation, file, conflict, choice),
    );
    // The decision stands, also when the file cannot be written now.
    await this.saving.saveAll([file.block]);
    return edit;
  }

  /** Merges what somebody made of an older text of the file, with what is on disk now as well, and saves it. */
  async mergeIn(invocation: Invocation, path: string, made: MadeElsewhere): Promise<MountedFile> {
    const file = await this.load(path);
    await this.files.queue.run([file.block], () =>
      mergeMade(this.#options, file, made, invocation),
    );
    await this.saving.saveAll([file.block]);
    return file;
  }

  /** Masks what must not be known any more where block and file last had it in common. Gives for how many files. */
  async purge(mask: (text: string) => string, block?: string): Promise<number> {
    let masked = 0;
    for (const file of this.files.all()) {
      if (block !== undefined && file.block !== block) continue;
      await this.files.queue.run([file.block], async () => {
        const { synced, left } = withMask(file.record, mask);
        file.earlier = [];
        file.went = undefined;
        if (file.begun !== undefined)
          file.begun = { ...file.begun, was: withMask(file.begun.was, mask) };
        this.#late.forget(file);
        // Versions say something else from now on: what is saved next is not made of these bytes.
        file.synced?.content.letGo();
        if (isSameBase(synced?.base, file.synced?.base) && isSameBase(left, file.left)) return;
        file.synced = synced;
        file.left = left;
        this.#ledger.note(file.block, file.record);
        masked += 1;
      });
    }
    // Also what was to be written down a moment ago.
    await this.#ledger.write();
    return masked;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What goes first is used by what goes later.
    await using closing = new AsyncDisposableStack();
    closing.use(this.git);
    closing.use(this.#ledger);
    // Whoever waits for a file to come to rest looks at it once more.
    closing.defer(() => this.files.queue.idle());
    closing.use(this.#late);
    closing.use(this.saving);
  }

  async #inStep(file: MountedFile): Promise<MountedFile> {
    const why = await this.refresh(file);
    if (why !== undefined) throw why;
    return file;
  }

  async #begin(path: string, found: FoundText, cause: Invocation): Promise<MountedFile> {
    const { file } = await this.files.make(path, found.text, cause);
    this.git.follow(parentOf(path));
    const { content, identity, form } = found;
    file.synced = { base: { version: file.version }, content, identity, form };
    this.#ledger.note(file.block, file.record);
    return file;
  }
}

function isSameBase(one: Base | undefined, other: Base | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
