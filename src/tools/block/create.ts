import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { blockFlags, blockKind, blockMetadata, blockRole } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";

export const blockCreate = defineTool({
  name: "block_create",
  description:
    "Adds a block to a conversation, at the end of its siblings. With content it is done at once; without, it waits " +
    "for block_append or an edit. A tool_result needs its tool_call as parent_id.",
  writes: true,
  input: z.strictObject({
    parent_id: z.string().optional().describe("the block it answers or belongs to"),
    role: blockRole.describe("who speaks"),
    kind: blockKind.describe("what it is"),
    content: z.string().optional().describe("its text; leave it out to stream it later"),
    metadata: blockMetadata.optional().describe("path, language, tool_name, or anything else"),
    flags: blockFlags.optional().describe("excluded, pinned, collapsed"),
    context: z.string().optional().describe("the conversation; by default the one you are in"),
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: z.strictObject({ block_id: z.string(), version: z.int(), edit: z.string() }),
  examples: [
    {
      when: "You say something.",
      input: { role: "model", kind: "text", content: "Done: three tests added." },
    },
    { when: "You will stream an answer.", input: { role: "model", kind: "text" } },
  ],
  async run(kernel, { input, invocation, fingerprint }) {
    const { parent_id, role, kind, content, metadata, flags } = input;
    const context = input.context ?? invocation.context;
    if (context === undefined) {
      throw new KumikoError(
        "invalid_argument",
        "Say in which context the block belongs: pass context.",
        {},
      );
    }
    const answer = await kernel.createBlock(
      invocation,
      { context, parent: parent_id, role, kind, content, metadata, flags },
      {
        fingerprint,
        answer: ({ edit, changes }) => ({
          block_id: changes[0]!.block,
          version: changes[0]!.version,
          edit,
        }),
      },
    );
    kernel.readers.advance(invocation, answer.block_id, answer.version);
    return answer;
  },
});
