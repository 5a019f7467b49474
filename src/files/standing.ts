import { KumikoError } from "../base/index.ts";
import type { Kernel } from "../kernel/index.ts";
import type { Conflicts } from "./conflicts.ts";
import type { Disk } from "./disk.ts";
import { timeText } from "./file-stat.ts";
import type { FileStatus } from "./file-status.ts";
import type { Found } from "./found-text.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { MountedFiles } from "./mounted-files.ts";
import { absent } from "./refusals.ts";
import type { Syncing } from "./syncing.ts";
import { beginsLikeText } from "./text-form.ts";

/** Bytes by which a file without a block is told to be text or not. */
const HEAD = 8_000;

export interface StandingPorts {
  readonly kernel: Kernel;
  /** Of the mount. */
  readonly name: string;
  readonly disk: Disk;
  readonly conflicts: Conflicts;
  readonly files: MountedFiles;
  readonly syncing: Syncing;
  /** Bytes above which a file is not read as text. */
  readonly largest: number;
  load(path: string): Promise<MountedFile>;
}

/** A block and its file as they are now. */
interface BothSides {
  readonly block: { readonly id: string; readonly text: string };
  readonly version: number;
  readonly disk: string;
  /** When the file was last changed, in UTC. */
  readonly modified: string | undefined;
}

/** How the files of a folder stand to their blocks. */
export class Standing {
  readonly #ports: StandingPorts;

  constructor(ports: StandingPorts) {
    this.#ports = ports;
  }

  /** `why` when it cannot be read as text, `modified` when it is there. */
  async of(path: string): Promise<{ status: FileStatus; why?: string; modified?: string }> {
    const { disk, files, syncing } = this.#ports;
    const file = files.at(path);
    const found = await (file === undefined ? syncing.read(path) : syncing.find(file));
    const error = found.kind === "unreadable" ? found.error : file?.damaged;
    const look = disk.look(path);
    const modified = typeof look === "object" ? timeText(look.nanoseconds) : undefined;
    return {
      status: this.#statusOf(file, found, error),
      ...(error !== undefined && { why: error.message }),
      ...(modified !== undefined && { modified }),
    };
  }

  /** Of a file without a block, by its size and its first bytes. */
  glance(path: string): FileStatus {
    const { disk, largest } = this.#ports;
    const begun = disk.begins(path, HEAD);
    if (begun === undefined) return "not_loaded";
    if (begun instanceof KumikoError) return unreadableAs(begun);
    if (begun.size > largest) return "too_large";
    return beginsLikeText(begun.bytes) ? "not_loaded" : "binary";
  }

  async bothSides(path: string): Promise<BothSides> {
    const { kernel, files, syncing } = this.#ports;
    const file = files.at(path) ?? (await this.#ports.load(path));
    const found = await syncing.read(path);
    if (found.kind === "unreadable") throw found.error;
    if (found.kind !== "text") throw absent(this.#ports, path, file);
    const { text, version } = await kernel.read(file.block);
    const modified = timeText(found.identity.nanoseconds);
    return { block: { id: file.block, text }, version, disk: found.text, modified };
  }

  #statusOf(
    file: MountedFile | undefined,
    found: Found,
    error: KumikoError | undefined,
  ): FileStatus {
    const isInConflict = file !== undefined && this.#ports.conflicts.list(file.block).length > 0;
    if (isInConflict) return "conflict";
    if (error !== undefined) return unreadableAs(error);
    if (file === undefined) return "not_loaded";
    if (found.kind === "absent") return file.wanted ? "block_ahead" : "deleted";
    if (found.kind === "text") return file.ahead ? "both_changed" : "disk_ahead";
    return file.ahead ? "block_ahead" : "synced";
  }
}

/** Why a file is not read as text, in one word. */
function unreadableAs({ code, facts }: KumikoError): FileStatus {
  if (code === "too_large" || facts["why"] === "too_large") return "too_large";
  return facts["why"] === "binary" || facts["why"] === "undecodable" ? "binary" : "unreadable";
}
