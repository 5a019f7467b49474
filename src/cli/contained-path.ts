import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { KumikoError } from "../base/index.ts";
import { asUnreadable, isMissing } from "./text-file.ts";

/**
 * The real file that a name in a patch means, inside `folder` (itself a real path). A patch comes from
 * strangers: names that climb out, also through links, and git's own files are refused.
 */
export async function containedPath(folder: string, name: string): Promise<string> {
  const segments = name.split(/[/\\]/);
  if (name === "" || isAbsolute(name) || segments.includes("..") || name.includes("\0"))
    throw escape(name);
  const real = await realTarget(join(folder, name), name);
  const inside = relative(folder, real);
  if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw escape(name);
  if ([...segments, ...inside.split(sep)].some((segment) => segment.toLowerCase() === ".git")) {
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

/** What the name stands for once all links are followed; the file itself need not exist. */
export async function realTarget(file: string, name: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (!isMissing(error)) throw asUnreadable(error, name);
  }
  if (await existsAsLink(file)) {
    throw new KumikoError("file_unreadable", `${printed(name)} is a link to nothing.`, {
      path: name,
    });
  }
  return join(await realTarget(dirname(file), name), basename(file));
}

async function existsAsLink(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
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
