import { type Clock, KeyedQueue, KumikoError, type Timers } from "../base/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import type { FolderRules } from "../permission/index.ts";
import { Autosave } from "./autosave.ts";
import { Claims } from "./claims.ts";
import type { Conflict, Conflicts } from "./conflicts.ts";
import type { Disk } from "./disk.ts";
import { Ledger } from "./ledger.ts";
import type { FileStatus } from "./mount.ts";
import { MountedFile } from "./mounted-file.ts";
import { type ConflictChoice, resolveConflict } from "./resolve-conflict.ts";
import { DISK, type FoundText, restless, Syncing } from "./syncing.ts";

export interface FileSourceOptions {
  readonly kernel: Kernel;
  /** Of the mount: its blocks are `@name~file~7`. */
  readonly name: string;
  readonly disk: Disk;
  readonly conflicts: Conflicts;
  readonly timers: Timers;
  readonly clock: Clock;
  rules(): FolderRules;
  readonly largest: number;
  /** Whether files are written only when somebody says so. */
  readonly manual: boolean;
}

/** What is known to have changed on disk, all of it by one cause. */
export interface DiskChanges {
  readonly changed: readonly string[];
  readonly gone: readonly string[];
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
}

/** A block and its file as they are now. */
interface BothSides {
  readonly block: { readonly id: string; readonly text: string };
  readonly version: number;
  readonly disk: string;
  /** When the file was last changed, in UTC. */
  readonly modified: string;
}

/** One folder whose files are blocks: loaded when they are asked for, in step with the disk from then on. */
export class FileSource implements AsyncDisposable {
  readonly name: string;
  readonly disk: Disk;
  readonly claims: Claims;
  readonly #options: FileSourceOptions;
  readonly #ledger: Ledger;
  readonly #syncing: Syncing;
  readonly #autosave: Autosave;
  readonly #byPath = new Map<string, MountedFile>();
  readonly #byBlock = new Map<string, MountedFile>();
  /** By path and by block: whoever loads, takes in or saves a file is alone with it. */
  readonly #queue = new KeyedQueue();

