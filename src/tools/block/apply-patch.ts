import { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import {
  type EditTarget,
  type HunkReport,
  parsePatch,
  type Splice,
  translatePatch,
} from "../../blocks/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import { errorBody } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { patchTargets, type PatchTarget } from "./patch-targets.ts";
import { blockArgument, checkBlock, editAnswer, editBlocks } from "./shared.ts";

const hunk = z.strictObject({
  hunk: z.int().describe("counted from 1"),
  line: z.int().describe("where it was applied, counted from 0"),
  offset: z.int().describe("how many lines from where the patch said"),
  fuzz: z.int().describe("how many lines of context did not match"),
});

const patched = z.strictObject({
  path: z.string().nullable().describe("as the patch names it; null when it does not"),
  block_id: z.string(),
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
    "block, or by metadata.path in the context. A creation fills an empty block, a deletion empties one. With dry_run nothing " +
    "is changed and each file is reported.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument
      .optional()
      .describe("the block, when the patch is for one; names in it are ignored"),
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
  async run(kernel, { input, invocation, fingerprint }) {
    const { block_id, blocks = {}, base_version: base, dry_run = false } = input;
    const context = input.context ?? invocation.context;
    const { files } = parsePatch(input.patch);
    const targets = await patchTargets(kernel, files, {
      block: block_id,
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
    const reports = new Map<string, Hunk[]>();
    const edits = targets.map((target) => {
      const translate = (document: EditTarget): readonly Splice[] => {
        const { splices, hunks } = placed(document, target, base);
        reports.set(target.block, hunks);
        return splices;
      };
      return [target.block, { base, translate }] as const;
    });
    return editBlocks(kernel, invocation, {
      blocks: new Map(edits),
      fingerprint,
      answer: (edit, changed): z.input<typeof output> => ({
        success: true,
        dry_run,
        edit,
        files: targets.map(({ path, block }) => {
          const { version, since } = changed.find((each) => each.block_id === block)!;
          return { path, block_id: block, version, since, hunks: reports.get(block)! };
        }),
      }),
    });
  },
});

type Hunk = z.input<typeof hunk>;

/** Every file is tried, also behind one that fails. */
async function tryOut(
  kernel: Kernel,
  targets: readonly PatchTarget[],
  base: number | undefined,
): Promise<z.input<typeof output>> {
  const files: z.input<typeof patched>[] = [];
  for (const target of targets) {
    const { path, block } = target;
    files.push(
      await kernel.tryOut(checkBlock(block), (document) => {
        const file = { path, block_id: block, version: document.version, since: "" };
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

function placed(
  document: EditTarget,
  { path, block, file }: PatchTarget,
  base: number | undefined,
): { splices: readonly Splice[]; hunks: Hunk[] } {
  try {
    const translated = translatePatch(document, file, base === undefined ? {} : { base });
    return { splices: translated.splices, hunks: translated.reports.map(toHunk) };
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    const named = path ?? block;
    const facts = { ...error.facts, path, block };
    throw new KumikoError(error.code, `${named}: ${error.message}`, facts, { cause: error });
  }
}

function toHunk({ hunk: number, line, offset, fuzz }: HunkReport): Hunk {
  return { hunk: number, line, offset, fuzz };
}
