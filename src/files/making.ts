import type { Invocation, Kernel } from "../kernel/index.ts";
import type { Disk } from "./disk.ts";
import type { Base, Ledger } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { MountedFiles } from "./mounted-files.ts";
import type { Records } from "./records.ts";
import { isFolder, isThere } from "./refusals.ts";
import type { Saving } from "./saving.ts";
import { linesTo } from "./syncing.ts";
import { afterSaving, PLAIN } from "./text-form.ts";
import type { Writing } from "./writing.ts";

/** From which the process's mask takes away, as of every file that is made. */
const PROGRAM = 0o777;

export interface MakingPorts {
  readonly kernel: Kernel;
  readonly disk: Disk;
  readonly files: MountedFiles;
  readonly ledger: Ledger;
  readonly records: Records;
  readonly writing: Writing;
  readonly saving: Saving;
  /** Brings a file into step with the disk. */
  refresh(file: MountedFile): Promise<unknown>;
}

interface Beginning {
  readonly content: string;
  readonly edit?: string | undefined;
  /** Whether it was made of what the block says. */
  readonly isEdited?: boolean;
}

/** Files that come to be because somebody wants them: new ones, and those of blocks whose files went. */
export class Making {
  readonly #ports: MakingPorts;

  constructor(ports: MakingPorts) {
    this.#ports = ports;
  }

  /** Whether nothing is there that a new file would stand in the way of. */
  isFree(path: string): boolean {
    const { disk, files } = this.#ports;
    return files.isFree(path) && disk.kindAt(path) === "absent";
  }

