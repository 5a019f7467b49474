import { hash } from "node:crypto";
import { KumikoError } from "../base/index.ts";
import { type EditTarget, splitText } from "../blocks/index.ts";
import type { Invocation, Kernel } from "../kernel/index.ts";
import { type FolderRules, whenBothChanged } from "../permission/index.ts";
import type { Claims } from "./claims.ts";
import type { Conflicts } from "./conflicts.ts";
import type { Disk } from "./disk.ts";
import { type FileIdentity, sameIdentity } from "./file-stat.ts";
import type { Base, Ledger, Synced } from "./ledger.ts";
import { type MergeConflict, type Merged, mergeTexts } from "./merge.ts";
import type { MountedFile } from "./mounted-file.ts";
import { afterSaving, readText, type TextForm, writeText } from "./text-form.ts";

/** How often a save is tried again because the disk moved meanwhile. */
const ATTEMPTS = 5;
/** Versions among which an own save is looked for that was not written down before a crash. */
const REMEMBERED = 64;

export interface SyncingPorts {
  readonly kernel: Kernel;
  readonly disk: Disk;
  readonly ledger: Ledger;
  readonly conflicts: Conflicts;
  rules(): FolderRules;
  /** Who announced a change of this path. */
  readonly claims: Claims;
  /** Bytes above which a file is not read as text. */
  readonly largest: number;
}

export interface FoundText {
  readonly text: string;
  readonly form: TextForm;
  readonly hash: string;
  readonly identity: FileIdentity;
}

/** What was found in the place of a file. */
export type Found =
  | { readonly kind: "same" | "absent" }
  | { readonly kind: "not_text"; readonly error: KumikoError }
  | ({ readonly kind: "text" } & FoundText);

const PLAIN: TextForm = { encoding: "utf-8", bom: false, crlf: false };

/**
 * Keeps blocks and files in step: takes in what is new on disk, writes what is new in blocks. Whoever calls holds the
 * files' queue.
 */
export class Syncing {
  readonly #ports: SyncingPorts;

  constructor(ports: SyncingPorts) {
    this.#ports = ports;
  }

  /** What is on disk, unless it is known to be what was last seen there. */
  async find(file: MountedFile): Promise<Found> {
    const { disk } = this.#ports;
    const { synced } = file;
    const identity = await disk.atRest(file.path, synced?.identity);
    if (identity === undefined) return { kind: "absent" };
    if (synced !== undefined && sameIdentity(identity, synced.identity)) return { kind: "same" };
    const found = await this.#read(file.path, synced?.form);
    if (found.kind !== "text" || found.hash !== synced?.hash) return found;
    // Touched, or saved anew with the same bytes.
    this.#synced(file, { ...synced, identity: found.identity });
    return { kind: "same" };
  }

  async read(path: string, before?: TextForm): Promise<Found> {
    const identity = await this.#ports.disk.atRest(path);
    return identity === undefined ? { kind: "absent" } : this.#read(path, before);
  }

