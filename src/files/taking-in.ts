import { KumikoError } from "../base/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import type { Claims } from "./claims.ts";
import { Content } from "./content.ts";
import type { Disk } from "./disk.ts";
import type { Following, Unmatched } from "./following.ts";
import { DISK, type FoundText, textIn } from "./found-text.ts";
import type { LateWrite, WrittenTo } from "./late-writes.ts";
import type { Stamp } from "./look.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { MountedFiles } from "./mounted-files.ts";
import type { Came } from "./renames.ts";
import type { Saving } from "./saving.ts";
import type { Syncing } from "./syncing.ts";
import { TakenEpoch } from "./taken-epoch.ts";

export interface TakingInPorts {
  readonly kernel: Kernel;
  readonly disk: Disk;
  readonly files: MountedFiles;
  readonly claims: Claims;
  readonly syncing: Syncing;
  readonly saving: Saving;
  readonly following: Following;
  /** Bytes above which a file is not read as text. */
  readonly largest: number;
}

/** What is known to have changed on disk, all of it by one cause. */
export interface DiskChanges {
  /** Changes of one number are one happening, told in parts. */
  readonly epoch?: number;
  readonly changed: readonly string[];
  readonly gone: readonly string[];
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  /** Files that changed or were renamed, as they are now. */
  readonly there?: readonly (readonly [path: string, stamp: Stamp])[];
}

/** Takes what happened on disk into the blocks of a folder. */
export class TakingIn {
  readonly #ports: TakingInPorts;
  #epoch: TakenEpoch;

  constructor(ports: TakingInPorts) {
    this.#ports = ports;
    this.#epoch = new TakenEpoch(ports.kernel);
  }

  /** What is on disk now, as somebody's own. */
  async asOwn(invocation: Invocation, file: MountedFile): Promise<void> {
    const { files, claims, syncing, saving } = this.#ports;
    const ahead = await files.queue.run([file.block], () => syncing.catchUp(file, invocation));
    if (ahead) await saving.saveAll([file.block]);
    claims.end(file.path, invocation);
  }

  /** What a program wrote to a file after we had put another in its place. Gives what it will write to next. */
  async late(written: LateWrite): Promise<WrittenTo> {
    const { file, writtenTo, bytes, identity } = written;
    const { files, syncing, saving } = this.#ports;
    const found = textIn(file.path, bytes, {
      largest: this.#ports.largest,
      before: writtenTo.form,
    });
    if (found instanceof KumikoError) throw found;
    const late = { ...found, content: Content.of(bytes), identity, writtenTo };
    const unsaved = await files.queue.run([file.block], async () => {
      // Who took the file away took that with it.
      if (file.synced === undefined || !written.isWanted()) return [];
      const cause = (await syncing.takeInPart(file, late)) ?? DISK;
      return syncing.takeIn([[file, late]], cause);
    });
    await saving.saveAll(unsaved.map(({ block }) => block));
    return { base: { text: found.text }, form: found.form, earlier: [] };
  }

