import { KumikoError, parseBlockId } from "../../base/index.ts";
import type { FilePatch } from "../../blocks/index.ts";
import type { Invocation, Kernel, NewFile, PlannedGoing } from "../../kernel/index.ts";

interface PatchPart {
  /** As the patch names it; null in a bare hunk. */
  readonly path: string | null;
  readonly file: FilePatch;
}

/** One file of a patch and the block it is for. */
export interface PatchTarget extends PatchPart {
  readonly block: string;
  /** The patch deletes or renames it, and it is a file. */
  readonly going?: PlannedGoing | undefined;
}

/** One file of a patch that the patch makes. */
export interface PatchedNewFile extends PatchPart {
  readonly fresh: NewFile;
}

export interface TargetOptions {
  /** The block of a patch for one file, whatever its names. */
  readonly block: string | undefined;
  /** What the caller called that. */
  readonly given: string | undefined;
  readonly blocks: { readonly [path: string]: string };
  readonly context: string | undefined;
  readonly invocation: Invocation;
}

const NAMED = 20;

/**
 * Which block each file of a patch is for: by `blocks`, by its name when that is a block, as a file of a folder, or by
 * `metadata.path`. A file of a folder that is not there yet has none.
 */
export async function patchTargets(
  kernel: Kernel,
  files: readonly FilePatch[],
  { block, given, blocks, context, invocation }: TargetOptions,
): Promise<(PatchTarget | PatchedNewFile)[]> {
  if (block !== undefined)
    return [await withGoing(kernel, invocation, oneTarget(files, block), given)];
  const paths = files.map((file) => pathOf(file, kernel.hasFiles));
  const unknown = kernel.hasFiles
    ? []
    : paths.filter((path) => blocks[path] === undefined && !isBlock(path));
  const found = unknown.length === 0 ? new Map() : await byPath(kernel, context, unknown);
  const targets: (PatchTarget | PatchedNewFile)[] = [];
  for (const [index, file] of files.entries()) {
    const path = paths[index]!;
    const named = blocks[path] ?? found.get(path) ?? path;
    const fresh = file.kind === "create" ? await kernel.newFile(invocation, named) : undefined;
    if (fresh !== undefined) targets.push({ path, fresh, file });
    else targets.push(await existing(kernel, invocation, { path, block: named, file }));
  }
  checkDistinct(targets);
  return targets;
}

function oneTarget(files: readonly FilePatch[], block: string): PatchTarget {
  const [file] = files;
  if (file === undefined || files.length > 1) {
    throw new KumikoError(
      "invalid_argument",
      `The patch is for ${files.length} files, and block_id names one block: leave it out and let each file be found ` +
        "by its path, or pass blocks.",
      { files: files.length },
    );
  }
  return { path: file.newPath ?? file.oldPath, block, file };
}

/** What is meant, if the patch may do that to it. */
async function existing(
  kernel: Kernel,
  invocation: Invocation,
  target: PatchTarget,
): Promise<PatchTarget> {
  const { block: named, file } = target;
  const found = await withGoing(kernel, invocation, target);
  if (found.going === undefined && file.kind === "rename") throw keepsItsName(file);
  if (found.going !== undefined && !changesText(found)) return found;
  return { ...found, block: await kernel.target(invocation, named, "change") };
}

/** Whether a patch changes what its block says: what is deleted keeps its text. */
export function changesText({ going, file }: PatchTarget): boolean {
  return going === undefined || (going.to !== undefined && file.hunks.length > 0);
}

/** A block is emptied by a patch that deletes it, and keeps its name. A file goes, or goes where the patch says. */
async function withGoing(
  kernel: Kernel,
  invocation: Invocation,
  target: PatchTarget,
  given = target.block,
): Promise<PatchTarget> {
  const { file } = target;
  if (file.kind !== "delete" && file.kind !== "rename") return target;
  const to = file.kind === "rename" ? file.newPath! : undefined;
  const going = await kernel.going(invocation, given, to);
  return going === undefined ? target : { ...target, block: going.block, going };
}

function keepsItsName({ kind, oldPath, newPath }: FilePatch): KumikoError {
  return new KumikoError(
    "patch_rejected",
    `The patch renames ${oldPath} to ${newPath}, and a block keeps its name: patch its text, and set metadata.path with ` +
      "block_status.",
    { path: oldPath, new_path: newPath, kind },
  );
}

function pathOf(file: FilePatch, hasFiles: boolean): string {
  const { kind, oldPath, newPath } = file;
  if (kind === "rename" && !hasFiles) throw keepsItsName(file);
  const path = oldPath ?? newPath;
  if (path !== null) return path;
  throw new KumikoError(
    "invalid_argument",
    "The patch does not name its file: pass block_id, or begin it with --- and +++ lines.",
    {},
  );
}

function isBlock(path: string): boolean {
  try {
    parseBlockId(path);
    return true;
  } catch {
    return false;
  }
}

/** There is no index of paths: one pass over the blocks of the context finds all that are asked for. */
async function byPath(
  kernel: Kernel,
  context: string | undefined,
  paths: readonly string[],
): Promise<Map<string, string>> {
  if (context === undefined) {
    throw new KumikoError(
      "invalid_argument",
      "Say in which context the files are looked for: pass context, or blocks.",
      { paths: [...paths] },
    );
  }
  await kernel.contexts.check(context);
  const wanted = new Set(paths);
  const found = new Map<string, string[]>();
  const others: string[] = [];
  for await (const { block, state } of kernel.blocks(context)) {
    const path = state?.metadata["path"];
    if (typeof path !== "string") continue;
    if (wanted.has(path)) found.set(path, [...(found.get(path) ?? []), block]);
    else if (others.length < NAMED) others.push(path);
  }
  const single = new Map<string, string>();
  for (const path of wanted) {
    const [first, ...more] = found.get(path) ?? [];
    if (first === undefined) throw noBlock(path, context, others);
    if (more.length > 0) {
      throw new KumikoError(
        "ambiguous",
        `${1 + more.length} blocks of ${context} have the path ${path}: say in blocks which one is meant.`,
        { path, blocks: [first, ...more] },
      );
    }
    single.set(path, first);
  }
  return single;
}

function noBlock(path: string, context: string, paths: readonly string[]): KumikoError {
  return new KumikoError(
    "unknown_block",
    `No block of ${context} has the path ${path}. Name it in blocks, or create one first with block_create ` +
      "and metadata.path: a patch fills an empty block but makes none.",
    { path, context, paths: [...paths] },
  );
}

function checkDistinct(targets: readonly (PatchTarget | PatchedNewFile)[]): void {
  const seen = new Map<string, string | null>();
  for (const target of targets) {
    const { path } = target;
    for (const name of namesOf(target)) {
      if (seen.has(name)) {
        throw new KumikoError(
          "invalid_argument",
          `${path} and ${seen.get(name)} are both for ${name}: put their hunks under one name.`,
          { block: name, path },
        );
      }
      seen.set(name, path);
    }
  }
  for (const [name, path] of seen) {
    const folder = foldersOf(name).find((each) => seen.has(each));
    if (folder === undefined) continue;
    throw new KumikoError(
      "invalid_argument",
      `${name} would be in ${folder}, which the patch makes a file: give one of them another name.`,
      { block: name, path },
    );
  }
}

/** What is not there yet is named by its path. */
function namesOf(target: PatchTarget | PatchedNewFile): string[] {
  if ("fresh" in target) return [target.fresh.name];
  const { block, going } = target;
  return going?.to === undefined ? [block] : [block, going.to];
}

function foldersOf(name: string): string[] {
  return [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index));
}
