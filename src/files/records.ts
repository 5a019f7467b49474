import type { Kernel } from "../kernel/index.ts";
import { type Conflicts, isUndecided } from "./conflicts.ts";
import type { Content } from "./content.ts";
import type { FileRecord, Ledger, Synced } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";
import { withEarlier } from "./stale.ts";
import { PIECE } from "./whole-file.ts";

/** Of how many files the bytes are kept. */
const AT_HAND = 16;

export interface RecordsPorts {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  readonly conflicts: Conflicts;
}

/** What is known of how files stand to their blocks, and written down. Whoever calls holds the files' queue. */
export class Records {
  readonly #ports: RecordsPorts;
  /** What files hold whose bytes are kept, the newest last. */
  readonly #atHand = new Set<Content>();

  constructor(ports: RecordsPorts) {
    this.#ports = ports;
  }

  /** Block and file had something in common just now: it is there again, or for the first time. */
  inStep(file: MountedFile, synced: Synced, { isOwn = false } = {}): void {
    file.earlier = withEarlier(file.earlier, file.synced, synced, isOwn);
    if (file.synced !== undefined && file.synced.content !== synced.content)
      this.#atHand.delete(file.synced.content);
    this.#keepAtHand(synced.content);
    file.synced = synced;
    file.went = undefined;
    file.writtenSince = undefined;
    file.left = undefined;
    file.form = undefined;
    file.mode = undefined;
    file.wanted = false;
    file.unsaved = undefined;
    if (!file.ahead) file.writer = "person";
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

  /** The file is not there any more; its block stays and is revived when it comes back. */
  leave(file: MountedFile): void {
    if (file.synced === undefined) return;
    file.left = file.synced.base;
    file.form = file.synced.form;
    file.mode = file.seen?.mode;
    file.synced = undefined;
    file.writtenSince = undefined;
    file.unsaved = undefined;
    file.waits = false;
    this.#ports.ledger.note(file.block, file.record);
  }

  /** What its block had when the file went is given up: it is not merged when the file comes back. */
  async giveUp(file: MountedFile): Promise<void> {
    file.left = { version: await this.#ports.kernel.version(file.block) };
    file.wanted = false;
    file.unsaved = undefined;
    this.#ports.ledger.note(file.block, file.record);
  }

  /** It is gone as it was before somebody began a new one in its place: what was written then is merged when it comes back. */
  putBack(file: MountedFile, { left, form, mode }: FileRecord): void {
    file.left = left;
    file.form = form;
    file.mode = mode;
    file.begun = undefined;
    file.wanted = false;
    file.unsaved = undefined;
    this.#ports.ledger.note(file.block, file.record);
  }

  /** The file is to be there again, as its block says: it is made when it is saved. */
  want(file: MountedFile): void {
    file.wanted = true;
    this.#ports.ledger.note(file.block, file.record);
  }
}
