import type { Stats } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { KumikoError } from "../base/index.ts";
import { asUnreadable, isMissing } from "./text-file.ts";

/**
 * The real file that a name in a patch means, inside `folder` (itself a real path). A patch comes from
 * strangers: names that climb out, also through links, and git's own files are refused.
 */
export async function containedPath(folder: string, name: string): Promise<string> {
  if (leadsOut(name)) throw escape(name);
  const real = await realTarget(join(folder, name), name);
  if (real === folder || !isInside(folder, real)) throw escape(name);
  if (
    [...name.split(/[/\\]/), ...relative(folder, real).split(sep)].some(
      (segment) => segment.toLowerCase() === ".git",
    )
  ) {
    throw new KumikoError(
      "invalid_argument",
      `The patch names ${printed(name)}, which belongs to git itself.`,
      {
        path: name,
      },
    );
  }
  return real;
}

/**
 * The real folder in which a file of that name is to stand, below `folder` (itself a real path) or `folder`
 * itself; undefined when the name leads elsewhere, also through links. What stands there under the last part
 * of the name is not followed: whoever removes or renames does so to a link itself.
 */
export async function containedFolder(folder: string, name: string): Promise<string | undefined> {
  if (leadsOut(name)) return undefined;
  const real = await realTarget(join(folder, name, ".."), name);
  return isInside(folder, real) ? real : undefined;
}

function leadsOut(name: string): boolean {
  const climbs = name.split(/[/\\]/).some((segment) => segment === "..");
  return name === "" || isAbsolute(name) || climbs || name.includes("\0");
}

/** Both are real paths; a folder is inside itself. */
function isInside(folder: string, real: string): boolean {
  const inside = relative(folder, real);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** What the name stands for once all links are followed; the file itself need not exist. */
export async function realTarget(file: string, name: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (!isMissing(error)) throw asUnreadable(error, name);
  }
  const there = await entryAt(file);
  // Somebody made it between the two looks.
  if (there?.isSymbolicLink() === false) return realTarget(file, name);
  if (there !== undefined) {
    throw new KumikoError("file_unreadable", `${printed(name)} is a link to nothing.`, {
      path: name,
    });
  }
  return join(await realTarget(dirname(file), name), basename(file));
}

async function entryAt(file: string): Promise<Stats | undefined> {
  try {
    return await lstat(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function escape(name: string): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `The patch names ${printed(name)}, which lies outside the folder.`,
    {
      path: name,
    },
  );
}

function printed(name: string): string {
  return JSON.stringify(name);
}
