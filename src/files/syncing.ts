import { KumikoError } from "../base/index.ts";
import { type EditTarget, splitText } from "../blocks/index.ts";
import type { AboutToBe, Invocation, Kernel } from "../kernel/index.ts";
import { type FolderRules, whenBothChanged } from "../permission/index.ts";
import type { Claims } from "./claims.ts";
import { commonBase, textBehind, textOf } from "./common-base.ts";
import { type Since, writersIn } from "./conflict-writers.ts";
import { type Conflict, type Conflicts, type FoundConflict, isUndecided } from "./conflicts.ts";
import { Content } from "./content.ts";
import type { Disk } from "./disk.ts";
import type { StagedFile } from "./replacing.ts";
import { type FileStat, sameIdentity } from "./file-stat.ts";
import { DISK, type Found, type FoundText, readAtRest } from "./found-text.ts";
import type { LateWrites } from "./late-writes.ts";
import type { Base, Ledger, Synced } from "./ledger.ts";
import { type MergeConflict, type Merged, mergeTexts } from "./merge.ts";
import type { MountedFile } from "./mounted-file.ts";
import { overwritten } from "./overwritten.ts";
import { mayBeRead, withEarlier } from "./stale.ts";
import { takenBack } from "./taken-back.ts";
import { TakenEpoch } from "./taken-epoch.ts";
import type { StagedSave } from "./staged-saves.ts";
import type { ReplacedFile } from "./replaced-file.ts";
import { splicedBytes } from "./spliced-bytes.ts";
import { afterSaving, type TextForm, writeText } from "./text-form.ts";
import { PIECE } from "./whole-file.ts";

/** Of how many files the bytes are kept. */
const AT_HAND = 16;
/** How often a save is tried again because the disk moved meanwhile. */
const ATTEMPTS = 5;

export interface SyncingPorts {
  readonly kernel: Kernel;
  readonly disk: Disk;
  readonly ledger: Ledger;
  readonly late: LateWrites;
  readonly conflicts: Conflicts;
  rules(): FolderRules;
  /** Who announced a change of this path. */
  readonly claims: Claims;
  /** Whether git has just these bytes for a file. */
  isAsInGit(path: string, bytes: Uint8Array): boolean;
  /** Bytes above which a file is not read as text. */
  readonly largest: number;
}

const PLAIN: TextForm = { encoding: "utf-8", bom: false, crlf: false };

/**
 * Keeps blocks and files in step: takes in what is new on disk, writes what is new in blocks. Whoever calls holds the
 * files' queue.
 */
export class Syncing {
  readonly #ports: SyncingPorts;
  /** What files hold whose bytes are kept, the newest last. */
  readonly #atHand = new Set<Content>();

  constructor(ports: SyncingPorts) {
    this.#ports = ports;
  }

  /** What is on disk, unless it is known to be what was last seen there. */
  async find(file: MountedFile): Promise<Found> {
    const found = await this.#find(file);
    file.unread = found.kind === "unreadable" ? found.error : undefined;
    return found;
  }

  /** Whether what was seen on disk is what was last seen there. Nobody else may be at work on the file. */
  isSame(file: MountedFile, seen: FileStat): boolean {
    if (file.synced === undefined || !sameIdentity(seen, file.synced.identity)) return false;
    file.seen = seen;
    file.unread = undefined;
    return true;
  }

