import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { KumikoError } from "../base/index.ts";
import {
  applyPatchToText,
  type FilePatch,
  type HunkReport,
  type Patch,
} from "../blocks/patch/index.ts";
import { containedPath, realTarget } from "./contained-path.ts";
import type { FileChange } from "./file-change.ts";
import { asUnreadable, decodeText, readPlainFile } from "./text-file.ts";

export interface PlannedFile {
  readonly path: string;
  readonly kind: FilePatch["kind"];
  readonly hunks: readonly HunkReport[];
  readonly notes: readonly string[];
}

export interface PatchPlan {
  readonly files: readonly PlannedFile[];
  readonly changes: readonly FileChange[];
}

export interface PlanOptions {
  readonly folder: string;
  /** The person's own choice of file, which may lie anywhere. */
  readonly target: string | null;
  readonly fuzz: number;
  /** Names in the patch are taken as they are; else the ones that exist are looked for. */
  readonly literalNames: boolean;
}

/** Reads every file and fits every hunk; writes nothing. */
export async function planPatch(patch: Patch, options: PlanOptions): Promise<PatchPlan> {
  const planner = new Planner(await realFolder(options.folder), options);
  const files: PlannedFile[] = [];
  for (const section of patch.files) files.push(await planner.plan(section, patch.files.length));
  return { files, changes: planner.changes() };
}

async function realFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    throw asUnreadable(error, folder);
  }
}

type FileState = { -readonly [Key in keyof FileChange]: FileChange[Key] } & {
  readonly originalMode: number | null;
};

/** Later sections of a patch see what earlier ones did to the same file. */
class Planner {
  readonly #folder: string;
  readonly #options: PlanOptions;
  readonly #states = new Map<string, FileState>();

  constructor(folder: string, options: PlanOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  changes(): FileChange[] {
    return [...this.#states.values()].filter(({ before, after, mode, originalMode }) => {
      if (before === null || after === null) return before !== after;
      return mode !== originalMode || Buffer.compare(before, after) !== 0;
    });
  }

  async plan(section: FilePatch, sections: number): Promise<PlannedFile> {
    const source = await this.#source(section, sections);
    try {
      return await this.#apply(section, source);
    } catch (error) {
      if (!(error instanceof KumikoError) || "path" in error.facts) throw error;
      const facts = { path: source.path, ...error.facts };
      throw new KumikoError(error.code, `${source.path}: ${error.message}`, facts, {
        cause: error,
      });
    }
  }

  async #apply(section: FilePatch, source: FileState): Promise<PlannedFile> {
    const creates = section.kind === "create" || isCreation(section);
    if (source.after === null && !creates) {
      throw new KumikoError("file_unreadable", `${source.path} does not exist.`, {
        path: source.path,
      });
    }
    if (section.kind === "create" && source.after !== null && source.after.length > 0) {
      throw new KumikoError(
        "patch_rejected",
        `${source.path}: the patch creates the file, but it exists.`,
        {
          path: source.path,
        },
      );
    }
    const kind = source.after === null ? "create" : section.kind;
    const old = decodeText(source.after ?? new Uint8Array(), source.path);
    const { text, reports } = applyKeepingByteOrderMark(old, section, this.#options.fuzz);
    const result = section.kind === "rename" ? await this.#renamed(section, source) : source;
    result.after = section.kind === "delete" ? null : new TextEncoder().encode(text);
    if (section.newMode !== null)
      setExecutable(result, (Number.parseInt(section.newMode, 8) & 0o100) !== 0);
    return { path: result.path, kind, hunks: reports, notes: section.notes };
  }

  async #renamed(section: FilePatch, source: FileState): Promise<FileState> {
    const target = await this.#named(section.newPath!);
    if (target.after !== null) {
      throw new KumikoError(
        "patch_rejected",
        `${target.path}: the patch renames a file to this, but it exists.`,
        {
          path: target.path,
        },
      );
    }
    target.mode = source.mode;
    target.owner = source.owner;
    source.after = null;
    return target;
  }

  async #source(section: FilePatch, sections: number): Promise<FileState> {
    const { target } = this.#options;
    if (target !== null) {
      if (sections > 1 || section.kind === "rename") {
        throw new KumikoError(
          "invalid_argument",
          "--file needs a patch of one file that is not renamed.",
          {
            sections,
          },
        );
      }
      return this.#state(await realTarget(resolve(this.#folder, target), target), target);
    }
    const names = this.#candidateNames(section);
    if (names.length === 0) {
      throw new KumikoError(
        "invalid_argument",
        "The patch names no file; say which one with --file.",
      );
    }
    const first = await this.#named(names[0]!);
    if (first.after !== null || section.kind !== "modify" || this.#options.literalNames)
      return first;
    for (const name of names.slice(1)) {
      const other = await this.#named(name);
      if (other.after !== null) return other;
    }
    return first;
  }

  /** As GNU patch, for `diff -ru old new` and `diff -u x.orig x`: the first of these that exists. */
  #candidateNames({ kind, oldPath, newPath }: FilePatch): string[] {
    const names = kind === "rename" ? [oldPath] : [newPath, oldPath];
    const given = names.filter((name) => name !== null);
    const shorter = given.map((name) => name.slice(name.indexOf("/") + 1));
    return [...new Set([...given, ...shorter])].filter((name) => name !== "");
  }

  async #named(name: string): Promise<FileState> {
    return this.#state(await containedPath(this.#folder, name), name);
  }

  async #state(file: string, path: string): Promise<FileState> {
    let state = this.#states.get(file);
    if (state === undefined) {
      const found = await readPlainFile(file, path);
      const before = found?.bytes ?? null;
      const mode = found?.mode ?? null;
      const owner = found === null ? null : { uid: found.uid, gid: found.gid };
      state = {
        path,
        file,
        before,
        after: before,
        mode,
        originalMode: mode,
        executable: false,
        owner,
      };
      this.#states.set(file, state);
    }
    return state;
  }
}

/** Whoever may read may also run it, as git does; a new file's bits are left to the umask. */
function setExecutable(state: FileState, executable: boolean): void {
  state.executable = executable;
  if (state.mode === null) return;
  state.mode = executable ? state.mode | ((state.mode & 0o444) >> 2) : state.mode & ~0o111;
}

/** `@@ -0,0` for a file that is not there creates it, also without `/dev/null`. */
function isCreation(section: FilePatch): boolean {
  const [hunk] = section.hunks;
  return (
    section.kind === "modify" &&
    section.hunks.length === 1 &&
    hunk!.oldStart === 0 &&
    hunk!.oldCount === 0
  );
}

/** A patch made by git shows the mark, one written by a model does not; either way the file keeps it. */
function applyKeepingByteOrderMark(
  text: string,
  section: FilePatch,
  fuzz: number,
): { text: string; reports: readonly HunkReport[] } {
  const mark = "\uFEFF";
  const shown = section.hunks.some((hunk) => hunk.lines.some((line) => line.text.startsWith(mark)));
  if (!text.startsWith(mark) || shown) return applyPatchToText(text, section, { fuzz });
  const applied = applyPatchToText(text.slice(mark.length), section, { fuzz });
  return { ...applied, text: mark + applied.text };
}
