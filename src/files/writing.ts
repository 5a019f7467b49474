import { KumikoError } from "../base/index.ts";
import type { AboutToBe, Kernel } from "../kernel/index.ts";
import { type Conflicts, isUndecided } from "./conflicts.ts";
import { Content } from "./content.ts";
import type { Disk } from "./disk.ts";
import { sameIdentity } from "./file-stat.ts";
import { DISK } from "./found-text.ts";
import type { LateWrites } from "./late-writes.ts";
import type { Synced } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";
import { isOpenForWriting } from "./open-elsewhere.ts";
import type { Records } from "./records.ts";
import type { ReplacedFile } from "./replaced-file.ts";
import type { StagedFile } from "./replacing.ts";
import { splicedBytes } from "./spliced-bytes.ts";
import type { StagedSave } from "./staged-saves.ts";
import type { Syncing } from "./syncing.ts";
import { afterSaving, PLAIN, type TextForm, writeText } from "./text-form.ts";
import { PIECE } from "./whole-file.ts";

/** How often a save is tried again because the disk moved meanwhile. */
const ATTEMPTS = 5;

export interface WritingPorts {
  readonly kernel: Kernel;
  readonly disk: Disk;
  readonly records: Records;
  readonly late: LateWrites;
  readonly conflicts: Conflicts;
  readonly syncing: Syncing;
}

/** Writes what is new in blocks to their files. Whoever calls holds the files' queue. */
export class Writing {
  readonly #ports: WritingPorts;

  constructor(ports: WritingPorts) {
    this.#ports = ports;
  }

  /**
   * Writes what the block holds, over what was last seen on disk and nothing else. A file that is not there stays away,
   * unless it is to be made.
   */
  async save(
    file: MountedFile,
    {
      make = file.wanted,
      staged,
    }: { readonly make?: boolean; readonly staged?: StagedSave | undefined } = {},
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { synced } = file;
      if (synced === undefined ? !make : file.waits) return;
      // One that is in nobody's way and could not be put in place is gone.
      const isReady =
        attempt === 1 &&
        staged !== undefined &&
        staged.synced === synced &&
        staged.version === (await this.#ports.kernel.version(file.block));
      if (isReady ? await this.#put(file, staged) : await this.#write(file)) return;
      if (attempt === ATTEMPTS) throw restless(file.path);
      await this.#ports.syncing.catchUp(file);
    }
  }

  /** Writes the block's text; false when it is to be looked at again what is on disk and in the block. */
  async #write(file: MountedFile): Promise<boolean> {
    const { kernel, records, syncing } = this.#ports;
    const { synced } = file;
    const { version, text } = await kernel.read(file.block);
    if (synced !== undefined && "version" in synced.base && synced.base.version === version)
      return true;
    const ready = formed(text, synced?.form ?? file.form ?? PLAIN);
    if (typeof ready === "string") {
      // What cannot be said in the file's form becomes what will be read back, or it would look like a change by others.
      await syncing.become(file, ready, DISK);
      return false;
    }
    // Before they are compared: a file that is not to be may say what its block says without it.
    if (await kernel.isUnmade(file.block)) {
      if (!(await this.unmake(file))) return false;
      await records.giveUp(file);
      return true;
    }
    if (synced?.content.equals(ready.content) === true) {
      records.inStep(file, { ...synced, base: { version } });
      return true;
    }
    return this.#put(file, { ...ready, version });
  }

