import { readdirSync, readFileSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { KeyedQueue } from "../base/index.ts";
import { isSystemError } from "./disk-errors.ts";
import type { FileIdentity } from "./file-stat.ts";
import { inSlices } from "./slices.ts";

const PROCESSES = "/proc";
/** The bits of a file's flags that say how it was opened; without any of them it is only read. */
const HOW = 0o3;

/** Milliseconds after which a file is believed, also if somebody has it open: a log that is begun anew stays open. */
const PATIENCE = 2_000;

const looks = new KeyedQueue();
/** The one that has not begun yet: whoever asks until then is told what it finds. */
let next: Promise<ReadonlySet<string>> | undefined;

/**
 * Whether a file has lost part of itself because whoever has it open is about to write it: a program that saves in place
 * empties it first, and on a busy machine it may be long until its turn comes again, also amid its writing.
 */
export async function isBeingWritten(
  found: FileIdentity,
  known: FileIdentity | undefined,
  age: number,
): Promise<boolean> {
  const isShort = known !== undefined && found.size < known.size;
  return isShort && age < PATIENCE && (await isOpenForWriting(found));
}

/**
 * Whether a process has a file open to write to it, as far as Linux tells us of others': of our own user's, or of all when
 * we are root. It looks at every open file of each, for some milliseconds to a tenth of a second; once for all who ask at
 * the same time, and never before they asked.
 */
export async function isOpenForWriting(file: FileIdentity): Promise<boolean> {
  next ??= looks.run(["processes"], async () => {
    await setImmediate();
    next = undefined;
    return inSlices(search());
  });
  return (await next).has(keyOf(file.device, file.inode));
}

/** All files that are open for writing. */
function* search(): Generator<undefined, Set<string>> {
  const open = new Set<string>();
  for (const process of namesIn(PROCESSES)) {
    if (!/^\d+$/.test(process)) continue;
    for (const descriptor of namesIn(`${PROCESSES}/${process}/fd`)) {
      // Asked first: to look at a file of a dead server would take for ever.
      if (!isWriting(process, descriptor)) continue;
      const found = ifThere(() => statSync(`${PROCESSES}/${process}/fd/${descriptor}`));
      if (found?.isFile() === true) open.add(keyOf(found.dev, found.ino));
    }
    yield;
  }
  return open;
}

function keyOf(device: number, inode: number): string {
  return `${device}:${inode}`;
}

function isWriting(process: string, descriptor: string): boolean {
  const told = ifThere(() => readFileSync(`${PROCESSES}/${process}/fdinfo/${descriptor}`, "utf8"));
  const flags = /^flags:\s*([0-7]+)$/m.exec(told ?? "")?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & HOW) !== 0;
}

function namesIn(folder: string): string[] {
  return ifThere(() => readdirSync(folder)) ?? [];
}

/** Processes end, close files, and are others': what is not told is not known. */
function ifThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}
