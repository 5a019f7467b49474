import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import {
  applyPatchToText,
  type EditTarget,
  type HunkReport,
  parsePatch,
  type Splice,
  translatePatch,
} from "../../blocks/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import { errorBody } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { patchTargets, type PatchedNewFile, type PatchTarget } from "./patch-targets.ts";
import { blockArgument, checkBlock, editAnswer, editBlocks } from "./shared.ts";

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
    "block; a deletion empties a block, but files are deleted with file_delete and renamed with file_move. With dry_run " +
    "nothing is changed and each file is reported.",
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
    const existing = targets.filter((target) => "block" in target);
    const fresh = targets.filter((target) => "fresh" in target).map(filled);
    // What cannot be patched is refused before anything is made.
    if (fresh.length > 0)
      for (const target of existing)
        await kernel.tryOut(checkBlock(target.block), (document) => placed(document, target, base));
    const made = new Map<string | null, z.input<typeof patched>>();
    let inEdit: string | undefined;
    for (const { target, text, hunks } of fresh) {
      const { path } = target;
      const { block, version, edit } = await target.fresh.create(invocation, text, inEdit);
      inEdit = edit;
      made.set(path, { path, block_id: block, created: true, version, since: "", hunks });
    }
    const reports = new Map<string, Hunk[]>();
    const edits = existing.map((target) => {
      const translate = (document: EditTarget): readonly Splice[] => {
        const { splices, hunks } = placed(document, target, base);
        reports.set(target.block, hunks);
        return splices;
      };
      return [target.block, { base, translate }] as const;
    });
    const answer = await editBlocks(kernel, invocation, {
      blocks: new Map(edits),
      fingerprint,
      edit: inEdit,
      answer: (edit, changed): z.input<typeof output> => ({
        success: true,
        dry_run,
        edit,
        files: targets.map((target) => {
          const { path } = target;
          if (!("block" in target)) return made.get(path)!;
          const { block } = target;
          const { version, since } = changed.find((each) => each.block_id === block)!;
          return { path, block_id: block, version, since, hunks: reports.get(block)! };
        }),
      }),
    });
    const newFiles = [...made.values()];
    await kernel.makeFiles(
      invocation,
      newFiles.map((file) => file.block_id),
    );
    for (const { block_id: block, version } of newFiles)
      kernel.readers.show(invocation, block, version);
    return answer;
  },
});

type Hunk = z.input<typeof hunk>;

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

/** What a file says that a patch makes. */
function filled(target: PatchedNewFile): { target: PatchedNewFile; text: string; hunks: Hunk[] } {
  const { path, fresh, file } = target;
  return naming(path, fresh.name, () => {
    const { text, reports } = applyPatchToText("", file);
    return { target, text, hunks: reports.map(toHunk) };
  });
}

function placed(
  document: EditTarget,
  { path, block, file }: PatchTarget,
  base: number | undefined,
): { splices: readonly Splice[]; hunks: Hunk[] } {
  return naming(path, block, () => {
    const translated = translatePatch(document, file, base === undefined ? {} : { base });
    return { splices: translated.splices, hunks: translated.reports.map(toHunk) };
  });
}

/** Says in a refusal which file of the patch it is about. */
function naming<Result>(path: string | null, block: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
    const facts = { ...error.facts, path, block };
    throw new KumikoError(error.code, `${path ?? block}: ${error.message}`, facts, {
      cause: error,
    });
  }
}

function toHunk({ hunk: number, line, offset, fuzz }: HunkReport): Hunk {
  return { hunk: number, line, offset, fuzz };
}