  async #read(path: string, before?: TextForm): Promise<Found> {
    const { disk, largest } = this.#ports;
    const read = await disk.read(path, largest);
    if (read === undefined) return { kind: "absent" };
    if (read instanceof KumikoError) return { kind: "not_text", error: read };
    const { bytes, stat: identity, hash: sum } = read;
    const text = readText(bytes, largest, before);
    if ("why" in text) return { kind: "not_text", error: notText(path, text.why) };
    return { kind: "text", ...text, hash: sum, identity };
  }

  /**
   * Takes in what was found for files, as one Edit by whoever caused it. Gives those that must be saved since both
   * sides had something new.
   */
  async takeIn(
    found: readonly (readonly [MountedFile, FoundText])[],
    cause: Invocation,
  ): Promise<MountedFile[]> {
    const { kernel } = this.#ports;
    if (found.length === 0) return [];
    const byBlock = new Map(found.map((each) => [each[0].block, each]));
    for (const [file, text] of found) await this.#foresee(file, text, cause);
    const merges = new Map<string, Merged>();
    const authors = new Map<string, readonly string[]>();
    const translate = (target: EditTarget, block: string): Merged["splices"] => {
      const [file, text] = byBlock.get(block)!;
      const merged = this.#merge(file, target, text);
      merges.set(block, merged);
      authors.set(block, writers(target, file));
      return merged.splices;
    };
    // What is on disk has happened, whoever did it.
    const changed = await kernel.editFiles(
      { ...cause, kind: "disk" },
      {
        blocks: [...byBlock.keys()],
        operation: "change",
        translate,
        answer: ({ edit, changes }) => ({ edit, changes }),
      },
    );
    const unsaved: MountedFile[] = [];
    for (const { block, version } of changed.changes) {
      const [file, { text, form, hash: sum, identity }] = byBlock.get(block)!;
      const merged = merges.get(block)!;
      file.version = Math.max(file.version, version);
      const base = merged.text === text ? { version } : { text };
      await this.#keep(file, merged, { version, theirs: cause.actor, mine: authors.get(block)! });
      this.#synced(file, { base, hash: sum, identity, form });
      if (merged.save && !file.waits) unsaved.push(file);
    }
    return unsaved;
  }

  /**
   * Writes what the block holds, over what was last seen on disk and nothing else. A file that is not there stays away,
   * unless it is to be made.
   */
  async save(file: MountedFile, { make = false } = {}): Promise<void> {
    const { kernel, disk } = this.#ports;
    for (let attempt = 1; ; attempt++) {
      const { synced } = file;
      if ((synced === undefined && !make) || file.waits) return;
      const { version, text } = await kernel.read(file.block);
      if (synced !== undefined && "version" in synced.base && synced.base.version === version)
        return;
      const { text: kept, form } = afterSaving({ text, form: synced?.form ?? PLAIN });
      if (kept !== text) {
        // What cannot be said in the file's form becomes what will be read back, or it would look like a change by others.
        await this.#become(file, kept, DISK);
        continue;
      }
      const bytes = writeText(text, form);
      const sum = hash("sha256", bytes);
      if (sum === synced?.hash) {
        this.#synced(file, { ...synced, base: { version } });
        return;
      }
      const identity = await disk.save(file.path, bytes, synced?.hash);
      if (identity !== "moved") {
        this.#synced(file, { base: { version }, hash: sum, identity, form });
        return;
      }
      if (attempt === ATTEMPTS) throw restless(file.path);
      await this.catchUp(file);
    }
  }

  /** Takes in what is on disk now. True when there is something to save then. */
  async catchUp(file: MountedFile, cause = this.#ports.claims.of(file.path)): Promise<boolean> {
    const found = await this.find(file);
    if (found.kind === "text")
      return (await this.takeIn([[file, found]], cause ?? DISK)).length > 0;
    if (found.kind === "not_text") throw found.error;
    if (found.kind === "absent") await this.gone(file);
    return false;
  }

  /** Makes the block what the file says, whatever it held. */
  async reload(file: MountedFile, invocation: Invocation): Promise<void> {
    const found = await this.read(file.path, file.synced?.form);
    if (found.kind === "not_text") throw found.error;
    if (found.kind !== "text") return this.leave(file);
    const version = await this.#become(file, found.text, invocation);
    const { hash: sum, identity, form } = found;
    this.#synced(file, { base: { version }, hash: sum, identity, form });
  }

  /** Somebody took the file away. What its block had that was not saved is kept as a conflict. */
  async gone(file: MountedFile): Promise<void> {
    const common = file.synced?.base ?? file.left;
    if (common === undefined) return;
    const { kernel, conflicts } = this.#ports;
    const unsaved = await kernel.tryOut(file.block, (target) => {
      const memory = target.read();
      const base = "text" in common ? common.text : target.read(common.version);
      const { version } = target;
      return memory === base ? undefined : { memory, base, version, mine: writers(target, file) };
    });
    if (unsaved !== undefined) {
      const { memory, base, version, mine } = unsaved;
      const conflict: MergeConflict = {
        base: wholeOf(base),
        memory: wholeOf(memory),
        disk: wholeOf(""),
        at: { start: 0, end: 0 },
        stood: "disk",
        lost: memory,
        around: { before: [], after: [], lines: 0 },
      };
      const theirs = DISK.actor;
      await conflicts.add(file, { conflicts: [conflict], version, theirs, mine, gone: true });
    }
    await this.leave(file);
  }

  /** The file is not there any more; its block stays and is revived when it comes back. */
  async leave(file: MountedFile): Promise<void> {
    const version = await this.#ports.kernel.version(file.block);
    if (file.synced === undefined && isVersion(file.left, version)) return;
    file.left = { version };
    file.synced = undefined;
    file.unsaved = undefined;
    this.#ports.ledger.note(file.block, file.record);
  }

  /** Makes the block say what somebody decided about a file that went, and the file with it. */
  async bringBack(file: MountedFile, text: string, invocation: Invocation): Promise<void> {
    await this.#become(file, text, invocation);
    await this.save(file, { make: true });
  }

  /**
   * What will not stand is written down before it goes: a process that dies in between leaves it there, and finds it
   * when it merges again.
   */
  async #foresee(file: MountedFile, found: FoundText, { actor }: Invocation): Promise<void> {
    if (!file.ahead && file.left === undefined) return;
    const foreseen = await this.#ports.kernel.tryOut(file.block, (target) => ({
      merged: this.#merge(file, target, found),
      told: { version: target.version + 1, theirs: actor, mine: writers(target, file) },
    }));
    await this.#keep(file, foreseen.merged, foreseen.told);
  }

  async #keep(
    file: MountedFile,
    { conflicts }: Merged,
    told: { version: number; theirs: string; mine: readonly string[] },
  ): Promise<void> {
    if (conflicts.length === 0) return;
    await this.#ports.conflicts.add(file, { conflicts, ...told });
    file.waits ||= conflicts.some(({ stood }) => stood === undefined);
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
  #synced(file: MountedFile, synced: Synced): void {
    file.synced = synced;
    file.left = undefined;
    file.unsaved = undefined;
    this.#ports.ledger.note(file.block, file.record);
  }

  #merge(file: MountedFile, target: EditTarget, found: FoundText): Merged {
    const { level } = this.#ports.rules().levelOf(file.path);
    const memory = target.read();
    const common = file.synced?.base ?? file.left;
    // A file that came back, and nobody knows what it was: what is there stands.
    const base = common === undefined ? memory : this.#base(common, target, found.text);
    return mergeTexts({ base, memory, disk: found.text }, whenBothChanged(level));
  }

  /** The text that both sides last had in common: that of an own save which was not written down, if this is one. */
  #base(base: Base, target: EditTarget, disk: string): string {
    if ("text" in base) return base.text;
    const oldest = Math.max(base.version + 1, target.version - REMEMBERED);
    for (let version = target.version; version >= oldest; version--)
      if (target.read(version) === disk) return disk;
    return target.read(base.version);
  }
}