  async #find(file: MountedFile): Promise<Found> {
    const { synced } = file;
    const found = await readAtRest(this.#ports, file.path, {
      known: synced?.identity,
      before: synced?.form,
      seen: (seen) => (file.seen = seen),
    });
    if (found.kind !== "text" || synced?.content.equals(found.content) !== true) return found;
    // Touched, or saved anew with the same bytes.
    this.#synced(file, { ...synced, identity: found.identity });
    return { kind: "same" };
  }

  read(path: string, before?: TextForm): Promise<Found> {
    return readAtRest(this.#ports, path, { before });
  }

  /**
   * Takes in what was found for files, as one Edit by whoever caused it. Gives those that must be saved since both
   * sides had something new.
   */
  async takeIn(
    found: readonly (readonly [MountedFile, FoundText])[],
    cause: Invocation,
    epoch = new TakenEpoch(this.#ports.kernel),
  ): Promise<MountedFile[]> {
    const { kernel, late } = this.#ports;
    if (found.length === 0) return [];
    late.noticed();
    const byBlock = new Map(
      found.map(([file, text]) => {
        const isFresh = cause.actor !== DISK.actor || this.#isGits(file, text);
        return [file.block, [file, { ...text, isFresh }] as const];
      }),
    );
    if (cause === DISK && !epoch.isBegun)
      await this.#takeBack(found.filter(([, { writtenTo }]) => writtenTo === undefined));
    for (const [file, text] of byBlock.values()) await this.#foresee(file, text, cause);
    const merges = new Map<string, MergedFile>();
    const translate = (target: EditTarget, block: string): Merged["splices"] => {
      const [file, text] = byBlock.get(block)!;
      const merged = this.#merge(file, target, text);
      merges.set(block, merged);
      return overwritten(target, merged.splices);
    };
    // What is on disk has happened, whoever did it.
    const changed = await epoch.within((edit) =>
      kernel.editFiles(
        { ...cause, kind: "disk" },
        {
          blocks: [...byBlock.keys()],
          operation: "change",
          edit,
          translate,
          answer: (applied) => ({ edit: applied.edit, changes: applied.changes }),
        },
      ),
    );
    const unsaved: MountedFile[] = [];
    for (const { block, version } of changed.changes) {
      const [file, { text, form, content, identity, writtenTo }] = byBlock.get(block)!;
      const merged = merges.get(block)!;
      file.version = Math.max(file.version, version);
      const base = merged.text === text ? { version } : { text };
      await this.#keep(file, merged, { version, theirs: cause.actor });
      if (writtenTo !== undefined) {
        // The file is still what we wrote.
        if (!file.waits) unsaved.push(file);
        continue;
      }
      // What its block had when it went is in the merged text now, or in a conflict about it.
      if (file.synced === undefined) await this.#ports.conflicts.close(block, isGone);
      this.#synced(file, { base, content, identity, form });
      if (merged.save && !file.waits) unsaved.push(file);
    }
    return unsaved;
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
      const isReady =
        staged !== undefined &&
        staged.synced === synced &&
        staged.version === (await this.#ports.kernel.version(file.block));
      if (isReady ? await this.#put(file, staged) : await this.#write(file)) return;
      if (attempt === ATTEMPTS) throw restless(file.path);
      await this.catchUp(file);
    }
  }

  /** Writes the block's text; false when it is to be looked at again what is on disk and in the block. */
  async #write(file: MountedFile): Promise<boolean> {
    const { kernel, disk } = this.#ports;
    const { synced } = file;
    const { version, text } = await kernel.read(file.block);
    if (synced !== undefined && "version" in synced.base && synced.base.version === version)
      return true;
    const ready = formed(text, synced?.form ?? file.form ?? PLAIN);
    if (typeof ready === "string") {
      // What cannot be said in the file's form becomes what will be read back, or it would look like a change by others.
      await this.#become(file, ready, DISK);
      return false;
    }
    if (synced?.content.equals(ready.content) === true) {
      this.#synced(file, { ...synced, base: { version } });
      return true;
    }
    if (synced !== undefined && text === "" && (await kernel.isUnmade(file.block))) {
      if (!(await disk.remove(file.path, synced.content))) return false;
      this.leave(file);
      await this.giveUp(file);
      return true;
    }
    return this.#put(file, { ...ready, version });
  }

  /** Puts bytes over what was last seen on disk, or where nothing is; false when something else is there. */
  async #put(
    file: MountedFile,
    { version, bytes, content, form, file: staged }: Formed & { readonly version: number },
  ): Promise<boolean> {
    const { disk, late, conflicts } = this.#ports;
    const { synced, earlier } = file;
    const keeping = synced && {
      identity: synced.identity,
      keep: (replaced: ReplacedFile, uncompared?: Uint8Array) =>
        late.keep(replaced, { file, writtenTo: { ...synced, earlier } }, uncompared),
    };
    const expected = synced?.content ?? "absent";
    const identity = await disk.save(file.path, bytes, expected, { staged, keeping });
    if (identity === "moved") return false;
    file.seen = identity;
    // Whoever makes it anew has decided what it says.
    if (synced === undefined) await conflicts.close(file.block, isUndecided);
    this.#synced(file, { base: { version }, content, identity, form }, { isOwn: true });
    return true;
  }

  /** Makes ready what is about to be in the journal. What is longer is made ready when it is saved: others would wait. */
  stage(file: MountedFile, change: AboutToBe): StagedSave | undefined {
    const { version, text } = change;
    const { synced, seen } = file;
    if (synced === undefined || file.waits || text.length === 0 || text.length > PIECE)
      return undefined;
    const ready = reformed(synced, change) ?? formed(text.slice(0, text.length), synced.form);
    if (typeof ready === "string" || ready.content.equals(synced.content)) return undefined;
    const isSeen = seen !== undefined && sameIdentity(seen, synced.identity);
    const staged = this.#ports.disk.stage(file.path, ready.bytes, isSeen ? seen : undefined);
    return staged === undefined ? undefined : { ...ready, version, synced, file: staged };
  }

  /** Takes in what is on disk now. True when there is something to save then. */
  async catchUp(file: MountedFile, cause?: Invocation): Promise<boolean> {
    const isAhead = await this.tryCatchUp(file, cause);
    if (isAhead instanceof KumikoError) throw isAhead;
    return isAhead;
  }

  /** The same; an error when there is a file that cannot be read as text. */
  async tryCatchUp(file: MountedFile, cause?: Invocation): Promise<boolean | KumikoError> {
    const found = await this.find(file);
    if (found.kind === "text") {
      const by = cause ?? (await this.announcedBy(file, found)) ?? DISK;
      return (await this.takeIn([[file, found]], by)).length > 0;
    }
    if (found.kind === "unreadable") return found.error;
    if (found.kind === "absent") await this.gone(file);
    return false;
  }

  /** Who announced what was found. */
  async announcedBy(
    file: MountedFile,
    { text: after, writtenTo }: FoundText,
  ): Promise<Invocation | undefined> {
    const { claims, kernel } = this.#ports;
    if (!claims.isAnnounced(file.path)) return undefined;
    const base = (writtenTo ?? file.synced)?.base;
    const before =
      base === undefined ? "" : await kernel.tryOut(file.block, (target) => textOf(base, target));
    return claims.of(file.path, { before, after });
  }

  /** Makes the block what the file says, whatever it held; nothing about it is left to decide. False without a file. */
  async reload(file: MountedFile, invocation: Invocation): Promise<boolean> {
    const found = await this.read(file.path, file.synced?.form);
    if (found.kind === "unreadable") throw found.error;
    if (found.kind !== "text") {
      await this.gone(file);
      return false;
    }
    const version = await this.#become(file, found.text, invocation);
    await this.#ports.conflicts.close(file.block);
    const { content, identity, form } = found;
    this.#synced(file, { base: { version }, content, identity, form });
    return true;
  }

  /** Somebody took the file away. What its block had that was not saved is kept as a conflict. */
  async gone(file: MountedFile): Promise<void> {
    // One that is not there did not go.
    if (file.synced === undefined) return;
    const common = file.synced.base;
    const { kernel, conflicts } = this.#ports;
    const unsaved = await kernel.tryOut(file.block, (target) => {
      const memory = target.read();
      const base = textOf(common, target);
      if (memory === base) return undefined;
      const conflict = {
        base: wholeOf(base),
        memory: wholeOf(memory),
        disk: wholeOf(""),
        at: { start: 0, end: 0 },
        stood: "disk" as const,
        lost: memory,
        around: { before: [], after: [], lines: 0 },
      };
      const mine = writersIn(target, sinceOf(common))(conflict);
      return { version: target.version, conflicts: [{ ...conflict, mine }] };
    });
    if (unsaved !== undefined)
      await conflicts.add(file, { ...unsaved, theirs: DISK.actor, gone: true });
    this.leave(file);
  }

  /** The file is not there any more; its block stays and is revived when it comes back. */
  leave(file: MountedFile): void {
    if (file.synced === undefined) return;
    file.left = file.synced.base;
    file.form = file.synced.form;
    file.synced = undefined;
    file.unsaved = undefined;
    file.waits = false;
    this.#ports.ledger.note(file.block, file.record);
  }

  /** What its block had when the file went is given up: it is not merged when the file comes back. */
  async giveUp(file: MountedFile): Promise<void> {
    file.left = { version: await this.#ports.kernel.version(file.block) };
    this.#ports.ledger.note(file.block, file.record);
  }

  /** The file is to be there again, as its block says: it is made when it is saved. */
  want(file: MountedFile): void {
    file.wanted = true;
    this.#ports.ledger.note(file.block, file.record);
  }

  /**
   * Puts what somebody decided about a file that went into its block, with what others wrote there since: refuses when
   * they wrote the same lines.
   */
  async bringBack(
    file: MountedFile,
    { base, chosen }: { readonly base: string; readonly chosen: string },
    invocation: Invocation,
  ): Promise<void> {
    await this.#ports.kernel.editFiles(invocation, {
      blocks: [file.block],
      operation: "change",
      translate: (target) => {
        const texts = { base, memory: target.read(), disk: chosen };
        const { splices, conflicts } = mergeTexts(texts, whenBothChanged("read_write"));
        if (conflicts.length === 0) return splices;
        throw new KumikoError(
          "conflict",
          `Others changed the same lines of ${file.path} since it was gone: edit it as it is now, then resolve the conflict with choice now.`,
          { path: file.path, lost: conflicts.map(({ lost }) => lost) },
        );
      },
      answer: () => undefined,
    });
  }

  /** What took away what has returned is undone; what is taken in then is that both are the same. */
  async #takeBack(found: readonly (readonly [MountedFile, FoundText])[]): Promise<void> {
    const { kernel } = this.#ports;
    for (const [edit, texts] of await takenBack(kernel, found)) {
      try {
        await kernel.undoFiles(DISK, edit, texts);
      } catch (error) {
        // It changed other files as well, or something else too; or somebody was faster.
        if (!(error instanceof KumikoError) || error.code !== "nothing_to_undo") throw error;
      }
    }
  }

  /**
   * What will not stand is written down before it goes: a process that dies in between leaves it there, and finds it
   * when it merges again.
   */
  async #foresee(file: MountedFile, found: FoundText, { actor }: Invocation): Promise<void> {
    if (!file.ahead && file.left === undefined && file.earlier.length === 0) return;
    const foreseen = await this.#ports.kernel.tryOut(file.block, (target) => ({
      merged: this.#merge(file, target, found),
      told: { version: target.version + 1, theirs: actor },
    }));
    await this.#keep(file, foreseen.merged, foreseen.told);
  }

  /** Whether it was written by git, which asks nobody what was there. Only asked where it matters. */
  #isGits({ path, earlier }: MountedFile, { identity, content, text, form }: FoundText): boolean {
    if (!earlier.some((each) => mayBeRead(each, identity))) return false;
    return this.#ports.isAsInGit(path, content.bytes ?? writeText(text, form));
  }

  async #keep(
    file: MountedFile,
    { conflicts }: MergedFile,
    told: { version: number; theirs: string },
  ): Promise<void> {
    if (conflicts.length === 0) return;
    await this.#ports.conflicts.add(file, { conflicts, ...told });
    file.waits = this.#ports.conflicts.list(file.block).some(isUndecided);
  }

  /** Makes the block say that, by as few lines as it takes; gives its version. */
  async #become(file: MountedFile, text: string, invocation: Invocation): Promise<number> {
    return this.#ports.kernel.editFiles(invocation, {
      blocks: [file.block],
      operation: "change",
      translate: (target) => {
        const memory = target.read();
        return mergeTexts({ base: memory, memory, disk: text }, whenBothChanged("read_write"))
          .splices;
      },
      answer: ({ changes }) => changes[0]!.version,
    });
  }

  /** It is there again, or for the first time. */
  #synced(file: MountedFile, synced: Synced, { isOwn = false } = {}): void {
    file.earlier = withEarlier(file.earlier, file.synced, synced, isOwn);
    if (file.synced !== undefined && file.synced.content !== synced.content)
      this.#atHand.delete(file.synced.content);
    this.#keepAtHand(synced.content);
    file.synced = synced;
    file.left = undefined;
    file.form = undefined;
    file.wanted = false;
    file.unsaved = undefined;
    file.waits = this.#ports.conflicts.list(file.block).some(isUndecided);
    this.#ports.ledger.note(file.block, file.record);
  }

  /** Of what was written last: whoever changes a file once changes it again. */
  #keepAtHand(content: Content): void {
    this.#atHand.delete(content);
    if ((content.bytes?.length ?? Infinity) > PIECE) return content.letGo();
    this.#atHand.add(content);
    if (this.#atHand.size <= AT_HAND) return;
    const [oldest] = this.#atHand;
    this.#atHand.delete(oldest!);
    oldest!.letGo();
  }

  #merge(file: MountedFile, target: EditTarget, found: FoundText): MergedFile {
    const { level } = this.#ports.rules().levelOf(file.path);
    const memory = target.read();
    const common = commonBase(file, target, found);
    // A file that came back, and nobody knows what it was: what is there stands.
    const base = common === undefined ? memory : textBehind(common, target, found.text);
    const merged = mergeTexts({ base, memory, disk: found.text }, whenBothChanged(level));
    const writers = writersIn(target, sinceOf(common));
    const conflicts = merged.conflicts.map((each) => ({ ...each, mine: writers(each) }));
    return { ...merged, conflicts };
  }
}

