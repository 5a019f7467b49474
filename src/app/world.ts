import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { KumikoError, realTimers } from "../base/index.ts";
import { type DamageReport, type FilePort, type Kernel, World } from "../kernel/index.ts";
import { folderBook, foldersByKernel } from "./folders.ts";
import type { HomeFolder } from "./home.ts";

const clock = { now: (): number => Date.now() };

interface FolderOptions {
  /** Whether folders are watched: not by a command that is gone in a moment. */
  readonly watch?: boolean;
  /** What goes wrong with a folder without anyone asking. */
  readonly onTrouble?: (mount: string, error: KumikoError) => void;
}

interface WorldOptions extends FolderOptions {
  /** Whether somebody may be about to write beside whoever writes now. */
  readonly hasCompany?: () => boolean;
  /** Documents that each kernel keeps in memory. */
  readonly liveDocuments?: number | undefined;
}

/** A world over a home folder, on this machine's clock, timers and chance. The caller disposes of it. */
export function openWorld(
  home: HomeFolder,
  onDamage: (report: DamageReport) => void,
  {
    watch = false,
    onTrouble = () => undefined,
    hasCompany = () => true,
    liveDocuments,
  }: WorldOptions = {},
): World {
  return new World({
    folders: home,
    clock,
    timers: realTimers,
    files: (kernel, { always }) => openMounts(home, kernel, { watch, onTrouble, always }),
    newPeer: randomPeer,
    liveDocuments,
    // What other sockets have to say is read before a group is written.
    turn: () => (hasCompany() ? new Promise((resolve) => setImmediate(resolve)) : undefined),
    onDamage,
  });
}

/** A kernel that has no folder costs nothing here. */
async function openMounts(
  home: HomeFolder,
  kernel: Kernel,
  { always, ...options }: Required<FolderOptions> & { readonly always: boolean },
): Promise<FilePort | undefined> {
  const folder = (await foldersByKernel(home)).get(kernel.id);
  const none = folder === undefined && (await kernel.named("mounts").list()).length === 0;
  if (none && !always) return undefined;
  // What is on disk cannot be taken in: blocks are shown as they were kept.
  if (await home.isReadOnly(kernel.id)) {
    if (!always) return undefined;
    throw readOnlyFolders(home.folderOf(kernel.id));
  }
  const { Mounts, MountsPort, readerModule: reader } = await import("../files/index.ts");
  const { SqliteFileIndex } = await import("../store/index.ts");
  const { place } = home;
  const book = folderBook(home, kernel.id);
  const file = join(home.folderOf(kernel.id), "files.db");
  const index = new SqliteFileIndex({ file, timers: realTimers, reader });
  const mounts = await Mounts.open({
    kernel,
    clock,
    timers: realTimers,
    home: place,
    place: home.folderOf(kernel.id),
    folder,
    book,
    index,
    ...options,
  });
  return new MountsPort(mounts);
}

function readOnlyFolders(path: string): KumikoError {
  return new KumikoError(
    "file_unwritable",
    `${path} is read-only here, so it can have no folders of files. Copy its home to a folder that can be written, and name that with --home.`,
    { path, reason: "EROFS" },
  );
}

/** 63 random bits: a peer id is never given twice, by whichever process. */
function randomPeer(): string {
  return (randomBytes(8).readBigUInt64BE() >> 1n).toString();
}
