import { describe, expect, test } from "vitest";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { blockStreams, blockTools, ToolRegistry } from "../src/tools/index.ts";
import { Workshop } from "./support/kernel-workshop.ts";

describe("what every writing tool takes and gives", () => {
  test("each takes reader, call_id and message, and those with positions a base_version", () => {
    for (const tool of blockTools.filter(({ writes }) => writes)) {
      const taken = Object.keys((tool.input as unknown as { shape: object }).shape);
      expect(taken, tool.name).toEqual(expect.arrayContaining(["reader", "call_id", "message"]));
    }
    for (const name of ["edit", "splice", "replace", "apply_patch", "rollback", "status"]) {
      const tool = blockTools.find((each) => each.name === `block_${name}`)!;
      const taken = Object.keys((tool.input as unknown as { shape: object }).shape);
      expect(taken, tool.name).toContain("base_version");
    }
  });

  test("the same call in two contexts is two calls; naming the context one is in changes nothing", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    await shop.kernel.contexts.create("side", "ann");
    const registry = new ToolRegistry(blockTools);
    const create = (context: string, input: object = {}): Promise<unknown> =>
      registry.execute(
        shop.kernel,
        "block_create",
        { actor: "ann", context },
        {
          role: "user",
          kind: "text",
          content: "once",
          call_id: "c1",
          ...input,
        },
      );
    const first = await create("main");
    expect(await create("main", { context: "main" })).toEqual(first);
    expect(await create("side", { context: "main" })).toEqual(first);
    await expect(create("side")).rejects.toMatchObject({ code: "call_reused" });
    expect(await create("side", { call_id: "c2" })).toMatchObject({
      block_id: expect.stringMatching(/^side~ann~/),
    });
  });

  test("appended text with a call id is there once, however often and when it is sent", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block_id = await shop.create("claude");
    const once = { block_id, text: "once ", call_id: "c1" };
    await shop.call("claude", "block_append", { block_id, text: "first " });
    const both = await Promise.all([1, 2].map(() => shop.call("claude", "block_append", once)));
    expect(both[0]).toEqual(both[1]);
    await shop.call("claude", "block_append", { block_id, text: "then " });
    expect(await shop.call("claude", "block_append", once)).toEqual(both[0]);
    expect(await shop.text(block_id)).toBe("first once then ");
    const other = await shop.refusal("claude", "block_append", { ...once, text: "other" });
    expect(other.code).toBe("call_reused");
    const { versions } = await shop.call("claude", "block_history", { block_id });
    const text = (versions as { kind: string; edit: string }[]).filter(
      ({ kind }) => kind === "text",
    );
    expect(new Set(text.map(({ edit }) => edit)).size).toBe(1);
  });

  test("calls of a stream that only say which call they are do not wait and are all kept", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block_id = await shop.create("claude");
    const registry = new ToolRegistry(blockTools);
    for (const text of ["a\n", "b\n"]) {
      const invocation = { actor: "claude", call: "toolu-1" };
      await registry.execute(shop.kernel, "block_append", invocation, { block_id, text });
    }
    expect(await shop.text(block_id)).toBe("a\nb\n");
    const { versions } = await shop.call("ann", "block_history", { block_id, limit: 1 });
    expect(versions).toMatchObject([{ call: "toolu-1", actor: "claude" }]);
  });

  test("what others did since the base is told by every edit and by a status change", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block_id = await shop.create("ann", "one\ntwo\n");
    await shop.call("claude", "block_read", { block_id });
    await shop.call("ann", "block_replace", { block_id, old: "one", new: "ONE" });
    const status = await shop.call("claude", "block_status", {
      block_id,
      flags: { pinned: true },
      call_id: "s1",
    });
    expect(status["since"]).toContain("+ONE");
    const again = { block_id, flags: { pinned: true }, call_id: "s1" };
    expect(await shop.call("claude", "block_status", again)).toEqual(status);
    const rolled = await shop.call("claude", "block_rollback", {
      block_id,
      version: 1,
      base_version: 1,
    });
    expect(rolled["since"]).toContain("+ONE");
  });

  test("a conflict shows what stands there now; an edit alone shows nothing to who never read", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block_id = await shop.create("ann", "one\ntwo\n");
    await shop.call("claude", "block_read", { block_id });
    await shop.call("ann", "block_replace", { block_id, old: "one", new: "ONE" });
    const replace = { op: "replace", start_line: 0, end_line: 1, content: "uno" };
    const edit = { block_id, operations: [replace] };
    expect((await shop.refusal("claude", "block_edit", edit)).code).toBe("conflict");
    await shop.call("claude", "block_edit", edit);
    expect(await shop.text(block_id)).toBe("uno\ntwo\n");

    await shop.call("ben", "block_replace", { block_id, old: "two", new: "due" });
    expect((await shop.refusal("ben", "block_edit", edit)).code).toBe("base_required");
  });

  test("readers are kept apart", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block_id = await shop.create("ann", "one\n");
    await shop.call("claude", "block_read", { block_id, reader: "left" });
    const edit = { block_id, operations: [{ op: "insert", line: 0, content: "zero" }] };
    const refused = await shop.refusal("claude", "block_edit", { ...edit, reader: "right" });
    expect(refused.code).toBe("base_required");
    await shop.call("claude", "block_edit", { ...edit, reader: "left" });
  });

  test("a diff takes now, and says that there is no file to compare with", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block_id = await shop.create("ann", "one\n");
    await shop.call("ann", "block_replace", { block_id, old: "one", new: "two" });
    const back = await shop.call("ann", "block_diff", { block_id, from: "now", to: 1 });
    expect(back).toMatchObject({ from: 2, to: 1 });
    expect(back["diff"]).toContain("+one");
    const disk = await shop.refusal("ann", "block_diff", { block_id, from: "disk" });
    expect(disk.code).toBe("not_on_disk");
  });

  test("blame and history say who, with which model and tool, in which call and why", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block_id = await shop.create("ann", "one\n");
    const registry = new ToolRegistry(blockTools);
    const invocation = { actor: "claude", call: "toolu-7", model: "a-model", turn: "t1" };
    await registry.execute(shop.kernel, "block_replace", invocation, {
      block_id,
      old: "one",
      new: "two",
      message: "for the test",
    });
    const who = { actor: "claude", model: "a-model", message: "for the test" };
    const { runs } = await shop.call("ann", "block_blame", { block_id });
    expect(runs).toMatchObject([
      { ...who, text: "two" },
      { actor: "ann", text: "\n" },
    ]);
    const { versions } = await shop.call("ann", "block_history", { block_id });
    const why = { tool: "block_replace", call: "toolu-7", turn: "t1" };
    expect(versions).toMatchObject([
      { ...who, ...why, inserted: 3, removed: 3 },
      { actor: "ann", tool: "block_create" },
    ]);
    await shop.call("ann", "block_append", { block_id, text: "and more" });
    await shop.call("claude", "block_undo", { actor: "ann" });
    await shop.call("ann", "block_status", { block_id, metadata: { x: 1 } });
    const { versions: last } = await shop.call("ann", "block_history", { block_id, limit: 3 });
    expect(last).toMatchObject([
      { actor: "ann", tool: "block_status", kind: "structure" },
      { actor: "claude", tool: "block_undo", kind: "undo" },
      { actor: "ann", tool: "block_append", inserted: 8 },
    ]);
  });
});