type MergedFile = Omit<Merged, "conflicts"> & { readonly conflicts: readonly FoundConflict[] };

/** Also whoever changed the file by tools of its own is told of what it wrote to the block before. */
function sinceOf(common: Base | undefined): Since {
  const base = common !== undefined && "version" in common ? common.version : undefined;
  return { base, known: base ?? 0, except: DISK.actor };
}

interface Formed {
  readonly form: TextForm;
  readonly bytes: Uint8Array;
  readonly content: Content;
  readonly file?: StagedFile;
}

/** What was changed in bytes that are at hand; undefined when they are not, or the whole text is needed. */
function reformed({ base, content, form }: Synced, change: AboutToBe): Formed | undefined {
  if (content.bytes === undefined || !("version" in base) || base.version !== change.before)
    return undefined;
  const bytes = splicedBytes(content.bytes, form, change);
  return bytes && { form, bytes, content: Content.of(bytes) };
}

/** A text as bytes; another text when that is what would be read back. */
function formed(text: string, wanted: TextForm): Formed | string {
  const { text: kept, form } = afterSaving({ text, form: wanted });
  if (kept !== text) return kept;
  const bytes = writeText(text, form);
  return { form, bytes, content: Content.of(bytes) };
}

function isGone({ gone }: Conflict): boolean {
  return gone === true;
}

function wholeOf(text: string): MergeConflict["base"] {
  return { start: 0, end: splitText(text).lines.length, text };
}

export function restless(path: string): KumikoError {
  return new KumikoError(
    "file_unwritable",
    `${path} was changed again and again while it was to be saved. What you wrote is kept and saved when it is quiet.`,
    { path },
  );
}