/** Who changed the block since it was what the disk was. */
function writers(target: EditTarget, { synced, left }: MountedFile): string[] {
  const common = synced?.base ?? left;
  const base = common !== undefined && "version" in common ? common.version : 0;
  const since = Array.from({ length: target.version - base }, (_, index) => base + 1 + index);
  const all = target.authors(since).map(({ actor }) => actor);
  return [...new Set(all)].filter((actor) => actor !== DISK.actor);
}

function isVersion(base: Base | undefined, version: number): boolean {
  return base !== undefined && "version" in base && base.version === version;
}

function wholeOf(text: string): MergeConflict["base"] {
  return { start: 0, end: splitText(text).lines.length, text };
}

/** Whoever changed a file without telling us. */
export const DISK: Invocation = { actor: "disk", kind: "disk" };

function notText(path: string, why: string): KumikoError {
  const told: { readonly [why: string]: string } = {
    binary: "it holds zero bytes, so it is no text",
    undecodable: "it is neither UTF-8 nor UTF-16 with a mark",
    too_large: "it is larger than the limit",
  };
  return new KumikoError(
    "file_unreadable",
    `${path} cannot be read as text: ${told[why] ?? why}. It is listed and left as it is.`,
    { path, why },
  );
}

export function restless(path: string): KumikoError {
  return new KumikoError(
    "file_unwritable",
    `${path} was changed again and again while it was to be saved. What you wrote is kept and saved when it is quiet.`,
    { path },
  );
}