describe("a registry", () => {
  const registry = new ToolRegistry([...blockTools, ...blockStreams]);

  test("filters by allow list and deny list, for lists, calls and streams", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const allow = { kind: "allow", names: ["block_read", "block_subscribe"] } as const;
    const deny = { kind: "deny", names: ["block_read", "block_subscribe"] } as const;
    expect(registry.list(allow).map(({ name }) => name)).toEqual(["block_read"]);
    expect(registry.streams(allow).map(({ name }) => name)).toEqual(["block_subscribe"]);
    expect(registry.list(deny)).toHaveLength(registry.list().length - 1);
    expect(registry.streams(deny)).toEqual([]);
    const block_id = await shop.create("ann", "one\n");
    const ann = { actor: "ann" };
    await registry.execute(shop.kernel, "block.read", ann, { block_id }, allow);
    await expect(
      registry.execute(shop.kernel, "block_read", ann, { block_id }, deny),
    ).rejects.toMatchObject({ code: "unknown_tool" });
    expect(() => registry.stream(shop.kernel, "block_subscribe", ann, {}, deny)).toThrow(
      "There is no tool block_subscribe",
    );
  });

  test("begins nothing for a caller that has given up", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const given = { actor: "ann", context: "main", signal: AbortSignal.abort() };
    const create = { role: "user", kind: "text", content: "x" };
    await expect(
      registry.execute(shop.kernel, "block_create", given, create),
    ).rejects.toMatchObject({ code: "aborted" });
    expect(shop.kernel.feed.head).toBe(0);
  });

  test("names the nearest tool and refuses two of one name", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    await expect(
      registry.execute(shop.kernel, "block_serach", { actor: "ann" }, {}),
    ).rejects.toThrow(/Did you mean block_search\? There are: block_search, .*kernel_search/);
    expect(() => new ToolRegistry([...blockTools, ...blockTools])).toThrow("two tools");
  });
});

test("a base that does not exist, and a parent that does not, are refused", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await shop.create("ann", "one\n");
  const rollback = { block_id, version: 0, base_version: 999 };
  expect((await shop.refusal("ann", "block_rollback", rollback)).code).toBe("out_of_range");
  const status = { block_id, flags: { pinned: true }, base_version: 999 };
  expect((await shop.refusal("ann", "block_status", status)).code).toBe("out_of_range");
  const below = await shop.refusal("ann", "block_list", { parent_id: "main~ann~99" });
  expect(below.code).toBe("unknown_block");
  expect((await shop.refusal("ann", "block_list", { parent_id: "../x" })).code).toBe(
    "invalid_argument",
  );
});

test("arguments that are missing or misnamed are said plainly, with those there are", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const said = async (name: string, input: unknown): Promise<string> =>
    (await shop.refusal("ann", name, input as object)).message;
  expect(await said("block_read", { block: "main~ann~1" })).toMatch(
    /^block_read cannot be called like that: block_id is missing; there is no argument block; it takes: block_id, and if wanted [a-z_, ]+\.$/,
  );
  // An option that is missing is missing, not of the wrong kind.
  expect(await said("block_create", { kind: "text" })).toContain(
    "that: role is missing; it takes:",
  );
  const deep = { block_id: "main~ann~1", operations: [{ kind: "insert", at: 1 }] };
  expect(await said("block_edit", deep)).toContain("operations.0");
  // Nothing is misnamed: what there is need not be told.
  expect(await said("block_read", { block_id: 7 })).toMatch(/: block_id: [^;]+\.$/);
  expect(await said("block_read", null)).toContain("(the whole): ");
});
