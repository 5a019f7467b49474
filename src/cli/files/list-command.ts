import { existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { realPlace } from "../../app/folders.ts";
import { KumikoError, nearest } from "../../base/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { type ListedFile, printFiles, printUnlisted, type Unlisted } from "../home/file-answer.ts";
import type { OpenKernel } from "../home/access.ts";
import type { HomeFlags } from "../home/options.ts";
import { dim } from "../home/paint.ts";
import { pathFrom, shownPath, standing, targetFrom } from "../home/paths.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import type { Terminal } from "../terminal.ts";
import { callFileTool } from "./call-file-tool.ts";

/** The most that one call gives. */
const PAGE = 5_000;

export interface ListFlags extends HomeFlags {
  readonly ignored?: boolean;
}

interface Page {
  readonly files: readonly ListedFile[];
  readonly after?: string;
  readonly unlisted?: readonly Unlisted[];
}

type Mounts = RpcAnswers["Kernel"]["mounts"];

/** Lists what is below where the person stands, or what was named, in that order and each file once. */
export function listFiles(
  terminal: Terminal,
  paths: readonly string[],
  flags: ListFlags,
): Promise<number> {
  const run = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const mounts = await kernel.ask((each) => each.mounts());
    // All of them are there before any is listed.
    const asked = paths.length > 0 ? paths : [""];
    const all = await Promise.all(asked.map((given) => wanted(terminal, mounts, given)));
    const shown = new Map<string, ListedFile>();
    const missing = new Map<string, Unlisted>();
    const vain: Wanted[] = [];
    for (const each of all) {
      const { files, unlisted } = await filesOf(kernel, caller, each, flags);
      for (const { path, reason } of unlisted) {
        const place = join(each.folder, path);
        if (place === each.place) throw closed(each.given === "" ? place : each.given, reason);
        const name = shownPath(terminal, place);
        missing.set(name, { path: name, reason });
      }
      if (files.length + unlisted.length === 0) vain.push(each);
      for (const file of files) {
        const path = shownPath(terminal, join(each.folder, file.path));
        if (!shown.has(path)) shown.set(path, { ...file, path });
      }
    }
    const files = [...shown.values()];
    const unlisted = [...missing.values()];
    if (flags.json) {
      await printJson(terminal, {
        ok: true,
        ...foldersOf(all),
        files,
        ...(unlisted.length > 0 && { unlisted }),
      });
      return exitCode.fine;
    }
    if (files.length > 0) await terminal.print(`${printFiles(terminal, files).join("\n")}\n`);
    for (const line of printUnlisted(unlisted)) await terminal.complain(`${line}\n`);
    for (const { given } of vain)
      await terminal.complain(
        `${dim(terminal, all.length === 1 ? "no such files" : `no such files: ${given}`)}\n`,
      );
    return exitCode.fine;
  };
  const [first] = paths;
  const path = first && targetFrom(terminal, first);
  return withKernel(terminal, flags, "kumiko ls", run, { path });
}

async function filesOf(
  kernel: OpenKernel,
  caller: Caller,
  { mount, pattern }: Wanted,
  flags: ListFlags,
): Promise<{ files: ListedFile[]; unlisted: Unlisted[] }> {
  const files: ListedFile[] = [];
  const unlisted: Unlisted[] = [];
  for (let after: string | undefined; ;) {
    const page: Page = await callFileTool(kernel, caller, "file_list", {
      mount,
      limit: PAGE,
      ...(pattern !== undefined && { pattern }),
      ...(flags.ignored === true && { ignored: true }),
      ...(after !== undefined && { after }),
    });
    files.push(...page.files);
    unlisted.push(...(page.unlisted ?? []));
    after = page.after;
    if (after === undefined) return { files, unlisted };
  }
}

/** `mount` and `folder` are there when all files are of that one. */
function foldersOf(all: readonly Wanted[]): object {
  const folders = new Map(all.map(({ mount, folder }) => [mount, { mount, folder }]));
  const mounts = [...folders.values()];
  return mounts.length === 1 ? { ...mounts[0], mounts } : { mounts };
}

