import { KumikoError } from "../../base/index.ts";
import type { OpenKernel } from "../home/access.ts";
import type { Caller } from "../home/with-kernel.ts";
import { callFileTool } from "./call-file-tool.ts";

interface Entry {
  readonly kind: string;
  readonly actor: string;
  readonly edit: string;
}

/** Kinds of versions that are somebody's Edit; redoing one makes it theirs again. */
const EDITS = new Set(["text", "import"]);

/**
 * Undoes the newest Edit of somebody in one file. Which ones are undone already the history does not say: those are
 * tried and passed over.
 */
export async function undoInFile(
  kernel: OpenKernel,
  caller: Caller,
  {
    file,
    shown,
    ...rest
  }: { readonly file: string; readonly shown: string; readonly input: Input },
): Promise<Input> {
  const { actor = caller.actor, ...input } = rest.input;
  const history = { block_id: file, limit: 1000 };
  const { versions } = await callFileTool<{ versions: Entry[] }>(
    kernel,
    caller,
    "block_history",
    history,
  );
  const edits = versions.filter(({ kind }) => EDITS.has(kind));
  const own = edits.filter((each) => each.actor === actor);
  for (const edit of new Set(own.map((each) => each.edit))) {
    try {
      return await callFileTool(kernel, caller, "block_undo", { ...input, edit });
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "nothing_to_undo") throw error;
    }
  }
  const others = [...new Set(edits.map((each) => each.actor))].filter((each) => each !== actor);
  throw new KumikoError(
    "nothing_to_undo",
    `There is no Edit of ${String(actor)} in ${shown} that could be undone.` +
      (others.length > 0 ? ` Others have some (--of-actor): ${others.join(", ")}.` : ""),
    { path: shown, actor: String(actor), actors: others },
  );
}

type Input = { readonly [name: string]: unknown };
