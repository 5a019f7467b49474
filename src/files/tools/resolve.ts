import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { defineTool, writing } from "../../tools/index.ts";
import type { Conflict } from "../conflicts.ts";
import type { Decided } from "../deciding.ts";
import { Mounts } from "../mounts.ts";
import { chosenText } from "../resolve-conflict.ts";
import { tellUnsaved } from "./shared.ts";

export const fileResolve = defineTool({
  name: "file_resolve",
  description:
    "Decides a conflict between a file and its block: disk (what the file said), memory (what the block said), mine (which of " +
    "the two you wrote), both (disk's lines, then the block's), a text of your own, or now: the block as it is, for lines that " +
    "were edited since. Where lines change it is an ordinary edit, and undoing it opens the conflict again. " +
    "Of a file that was deleted, memory brings it back and disk leaves it so.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    conflict: z.string().describe("as file_status names it, for example c3"),
    choice: z
      .enum(["disk", "memory", "mine", "both", "text", "now"])
      .describe("whose lines stand there from now on"),
    text: z.string().optional().describe("the lines that shall stand there, with choice text"),
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: z.strictObject({
    path: z.string(),
    block_id: z.string(),
    version: z.int(),
    edit: z
      .string()
      .optional()
      .describe("when lines changed: undoing it opens the conflict again, redoing it closes it"),
    stands: z
      .strictObject({ text: z.string(), by: z.array(z.string()).describe("whose lines they are") })
      .optional()
      .describe("what stands there from now on; not with now, nor when the file stays deleted"),
  }),
  examples: [{ when: "Keep both.", input: { conflict: "c3", choice: "both" } }],
  async run(kernel, { input, invocation }) {
    const { conflict: name, choice, text } = input;
    if ((choice === "text") !== (text !== undefined)) {
      throw new KumikoError("invalid_argument", "Pass text with choice text, and only then.", {});
    }
    const mounts = Mounts.of(kernel);
    const conflict = mounts.conflicts.get(name);
    const found = mounts.fileOf(conflict.block);
    if (found === undefined) throw notMounted(conflict.path);
    const { actor, kind = "person" } = invocation;
    found.mount.check(found.file.path, "change", { actor, kind });
    const side = choice === "mine" ? ownSide(conflict, actor) : choice;
    if (conflict.gone === true && side !== "disk" && side !== "now")
      found.mount.check(found.file.path, "create", { actor, kind });
    const decided: Decided = side === "text" ? { text: text! } : side;
    const edit = await found.mount.source.resolve(invocation, conflict, decided);
    const { block, path } = found.file;
    tellUnsaved(kernel, invocation, [block]);
    const stands = standing(conflict, decided, actor);
    return { path, block_id: block, version: await kernel.version(block), edit, stands };
  },
});

/** On which side are the lines that the caller wrote: the disk's, after `kumiko edit`. */
function ownSide({ conflict, theirs, mine }: Conflict, actor: string): "disk" | "memory" {
  const isOnDisk = theirs === actor;
  const isInMemory = mine.includes(actor);
  if (isOnDisk !== isInMemory) return isOnDisk ? "disk" : "memory";
  const memory = mine.length === 0 ? "memory" : `memory (${mine.join(", ")})`;
  const are = isOnDisk
    ? `both disk and ${memory} are ${actor}'s`
    : `neither disk (${theirs}) nor ${memory} is known to be ${actor}'s`;
  throw new KumikoError("invalid_argument", `In ${conflict} ${are}: say which of them.`, {
    conflict,
    actor,
    disk: theirs,
    memory: mine,
  });
}

function standing(
  conflict: Conflict,
  decided: Decided,
  actor: string,
): { text: string; by: string[] } | undefined {
  const { theirs, mine, gone } = conflict;
  if (decided === "now" || (decided === "disk" && gone === true)) return undefined;
  const authors = { disk: [theirs], memory: [...mine], both: [...new Set([theirs, ...mine])] };
  const by = typeof decided === "object" ? [actor] : authors[decided];
  return { text: chosenText(conflict, decided), by };
}

function notMounted(path: string): KumikoError {
  return new KumikoError("not_on_disk", `${path} is in a folder that is not mounted now.`, {
    path,
  });
}
