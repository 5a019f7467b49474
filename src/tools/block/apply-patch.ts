import { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import { type HunkReport, parsePatch, translatePatch } from "../../blocks/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, editAnswer, editOneBlock } from "./shared.ts";

const hunk = z.strictObject({
  hunk: z.int().describe("counted from 1"),
  line: z.int().describe("where it was applied, counted from 0"),
  offset: z.int(),
  fuzz: z.int(),
});

export const blockApplyPatch = defineTool({
  name: "block_apply_patch",
  description:
    "Applies a unified diff to a block. Line numbers may be off or missing and counts wrong: context decides, and what was " +
    "searched is reported. Removed lines must match. All hunks or none; a failure names the hunk and shows the closest text. " +
    "With dry_run nothing is changed.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument,
    patch: z.string().min(1),
    dry_run: z.boolean().optional(),
    ...writing,
  }),
  output: z.strictObject({
    ...editAnswer.shape,
    edit: z.string().optional(),
    hunks: z.array(hunk),
    dry_run: z.boolean(),
  }),
  examples: [
    {
      when: "Change one line.",
      input: { block_id: "main~claude~1", patch: "@@\n one\n-two\n+TWO\n three\n" },
    },
  ],
  async run(kernel, { input, invocation, fingerprint }) {
    const { files } = parsePatch(input.patch);
    const [file] = files;
    if (file === undefined || files.length > 1) {
      throw new KumikoError(
        "invalid_argument",
        `The patch is for ${files.length} files; a block takes a patch for one.`,
        { files: files.length },
      );
    }
    const options = input.base_version === undefined ? {} : { base: input.base_version };
    if (input.dry_run === true) {
      return kernel.tryOut(input.block_id, (target) => ({
        block_id: input.block_id,
        version: target.version,
        since: "",
        hunks: translatePatch(target, file, options).reports.map(toHunk),
        dry_run: true,
      }));
    }
    let reports: readonly HunkReport[] = [];
    const answer = await editOneBlock(kernel, invocation, {
      block: input.block_id,
      base: input.base_version,
      fingerprint,
      translate: (target) => {
        const translated = translatePatch(target, file, options);
        reports = translated.reports;
        return translated.splices;
      },
    });
    return { ...answer, hunks: reports.map(toHunk), dry_run: false };
  },
});

function toHunk({ hunk: number, line, offset, fuzz }: HunkReport): z.input<typeof hunk> {
  return { hunk: number, line, offset, fuzz };
}
