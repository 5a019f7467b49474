import { existsSync, realpathSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { isBlockId, isEdit } from "../../base/index.ts";
import type { Terminal } from "../terminal.ts";
import type { OpenKernel } from "./access.ts";

/** Arguments of tools that name a file, or a block that may be one. */
const pathArguments = new Set(["block_id", "path", "to"]);

/** A block, and `@name/path`, mean the same everywhere; other words are paths from where the person stands. */
export function targetFrom(terminal: Terminal, word: string): string {
  return isBlockId(word) || word.startsWith("@") || word === ""
    ? word
    : filePathFrom(terminal, word);
}

export function pathFrom(terminal: Terminal, word: string): string {
  return resolve(standing(terminal), word);
}

/** The same of what is to be a file: a slash at the end, which says that it is none, is left for the tools to refuse. */
export function filePathFrom(terminal: Terminal, word: string): string {
  const path = pathFrom(terminal, word);
  return word.endsWith("/") && path !== "/" ? `${path}/` : path;
}

/** Whether a word is meant as a file where it could be something else too. */
export function namesFile(terminal: Terminal, word: string): boolean {
  if (isBlockId(word) || isEdit(word)) return false;
  return /^@[a-z0-9-]+\/./.test(word) || word.includes("/") || existsSync(pathFrom(terminal, word));
}

export function withTargets(
  terminal: Terminal,
  tool: string,
  input: { readonly [name: string]: unknown },
): { readonly [name: string]: unknown } {
  const isNamed = (name: string): boolean =>
    pathArguments.has(name) && (name !== "to" || tool === "file_move");
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      isNamed(name) && typeof value === "string" ? targetFrom(terminal, value) : value,
    ]),
  );
}

/** Without a folder being named it is the one that the person stands in; where that is none, the tool chooses. */
export async function withOwnMount(
  terminal: Terminal,
  kernel: OpenKernel,
  input: { readonly [name: string]: unknown },
): Promise<{ readonly [name: string]: unknown }> {
  if (input["mount"] !== undefined) return input;
  const mounts = await kernel.ask((each) => each.mounts());
  const here = standing(terminal);
  const own = mounts.find(({ folder }) => here === folder || here.startsWith(`${folder}/`));
  return own === undefined ? input : { ...input, mount: own.mount };
}

/** Relative where it is below where the person stands. */
export function shownPath(terminal: Terminal, absolute: string): string {
  const below = relative(standing(terminal), absolute);
  return below === "" || below === ".." || below.startsWith("../") ? absolute : below;
}

interface Named {
  readonly block_id?: unknown;
  readonly path?: unknown;
}

/** An answer in which files are called by their paths instead of their blocks. */
export async function withShownPaths<Answer>(
  terminal: Terminal,
  kernel: OpenKernel,
  answer: Answer,
): Promise<Answer> {
  if (!/"block_id":"@/.test(JSON.stringify(answer))) return answer;
  const mounts = await kernel.ask((each) => each.mounts());
  const folders = new Map(mounts.map(({ mount, folder }) => [mount, folder]));
  const known = new Map<string, string>();
  const shown = async (value: unknown): Promise<unknown> => {
    if (Array.isArray(value)) return Promise.all(value.map(shown));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(
      async ([name, each]) => [name, await shown(each)] as const,
    );
    const own: { [name: string]: unknown } = Object.fromEntries(await Promise.all(entries));
    const { block_id: block, path } = value as Named;
    if (typeof block !== "string" || !block.startsWith("@")) return own;
    const folder = folders.get(block.slice(1, block.indexOf("~")));
    if (folder === undefined) return own;
    const found = typeof path === "string" ? path : (known.get(block) ?? (await pathOf(block)));
    known.set(block, found);
    const { path: _, ...rest } = own;
    return { ...rest, block_id: shownPath(terminal, join(folder, found)) };
  };
  const pathOf = async (block: string): Promise<string> => {
    const { state } = await kernel.ask((each) => each.getDocumentState({ block_id: block }));
    const { path } = state.metadata;
    return typeof path === "string" ? path : block;
  };
  return (await shown(answer)) as Answer;
}

/** Where the person stands, as mounted folders are known. */
export function standing({ folder }: Terminal): string {
  return existsSync(folder) ? realpathSync(folder) : folder;
}
