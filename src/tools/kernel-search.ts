import * as z from "zod";
import { blockKind } from "../protocol/index.ts";
import { defineTool } from "./define-tool.ts";
import { contextLines, foundLine, searching, showLine } from "./searching.ts";

const CONTEXT_LINES = 0;
const MATCHES_PER_BLOCK = 10;
const BLOCKS = 20;

export const kernelSearch = defineTool({
  name: "kernel_search",
  description:
    "Finds lines in many blocks at once, like grep: files by default, other kinds of blocks when kinds names them. All text files of " +
    "mounted folders are searched, also those that nobody has opened; ignored, binary, too large and secret ones are not. The query is a " +
    "regular expression (JavaScript's, line by line), or any text with literal. One result per line, at its first match; lines are " +
    "counted from 0 and mean the version beside them: pass it as base_version to edit by these lines. A file without a version " +
    "has no block yet: its block_id is its path, to be read before it is edited by lines. Blocks come in the order of " +
    "their conversations, behind them files without blocks in the order of their paths. Limits that were reached are told by " +
    "truncated. A block in which an expression takes too long is given " +
    "up and named in slow, and the search goes on behind it; after four of them, or when its time is up, it ends and says " +
    "timed_out. A query with three or more fixed characters is fast.",
  writes: false,
  input: z.strictObject({
    ...searching,
    kinds: z
      .array(blockKind)
      .min(1)
      .optional()
      .describe('which kinds of blocks; ["file"] by default'),
    path_prefix: z.string().optional().describe("only blocks whose path begins with it"),
    context: z.string().optional().describe("only blocks of this conversation"),
    context_lines: contextLines(CONTEXT_LINES),
    max_matches_per_block: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe(`${MATCHES_PER_BLOCK} by default`),
    max_blocks: z.int().min(1).max(1000).optional().describe(`${BLOCKS} by default`),
  }),
  output: z.strictObject({
    blocks: z.array(
      z.strictObject({
        block_id: z.string().describe("the block, or the path of a file that has none yet"),
        path: z.string().optional(),
        version: z
          .int()
          .optional()
          .describe("what the lines mean; pass it as base_version. Not of a file without a block"),
        matches: z.array(foundLine),
        truncated: z.boolean().describe("there are more in this block"),
      }),
    ),
    kinds: z.array(blockKind).describe("the kinds that were searched"),
    truncated: z.boolean().describe("there are more blocks"),
    timed_out: z
      .boolean()
      .describe(
        "the expression took too long: blocks behind those that are told were not searched",
      ),
    slow: z
      .array(z.string())
      .describe("blocks that were given up; what was found in them until then is told"),
    unreadable: z
      .array(z.strictObject({ block_id: z.string(), why: z.string() }))
      .describe("blocks, files and folders that could not be searched"),
    indexing: z
      .strictObject({ done: z.int(), of: z.int() })
      .optional()
      .describe(
        "a folder is still being indexed: so many of so many files were searched. Ask again in a moment",
      ),
  }),
  examples: [
    { when: "Who uses it?", input: { query: "parseConfig\\(", path_prefix: "src/" } },
    { when: "What was said?", input: { query: "deadline", kinds: ["text"], ignore_case: true } },
  ],
  async run(kernel, { input, invocation }) {
    const { query, literal = false, ignore_case: ignoreCase = false, context } = input;
    if (context !== undefined) await kernel.contexts.check(context);
    const kinds = input.kinds ?? ["file"];
    const answer = await kernel.search.everywhere(invocation, {
      query: { query, literal, ignoreCase },
      kinds,
      context,
      pathPrefix: input.path_prefix,
      contextLines: input.context_lines ?? CONTEXT_LINES,
      linesPerText: input.max_matches_per_block ?? MATCHES_PER_BLOCK,
      texts: input.max_blocks ?? BLOCKS,
    });
    const blocks = answer.found.map(({ block, path, version, lines, truncated }) => ({
      block_id: block,
      ...(path !== undefined && { path }),
      version,
      matches: lines.map(showLine),
      truncated,
    }));
    const files = answer.files.map(({ file, lines, truncated }) => ({
      block_id: file,
      path: file,
      matches: lines.map(showLine),
      truncated,
    }));
    return {
      blocks: [...blocks, ...files],
      kinds,
      truncated: answer.truncated,
      timed_out: answer.timedOut,
      slow: [...answer.slow],
      unreadable: answer.unreadable.map(({ block, why }) => ({ block_id: block, why })),
      ...(answer.indexing !== undefined && { indexing: { ...answer.indexing } }),
    };
  },
});