  /** Takes a file away that is not to be; false when something else is there than was last seen. */
  async unmake(file: MountedFile): Promise<boolean> {
    const { path, synced } = file;
    if (synced !== undefined && !(await this.#remove(path, synced))) return false;
    this.#ports.records.leave(file);
    return true;
  }

  /**
   * Whoever begins to write an empty file anew changes nothing of it at first but its times, and may be long about it: what
   * is written to a file that has no name any more, nobody ever reads.
   */
  async #remove(path: string, { content, identity }: Synced): Promise<boolean> {
    const { disk } = this.#ports;
    const found = disk.identity(path);
    if (found !== undefined && !sameIdentity(found, identity)) return false;
    if (found !== undefined && (await isOpenForWriting(found))) throw inUse(path);
    return disk.remove(path, content);
  }

  /** Puts bytes over what was last seen on disk, or where nothing is; false when something else is there. */
  async #put(
    file: MountedFile,
    { version, bytes, content, form, file: staged }: Formed & { readonly version: number },
  ): Promise<boolean> {
    const { disk, late, records, conflicts } = this.#ports;
    const { synced, earlier } = file;
    const keeping = synced && {
      identity: synced.identity,
      keep: (replaced: ReplacedFile, uncompared?: Uint8Array) =>
        late.keep(replaced, { file, writtenTo: { ...synced, earlier } }, uncompared),
    };
    const expected = synced?.content ?? "absent";
    const { mode } = file;
    const identity = await disk.save(file.path, bytes, expected, { staged, keeping, mode });
    if (identity === "moved") return false;
    file.seen = identity;
    // Whoever makes it again has decided what it says. What a file said before one was begun in its place is nowhere else.
    if (synced === undefined)
      await conflicts.close(file.block, (each) =>
        each.gone === true ? !file.isBegunAnew : isUndecided(each),
      );
    records.inStep(file, { base: { version }, content, identity, form }, { isOwn: true });
    return true;
  }

  /** Makes ready what is about to be in the journal. What is longer is made ready when it is saved: others would wait. */
  stage(file: MountedFile, change: AboutToBe): StagedSave | undefined {
    const { version, text } = change;
    const { synced, seen } = file;
    if (synced === undefined || file.waits || text.length === 0 || text.length > PIECE)
      return undefined;
    const ready = reformed(synced, change) ?? inOnePiece(text.slice(0, text.length), synced);
    if (ready === undefined || lengthOf(ready.pieces) > PIECE) return undefined;
    if (isSame(ready.pieces, synced.content)) return undefined;
    const isSeen = seen !== undefined && sameIdentity(seen, synced.identity);
    const staged = this.#ports.disk.stage(file.path, ready.pieces, isSeen ? seen : undefined);
    if (staged === undefined) return undefined;
    // Only now that they are on their way to the disk: to join them takes a while.
    const { form, pieces } = ready;
    const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    return { form, bytes, content: Content.of(bytes), version, synced, file: staged };
  }
}

interface Pieces {
  readonly form: TextForm;
  readonly pieces: readonly Uint8Array[];
}

interface Formed {
  readonly form: TextForm;
  readonly bytes: Uint8Array;
  readonly content: Content;
  readonly file?: StagedFile;
}

/** What was changed in bytes that are at hand; undefined when they are not, or the whole text is needed. */
function reformed({ base, content, form }: Synced, change: AboutToBe): Pieces | undefined {
  const { bytes } = content;
  if (bytes === undefined || !("version" in base) || base.version !== change.before)
    return undefined;
  const pieces = splicedBytes(bytes, form, change);
  return pieces && { form, pieces };
}

/** Undefined when another text would be read back. */
function inOnePiece(text: string, { form: wanted }: Synced): Pieces | undefined {
  const ready = formed(text, wanted);
  return typeof ready === "string" ? undefined : { form: ready.form, pieces: [ready.bytes] };
}

/** Whether a file says that already: then nothing is to be written. */
function isSame(pieces: readonly Uint8Array[], content: Content): boolean {
  const { bytes } = content;
  if (bytes === undefined) return Content.of(Buffer.concat(pieces)).equals(content);
  if (lengthOf(pieces) !== bytes.length) return false;
  let at = 0;
  return pieces.every((piece) => {
    const part = bytes.subarray(at, (at += piece.length));
    // What is a view of the very bytes need not be looked at.
    return (
      (piece.buffer === part.buffer && piece.byteOffset === part.byteOffset) ||
      Buffer.compare(piece, part) === 0
    );
  });
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** A text as bytes; another text when that is what would be read back. */
function formed(text: string, wanted: TextForm): Formed | string {
  const { text: kept, form } = afterSaving({ text, form: wanted });
  if (kept !== text) return kept;
  const bytes = writeText(text, form);
  return { form, bytes, content: Content.of(bytes) };
}

function inUse(path: string): KumikoError {
  return new KumikoError(
    "file_unwritable",
    `A program has ${path} open and may be writing to it: it is removed when that is done, unless something was written.`,
    { path },
  );
}

export function restless(path: string): KumikoError {
  return new KumikoError(
    "file_unwritable",
    `${path} was changed again and again while it was to be saved. What you wrote is kept and saved when it is quiet.`,
    { path },
  );
}