  private constructor(options: FileSourceOptions) {
    this.#options = options;
    this.name = options.name;
    this.disk = options.disk;
    const { kernel, timers, clock, disk, conflicts, largest } = options;
    this.#ledger = new Ledger(kernel, options.name, timers);
    this.claims = new Claims(clock);
    this.#syncing = new Syncing({
      kernel,
      disk,
      conflicts,
      ledger: this.#ledger,
      claims: this.claims,
      largest,
      rules: () => options.rules(),
    });
    this.#autosave = new Autosave({ timers, clock, save: (block) => this.#saveLate(block) });
  }

  /** Finds its blocks of earlier days; what happened to their files meanwhile is found with `catchUp`. */
  static async open(options: FileSourceOptions): Promise<FileSource> {
    const source = new FileSource(options);
    const { kernel, name, conflicts } = options;
    const records = await source.#ledger.read();
    for await (const { block, state } of kernel.blocks(`@${name}`)) {
      const path = state?.metadata["path"];
      if (typeof path !== "string") continue;
      // Loaded a moment before a crash: the block began as its file was.
      const record = records.get(block) ?? { path, synced: undefined, left: { version: 1 } };
      const version = await kernel.version(block);
      source.#put(new MountedFile(block, { ...record, path }, version));
    }
    for (const { block, stood } of conflicts.list())
      // Of other folders as well.
      if (stood === undefined && source.#byBlock.has(block))
        source.#byBlock.get(block)!.waits = true;
    return source;
  }

  fileOf(block: string): MountedFile | undefined {
    return this.#byBlock.get(block);
  }

  at(path: string): MountedFile | undefined {
    return this.#byPath.get(path);
  }

  /** Those that have blocks. */
  files(): MountedFile[] {
    return [...this.#byBlock.values()];
  }

  /** The file's block, made if there is none, with what is on disk now. */
  async load(path: string): Promise<MountedFile> {
    const known = this.#byPath.get(path);
    if (known !== undefined) {
      await this.#inStep(known);
      return known;
    }
    return this.#queue.run([`path ${path}`], async () => {
      const meanwhile = this.#byPath.get(path);
      if (meanwhile !== undefined) {
        await this.#inStep(meanwhile);
        return meanwhile;
      }
      const found = await this.#syncing.read(path);
      if (found.kind === "not_text") throw found.error;
      if (found.kind !== "text") throw this.#absent(path);
      // What is there already is loaded when it is announced: what is new under an announced path is its author's.
      return this.#begin(path, found, this.claims.of(path) ?? DISK);
    });
  }

  /** A new file, on disk before this resolves, and never over another. */
  async create(invocation: Invocation, path: string, content: string): Promise<MountedFile> {
    const { disk } = this.#options;
    return this.#queue.run([`path ${path}`], async () => {
      const known = this.#byPath.get(path);
      if (known !== undefined && known.synced !== undefined) await this.#inStep(known);
      if (known?.synced !== undefined || disk.identity(path) !== undefined) {
        throw new KumikoError(
          "already_exists",
          `${path} is there already: edit it, or delete it first.`,
          { path },
        );
      }
      const file = known ?? (await this.#make(path, content, invocation));
      if (known !== undefined) await this.#rewrite(invocation, known, content);
      await this.#queue.run([file.block], () => this.#syncing.save(file, { make: true }));
      return file;
    });
  }

  /** Saves these now, for whoever waits. What cannot be written is told, kept and tried again. */
  async saveAll(blocks: readonly string[]): Promise<void> {
    if (this.#options.manual) return;
    await Promise.all(
      blocks.map(async (block) => {
        if (!this.#byBlock.has(block)) return;
        if (await this.#saveLate(block)) this.#autosave.saved(block);
        else this.#autosave.failed(block);
      }),
    );
  }

  /** Saves one, or throws why not. */
  async save(file: MountedFile): Promise<void> {
    await this.#queue.run([file.block], () => this.#syncing.save(file));
    this.#autosave.saved(file.block);
  }

  /** Deletes what the block says and nothing else; the block stays. */
  async delete(file: MountedFile): Promise<void> {
    const { disk } = this.#options;
    await this.#queue.run([file.block], async () => {
      if (await this.#syncing.catchUp(file)) await this.#syncing.save(file);
      if (file.synced === undefined) throw this.#absent(file.path);
      if (!(await disk.remove(file.path, file.synced.hash))) throw restless(file.path);
      await this.#syncing.leave(file);
    });
    this.#autosave.saved(file.block);
  }

  /** Its block goes with it. Never over another file. */
  async move(invocation: Invocation, file: MountedFile, to: string): Promise<void> {
    const { disk } = this.#options;
    const from = file.path;
    await this.#queue.run([`path ${to}`, file.block], async () => {
      if (await this.#syncing.catchUp(file)) await this.#syncing.save(file);
      await this.#syncing.save(file);
      if (file.synced === undefined) throw this.#absent(from);
      await disk.move(from, to);
      await this.#label(invocation, file, to);
    });
  }

  /** Makes the block what the file says. */
  async reload(invocation: Invocation, file: MountedFile): Promise<void> {
    await this.#queue.run([file.block], () => this.#syncing.reload(file, invocation));
    this.#autosave.saved(file.block);
  }

  /** Puts into a block what somebody decided, and saves it. */
  async resolve(invocation: Invocation, conflict: Conflict, choice: ConflictChoice): Promise<void> {
    const file = this.#byBlock.get(conflict.block)!;
    const { kernel, conflicts } = this.#options;
    await this.#queue.run([file.block], async () => {
      if (conflict.gone === true) {
        const chosen = typeof choice === "object" ? choice.text : conflict.memory.text;
        if (choice !== "disk") await this.#syncing.bringBack(file, chosen, invocation);
        await conflicts.resolved(conflict.conflict);
        return;
      }
      await kernel.editFiles(invocation, {
        blocks: [file.block],
        operation: "change",
        translate: (target) => {
          const splices = resolveConflict(conflict, target.read(), choice);
          if (splices !== "moved") return splices;
          throw new KumikoError(
            "conflict",
            `The lines of ${conflict.conflict} in ${file.path} were changed since: edit them as they are now, then resolve it with choice text.`,
            { conflict: conflict.conflict, path: file.path, lost: conflict.lost },
          );
        },
        answer: () => undefined,
      });
      await conflicts.resolved(conflict.conflict);
      file.waits = conflicts.list(file.block).some(({ stood }) => stood === undefined);
      if (!this.#options.manual) await this.#syncing.save(file);
    });
  }

  async statusOf(path: string): Promise<FileStatus> {
    const { conflicts } = this.#options;
    const file = this.#byPath.get(path);
    if (file === undefined) return "not_loaded";
    const found = await this.#syncing.find(file);
    if (conflicts.list(file.block).length > 0) return "conflict";
    if (found.kind === "absent") return "deleted";
    if (found.kind === "not_text")
      return found.error.facts["why"] === "too_large" ? "too_large" : "binary";
    if (found.kind === "text") return file.ahead ? "both_changed" : "disk_ahead";
    return file.ahead ? "block_ahead" : "synced";
  }

  async bothSides(path: string): Promise<BothSides> {
    const file = this.#byPath.get(path) ?? (await this.load(path));
    const found = await this.#syncing.read(path);
    if (found.kind === "not_text") throw found.error;
    if (found.kind !== "text") throw this.#absent(path);
    const { text, version } = await this.#options.kernel.read(file.block);
    const milliseconds = Number(found.identity.nanoseconds / 1_000_000n);
    const modified = new Date(milliseconds).toISOString();
    return { block: { id: file.block, text }, version, disk: found.text, modified };
  }

  committed(block: string, version: number): void {
    const file = this.#byBlock.get(block);
    if (file === undefined) return;
    file.version = version;
    if (!this.#options.manual && file.ahead) this.#autosave.touched(block);
  }

  /** Takes in what is on disk now, as somebody's own. */
  async takeIn(invocation: Invocation, file: MountedFile): Promise<void> {
    await this.#queue.run([file.block], async () => {
      if (await this.#syncing.catchUp(file, invocation)) await this.#syncing.save(file);
    });
    this.claims.end(file.path, invocation);
  }

  /** Takes in what happened on disk: everything of one epoch is one Edit, but for what somebody announced. */
  async changed({ changed, gone, renamed }: DiskChanges, cause = DISK): Promise<void> {
    for (const { from, to } of renamed) await this.#moved(from, to, this.claims.of(to) ?? cause);
    const touched = [...changed, ...renamed.flatMap(({ from, to }) => [from, to])];
    const files = [...new Set([...touched, ...gone])].flatMap(
      (path) => this.#byPath.get(path) ?? [],
    );
    if (files.length === 0) return;
    const unsaved = await this.#queue.run(
      files.map(({ block }) => block),
      async () => {
        const found: (readonly [MountedFile, FoundText])[] = [];
        for (const file of files) {
          const each = await this.#syncing.find(file);
          if (each.kind === "text") found.push([file, each]);
          else if (each.kind === "absent") await this.#syncing.gone(file);
        }
        const byCause = Map.groupBy(found, ([{ path }]) => this.claims.of(path) ?? cause);
        const save: MountedFile[] = [];
        for (const [by, own] of byCause) save.push(...(await this.#syncing.takeIn(own, by)));
        return save;
      },
    );
    await this.saveAll(unsaved.map(({ block }) => block));
  }

  /** What happened while nobody looked: compares every file that has a block with the disk. */
  async catchUp(): Promise<void> {
    const paths = [...this.#byPath.keys()];
    await this.changed({ changed: paths, gone: [], renamed: [] });
    await this.saveAll(this.files().flatMap((file) => (file.ahead ? [file.block] : [])));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#autosave[Symbol.asyncDispose]();
    await this.#ledger[Symbol.asyncDispose]();
  }

  async #inStep(file: MountedFile): Promise<void> {
    const ahead = await this.#queue.run([file.block], () => this.#syncing.catchUp(file));
    if (ahead) await this.saveAll([file.block]);
    if (file.synced === undefined) throw this.#absent(file.path);
  }

  async #begin(path: string, found: FoundText, cause: Invocation): Promise<MountedFile> {
    const file = await this.#make(path, found.text, cause);
    const { hash, identity, form } = found;
    file.synced = { base: { version: file.version }, hash, identity, form };
    this.#ledger.note(file.block, file.record);
    return file;
  }

  async #make(path: string, content: string, cause: Invocation): Promise<MountedFile> {
    const { kernel, name } = this.#options;
    const { changes } = await kernel.createFile(cause, {
      mount: name,
      content,
      metadata: { path },
    });
    const { block, version } = changes[0]!;
    const file = new MountedFile(block, { path, synced: undefined }, version);
    this.#put(file);
    return file;
  }

  async #rewrite(invocation: Invocation, file: MountedFile, content: string): Promise<void> {
    // It was asked whether it may be created.
    await this.#options.kernel.editFiles(
      { ...invocation, kind: "disk" },
      {
        blocks: [file.block],
        operation: "change",
        translate: (target) => [{ at: 0, remove: target.read().length, insert: content }],
        answer: () => undefined,
      },
    );
  }

  async #moved(from: string, to: string, cause: Invocation): Promise<void> {
    const file = this.#byPath.get(from);
    if (file === undefined || this.#byPath.get(to)?.synced !== undefined) return;
    // Whoever loads the new path meanwhile waits, or would make a second block of it.
    await this.#queue.run([`path ${to}`, file.block], () => this.#label(cause, file, to));
  }

  async #label(cause: Invocation, file: MountedFile, to: string): Promise<void> {
    // It has happened, or it was asked whether it may.
    await this.#options.kernel.changeState({ ...cause, kind: "disk" }, file.block, {
      change: (state) => ({ ...state, metadata: { ...state.metadata, path: to } }),
      answer: () => undefined,
    });
    this.#byPath.delete(file.path);
    file.path = to;
    this.#put(file);
    this.#ledger.note(file.block, file.record);
  }

  #put(file: MountedFile): void {
    this.#byPath.set(file.path, file);
    this.#byBlock.set(file.block, file);
  }

  async #saveLate(block: string): Promise<boolean> {
    const file = this.#byBlock.get(block)!;
    try {
      await this.#queue.run([block], () => this.#syncing.save(file));
      return true;
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      if (file.unsaved?.message !== error.message) {
        const { path } = file;
        this.#options.kernel.announce({ kind: "unsaved", block, path, why: error.message });
      }
      file.unsaved = error;
      return false;
    }
  }

  #absent(path: string): KumikoError {
    return new KumikoError("not_on_disk", `There is no file ${path} in @${this.name}.`, {
      path,
      mount: this.name,
    });
  }
}
