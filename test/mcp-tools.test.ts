import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toolProfile } from "../src/doors/mcp/profile.ts";
import { listTools } from "../src/doors/mcp/tool-listing.ts";
import { fileTools } from "../src/files/index.ts";
import { blockStreams, blockTools, type Tool, ToolRegistry } from "../src/tools/index.ts";
import { dataIn, openMcp, type RpcAnswer } from "./support/mcp.ts";
import { refusal } from "./support/refusal.ts";

const registry = new ToolRegistry([...blockTools, ...fileTools, ...blockStreams]);

/** A block that ann made and another agent has read. */
async function bothReading(mcp: Awaited<ReturnType<typeof openMcp>>, content: string) {
  const ann = mcp.raw2026();
  const bob = await mcp.mint({ actor: "bob", kind: "agent", scopes: ["read", "write"] });
  const other = mcp.raw2026(bob.token);
  const block_id = "main~ann~1";
  await ann.call("tools/call", {
    name: "block_create",
    arguments: { role: "user", kind: "text", content },
  });
  await other.call("tools/call", { name: "block_read", arguments: { block_id } });
  return { ann, other, block_id };
}

describe("profiles", () => {
  it("core is at most 12 tools and 4,000 tokens, four characters each", () => {
    const core = listTools(registry, toolProfile(registry));
    const tokens = Math.ceil(JSON.stringify(core).length / 4);
    console.log(`core: ${core.length} tools, ${tokens} tokens at most`);
    expect(core.length).toBeLessThanOrEqual(12);
    expect(tokens).toBeLessThanOrEqual(4_000);
  });

  it("core has what an answer tells a model to use", () => {
    const core = listTools(registry, toolProfile(registry)).map(({ name }) => name);
    expect(core).toEqual(expect.arrayContaining(["file_resolve", "file_status", "block_undo"]));
  });

  it("all is every tool that answers once, and names are those", () => {
    expect(listTools(registry, toolProfile(registry, "all")).map(({ name }) => name)).toEqual(
      [...blockTools, ...fileTools].map(({ name }) => name),
    );
    const named = listTools(registry, toolProfile(registry, "block_blame, block.read"));
    expect(named.map(({ name }) => name).toSorted()).toEqual(["block_blame", "block_read"]);
  });

  it("refuses a name that is no tool, and says which there are", () => {
    const { code, facts } = refusal(() => toolProfile(registry, "block_read,block_wread"));
    expect(code).toBe("unknown_tool");
    expect(facts).toMatchObject({ unknown: ["block_wread"] });
    expect(refusal(() => toolProfile(registry, " , ")).code).toBe("unknown_tool");
  });
});

describe("schemas for models", () => {
  it("hold nothing that clients choke on, and no argument that a connection decides", () => {
    for (const tool of listTools(registry, { kind: "all" })) {
      const written = JSON.stringify(tool.inputSchema);
      expect(written).not.toMatch(/"(\$schema|\$ref|\$defs|oneOf|allOf|propertyNames)"/);
      expect(Object.keys(tool.inputSchema.properties)).not.toContain("reader");
      expect(Object.keys(tool.inputSchema.properties)).not.toContain("call_id");
    }
  });

  it("make one object of operations that a constant tells apart", () => {
    const [edit] = listTools(registry, { kind: "allow", names: ["block_edit"] });
    const operations = edit!.inputSchema.properties["operations"] as { items: unknown };
    expect(operations.items).toMatchObject({
      type: "object",
      required: ["op"],
      properties: { op: { enum: ["insert", "delete", "replace"] } },
    });
  });

  it("say what only reads, what only adds, and what is the same twice", () => {
    const hints = Object.fromEntries(
      listTools(registry, { kind: "all" }).map(({ name, annotations }) => [name, annotations]),
    );
    expect(hints["block_read"]).toEqual({ readOnlyHint: true, openWorldHint: false });
    for (const adds of ["block_append", "block_create", "file_create"])
      expect(hints[adds]).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    expect(hints["block_edit"]).toMatchObject({ destructiveHint: true, idempotentHint: false });
    expect(hints["block_status"]).toMatchObject({ idempotentHint: true });
  });
});

/** What a model reads of an answer. */
function read({ result, error }: RpcAnswer): string {
  if (result === undefined) throw new Error(`no result: ${JSON.stringify(error)}`);
  return (result["content"] as { text: string }[]).map(({ text }) => text).join("");
}

