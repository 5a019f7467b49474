import { existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { KumikoError, nearest } from "../../base/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { type ListedFile, printFiles } from "../home/file-answer.ts";
import type { HomeFlags } from "../home/options.ts";
import { dim } from "../home/paint.ts";
import { pathFrom, shownPath, standing } from "../home/paths.ts";
import { withKernel } from "../home/with-kernel.ts";
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
}

type Mounts = RpcAnswers["Kernel"]["mounts"];

export function listFiles(terminal: Terminal, given: string, flags: ListFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko ls", async (kernel, caller) => {
    const mounts = await kernel.ask((each) => each.mounts());
    const { mount, folder, pattern, place } = wanted(terminal, mounts, given);
    if (place !== undefined && !isThere(place)) throw absent(terminal, given, place);
    const files: ListedFile[] = [];
    for (let after: string | undefined; ;) {
      const page: Page = await callFileTool(kernel, caller, "file_list", {
        mount,
        limit: PAGE,
        ...(pattern !== undefined && { pattern }),
        ...(flags.ignored === true && { ignored: true }),
        ...(after !== undefined && { after }),
      });
      files.push(...page.files);
      after = page.after;
      if (after === undefined) break;
    }
    const shown = files.map((file) => ({
      ...file,
      path: shownPath(terminal, join(folder, file.path)),
    }));
    if (flags.json) await printJson(terminal, { ok: true, mount, folder, files: shown });
    else if (shown.length > 0) await terminal.print(`${printFiles(terminal, shown).join("\n")}\n`);
    else await terminal.complain(`${dim(terminal, "no such files")}\n`);
    return exitCode.fine;
  });
}

interface Wanted {
  readonly mount: string;
  readonly folder: string;
  readonly pattern: string | undefined;
  /** The one path that is meant, when it is no pattern. */
  readonly place: string | undefined;
}

/** What is below where the person stands, or what is meant from there. */
function wanted(terminal: Terminal, mounts: Mounts, given: string): Wanted {
  const [, name, rest = ""] = /^@([a-z0-9-]{1,32})(?:\/(.*))?$/s.exec(given) ?? [];
  if (name !== undefined) {
    const found = mounts.find(({ mount }) => mount === name);
    if (found === undefined) throw nowhere(given, mounts);
    const place = isGlob(rest) ? undefined : join(found.folder, rest);
    return { ...found, pattern: rest === "" ? undefined : rest, place };
  }
  const isPattern = isGlob(given) && !existsSync(pathFrom(terminal, given));
  const place = isPattern ? standing(terminal) : pathFrom(terminal, given);
  const inside = mounts.find(({ folder }) => place === folder || place.startsWith(`${folder}/`));
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

function isGlob(given: string): boolean {
  return /[*?[{]/.test(given);
}

/** Also a link that leads nowhere. */
function isThere(place: string): boolean {
  if (existsSync(place)) return true;
  return isFolder(dirname(place)) && lstatSync(place, { throwIfNoEntry: false }) !== undefined;
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

function absent(terminal: Terminal, given: string, place: string): KumikoError {
  const folder = dirname(place);
  const near = isFolder(folder) ? nearest(basename(place), readdirSync(folder)) : undefined;
  const meant = near === undefined ? undefined : shownPath(terminal, join(folder, near));
  return new KumikoError(
    "not_on_disk",
    `There is nothing called ${given}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
    { path: given, ...(meant !== undefined && { near: meant }) },
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
