import { flipOf, isFileEdit, KumikoError } from "../../base/index.ts";
import type { OpenKernel } from "../home/access.ts";
import type { Caller } from "../home/with-kernel.ts";
import { callFileTool } from "./call-file-tool.ts";

interface Entry {
  readonly version: number;
  readonly kind: string;
  readonly actor: string;
  readonly edit: string;
}

interface Asked {
  /** `block_undo` or `block_redo`. */
  readonly tool: string;
  readonly file: string;
  readonly shown: string;
  readonly input: Input;
}

type Input = { readonly [name: string]: unknown };

/** Kinds of versions that are somebody's Edit; redoing one makes it theirs again. */
const EDITS = new Set(["text", "import"]);

/**
 * Undoes the newest Edit of somebody in one file or block, or redoes what was undone last of theirs or by them. Which ones are
 * undone already the history does not say: those that cannot be had are passed over.
 */
export async function flipInFile(
  kernel: OpenKernel,
  caller: Caller,
  { tool, file, shown, ...rest }: Asked,
): Promise<Input> {
  const { actor = caller.actor, ...input } = rest.input;
  const history = { block_id: file, limit: 1000 };
  const { versions } = await callFileTool<{ versions: Entry[] }>(
    kernel,
    caller,
    "block_history",
    history,
  );
  const edits = versions.filter((each) => isOwnEdit(each) && !isFirstRead(each));
  const redoes = tool === "block_redo";
  const wanted = redoes ? undone(versions, actor) : madeBy(edits, actor);
  for (const edit of new Set(wanted)) {
    try {
      return await callFileTool(kernel, caller, tool, { ...input, edit });
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "nothing_to_undo") throw error;
    }
  }
  const others = [...new Set(edits.map((each) => each.actor))].filter((each) => each !== actor);
  throw new KumikoError(
    "nothing_to_undo",
    `There is no Edit of ${String(actor)} in ${shown} that could be ${redoes ? "redone" : "undone"}.` +
      (others.length > 0 ? ` Others have some (--of-actor): ${others.join(", ")}.` : ""),
    { path: shown, actor: String(actor), actors: others },
  );
}

/** Moves and deletions of files are too, which change no text. */
function isOwnEdit({ kind, edit }: Entry): boolean {
  return EDITS.has(kind) || isFileEdit(edit);
}

/** What a file held when it became a block was there before anybody's Edit. */
function isFirstRead({ version, actor }: Entry): boolean {
  return version === 1 && actor === "disk";
}

function madeBy(edits: readonly Entry[], actor: unknown): string[] {
  return edits.filter((each) => each.actor === actor).map(({ edit }) => edit);
}

/** What this actor undid, and what was undone of theirs, the last first. */
function undone(versions: readonly Entry[], actor: unknown): string[] {
  const own = new Set(madeBy(versions, actor));
  return versions.flatMap(({ kind, actor: by, edit }) => {
    const flip = flipOf(edit);
    if (flip === undefined || flip.active) return [];
    const { target } = flip;
    const isUndo = kind === "undo" || isFileEdit(target);
    return isUndo && (by === actor || own.has(target)) ? [target] : [];
  });
}