interface Wanted {
  readonly given: string;
  readonly mount: string;
  readonly folder: string;
  readonly pattern: string | undefined;
  /** The one path that is meant, when it is no pattern. */
  readonly place: string | undefined;
}

type Meant = Omit<Wanted, "given">;

async function wanted(terminal: Terminal, mounts: Mounts, given: string): Promise<Wanted> {
  const { mount, folder, pattern, place } = await meant(terminal, mounts, given);
  if (place !== undefined && !isThere(given, place)) throw absent(terminal, given, place);
  return { given, mount, folder, pattern, place };
}

/** What is below where the person stands, or what is meant from there. */
async function meant(terminal: Terminal, mounts: Mounts, given: string): Promise<Meant> {
  const [, name, rest = ""] = /^@([a-z0-9-]{1,32})(?:\/(.*))?$/s.exec(given) ?? [];
  if (name !== undefined) {
    const found = mounts.find(({ mount }) => mount === name);
    if (found === undefined) throw nowhere(given, mounts);
    const place = isGlob(rest) ? undefined : join(found.folder, rest);
    return { ...found, pattern: rest === "" ? undefined : rest, place };
  }
  const isPattern = isGlob(given) && !existsSync(pathFrom(terminal, given));
  const named = isPattern ? standing(terminal) : pathFrom(terminal, given);
  // A link in the folder is what the folder says it is; one from elsewhere may lead into it.
  const place = around(mounts, named) === undefined ? await realPlace(named) : named;
  const inside = around(mounts, place);
  const [first] = mounts;
  const found = inside ?? (given === "" ? first : undefined);
  if (found === undefined) throw nowhere(given === "" ? place : given, mounts);
  const below = inside === undefined ? "" : escaped(relative(found.folder, place));
  if (!isPattern) return { ...found, pattern: below === "" ? undefined : `/${below}`, place };
  const start = below === "" ? "" : `${below}/`;
  const anchored = given.includes("/") ? `/${start}${given.replace(/^\//, "")}` : undefined;
  const pattern = anchored ?? (start === "" ? given : `/${start}**/${given}`);
  return { ...found, pattern, place: undefined };
}

function around(mounts: Mounts, path: string): Mounts[number] | undefined {
  return mounts.find(({ folder }) => path === folder || path.startsWith(`${folder}/`));
}

function isGlob(given: string): boolean {
  return /[*?[{]/.test(given);
}

/** Also a link that leads nowhere. Below a folder that may not be entered nobody knows. */
function isThere(given: string, place: string): boolean {
  try {
    return lstatSync(place, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR" || code === "ELOOP") return false;
    throw closed(given, code, error);
  }
}

function closed(given: string, reason: string, cause?: unknown): KumikoError {
  return new KumikoError(
    "file_unreadable",
    `${given} cannot be looked into (${reason}): what is there is not known. ` +
      "Give yourself the right to enter and read its folder, or name another one.",
    { path: given, reason },
    { cause },
  );
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

function absent(terminal: Terminal, given: string, place: string): KumikoError {
  const folder = dirname(place);
  const near = isFolder(folder) ? nearest(basename(place), readdirSync(folder)) : undefined;
  const other = near === undefined ? undefined : shownPath(terminal, join(folder, near));
  return new KumikoError(
    "not_on_disk",
    `There is nothing called ${given}.${other === undefined ? "" : ` Did you mean ${other}?`}`,
    { path: given, ...(other !== undefined && { near: other }) },
  );
}

/** A folder's name is no pattern. */
function escaped(path: string): string {
  return path.replaceAll(/[*?[\]{}!\\]/g, (found) => `\\${found}`);
}

function nowhere(given: string, mounts: Mounts): KumikoError {
  const names = mounts.map(({ mount, folder }) => `@${mount} (${folder})`);
  return new KumikoError(
    "not_on_disk",
    `${given} is in no folder that is mounted` +
      (names.length > 0 ? `; there are: ${names.join(", ")}.` : ": mount one with `kumiko mount`."),
    { value: given, mounts: mounts.map(({ mount }) => mount) },
  );
}
