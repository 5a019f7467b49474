import { KumikoError } from "../base/index.ts";
import {
  type AboutToBe,
  type CallerKind,
  type ConversationRules,
  type Decision,
  type FileFlip,
  type FilePort,
  type FileTextPage,
  type FileTextQuery,
  type Invocation,
  type NewFile,
  type Operation,
  type PlannedFlip,
  type PlannedGoing,
  ruled,
  type UnsavedFile,
} from "../kernel/index.ts";
import { isUndecided, type ShownConflict, shownConflict } from "./conflicts.ts";
import { purgeRecords } from "./ledger.ts";
import type { Mount } from "./mount.ts";
import type { Mounts } from "./mounts.ts";
import { findPlace, givenFor, meant } from "./places.ts";
import { StagedSaves } from "./staged-saves.ts";
import { unloadedTexts } from "./unloaded-texts.ts";
import {
  checkNoLink,
  checkWay,
  plannedDeletion,
  plannedMove,
  plannedReturn,
  plannedWayBack,
} from "./whole-changes.ts";

/** Files of one Edit that are made ready while it is written: the others wait for their turn. */
const STAGED_AT_ONCE = 16;

/** What came now might find no folder to be written to. */
const LEAVING: Decision = {
  decision: "deny",
  reason: "its folder is just being unmounted, or mounted with other settings.",
};

/** What a kernel asks of its folders. Owns them: they are closed with it. */
export class MountsPort implements FilePort {
  readonly #mounts: Mounts;

  constructor(mounts: Mounts) {
    this.#mounts = mounts;
  }

