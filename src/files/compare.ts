import { join } from "node:path";
import type { Clock } from "../base/index.ts";
import type { Ignored } from "./ignored.ts";
import { below, type Known } from "./known.ts";
import { errorCodeOf, isSame, type Look, lookAt } from "./look.ts";
import { listFolder, type Unseen } from "./scan.ts";

/** A name may come to a folder without moving its time when both happen within one tick of the system. */
const TICK = 100_000_000n;

export interface Comparison {
  readonly root: string;
  readonly known: Known;
  readonly ignored: Ignored;
  /** Wall time. */
  readonly clock: Clock;
  /** A file or link is not as it is known. */
  readonly differs: (path: string, look: Look | undefined) => void;
  /** A folder that was not known, or is another one of that name. It is known now, and is looked into next. */
  readonly found: (folder: string, look: Look) => void;
  /** A folder that is known is not there. What is below it differs, too. */
  readonly missing: (folder: string) => void;
  /** An ignored folder, which is not looked into. */
  readonly leftOut: (folder: string) => void;
  readonly unseen: (unseen: Unseen) => void;
}

export interface CompareOptions {
  /** Also what is in folders that are known. */
  readonly deep: boolean;
  /** A folder whose own time stands is not listed again: its known files are looked at. */
  readonly trusting?: boolean;
}

/**
 * Compares a folder on disk with what is known of it and tells what differs. Changes what is known of folders only.
 * What cannot be looked at is not missing.
 */
export function* compare(
  comparison: Comparison,
  folder: string,
  options: CompareOptions,
): Generator<undefined> {
  const { root, known, ignored } = comparison;
  const look = attempt(comparison, folder, () => lookAt(join(root, folder)));
  if (look === "unseen") return;
  if (look?.kind !== "folder") {
    yield* tellMissing(comparison, folder);
    return;
  }
  const knew = known.putFolder(folder, look.inode);
  const stands = knew.nanoseconds !== 0n && knew.nanoseconds === look.nanoseconds;
  const names =
    options.trusting === true && stands
      ? [...knew.files.keys(), ...knew.folders]
      : attempt(comparison, folder, () => listFolder(root, folder, comparison.unseen));
  if (names === "unseen" || names === undefined) return;
  // Its time is from before it was listed, and counts only when nothing can have come in the same moment.
  const now = BigInt(Math.floor(comparison.clock.now())) * 1_000_000n;
  knew.nanoseconds = now - look.nanoseconds > TICK ? look.nanoseconds : 0n;

  const gone = new Set([...knew.files.keys(), ...knew.folders]);
  for (const name of names) {
    gone.delete(name);
    yield* compareOne(comparison, below(folder, name), options);
  }
  for (const name of gone) yield* compareOne(comparison, below(folder, name), options);

  function* compareOne(
    { differs, found, leftOut }: Comparison,
    path: string,
    { deep }: CompareOptions,
  ): Generator<undefined> {
    yield;
    const here = attempt(comparison, path, () => lookAt(join(root, path)));
    if (here === "unseen") return;
    const knownFolder = known.folder(path);
    const knownFile = known.file(path);
    if (here !== undefined && ignored.isUnnoticed(path, here.kind === "folder")) {
      // It is there, and no business of ours any more.
      known.dropFile(path);
      if (knownFolder !== undefined) known.dropFolder(path);
      if (here.kind === "folder") leftOut(path);
      return;
    }
    if (here?.kind === "folder") {
      if (knownFile !== undefined) differs(path, here);
      const isNew = knownFolder === undefined || knownFolder.inode !== here.inode;
      if (isNew) {
        known.putFolder(path, here.inode).nanoseconds = 0n;
        found(path, here);
      }
      if (isNew || deep) yield* compare(comparison, path, { ...options, deep: true });
      return;
    }
    if (knownFolder !== undefined) yield* tellMissing(comparison, path);
    const isFile = here?.kind === "file" || here?.kind === "link";
    if (isFile && (knownFile === undefined || !isSame(knownFile, here))) differs(path, here);
    if (!isFile && knownFile !== undefined) differs(path, here);
  }
}

function* tellMissing(comparison: Comparison, folder: string): Generator<undefined> {
  const { known, differs, missing } = comparison;
  for (const [path] of known.files(folder)) {
    differs(path, undefined);
    yield;
  }
  for (const path of known.folders(folder)) missing(path);
  if (folder !== "" && known.folder(folder) !== undefined) missing(folder);
}

function attempt<Result>(
  { unseen }: Comparison,
  path: string,
  task: () => Result,
): Result | "unseen" | undefined {
  try {
    return task();
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === "ENOENT") return undefined;
    unseen({ path, why: "unreadable", reason: code === "" ? String(error) : code });
    return "unseen";
  }
}
