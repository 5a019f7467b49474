import {
  type BigIntStats,
  closeSync,
  constants,
  lstatSync,
  opendirSync,
  openSync,
  unlinkSync,
} from "node:fs";
import { isSystemError } from "./disk-errors.ts";
import type { FolderHandle } from "./folder-handle.ts";
import { temporaryName } from "./temporary-name.ts";

/** Which differences between names a file system does not see. */
export interface NameFolding {
  /** `A` finds `a`. */
  readonly ignoresCase: boolean;
  /** A letter with its accent in one character finds the one in two. */
  readonly ignoresForm: boolean;
}

/** As many names of the folder as are looked at for an answer. */
const LOOKED_AT = 200;

/**
 * What is there answers if it can. Otherwise a file of ours is made for a moment, except where names that differ in case
 * are different and the system is Linux: there nearly nothing ignores the form alone.
 */
export function findFolding(folder: FolderHandle): NameFolding {
  const names = someNames(folder);
  const ignoresCase = answeredBy(folder, names, otherCase);
  const ignoresForm = answeredBy(folder, names, otherForm);
  if (ignoresCase !== undefined && ignoresForm !== undefined) return { ignoresCase, ignoresForm };
  if (ignoresCase === false && process.platform === "linux") {
    return { ignoresCase, ignoresForm: false };
  }
  const tried = tryOut(folder);
  return {
    ignoresCase: ignoresCase ?? tried.ignoresCase,
    ignoresForm: ignoresForm ?? tried.ignoresForm,
  };
}

/** The name under which the folder lists what was found under `name`. */
export function listedName(
  name: string,
  listed: readonly string[],
  isSame: (candidate: string) => boolean,
): string {
  if (listed.includes(name)) return name;
  const wanted = folded(name);
  return listed.find((candidate) => folded(candidate) === wanted && isSame(candidate)) ?? name;
}

export function isSameFile(left: BigIntStats | undefined, right: BigIntStats | undefined): boolean {
  return left !== undefined && left.ino === right?.ino && left.dev === right.dev;
}

function folded(name: string): string {
  // Upper case first: ß and ẞ, σ and ς are one letter to file systems that fold.
  return name.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

function someNames(folder: FolderHandle): string[] {
  using entries = opendirSync(folder.at("."));
  const names: string[] = [];
  for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
    names.push(entry.name);
    if (names.length === LOOKED_AT) break;
  }
  return names;
}

function answeredBy(
  folder: FolderHandle,
  names: readonly string[],
  other: (name: string) => string,
): boolean | undefined {
  for (const name of names) {
    const changed = other(name);
    if (changed === name || names.includes(changed)) continue;
    const mine = lookUp(folder, name);
    if (mine !== undefined) return isSameFile(mine, lookUp(folder, changed));
  }
  return undefined;
}

function tryOut(folder: FolderHandle): NameFolding {
  const name = temporaryName(".\u00e9");
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    closeSync(openSync(folder.at(name), flags, 0o600));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Nothing can be written there; what the system's own file system does is the best guess.
    const usual = process.platform === "darwin";
    return { ignoresCase: usual, ignoresForm: usual };
  }
  try {
    const mine = lookUp(folder, name);
    return {
      ignoresCase: isSameFile(mine, lookUp(folder, otherCase(name))),
      ignoresForm: isSameFile(mine, lookUp(folder, otherForm(name))),
    };
  } finally {
    unlinkSync(folder.at(name));
  }
}

function lookUp(folder: FolderHandle, name: string): BigIntStats | undefined {
  return lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false });
}

/** Only letters that every file system folds in the same way. */
function otherCase(name: string): string {
  return name.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

function otherForm(name: string): string {
  const composed = name.normalize("NFC");
  return composed === name ? name.normalize("NFD") : composed;
}
