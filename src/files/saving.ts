import { type Clock, KumikoError, type Timers } from "../base/index.ts";
import type { AboutToBe, CallerKind, Kernel } from "../kernel/index.ts";
import type { FolderRules } from "../permission/index.ts";
import { Autosave } from "./autosave.ts";
import { textOf } from "./common-base.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { MountedFiles } from "./mounted-files.ts";
import type { StagedSave, StagedSaves } from "./staged-saves.ts";
import type { Writing } from "./writing.ts";

export interface SavingPorts {
  readonly kernel: Kernel;
  readonly files: MountedFiles;
  readonly writing: Writing;
  readonly timers: Timers;
  readonly clock: Clock;
  rules(): FolderRules;
  /** Whether files are written only when somebody says so. */
  readonly manual: boolean;
}

/** When the files of a folder are written, and what is told of those that cannot be. */
export class Saving implements AsyncDisposable {
  readonly #ports: SavingPorts;
  readonly #autosave: Autosave;

  constructor(ports: SavingPorts) {
    this.#ports = ports;
    const { timers, clock } = ports;
    this.#autosave = new Autosave({ timers, clock, save: (block) => this.#saveLate(block) });
  }

  /** There is a new version in the journal. */
  committed(block: string, version: number, by: CallerKind): void {
    const file = this.#ports.files.of(block);
    if (file === undefined) return;
    file.version = version;
    if (by === "agent" || by === "service") file.writer = "agent";
    if (!this.#ports.manual && file.ahead) this.#autosave.touched(block);
  }

  /** Makes a file ready that is about to be saved. */
  stage(file: MountedFile, change: AboutToBe, staged: StagedSaves): void {
    if (this.#ports.manual) return;
    const save = this.#ports.writing.stage(file, change);
    if (save !== undefined) staged.add(file.block, save);
  }

  /** Saves these now, for whoever waits. What cannot be written is told, kept and tried again. */
  async saveAll(blocks: readonly string[], staged?: StagedSaves): Promise<void> {
    if (this.#ports.manual) return;
    const [only] = blocks;
    if (blocks.length === 1) await this.#saveNow(only!, staged?.of(only!));
    else await Promise.all(blocks.map((block) => this.#saveNow(block, staged?.of(block))));
  }

  /** Saves all that is not saved yet. */
  async saveAhead(): Promise<void> {
    const { files } = this.#ports;
    await this.saveAll(files.all().flatMap((file) => (file.ahead ? [file.block] : [])));
  }

  /** What it is to its file to be saved: rules allow one thing and not another. */
  async operationOf({ block, synced }: MountedFile): Promise<"create" | "append" | "change"> {
    if (synced === undefined) return "create";
    return this.#ports.kernel.tryOut(block, (target) =>
      target.read().startsWith(textOf(synced.base, target)) ? "append" : "change",
    );
  }

  /** Saves one, or throws why not; one that is not there is made. */
  async save(file: MountedFile): Promise<void> {
    const { files, writing } = this.#ports;
    await files.queue.run([file.block], () => writing.save(file, { make: true }));
    this.nothingWaits(file);
  }

  /** Whoever calls holds the file's queue. */
  async saveUnlessManual(file: MountedFile): Promise<void> {
    if (!this.#ports.manual) await this.#ports.writing.save(file);
  }

  /** Block and file are one, or there is no file: nothing is to be saved later but what was written to the block since. */
  nothingWaits({ block, ahead }: MountedFile): void {
    this.#autosave.saved(block, ahead);
  }

  /** Saves now what was to be saved later. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#autosave[Symbol.asyncDispose]();
  }

  async #saveNow(block: string, staged: StagedSave | undefined): Promise<void> {
    const file = this.#ports.files.of(block);
    if (file === undefined) return;
    if (await this.#saveLate(block, staged)) this.nothingWaits(file);
    else this.#autosave.failed(block);
  }

  async #saveLate(block: string, staged?: StagedSave): Promise<boolean> {
    const { kernel, files, writing } = this.#ports;
    const file = files.of(block)!;
    // Its path means another file: there is none that could be written.
    if (!files.hasPath(file)) return true;
    try {
      const refusal = this.#refusal(file);
      if (refusal !== undefined && !(await this.#mayAppend(file))) throw refusal;
      await files.queue.run([block], () => writing.save(file, { staged }));
      return true;
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      if (file.unsaved?.message !== error.message) {
        const { path } = file;
        kernel.announce({ kind: "unsaved", block, path, why: error.message });
      }
      file.unsaved = error;
      return false;
    }
  }

  /**
   * Rules may have changed since it was written to the block, also while no process ran: whoever wrote it is asked for
   * again. Of what an earlier process took in it is only known that a person could have written it.
   */
  #refusal(file: MountedFile): KumikoError | undefined {
    if (!file.ahead) return undefined;
    const { path, synced, writer } = file;
    const operation = synced === undefined ? "create" : "change";
    const { decision, reason } = this.#ports.rules().decide(path, operation, writer);
    if (decision === "allow") return undefined;
    return new KumikoError(
      "denied",
      `What is new in the block of ${path} is not written: ${reason} It is kept, and written when that is allowed.`,
      { path, operation, decision },
    );
  }

  /** Whether it was only added to what the file says, by whoever may do that. */
  async #mayAppend(file: MountedFile): Promise<boolean> {
    if (this.#ports.rules().decide(file.path, "append", file.writer).decision !== "allow")
      return false;
    return (await this.operationOf(file)) === "append";
  }
}
