import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withItem, withMembers, without } from "./json-edit.ts";
import { NotEditable } from "./text-scanner.ts";

const keys = fc.constantFrom("a", "b", "mcpServers", "kumiko", "x y", '"');
const json = fc.letrec<{ value: unknown; object: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(keys, tie("value"), { maxKeys: 4 }),
}));
const indents = fc.constantFrom(0, 1, 2, 4, "\t");
const entry = { command: "node", args: ["kumiko", "mcp"] };

describe("an object in a JSON text", () => {
  test("is changed at its place, and nothing else", () => {
    fc.assert(
      fc.property(json.object, indents, fc.boolean(), (given, indent, windows) => {
        const written = JSON.stringify(given, undefined, indent);
        const text = windows ? written.replaceAll("\n", "\r\n") : written;
        const before = JSON.parse(text) as { [name: string]: unknown };
        const group = before["mcpServers"];
        const isObject = (value: unknown): value is object =>
          typeof value === "object" && value !== null && !Array.isArray(value);
        const own = isObject(group) ? (group as { kumiko?: unknown }).kumiko : undefined;
        const blocked =
          (group !== undefined && !isObject(group)) || (own !== undefined && !isObject(own));
        if (blocked) {
          expect(() => withMembers(text, ["mcpServers", "kumiko"], entry)).toThrow(NotEditable);
          return;
        }
        const after = withMembers(text, ["mcpServers", "kumiko"], entry);
        const expected = {
          ...before,
          mcpServers: { ...(group as object), kumiko: { ...(own as object), ...entry } },
        };
        expect(JSON.parse(after)).toEqual(expected);
        expect(withMembers(after, ["mcpServers", "kumiko"], entry)).toBe(after);
        if (text.includes("\r\n")) expect(after.replaceAll("\r\n", "")).not.toContain("\n");
      }),
      { numRuns: 300, seed: 4 },
    );
  });

  test("keeps comments, odd spaces and trailing commas", () => {
    const text = '// top\n{ "a" :1 , /* b */ "mcp" : { // here\n  "x": [1,2,],  // last\n }, }\n';
    const after = withMembers(text, ["mcp", "kumiko"], { enabled: true });
    for (const part of ["// top", '"a" :1 ,', "/* b */", "// here", '"x": [1,2,]', "// last"])
      expect(after).toContain(part);
    expect(withMembers(after, ["mcp", "kumiko"], { enabled: true })).toBe(after);
  });

  test.each([
    "",
    "[",
    "{]",
    '{"a"}',
    '{"a":1 "b":2}',
    "{'a':1}",
    '{"a":1}}',
    '{"a":01x}',
    "nonsense",
  ])("%s is refused", (text) => {
    expect(() => withMembers(text, ["mcpServers", "kumiko"], entry)).toThrow(NotEditable);
  });

  test("two members of one name are refused: nobody knows which counts", () => {
    const text = '{"mcpServers":{"kumiko":{}},"mcpServers":{}}';
    expect(() => withMembers(text, ["mcpServers", "kumiko"], entry)).toThrow(NotEditable);
  });

  test("takes an item behind the others, and is what it was without it", () => {
    const group = fc.oneof(fc.constant(undefined), fc.array(json.value, { maxLength: 3 }));
    fc.assert(
      fc.property(json.object, group, indents, fc.boolean(), (given, list, indent, windows) => {
        const hooks = { ...given, ...(list !== undefined && { list }) };
        const before = { x: 1, hooks, y: [2] };
        const written = JSON.stringify(before, undefined, indent);
        const text = windows ? written.replaceAll("\n", "\r\n") : written;
        const after = withItem(text, ["hooks", "list"], entry);
        const grown = { ...before, hooks: { ...hooks, list: [...(list ?? []), entry] } };
        expect(JSON.parse(after)).toEqual(grown);
        if (text.includes("\r\n")) expect(after.replaceAll("\r\n", "")).not.toContain("\n");
        const back = without(after, ["hooks", "list", list?.length ?? 0]);
        // What is empty then goes with it; nothing else moves.
        const emptied = (list ?? []).length === 0;
        if (!emptied) expect(back).toBe(text);
        const { list: _, ...others } = hooks;
        const { hooks: __, ...bare } = before;
        const left = Object.keys(others).length > 0 ? { ...bare, hooks: others } : bare;
        expect(JSON.parse(back)).toEqual(emptied ? left : before);
      }),
      { numRuns: 300, seed: 5 },
    );
  });

  test("what is not there cannot be taken out, and what is no list takes no item", () => {
    for (const path of [["a", "b"], ["c"], ["list", 2], ["list", 0, "x"]])
      expect(without('{"a":{},"list":[1,2]}', path)).toBe('{"a":{},"list":[1,2]}');
    for (const text of ['{"a":{}}', '{"a":[1,]}', '{"a":[],"a":[]}', '{"a":1}', "[]"])
      expect(() => withItem(text, ["a"], 1)).toThrow(NotEditable);
  });
});
