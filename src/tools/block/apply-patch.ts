import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { parsePatch } from "../../blocks/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import { errorBody } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { becomes, PatchEdit } from "./patch-edit.ts";
import { filled, placed } from "./patch-fit.ts";
import { patchTargets, type PatchedNewFile, type PatchTarget } from "./patch-targets.ts";
import { blockArgument, checkBlock, editAnswer } from "./shared.ts";

const hunk = z.strictObject({
  hunk: z.int().describe("counted from 1"),
  line: z.int().describe("where it was applied, counted from 0"),
  offset: z.int().describe("how many lines from where the patch said"),
  fuzz: z.int().describe("how many lines of context did not match"),
});

const patched = z.strictObject({
  path: z.string().nullable().describe("as the patch names it; null when it does not"),
  block_id: z.string().describe("with dry_run the path of a file that has no block yet"),
  created: z.literal(true).optional().describe("the file was made, or would be"),
  deleted: z.literal(true).optional().describe("the file was deleted, or would be"),
  moved_to: z
    .string()
    .optional()
    .describe("where the file is now, or would be, as the patch names it"),
  mode_kept: z
    .literal(true)
    .optional()
    .describe("the patch changes the file's mode as well: that stays as it is, chmod changes it"),
  version: z.int(),
  since: editAnswer.shape.since,
  hunks: z.array(hunk),
  error: errorBody.optional().describe("dry_run only: why this file cannot be patched"),
});

const output = z.strictObject({
  success: z.boolean().describe("false only with dry_run: at least one file has an error"),
  dry_run: z.boolean(),
  edit: editAnswer.shape.edit.optional(),
  files: z.array(patched),
});

export const blockApplyPatch = defineTool({
  name: "block_apply_patch",
  description:
    "Applies a unified diff to a block, or one with several files to several blocks as one Edit. Line numbers may be off or " +
    "missing and counts wrong: context decides, and what was searched is reported. Removed lines must match. All hunks of all " +
    "files or none; a failure names the hunk and shows the closest text. A file is found by blocks, by its name when that is a " +
    "block, as a file of a folder, or by metadata.path in the context. A creation makes a file, or fills an empty one or an empty " +
    "block. A deletion deletes a file, if its hunks are all of its text, and empties a block; git's rename from and to move a " +
    "file, with its block and history, to where nothing is. With dry_run nothing is changed and each file is reported.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    block_id: blockArgument
      .optional()
      .describe("the block, when the patch is for one; what the patch calls it is ignored"),
    patch: z.string().min(1).describe("a unified diff, as git or diff print it"),
    blocks: z
      .record(z.string(), z.string())
      .optional()
      .describe("which block each path of the patch means; spares looking through the context"),
    context: z
      .string()
      .optional()
      .describe("where paths are looked for; by default the conversation you are in"),
    dry_run: z.boolean().optional().describe("only say what would happen"),
    ...writing,
    base_version: writing.base_version.describe(
      "the version the patch was made for, when it is for one block; by default the current text",
    ),
  }),
  output,
  examples: [
    {
      when: "Change one line.",
      input: { block_id: "main~claude~1", patch: "@@\n one\n-two\n+TWO\n three\n" },
    },
    {
      when: "Change two blocks, or neither.",
      input: {
        patch:
          "--- a/one.txt\n+++ b/one.txt\n@@ -1 +1 @@\n-one\n+ONE\n" +
          "--- a/two.txt\n+++ b/two.txt\n@@ -1 +1 @@\n-two\n+TWO\n",
        blocks: { "one.txt": "main~claude~1", "two.txt": "main~claude~2" },
      },
    },
  ],
  async run(kernel, { input, given, invocation, fingerprint }) {
    const { block_id, blocks = {}, base_version: base, dry_run = false } = input;
    const context = input.context ?? invocation.context;
    const { files } = parsePatch(input.patch);
    const targets = await patchTargets(kernel, files, {
      block: block_id,
      given,
      blocks,
      context,
      invocation,
    });
    if (base !== undefined && targets.length > 1) {
      throw new KumikoError(
        "invalid_argument",
        "base_version is of one block, and the patch is for several: leave it out.",
        { base_version: base, files: targets.length },
      );
    }
    if (dry_run) return tryOut(kernel, targets, base);
    return new PatchEdit(kernel, invocation, { targets, base }).carryOut(fingerprint);
  },
});

/** Every file is tried, also behind one that fails. */
async function tryOut(
  kernel: Kernel,
  targets: readonly (PatchTarget | PatchedNewFile)[],
  base: number | undefined,
): Promise<z.input<typeof output>> {
  const files: z.input<typeof patched>[] = [];
  for (const target of targets) {
    const { path } = target;
    if ("fresh" in target) {
      files.push(tryToFill(target));
      continue;
    }
    const { block } = target;
    files.push(
      await kernel.tryOut(checkBlock(block), (document) => {
        const { version } = document;
        const file = { path, block_id: block, ...becomes(target), version, since: "" };
        try {
          return { ...file, hunks: placed(document, target, base).hunks };
        } catch (error) {
          if (!(error instanceof KumikoError)) throw error;
          return { ...file, hunks: [], error: errorBody.parse(error.toJSON()) };
        }
      }),
    );
  }
  return { success: files.every(({ error }) => error === undefined), dry_run: true, files };
}

function tryToFill(target: PatchedNewFile): z.input<typeof patched> {
  const { path, fresh } = target;
  const file = { path, block_id: fresh.name, created: true, version: 0, since: "" } as const;
  try {
    return { ...file, hunks: filled(target).hunks };
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    return { ...file, hunks: [], error: errorBody.parse(error.toJSON()) };
  }
}
