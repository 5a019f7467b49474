import { type Clock, KumikoError } from "../base/index.ts";
import { type EditTarget, splitText } from "../blocks/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import { type FolderRules, whenBothChanged } from "../permission/index.ts";
import type { Announcement, Claims } from "./claims.ts";
import { commonBase, textBehind, textOf } from "./common-base.ts";
import { type Since, writersIn } from "./conflict-writers.ts";
import { type Conflict, type Conflicts, type FoundConflict, isUndecided } from "./conflicts.ts";
import type { Disk } from "./disk.ts";
import { type FileStat, sameIdentity } from "./file-stat.ts";
import { DISK, type Found, type FoundText, readAtRest, type Reading } from "./found-text.ts";
import type { LateWrites } from "./late-writes.ts";
import type { Base } from "./ledger.ts";
import type { GitLooks } from "./git-looks.ts";
import { type MergeConflict, type Merged, mergeTexts } from "./merge.ts";
import type { MountedFile } from "./mounted-file.ts";
import { overwritten } from "./overwritten.ts";
import type { Records } from "./records.ts";
import { firstWritten, isRecent } from "./stale.ts";
import { takenBack } from "./taken-back.ts";
import { TakenEpoch } from "./taken-epoch.ts";
import { writeText } from "./text-form.ts";

export interface SyncingPorts {
  readonly kernel: Kernel;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly records: Records;
  readonly late: LateWrites;
  readonly conflicts: Conflicts;
  rules(): FolderRules;
  /** Who announced a change of this path. */
  readonly claims: Claims;
  /** What git has seen of what it writes over. */
  readonly git: GitLooks;
  /** Bytes above which a file is not read as text. */
  readonly largest: number;
}

/** Takes what is new on disk into blocks, one file's or several at once. Whoever calls holds the files' queue. */
export class Syncing {
  readonly #ports: SyncingPorts;

  constructor(ports: SyncingPorts) {
    this.#ports = ports;
  }