describe("answers for models", () => {
  it("are plain text with line numbers and the version, and one line for an edit", async () => {
    await using mcp = await openMcp();
    const client = mcp.raw2026(undefined, { "kumiko-tools": "all" });
    const call = async (name: string, input: object): Promise<RpcAnswer> =>
      client.call("tools/call", { name, arguments: input });
    const block_id = "main~ann~1";
    const created = await call("block_create", {
      role: "user",
      kind: "text",
      content: "a\nb\nc\n",
    });
    expect(read(created)).toBe("Created main~ann~1, version 1 (edit e1-1).");
    expect(read(await call("block_read", { block_id }))).toBe(
      "main~ann~1 version 1, 3 lines, lines counted from 0 (user text, done)\n0 a\n1 b\n2 c",
    );
    const operations = [{ op: "replace", start_line: 1, end_line: 2, content: "B" }];
    const edited = await call("block_edit", { block_id, operations, message: "louder" });
    expect(read(edited)).toBe("main~ann~1 is now version 2 (edit e1-2).");
    expect(dataIn(edited.result)).toEqual({
      block_id,
      version: 2,
      edit: "e1-2",
      since: "",
    });
    expect(read(await call("block_diff", { block_id, from: 1 }))).toContain("-b\n+B\n");
    expect(read(await call("block_history", { block_id }))).toMatch(
      /version 2 .* ann {2}text \+\d+ -\d+ {2}edit e1-2 {2}"louder"/,
    );
    expect(read(await call("block_blame", { block_id }))).toContain('1-1 ann (edit e1-2 "louder")');
    const found = await call("kernel_search", { query: "B", kinds: ["text"], context_lines: 1 });
    expect(read(found)).toBe("main~ann~1  version 2\n0- a\n1: B\n2- c");
    expect(read(await call("block_search", { block_id, query: "zz" }))).toBe("Nothing found.");
    expect(read(await call("kernel_search", { query: "B" }))).toBe(
      "Nothing found in files; pass kinds (text, thinking, …) to look at other blocks.",
    );
    expect(read(await call("kernel_search", { query: "zz", kinds: ["text"] }))).toBe(
      "Nothing found in blocks of kind text.",
    );
    expect(read(await call("block_list", {}))).toBe(
      'main~ann~1  user text done  v2  "a\\nB\\nc\\n"',
    );
    const patch = "@@ -1,3 +1,3 @@\n a\n-B\n+bee\n c\n";
    expect(read(await call("block_apply_patch", { block_id, patch, dry_run: true }))).toBe(
      "Nothing was changed: the patch fits.\nmain~ann~1 can be patched; hunks at lines 0 (counted from 0).",
    );
    expect(read(await call("block_undo", {}))).toMatch(
      /^Undid e1-2 of ann \(edit e1-3-undoes-e1-2\)\.\nmain~ann~1 is now version 3:\n/,
    );
    expect(read(await call("block_redo", {}))).toMatch(/^Brought back e1-2 of ann/);
    const same = await call("block_replace", { block_id, old: "B", new: "B" });
    expect(read(same)).toBe("main~ann~1 is still version 4: its text was that already.");
    expect(dataIn(same.result)).toMatchObject({ version: 4, unchanged: true });
    const streamed = await call("block_create", { role: "model", kind: "text" });
    const { block_id: stream } = dataIn(streamed.result) as { block_id: string };
    expect(
      read(await call("block_append", { block_id: stream, text: "one", flush: true })),
    ).toMatch(/^Taken: 3 characters so far\. main~ann~2 is on disk up to version \d+\.$/);
    expect(read(await call("block_status", { block_id: stream, status: "done" }))).toMatch(
      /\nIt is done\.$/,
    );
    const synced = await call("block_sync", { position: 0 });
    expect(JSON.parse(read(synced))).toEqual(dataIn(synced.result));
  });

  it("are only text where clients look for what to show a model", async () => {
    await using mcp = await openMcp();
    const call = (name: string, input: object) =>
      mcp.raw2026().call("tools/call", { name, arguments: input });
    const block = { role: "user", kind: "text", content: "a" };
    const answered = await call("block_create", block);
    const refused = await call("block_read", { block_id: "main~nobody~1" });
    for (const { result } of [answered, refused])
      expect(Object.keys(result!)).not.toContain("structuredContent");
    expect(refused.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^unknown_block: .*\n.*block_list/) }],
      _meta: { "kumiko/error": { code: "unknown_block" } },
    });
  });

  it("give what others did meanwhile with the edit", async () => {
    await using mcp = await openMcp();
    const { ann, other, block_id } = await bothReading(mcp, "one\ntwo\nthree\n");
    const replace = (line: number, content: string) => ({
      name: "block_edit",
      arguments: {
        block_id,
        operations: [{ op: "replace", start_line: line, end_line: line + 1, content }],
      },
    });
    await ann.call("tools/call", replace(0, "ONE"));
    expect(read(await other.call("tools/call", replace(2, "THREE")))).toMatch(
      /is now version 3 .*\nOthers had changed it .*\n--- version 1\t\n\+\+\+ version 2\t\n@@ .*\n-one\n\+ONE\n/,
    );
  });

  it("explain a conflict: what stands there, who wrote it, what to try", async () => {
    await using mcp = await openMcp();
    const { ann, other, block_id } = await bothReading(mcp, "one\ntwo\n");
    const replace = (content: string) => ({
      name: "block_edit",
      arguments: { block_id, operations: [{ op: "replace", start_line: 1, end_line: 2, content }] },
    });
    await ann.call("tools/call", replace("hers"));
    const refused = await other.call("tools/call", replace("his"));
    expect(refused.result).toMatchObject({
      isError: true,
      _meta: { "kumiko/error": { code: "conflict", facts: { version: 2 } } },
    });
    expect(read(refused)).toMatch(
      /^conflict: Operation 0 was not made: .* by ann\..*\nChanged by ann \(version 2\)\.\nAll that others changed since the version you read:\n---[^]*\n-two\n\+hers\nVersion 2 has, lines counted from 0:\n0 one\n1 hers\nThe lines above are the current text/,
    );
    // What was shown counts as read: the same lines now mean that version.
    expect(read(await other.call("tools/call", replace("his")))).toContain("is now version 3");
  });

  it("name the nearest tool, the closest text and the arguments that are wrong", async () => {
    await using mcp = await openMcp();
    const client = mcp.raw2026();
    const unknown = await client.call("tools/call", { name: "block_raed", arguments: {} });
    expect(unknown.error).toMatchObject({
      code: -32_602,
      message: expect.stringMatching(
        /^There is no tool block_raed\. Did you mean block_read\? There are: block_read, (\w+, ){10}\w+\.$/,
      ),
    });
    const filtered = await client.call("tools/call", { name: "block_blame", arguments: {} });
    expect(filtered.error?.message).toMatch(
      /^There is no tool block_blame\. block_blame is left out here\. There are: .*--tools all.*which has block_blame\.$/,
    );
    for (const name of ["file_delete", "file_deleet"]) {
      const refused = await client.call("tools/call", { name, arguments: {} });
      expect(refused.error?.message).not.toContain("Did you mean");
      expect(refused.error?.message).toContain("which has file_delete.");
    }
    await client.call("tools/call", {
      name: "block_create",
      arguments: { role: "user", kind: "text", content: "const answer = 42;\n" },
    });
    const replace = { block_id: "main~ann~1", old: "const answer = 43;", new: "x" };
    const missing = await client.call("tools/call", { name: "block_replace", arguments: replace });
    expect(read(missing)).toMatch(/^not_found: .*\n(.*\n)*0 const answer = 42;\n/);
    const wrong = await client.call("tools/call", { name: "block_read", arguments: { id: 1 } });
    expect(wrong.result?.["isError"]).toBe(true);
    expect(read(wrong)).toContain(
      "block_id is missing; there is no argument id; it takes: block_id, and if wanted ",
    );
    const lines = { block_id: "main~ann~1", range: { start_line: 0, end_line: 1 } };
    const misread = await client.call("tools/call", { name: "block_read", arguments: lines });
    expect(read(misread)).toContain('range is written like this: {"start":10,"end":20}');
  });

  it("tell of a fault of ours only the reference", async () => {
    await using mcp = await openMcp({ tools: [faulty] });
    const client = mcp.raw2026(undefined, { "kumiko-tools": "all" });
    const failed = await client.call("tools/call", { name: "test_faulty", arguments: {} });
    expect(failed.result).toMatchObject({
      isError: true,
      _meta: { "kumiko/error": { code: "internal" } },
    });
    expect(read(failed)).not.toContain("the secret reason");
  });
});

const faulty: Tool = {
  name: "test_faulty",
  description: "fails",
  input: z.strictObject({}),
  output: z.strictObject({}),
  examples: [],
  writes: false,
  run: () => Promise.reject(new TypeError("the secret reason")),
};
