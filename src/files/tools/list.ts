import * as z from "zod";
import { defineTool } from "../../tools/index.ts";
import { fileStatuses } from "../file-status.ts";
import { Mounts } from "../mounts.ts";
import { ownMount } from "../places.ts";
import { diskTime } from "./shared.ts";

const LIMIT = 200;

export const fileList = defineTool({
  name: "file_list",
  description:
    "Lists the files of a folder, also those that no block was made of yet, in the order of their paths. Ignored files and " +
    "what is below ignored folders are left out unless asked for. A link is listed as the file that it leads to. " +
    "A name that could be misread in a line, such as one with a newline, is shown in quotes as a JSON string: pass what that says, without the quotes.",
  writes: false,
  input: z.strictObject({
    mount: z
      .string()
      .optional()
      .describe("which folder, when there are several; by default the first"),
    pattern: z.string().optional().describe("a glob such as src/**/*.ts; by default everything"),
    ignored: z.boolean().optional().describe("also what is ignored"),
    after: z.string().optional().describe("go on behind this path"),
    limit: z.int().min(1).max(5_000).optional().describe(`${LIMIT} by default`),
  }),
  output: z.strictObject({
    mount: z.string(),
    files: z.array(
      z.strictObject({
        path: z.string(),
        size: z.int(),
        permission: z
          .string()
          .describe(
            "the level of the rule for it; none for a link that leads to no file of the folder",
          ),
        loaded: z.boolean().describe("whether it has a block"),
        dirty: z.boolean().describe("whether the block is ahead of the file"),
        conflict: z.boolean(),
        status: z
          .enum([...fileStatuses, "folder"])
          .describe("how the block and the file stand to one another; folder: a link to one"),
        disk_mtime: diskTime,
      }),
    ),
    after: z.string().optional().describe("there are more: pass it as after"),
    unlisted: z
      .array(z.strictObject({ path: z.string(), reason: z.string() }))
      .optional()
      .describe("what is there and cannot be looked into: what it holds is missing here"),
  }),
  examples: [{ when: "All TypeScript.", input: { pattern: "src/**/*.ts" } }],
  async run(kernel, { input, invocation }) {
    const mounts = Mounts.of(kernel);
    const mount =
      input.mount === undefined
        ? ownMount(mounts, invocation.folder)
        : mounts.named(input.mount.replace(/^@/, ""));
    const { pattern, ignored, after, limit = LIMIT } = input;
    return { mount: mount.name, ...(await mount.list({ pattern, ignored, after, limit })) };
  },
});