  /** What is on disk, unless it is known to be what was last seen there. */
  async find(file: MountedFile, { isSaidGone = false } = {}): Promise<Found> {
    const { synced } = file;
    let seen = file.seen;
    const found = await readAtRest(this.#ports, file.path, {
      known: synced?.identity,
      isTouched: (stat) => file.isTouched(stat),
      before: synced?.form,
      isSaidGone,
      seen: (stat) => (seen = stat),
    });
    const isKnown = found.kind === "text" && synced?.content.equals(found.content) === true;
    // Whoever only asks takes nothing in: what is not in step must be found again.
    if (isKnown || found.kind === "same") file.seen = seen;
    if (!isKnown) return found;
    // Touched, or saved anew with the same bytes.
    this.#ports.records.inStep(file, { ...synced, identity: found.identity });
    return { kind: "same" };
  }

  /** Whether what was seen on disk is what was last seen there. Nobody else may be at work on the file. */
  isSame(file: MountedFile, seen: FileStat): boolean {
    if (file.synced === undefined || !sameIdentity(seen, file.synced.identity)) return false;
    if (file.isTouched(seen)) return false;
    file.seen = seen;
    return true;
  }

  read(path: string, reading: Pick<Reading, "before" | "seen"> = {}): Promise<Found> {
    return readAtRest(this.#ports, path, reading);
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
        const seenUntil = this.#seenUntil(file, text, cause);
        return [file.block, [file, { ...text, seenUntil }] as const];
      }),
    );
    if (cause === DISK && !epoch.isBegun)
      await this.#takeBack(found.filter(([, { writtenTo }]) => writtenTo === undefined));
    for (const [file, text] of byBlock.values()) await this.#foresee(file, text, cause);
    const cameBack = await this.#cameBack(found);
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
          makes: (block) => cameBack.has(block),
          answer: (applied) => ({ edit: applied.edit, changes: applied.changes }),
        },
      ),
    );
    const unsaved: MountedFile[] = [];
    for (const { block, version } of changed.changes) {
      const [file, { text, form, content, identity, seen, writtenTo, isPart }] =
        byBlock.get(block)!;
      const merged = merges.get(block)!;
      file.version = Math.max(file.version, version);
      const base = merged.text === text ? { version } : { text };
      await this.#keep(file, merged, { version, theirs: cause.actor });
      if (isPart === true) continue;
      if (writtenTo !== undefined) {
        // The file is still what we wrote.
        if (!file.waits) unsaved.push(file);
        continue;
      }
      // What its block had when it went is in the merged text now, or in a conflict about it.
      if (file.synced === undefined && !file.isBegunAnew)
        await this.#ports.conflicts.close(block, isGone);
      this.#ports.records.inStep(file, { base, content, identity, form });
      file.seen = seen;
      if (merged.save && !file.waits) unsaved.push(file);
    }
    return unsaved;
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
      const by = (await this.takeInPart(file, found, cause)) ?? cause ?? DISK;
      return (await this.takeIn([[file, found]], by)).length > 0;
    }
    if (found.kind === "unreadable") return found.error;
    if (found.kind === "absent") await this.gone(file);
    return false;
  }

  /**
   * Who announced what was found, if anybody did; with a cause, its call. What others wrote in the same moment is not
   * theirs: then their part is taken in, and what is left is the disk's.
   */
  async takeInPart(
    file: MountedFile,
    found: FoundText,
    own?: Invocation,
  ): Promise<Invocation | undefined> {
    const announcement = await this.#announcedBy(file, found, own);
    if (announcement === undefined) return undefined;
    const { cause, part } = announcement;
    if (part === undefined) return cause;
    await this.takeIn([[file, { ...found, text: part, isPart: true }]], cause);
    return DISK;
  }

  async #announcedBy(
    file: MountedFile,
    { text: after, writtenTo }: FoundText,
    own: Invocation | undefined,
  ): Promise<Announcement | undefined> {
    const { claims, kernel } = this.#ports;
    if (!claims.isAnnounced(file.path)) return undefined;
    const base = (writtenTo ?? file.synced)?.base;
    const [before, memory] =
      base === undefined
        ? []
        : await kernel.tryOut(file.block, (target) => [textOf(base, target), target.read()]);
    const announcement = claims.of(file.path, { before, after }, own);
    // Where the block has something new as well, all of the file is merged with it at once.
    const isAlone = writtenTo === undefined && before === memory;
    return isAlone ? announcement : announcement && { cause: announcement.cause };
  }

  /** Makes the block what the file says, whatever it held; nothing about it is left to decide. False without a file. */
  async reload(file: MountedFile, invocation: Invocation): Promise<boolean> {
    const found = await this.read(file.path, { before: file.synced?.form });
    if (found.kind === "unreadable") throw found.error;
    if (found.kind !== "text") {
      await this.gone(file);
      return false;
    }
    const version = await this.become(file, found.text, invocation);
    await this.#ports.conflicts.close(file.block);
    const { content, identity, form } = found;
    this.#ports.records.inStep(file, { base: { version }, content, identity, form });
    return true;
  }

  /** Somebody took the file away. What its block had that was not saved is kept as a conflict. */
  async gone(file: MountedFile): Promise<void> {
    // One that is not there did not go.
    const { synced } = file;
    if (synced === undefined) return;
    const common = synced.base;
    const { kernel, conflicts, clock } = this.#ports;
    const unsaved = await kernel.tryOut(file.block, (target) => {
      const memory = target.read();
      const base = textOf(common, target);
      if (memory === base || memory === "") return undefined;
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
    this.#ports.records.leave(file);
    file.went = { synced, at: clock.now() };
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

  /** Files that somebody made where the making of one was undone: that happened also when they are empty. */
  async #cameBack(found: readonly (readonly [MountedFile, FoundText])[]): Promise<Set<string>> {
    const blocks = new Set<string>();
    for (const [{ block, synced }] of found)
      if (synced === undefined && (await this.#ports.kernel.isUnmade(block))) blocks.add(block);
    return blocks;
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

  /**
   * When whoever wrote it last looked at what was there, if that is known. Who announced a change did when it wrote; git,
   * before: what it finds changed then it refuses to write over, or was told not to keep.
   */
  #seenUntil(file: MountedFile, found: FoundText, cause: Invocation): bigint | undefined {
    const { identity, content, text, form } = found;
    if (cause.actor !== DISK.actor) return identity.changed;
    // Only asked where it matters.
    if (!file.earlier.some((each) => each.isOwn && isRecent(each, identity))) return undefined;
    const bytes = content.bytes ?? writeText(text, form);
    const written = firstWritten(identity, file.writtenSince);
    const seen = this.#ports.git.seenUntil(
      file.path,
      { bytes, identity },
      file.synced?.content.bytes,
    );
    // It saw what another program had written, who had not seen our saves, and wrote on top of that.
    return seen !== undefined && written < seen ? undefined : seen;
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
  async become(file: MountedFile, text: string, invocation: Invocation): Promise<number> {
    return this.#ports.kernel.editFiles(invocation, {
      blocks: [file.block],
      operation: "change",
      translate: (target) => linesTo(target, text),
      answer: ({ changes }) => changes[0]!.version,
    });
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

/** What makes a block say that, by as few lines as it takes. */
export function linesTo(target: EditTarget, text: string): Merged["splices"] {
  const memory = target.read();
  const texts = { base: memory, memory, disk: text };
  return mergeTexts(texts, whenBothChanged("read_write")).splices;
}

type MergedFile = Omit<Merged, "conflicts"> & { readonly conflicts: readonly FoundConflict[] };

/** Also whoever changed the file by tools of its own is told of what it wrote to the block before. */
function sinceOf(common: Base | undefined): Since {
  const base = common !== undefined && "version" in common ? common.version : undefined;
  return { base, known: base ?? 0, except: DISK.actor };
}

function isGone({ gone }: Conflict): boolean {
  return gone === true;
}

function wholeOf(text: string): MergeConflict["base"] {
  return { start: 0, end: splitText(text).lines.length, text };
}