  async target(invocation: Invocation, given: string, operation: Operation): Promise<string> {
    const { mount, path, known, seen } = meant(this.#mounts, given, invocation);
    if (mount === undefined) return given;
    check(mount, path, operation, invocation);
    const { source } = mount;
    const file = known ?? source.files.at(path);
    if (file === undefined) return (await source.load(path)).block;
    const why = await source.refresh(file, seen);
    if (why === undefined) return file.block;
    const isRestored = operation === "restore" && file.isAway && source.files.hasPath(file);
    if (operation !== "read" && !isRestored) throw why;
    // What it said can be read and brought back, whatever became of the file.
    if (operation === "read")
      invocation.onUnsaved?.({ path, block_id: file.block, why: why.message, unread: true });
    return file.block;
  }

  authorise(
    { kind = "person" }: { readonly actor: string; readonly kind?: CallerKind | undefined },
    operation: Operation,
    target: string,
  ): Decision | undefined {
    const asked = ruled[operation];
    if (asked === undefined || !target.startsWith("@")) return undefined;
    const found = this.#mounts.fileOf(target);
    const isOwn = kind === "disk" || kind === "system";
    if (found !== undefined) {
      const { mount, file } = found;
      if (asked !== "read" && !isOwn && this.#mounts.isLeaving(mount)) return LEAVING;
      const decision = mount.decide(file.path, asked, kind);
      // Who changes what is not on disk makes it there again.
      const isMade = asked === "change" && file.isAway && decision.decision === "allow";
      return isMade ? mount.decide(file.path, "create", kind) : decision;
    }
    // A block that is just made is no file yet; whoever makes it has asked.
    if (operation === "create" || isOwn)
      return { decision: "allow", reason: "what a folder needs by itself is allowed." };
    return {
      decision: "deny",
      reason: "its folder is not mounted now, so nobody knows its rules.",
    };
  }

  rules(): readonly ConversationRules[] | undefined {
    return this.#mounts.conversationRules();
  }

  hidden(block: string): boolean {
    const found = this.#mounts.fileOf(block);
    if (found === undefined) return block.startsWith("@");
    return found.mount.rules.levelOf(found.file.path).level === "secret";
  }

  async withheld(invocation: Invocation): Promise<{ blocks: string[]; folders: string[] }> {
    const { kernel, kept } = this.#mounts;
    const names = await kept.names();
    const blocks = this.#mounts
      .list()
      .flatMap(({ source }) => source.files.all().map(({ block }) => block))
      .filter((block) => this.hidden(block) || !kernel.mayRead(invocation, block));
    const failed = this.#mounts.failed().map(({ mount }) => mount);
    const folders = [...names, ...failed].filter((name) => !this.#mounts.isMounted(name));
    return { blocks, folders: [...new Set(folders)] };
  }

  /** Conflicts that a caller was not told of yet and whose text it may read; it is told now. */
  tell(invocation: Invocation): (ShownConflict & { readonly lost: string })[] {
    const mayBeTold = ({ block }: { readonly block: string }): boolean =>
      this.authorise(invocation, "read", block)?.decision === "allow";
    const told = this.#mounts.conflicts.tell(invocation.actor, mayBeTold);
    return told.map((each) => ({ ...shownConflict(each), lost: each.lost }));
  }

  committed(block: string, version: number, by: CallerKind = "person"): void {
    this.#mounts.fileOf(block)?.mount.source.saving.committed(block, version, by);
  }

  stage(changes: readonly AboutToBe[]): StagedSaves | undefined {
    if (!changes.some(({ block }) => block.startsWith("@"))) return undefined;
    const staged = new StagedSaves();
    for (const change of changes) {
      const found = this.#mounts.fileOf(change.block);
      if (found !== undefined && staged.size < STAGED_AT_ONCE)
        found.mount.source.saving.stage(found.file, change, staged);
    }
    return staged;
  }

  async saved(blocks: readonly string[], staged?: StagedSaves): Promise<void> {
    const files = blocks.filter((block) => block.startsWith("@"));
    for (const [mount, own] of this.#byMount(files))
      await mount?.source.saving.saveAll(own, staged);
  }

  async purged(blocks: readonly string[]): Promise<void> {
    for (const block of blocks) {
      const file = this.#mounts.fileOf(block)?.file;
      if (file !== undefined) file.writer = "system";
    }
    await this.saved(blocks);
  }

  away(blocks: readonly string[]): Set<string> {
    return new Set(blocks.filter((block) => this.#mounts.fileOf(block)?.file.isAway === true));
  }

  async restored(
    { kind = "person" }: Invocation,
    blocks: readonly string[],
    asked?: ReadonlySet<string>,
  ): Promise<Set<string>> {
    const made = new Set<string>();
    for (const [mount, own] of this.#byMount(blocks)) {
      if (mount === undefined) continue;
      const mayMake = (path: string) => mount.decide(path, "create", kind).decision === "allow";
      for (const block of await mount.source.making.restore(own, mayMake, asked)) made.add(block);
    }
    return made;
  }

  async going(
    invocation: Invocation,
    given: string,
    to: string | undefined,
  ): Promise<PlannedGoing | undefined> {
    const { mount, ...from } = meant(this.#mounts, given, invocation);
    if (mount === undefined) return undefined;
    const place = to === undefined ? undefined : findPlace(this.#mounts, to, invocation);
    if (place !== undefined) checkWay({ mount, ...from }, place, invocation);
    const file = mount.source.files.of(await this.target(invocation, given, "delete"))!;
    checkNoLink({ mount, ...from });
    return place === undefined
      ? plannedDeletion(invocation, mount, file)
      : plannedMove(invocation, mount, file, place.path);
  }

  async flip(invocation: Invocation, flip: FileFlip): Promise<PlannedFlip | undefined> {
    const { block, position, active } = flip;
    const found = this.#mounts.fileOf(block);
    if (found === undefined) return undefined;
    const { mount, file } = found;
    const before = await this.#pathAt(block, position - 1);
    const after = await this.#pathAt(block, position);
    if (before === after) {
      const { text } = await this.#mounts.kernel.readAt(block, position);
      return plannedReturn(invocation, mount, file, { flip, text });
    }
    const [from, to] = active ? [before, after] : [after, before];
    return plannedWayBack(invocation, mount, file, { from, to, flip });
  }

  /** Where a block's file was. */
  async #pathAt(block: string, position: number): Promise<string> {
    const { path } = (await this.#mounts.kernel.readAt(block, position)).state.metadata;
    if (typeof path !== "string") throw new Error(`${block} was no file at position ${position}`);
    return path;
  }

  async flipped(edit: string, active: boolean): Promise<void> {
    const { conflicts } = this.#mounts;
    for (const mount of this.#mounts.list()) mount.flipped(edit);
    for (const block of await conflicts.flipped(edit, active)) {
      const file = this.#mounts.fileOf(block)?.file;
      if (file?.synced !== undefined) file.waits = conflicts.list(block).some(isUndecided);
    }
  }

  async newFile(invocation: Invocation, given: string): Promise<NewFile | undefined> {
    const { mount, path } = meant(this.#mounts, given, invocation);
    if (mount === undefined) return undefined;
    const { files, disk, making } = mount.source;
    const known = files.at(path);
    // One that just went is noticed here.
    if (known?.isAway === false && disk.kindAt(path) === "absent")
      await mount.source.refresh(known);
    if (!making.isFree(path)) return undefined;
    check(mount, path, "create", invocation);
    disk.checkMakes(path);
    return {
      name: `@${mount.name}/${path}`,
      create: (by, content, how) => mount.source.making.begin(by, path, { content, ...how }),
    };
  }

  async make(blocks: readonly string[]): Promise<void> {
    for (const [mount, own] of this.#byMount(blocks)) await mount?.source.making.make(own);
  }

  async takenBack(edit: string, blocks: readonly string[]): Promise<void> {
    for (const [mount, own] of this.#byMount(blocks))
      await mount?.source.making.takenBack(edit, own);
  }

  unsaved(blocks: readonly string[]): UnsavedFile[] {
    return blocks.flatMap((block) => this.#mounts.unsaved(block) ?? []);
  }

  async onDisk(block: string): Promise<string | undefined> {
    const found = this.#mounts.fileOf(block);
    if (found === undefined) return undefined;
    return (await found.mount.source.standing.bothSides(found.file.path)).disk;
  }

  async purge(mask: (text: string) => string, block?: string): Promise<number> {
    const { kernel, kept, conflicts } = this.#mounts;
    let masked = await conflicts.purge(mask, block);
    for (const { source } of this.#mounts.list()) masked += await source.purge(mask, block);
    for (const name of await kept.names())
      if (!this.#mounts.isMounted(name))
        masked += await purgeRecords(kernel.named(`files-${name}`), mask, block);
    // It may have known the file before there was a block.
    await this.#mounts.indexAnew();
    return masked;
  }

  texts(invocation: Invocation, wanted: FileTextQuery): AsyncIterable<FileTextPage> {
    const { kind = "person", folder } = invocation;
    // Taken now: what is loaded while blocks are searched would else be in neither.
    const searched = this.#mounts
      .list()
      .filter(({ name }) => wanted.context === undefined || wanted.context === `@${name}`)
      .map((mount) => ({
        mount,
        loaded: new Set(mount.source.files.paths()),
      }));
    return this.#texts(searched, { ...wanted, kind, folder });
  }

  async *#texts(
    searched: readonly { readonly mount: Mount; readonly loaded: ReadonlySet<string> }[],
    {
      query,
      pathPrefix = "",
      kind,
      folder,
    }: FileTextQuery & { readonly kind: CallerKind; readonly folder: string | undefined },
  ): AsyncGenerator<FileTextPage> {
    for (const { mount, loaded } of searched) {
      const namesOf = (path: string): string[] => [path, `@${mount.name}/${path}`];
      const isWanted = (path: string): boolean =>
        namesOf(path).some((each) => each.startsWith(pathPrefix));
      const mayLeadToWanted = (path: string): boolean =>
        isWanted(path) || namesOf(path).some((each) => pathPrefix.startsWith(`${each}/`));
      const name = (path: string): string => givenFor(this.#mounts, { mount, path }, folder);
      try {
        yield* unloadedTexts(mount, {
          query,
          kind,
          loaded,
          isWanted,
          mayLeadToWanted,
          name,
        });
      } catch (error) {
        // A folder that is not there now keeps nobody from the others.
        if (!(error instanceof KumikoError)) throw error;
        yield { texts: [{ name: `@${mount.name}`, unreadable: error.message }] };
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mounts[Symbol.asyncDispose]();
  }

  #byMount(blocks: readonly string[]): Map<Mount | undefined, string[]> {
    return Map.groupBy(blocks, (block) => this.#mounts.fileOf(block)?.mount);
  }
}

function check(
  mount: Mount,
  path: string,
  operation: Operation,
  { actor, kind = "person" }: Invocation,
): void {
  const asked = ruled[operation];
  if (asked !== undefined) mount.check(path, asked, { actor, kind });
}
