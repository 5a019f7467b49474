import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { type ReplaceRequest, translateReplace } from "../../blocks/index.ts";
import type { Invocation, Kernel } from "../../kernel/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, checkBlock, editAnswer, editOneBlock } from "./shared.ts";

/** More matches than anyone can mean; with occurrence, fewer are looked for. */
const MOST_MATCHES = 100_000;

const input = z
  .strictObject({
    block_id: blockArgument,
    old: z.string().min(1).optional().describe("the text to replace, exactly as it stands there"),
    regex: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe("instead of old: a regular expression of JavaScript, matched over the whole text"),
    ignore_case: z.boolean().optional().describe("for regex"),
    new: z
      .string()
      .describe(
        "what stands there afterwards; with regex $1, $<name> and $& stand for what matched",
      ),
    occurrence: z
      .union([z.enum(["first", "all"]), z.int().min(1)])
      .optional()
      .describe("first, all, or which one, counted from 1"),
    ...writing,
  })
  .refine(({ old, regex }) => (old === undefined) !== (regex === undefined), {
    message: "give either old or regex",
  })
  .refine(({ ignore_case, regex }) => ignore_case === undefined || regex !== undefined, {
    message: "ignore_case is for regex",
  });

export const blockReplace = defineTool({
  name: "block_replace",
  description:
    "Replaces a text, or what a regular expression matches, wherever it stands now, without line numbers. It must occur exactly " +
    "once unless occurrence says first, all or which one (counted from 1). When a text does not occur you are shown the closest " +
    "one. In an expression ^ and $ mean line ends. One that takes too long is ended and nothing is replaced.",
  writes: true,
  input,
  output: editAnswer,
  examples: [
    { when: "Rename once.", input: { block_id: "main~claude~1", old: "colour", new: "color" } },
    {
      when: "Swap two arguments everywhere.",
      input: {
        block_id: "main~claude~1",
        regex: "move\\((\\w+), (\\w+)\\)",
        new: "move($2, $1)",
        occurrence: "all",
      },
    },
  ],
  async run(kernel, call) {
    const { block_id: block, base_version: named, occurrence } = call.input;
    const { find, base } = await placesToReplace(kernel, call.invocation, call.input);
    return editOneBlock(kernel, call.invocation, {
      block,
      base: named,
      fingerprint: call.fingerprint,
      translate: (target) => translateReplace(target, { find, occurrence, base }),
    });
  },
});

/** What to replace, and the version in which it was found; the current one when there is no base. */
async function placesToReplace(
  kernel: Kernel,
  invocation: Invocation,
  wanted: z.output<typeof input>,
): Promise<Pick<ReplaceRequest, "find" | "base">> {
  const { old, regex, occurrence, base_version: named } = wanted;
  // Content is looked for in the current text: only a base that was named makes it mean a past one.
  if (old !== undefined) return { find: { old, new: wanted.new }, base: named };
  const { version, replacements } = await kernel.search.replacements(invocation, {
    block: checkBlock(wanted.block_id),
    version: named,
    pattern: regex!,
    ignoreCase: wanted.ignore_case ?? false,
    replacement: wanted.new,
    most:
      occurrence === "first" ? 1 : typeof occurrence === "number" ? occurrence : MOST_MATCHES + 1,
  });
  if (replacements.length > MOST_MATCHES) {
    throw new KumikoError(
      "invalid_argument",
      `The expression matches more than ${MOST_MATCHES} times; replace less at once.`,
      { regex: regex!, maximum: MOST_MATCHES },
    );
  }
  return { find: { matches: replacements }, base: version };
}