  /**
   * A new file, on disk before this resolves, and never over another. One that cannot be made is nobody's Edit. What was
   * made of the text of one that is gone keeps its authors (`isEdited`).
   */
  async create(
    invocation: Invocation,
    path: string,
    content: string,
    { isEdited = false } = {},
  ): Promise<MountedFile> {
    const { disk, files, writing } = this.#ports;
    return files.queue.run([`path ${path}`], async () => {
      const known = files.at(path);
      // One that just went is noticed here.
      if (known?.synced !== undefined) await this.#ports.refresh(known);
      if (disk.kindAt(path) === "folder") throw isFolder(path, "already_exists");
      if (!files.isFree(path) || disk.kindAt(path) !== "absent") throw isThere(path);
      disk.checkMakes(path);
      const { file, edit } = await this.#begun(invocation, path, { content, isEdited });
      this.#standsAlone(file);
      try {
        await files.queue.run([file.block], () => writing.save(file, { make: true }));
      } catch (error) {
        await this.#ports.kernel.takeBack(edit, error);
        if (known === undefined)
          await files.queue.run([file.block], () => this.#ports.records.giveUp(file));
        throw error;
      }
      return file;
    });
  }

  /** What is to be in a new file, in the journal. */
  async #begun(
    invocation: Invocation,
    path: string,
    beginning: Beginning,
  ): Promise<{ file: MountedFile; version: number; edit: string }> {
    const { content, edit } = beginning;
    const file = this.#ports.files.at(path);
    const text = textOfNew(content);
    if (file === undefined) return this.#ports.files.make(path, text, invocation, edit);
    return { file, ...(await this.#rewrite(invocation, file, { ...beginning, content: text })) };
  }

  /** The block of a new file, in an Edit or as one; there is no file before `make`. */
  async begin(
    invocation: Invocation,
    path: string,
    {
      content,
      edit,
      isProgram = false,
    }: {
      readonly content: string;
      readonly edit?: string | undefined;
      readonly isProgram?: boolean;
    },
  ): Promise<{ block: string; version: number; edit: string }> {
    const { files } = this.#ports;
    return files.queue.run([`path ${path}`], async () => {
      if (!this.isFree(path)) throw isThere(path);
      const made = await this.#begun(invocation, path, { content, edit });
      if (isProgram) this.#becomesProgram(made.file);
      return { block: made.file.block, version: made.version, edit: made.edit };
    });
  }

  /** Makes files that were begun, or throws why one cannot be made: whoever began them takes them back. */
  async make(blocks: readonly string[]): Promise<void> {
    const { files, saving } = this.#ports;
    for (const block of blocks) {
      const file = files.of(block);
      if (file === undefined || file.synced !== undefined) continue;
      file.wanted = true;
      this.#standsAlone(file);
    }
    await saving.saveAll(blocks);
    for (const block of blocks) {
      const file = files.of(block);
      if (file?.synced === undefined && file?.unsaved !== undefined) throw file.unsaved;
    }
  }

  /**
   * An Edit that was to make files was taken back, also where it had made some: of those that were there before, and are
   * gone, all is known that was. What others wrote to one meanwhile keeps it.
   */
  async takenBack(edit: string, blocks: readonly string[]): Promise<void> {
    const { kernel, files, records, writing } = this.#ports;
    for (const block of blocks) {
      const file = files.of(block);
      if (file === undefined) continue;
      await files.queue.run([block], async () => {
        if (file.begun?.edit !== edit) return;
        const { was, version } = file.begun;
        // Before it is asked whether others wrote to it: what they write after that is new to the file.
        const now = await kernel.version(block);
        const isAll = await kernel.isAllBy(block, edit);
        if (file.synced !== undefined && !(isAll && (await writing.unmake(file)))) return;
        // The block says again what it said when this was begun.
        const isSame = isAll && isVersion(was.left, version - 1);
        records.putBack(file, { ...was, left: isSame ? { version: now } : was.left });
      });
    }
  }

  /**
   * Brings files back whose blocks were given a text of earlier days. One without text was none before, unless it is what
   * was made or `asked` for. Gives those that are there again: where files are saved by hand, it is so then.
   */
  async restore(
    blocks: readonly string[],
    mayMake: (path: string) => boolean,
    asked: ReadonlySet<string> = new Set(),
  ): Promise<string[]> {
    const wanted: string[] = [];
    const { kernel, disk, files, records, saving } = this.#ports;
    for (const block of blocks) {
      const file = files.of(block);
      if (file === undefined || !files.hasPath(file)) continue;
      await files.queue.run([block], async () => {
        // Nobody may have noticed yet that it went.
        if (!file.isAway && disk.look(file.path) !== undefined) return;
        if (await kernel.isUnmade(block)) {
          // Nobody is to be told that what was undone is missing.
          if (file.isAway) await records.giveUp(file);
          return;
        }
        const { text } = await kernel.read(block);
        if (text === "" && !asked.has(block) && !(await kernel.isRemade(block))) return;
        if (!mayMake(file.path)) return;
        records.leave(file);
        records.want(file);
        wanted.push(block);
      });
    }
    await saving.saveAll(blocks);
    return wanted.filter((block) => files.of(block)?.synced !== undefined);
  }

  /** Noted at once: who makes its file may be the next process. */
  #becomesProgram(file: MountedFile): void {
    file.mode = PROGRAM;
    this.#ports.ledger.note(file.block, file.record);
  }

  /** Whoever makes a file there meanwhile and the block both added everything: neither takes the other's place. */
  #standsAlone(file: MountedFile): void {
    file.left = { text: "" };
    this.#ports.ledger.note(file.block, file.record);
  }

  async #rewrite(
    invocation: Invocation,
    file: MountedFile,
    { content, edit: inEdit, isEdited = false }: Beginning,
  ): Promise<{ block: string; version: number; edit: string }> {
    const { block, record: was } = file;
    const made = await this.#ports.kernel.editFiles(invocation, {
      blocks: [block],
      operation: "change",
      // It was asked whether it may be created.
      isAllowed: true,
      makes: () => true,
      edit: inEdit,
      translate: (target) =>
        isEdited
          ? linesTo(target, content)
          : [{ at: 0, remove: target.read().length, insert: content }],
      answer: ({ edit, changes }) => ({ block, version: changes[0]!.version, edit }),
    });
    file.begun = { ...made, was };
    file.form = undefined;
    file.mode = undefined;
    return made;
  }
}

function isVersion(base: Base | undefined, version: number): boolean {
  return base !== undefined && "version" in base && base.version === version;
}

/** What will be read back: were it another text, the disk would have written to the file, and its making would not be undone. */
function textOfNew(content: string): string {
  return afterSaving({ text: content, form: PLAIN }).text;
}
