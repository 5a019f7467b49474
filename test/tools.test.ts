import { describe, expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { Kernel } from "../src/kernel/index.ts";
import { errorBody } from "../src/protocol/index.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { blockTools, ToolRegistry } from "../src/tools/index.ts";

type Answer = { [name: string]: unknown };

/** A kernel with one context, tools, and a clock that only goes on when asked. */
async function workshop(): Promise<{
  kernel: Kernel;
  call: (actor: string, tool: string, input: object) => Promise<Answer>;
  refusal: (actor: string, tool: string, input: object) => Promise<KumikoError>;
  pass: (milliseconds: number) => void;
}> {
  let now = 1_000;
  let timers: { at: number; run: () => void }[] = [];
  const kernel = await Kernel.open({
    id: "test",
    store: new MemoryStore(),
    clock: { now: () => now },
    timers: {
      after(milliseconds, run) {
        const timer = { at: now + milliseconds, run };
        timers.push(timer);
        return { cancel: () => void (timers = timers.filter((each) => each !== timer)) };
      },
    },
    newPeer: () => "77",
  });
  await kernel.contexts.create("main", "ann");
  const registry = new ToolRegistry(blockTools);
  const call = async (actor: string, tool: string, input: object): Promise<Answer> => {
    const definition = registry.list().find(({ name }) => name === tool);
    const answer = await registry.execute(kernel, tool, { actor, context: "main" }, input);
    return (definition === undefined ? answer : definition.output.parse(answer)) as Answer;
  };
  return {
    kernel,
    call,
    async refusal(actor, tool, input) {
      const error: unknown = await call(actor, tool, input).then(
        () => undefined,
        (refused: unknown) => refused,
      );
      expect(error).toBeInstanceOf(KumikoError);
      errorBody.parse(JSON.parse(JSON.stringify(error)));
      return error as KumikoError;
    },
    pass(milliseconds) {
      now += milliseconds;
      for (const timer of timers.filter(({ at }) => at <= now)) timer.run();
      timers = timers.filter(({ at }) => at > now);
    },
  };
}

async function textOf(kernel: Kernel, block: unknown): Promise<string> {
  return kernel.look(String(block), ({ document }) => document.read());
}

describe("block tools", () => {
  test("two actors edit what they read; different lines merge, the same line is a conflict", async () => {
    const { kernel, call, refusal } = await workshop();
    const { block_id } = await call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: "one\ntwo\nthree\n",
    });
    await call("claude", "block_read", { block_id });
    await call("ann", "block_edit", {
      block_id,
      operations: [{ op: "insert", line: 0, content: "zero" }],
    });
    const replace = { op: "replace", start_line: 2, end_line: 3, content: "THREE" };
    const edited = await call("claude", "block_edit", { block_id, operations: [replace] });
    expect(await textOf(kernel, block_id)).toBe("zero\none\ntwo\nTHREE\n");
    expect(edited["since"]).toContain("+zero");
    // Both have been shown the newest version by their answers; ann's next edit is claude's past.
    await call("ann", "block_edit", {
      block_id,
      operations: [{ op: "replace", start_line: 1, end_line: 2, content: "ONE" }],
      base_version: edited["version"],
    });
    const conflict = await refusal("claude", "block_edit", {
      block_id,
      operations: [{ op: "replace", start_line: 1, end_line: 2, content: "uno" }],
      base_version: edited["version"],
    });
    expect(conflict.code).toBe("conflict");
    expect(conflict.facts["changed_by"]).toMatchObject([{ actor: "ann" }]);
    await kernel[Symbol.asyncDispose]();
  });

  test("what one did oneself is not told as what others changed", async () => {
    const { kernel, call } = await workshop();
    const { block_id } = await call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: "one\n",
    });
    const read = () => call("claude", "block_read", { block_id });
    const append = (actor: string, text: string) =>
      call(actor, "block_append", { block_id, text, flush: true });
    const replace = (old: string) => call("claude", "block_replace", { block_id, old, new: "x" });
    await read();
    await append("claude", "mine\n");
    expect(await replace("one")).toMatchObject({ version: 3, since: "" });
    await append("claude", "before\n");
    await append("ann", "theirs\n");
    await append("claude", "behind\n");
    const { since } = await replace("mine");
    expect(since).toMatch(/^--- version 4\t\n\+\+\+ version 5\t\n/);
    expect(String(since).match(/^\+[a-z].*$/gm)).toEqual(["+theirs"]);
    await kernel[Symbol.asyncDispose]();
  });

  test("what another session did in the same name is told", async () => {
    const { kernel, call } = await workshop();
    const { block_id } = await call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: "one\n",
    });
    const agent = (reader: string) => ({ actor: "claude", kind: "agent", reader }) as const;
    const run = (reader: string, tool: string, input: object) =>
      new ToolRegistry(blockTools).execute(kernel, tool, agent(reader), { block_id, ...input });
    await run("first", "block_read", {});
    await run("second", "block_append", { text: "theirs\n", flush: true });
    const edit = { old: "one", new: "x" };
    expect(await run("first", "block_replace", edit)).toMatchObject({
      since: expect.stringContaining("+theirs"),
    });
    await kernel[Symbol.asyncDispose]();
  });

  test.each([
    ["tells all that others changed", 1, undefined],
    ["shows too little of what others changed to go on with", 2_000, "base_required"],
  ])("a conflict %s", async (_, inserted, next) => {
    const { call, refusal } = await workshop();
    const { block_id } = await call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: Array.from({ length: 30 }, (_line, at) => `row ${at}\n`).join(""),
    });
    await call("claude", "block_read", { block_id });
    const content = Array.from({ length: inserted }, (_line, at) => `new ${at}`).join("\n");
    await call("ann", "block_edit", { block_id, operations: [{ op: "insert", line: 0, content }] });
    await call("ann", "block_replace", { block_id, old: "row 9\n", new: "ann's\n" });
    const replace = (line: number, by: string): object => ({
      block_id,
      operations: [{ op: "replace", start_line: line, end_line: line + 1, content: by }],
    });
    const { code, facts } = await refusal("claude", "block_edit", replace(9, "mine"));
    expect([code, typeof facts["since"]]).toEqual([
      "conflict",
      next === undefined ? "string" : "undefined",
    ]);
    if (next !== undefined) {
      const refused = await refusal("claude", "block_edit", replace(19, "mine"));
      expect(refused.code).toBe(next);
      return;
    }
    expect(facts["since"]).toContain("+new 0");
    await call("claude", "block_edit", replace(20, "mine"));
    const { content: now } = await call("ann", "block_read", { block_id, line_numbers: false });
    expect(String(now).split("\n").slice(19, 23)).toEqual(["row 18", "mine", "row 20", "row 21"]);
  });

  test("an edit by someone who was shown nothing needs a base", async () => {
    const { call, refusal } = await workshop();
    const { block_id } = await call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: "a\n",
    });
    const operations = [{ op: "delete", start_line: 0, end_line: 1 }];
    expect((await refusal("ben", "block_edit", { block_id, operations })).code).toBe(
      "base_required",
    );
  });

  test("a retry gets the same answer and changes nothing; other arguments are refused", async () => {
    const { kernel, call, refusal } = await workshop();
    const create = { role: "user", kind: "text", content: "hello", call_id: "c1" };
    const first = await call("ann", "block_create", create);
    expect(await call("ann", "block_create", create)).toEqual(first);
    const both = await Promise.all(
      [1, 2].map(() => call("ann", "block_create", { ...create, call_id: "c2" })),
    );
    expect(both[0]).toEqual(both[1]);
    expect(await kernel.children({ context: "main", parent: null, limit: 10 })).toHaveLength(2);
    const other = await refusal("ann", "block_create", { ...create, content: "bye" });
    expect(other.code).toBe("call_reused");
  });

  test("appended text is gathered, kept after a silence, on a newline and before a read", async () => {
    const { kernel, call, pass } = await workshop();
    const { block_id } = await call("claude", "block_create", { role: "model", kind: "text" });
    for (const text of ["The ", "answer ", "is "])
      await call("claude", "block_append", { block_id, text });
    expect(kernel.feed.head).toBe(1);
    pass(100);
    await call("claude", "block_append", { block_id, text: "42", flush: true });
    const after = await call("claude", "block_history", { block_id });
    expect(after["versions"]).toMatchObject([
      { version: 3, inserted: 2 },
      { version: 2, inserted: 14, kind: "text" },
      { version: 1, kind: "structure" },
    ]);
    await call("claude", "block_append", { block_id, text: ".\n" });
    await call("claude", "block_append", { block_id, text: "x" });
    expect(await textOf(kernel, block_id)).toBe("The answer is 42.\nx");
    const { status } = await call("claude", "block_status", { block_id, status: "done" });
    expect(status).toBe("done");
    const edits = new Set(
      (
        (await call("claude", "block_history", { block_id }))["versions"] as {
          kind: string;
          edit: string;
        }[]
      )
        .filter(({ kind }) => kind === "text")
        .map(({ edit }) => edit),
    );
    expect(edits.size).toBe(1);
  });

  test("a surrogate pair that comes in two halves is one character", async () => {
    const { kernel, call } = await workshop();
    const { block_id } = await call("claude", "block_create", { role: "model", kind: "text" });
    const [high, low] = ["🪵".charAt(0), "🪵".charAt(1)];
    await call("claude", "block_append", { block_id, text: `a${high}`, flush: true });
    await call("claude", "block_append", { block_id, text: `${low}b`, flush: true });
    expect(await textOf(kernel, block_id)).toBe("a🪵b");
  });

  test("a tool_result stands only below its tool_call; a status goes one way", async () => {
    const { call, refusal } = await workshop();
    const result = { role: "tool", kind: "tool_result", content: "ok" };
    expect((await refusal("claude", "block_create", result)).code).toBe("wrong_parent");
    const { block_id } = await call("claude", "block_create", {
      role: "model",
      kind: "tool_call",
      content: "{}",
    });
    await call("claude", "block_create", { ...result, parent_id: block_id });
    const back = await refusal("claude", "block_status", { block_id, status: "running" });
    expect(back.code).toBe("wrong_status");
    const listed = await call("claude", "block_list", { depth: 2 });
    expect(listed["blocks"]).toMatchObject([
      { kind: "tool_call" },
      { kind: "tool_result", parent_id: block_id },
    ]);
  });

  test("patch, replace, splice, rollback, diff and blame", async () => {
    const { kernel, call } = await workshop();
    const { block_id } = await call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: "one\ntwo\nthree\n",
    });
    const dry = await call("claude", "block_apply_patch", {
      block_id,
      patch: "@@\n one\n-two\n+TWO\n three\n",
      dry_run: true,
    });
    expect(dry).toMatchObject({ dry_run: true, files: [{ hunks: [{ hunk: 1, line: 0 }] }] });
    expect(await textOf(kernel, block_id)).toBe("one\ntwo\nthree\n");
    await call("claude", "block_apply_patch", {
      block_id,
      patch: "@@\n one\n-two\n+TWO\n three\n",
    });
    await call("claude", "block_replace", { block_id, old: "three", new: "3" });
    await call("claude", "block_read", { block_id });
    await call("claude", "block_splice", { block_id, offset: 0, delete_count: 3, insert: "eins" });
    expect(await textOf(kernel, block_id)).toBe("eins\nTWO\n3\n");
    const { diff } = await call("ann", "block_diff", { block_id, from: 1 });
    expect(diff).toContain("+TWO");
    const { runs } = await call("ann", "block_blame", { block_id });
    expect(new Set((runs as { actor: string }[]).map(({ actor }) => actor))).toEqual(
      new Set(["ann", "claude"]),
    );
    await call("ann", "block_rollback", { block_id, version: 1 });
    expect(await textOf(kernel, block_id)).toBe("one\ntwo\nthree\n");
    // Where it says so already, nobody's lines become another's.
    const blame = await call("ann", "block_blame", { block_id });
    await call("claude", "block_rollback", { block_id, version: 1 });
    expect(await call("ann", "block_blame", { block_id })).toEqual(blame);
  });

  test("blame gives of a range what the text has of it, as a reading does", async () => {
    const { kernel, call } = await workshop();
    const made = { role: "user", kind: "text" };
    for (const content of ["one\ntwo\nthree\n", "one\ntwo\nthree", ""]) {
      const { block_id } = await call("ann", "block_create", { ...made, content });
      for (const [start, end] of [
        [1, 2],
        [1, Number.MAX_SAFE_INTEGER],
        [2, 4],
        [3, 3],
        [2, 1],
        [0, 1],
        [70, 80],
      ]) {
        const of = { block_id, range: { start, end } };
        const { content: read } = await call("ann", "block_read", { ...of, line_numbers: false });
        const { runs } = await call("ann", "block_blame", of);
        expect((runs as { text: string }[]).map(({ text }) => text).join("")).toBe(read);
      }
    }
    await kernel[Symbol.asyncDispose]();
  });

  test("unknown arguments, tools and blocks are refused with what would help", async () => {
    const { call, refusal } = await workshop();
    const { block_id } = await call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: "a",
    });
    const unknown = await refusal("ann", "block_read", { block_id, colour: "red" });
    expect(unknown.code).toBe("invalid_argument");
    expect(unknown.message).toContain("colour");
    const tool = await refusal("ann", "block_reed", { block_id });
    expect(tool.message).toContain("block_read");
    expect((await refusal("ann", "block_read", { block_id: "main~ann~99" })).code).toBe(
      "unknown_block",
    );
    expect((await refusal("ann", "block_read", { block_id: "./x" })).code).toBe("invalid_argument");
  });

  test("every example of every tool is valid input", () => {
    for (const tool of blockTools) {
      expect(tool.examples.length).toBeGreaterThan(0);
      for (const { input } of tool.examples) expect(tool.input.safeParse(input).success).toBe(true);
    }
  });
});