  /** Everything of one epoch is one Edit, but for what somebody announced. */
  async changed(changes: DiskChanges, cause = DISK): Promise<void> {
    const { epoch, changed, gone, renamed, there = [] } = changes;
    const { kernel, files, following } = this.#ports;
    if (!this.#epoch.is(epoch)) this.#epoch = new TakenEpoch(kernel, epoch);
    const taken = this.#epoch;
    for (const { from, to } of renamed)
      await this.#sparing(this.#at([from]), async ([file]) => {
        if (file !== undefined) await following.moved(from, to, cause, taken);
      });
    const came = there.flatMap((each) =>
      files.at(each[0])?.synced === undefined ? cameAs(each) : [],
    );
    await this.#follow({ gone, came, isNew: () => true }, cause, taken);
    const touched = [...changed, ...renamed.flatMap(({ from, to }) => [from, to])];
    await this.#take([...touched, ...gone], cause, taken, new Set(gone));
  }

  /**
   * What happened while nobody looked: compares every file that has a block with the disk. Of those that are not where
   * they were it is found out which of the files that are there they are; `since` is when somebody last looked, if that
   * is known.
   */
  async catchUp(
    there: Iterable<readonly [path: string, stamp: Stamp]> = [],
    since?: number,
  ): Promise<void> {
    const { kernel, disk, files, saving } = this.#ports;
    const missing = new Set(files.paths());
    const came: Came[] = [];
    for (const each of there) if (!missing.delete(each[0])) came.push(cameAs(each));
    const taken = new TakenEpoch(kernel);
    const last = since === undefined ? undefined : BigInt(Math.ceil(since)) * 1_000_000n;
    const isNew = (path: string) => last !== undefined && disk.born(path) >= last;
    await this.#follow({ gone: [...missing], came, isNew }, DISK, taken);
    await this.#take(files.paths(), DISK, taken);
    await saving.saveAhead();
  }

  #follow(unmatched: Unmatched, cause: Invocation, taken: TakenEpoch): Promise<void> {
    return this.#sparing(this.#at(unmatched.gone), (files) => {
      const gone = files.map(({ path }) => path);
      return this.#ports.following.follow({ ...unmatched, gone }, cause, taken);
    });
  }

  async #take(
    paths: readonly string[],
    cause: Invocation,
    taken: TakenEpoch,
    gone: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    const { files: known, syncing, saving } = this.#ports;
    const files = this.#at(paths).filter(({ damaged }) => damaged === undefined);
    if (files.length === 0) return;
    const unsaved = await known.queue.run(
      files.map(({ block }) => block),
      async () => {
        const found: (readonly [MountedFile, FoundText])[] = [];
        for (const file of files) {
          const each = await syncing.find(file, { isSaidGone: gone.has(file.path) });
          if (each.kind === "text") found.push([file, each]);
          else if (each.kind === "absent") await this.#gone(file, taken);
        }
        const causes = new Map<MountedFile, Invocation>();
        for (const [file, each] of found)
          causes.set(file, (await this.#takeInPart(file, each, cause)) ?? cause);
        const byCause = Map.groupBy(found, ([file]) => causes.get(file)!);
        const save: MountedFile[] = [];
        for (const [by, own] of byCause)
          save.push(...(await this.#takeIn(own, by, by === cause ? taken : undefined)));
        return save;
      },
    );
    await saving.saveAll(unsaved.map(({ block }) => block));
  }

  #gone(gone: MountedFile, taken: TakenEpoch): Promise<void> {
    return this.#sparing([gone], async ([file]) => {
      if (file?.synced === undefined) return;
      const { synced } = file;
      await this.#ports.syncing.gone(file);
      taken.went.set(file, synced);
    });
  }

  /** What is left of one that was announced is the epoch's. */
  #takeInPart(
    file: MountedFile,
    found: FoundText,
    cause: Invocation,
  ): Promise<Invocation | undefined> {
    return this.#sparing([file], async ([each]) => {
      const by = each && (await this.#ports.syncing.takeInPart(each, found));
      return by === DISK ? cause : by;
    });
  }

  #takeIn(
    found: readonly (readonly [MountedFile, FoundText])[],
    cause: Invocation,
    taken: TakenEpoch | undefined,
  ): Promise<MountedFile[]> {
    const texts = new Map(found);
    return this.#sparing([...texts.keys()], (files) =>
      this.#ports.syncing.takeIn(
        files.map((file) => [file, texts.get(file)!]),
        cause,
        taken,
      ),
    );
  }

  #at(paths: readonly string[]): MountedFile[] {
    return [...new Set(paths)].flatMap((path) => this.#ports.files.at(path) ?? []);
  }

  /** Does it without those whose blocks turn out to be damaged: they alone stay as they are, and say why. */
  async #sparing<Result>(
    files: readonly MountedFile[],
    task: (readable: readonly MountedFile[]) => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      try {
        return await task(files.filter(({ damaged }) => damaged === undefined));
      } catch (error) {
        if (!this.#isNewDamage(error)) throw error;
      }
    }
  }

  /** False also for what is known: to try again without it would change nothing. */
  #isNewDamage(error: unknown): boolean {
    if (!(error instanceof KumikoError) || error.code !== "quarantined") return false;
    const { block } = error.facts;
    const file = typeof block === "string" ? this.#ports.files.of(block) : undefined;
    if (file === undefined || file.damaged !== undefined) return false;
    file.damaged = error;
    return true;
  }
}

function cameAs([path, { size, inode }]: readonly [path: string, stamp: Stamp]): Came {
  return { path, size, inode: Number(inode) };
}
