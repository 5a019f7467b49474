import { describe, expect, test } from "vitest";
import { NotEditable } from "./text-scanner.ts";
import { withoutTable, withTable } from "./toml-edit.ts";

const keys = ["mcp_servers", "kumiko"];
const values = { command: "node", args: ["kumiko", "mcp"] };
const table = '[mcp_servers.kumiko]\ncommand = "node"\nargs = ["kumiko","mcp"]\n';

const others = [
  'model = "x" # mine\n',
  "[a]\nb = 1\n",
  'text = """\n[mcp_servers.kumiko]\n"""\n',
  "literal = '''\n[x\n'''\n",
  "list = [\n  1, # one\n  [2, 'three'],\n]\n",
  "when = 1979-05-27 07:32:00\nat = 2026-11-16T02:00:00Z\nf = -1.5e3\nh = 0xff\n",
  'inline = { a = 1, "b c" = "}" }\n',
  "[[tables]]\nx = true\n[[tables]]\nx = false\n",
  '[mcp_servers.other]\ncommand = "a"\n[mcp_servers.other.env]\nX = "1"\n',
  '[projects."/home/me/a.b"]\ntrust_level = "trusted"\n',
];

describe("a table in a TOML text", () => {
  test("is added behind everything else, which stays", () => {
    expect(withTable("", keys, values)).toBe(table);
    for (const text of [...others, others.join("")]) {
      const after = withTable(text, keys, values);
      expect(after).toBe(`${text}\n${table}`);
      expect(withTable(after, keys, values)).toBe(after);
    }
    expect(withTable("a = 1", keys, values)).toBe(`a = 1\n\n${table}`);
    expect(withTable("a = 1\r\n", keys, values)).toBe(
      `a = 1\r\n\r\n${table.replaceAll("\n", "\r\n")}`,
    );
  });

  test("is taken out again, with what is in it, and nothing else", () => {
    for (const text of ["", ...others, others.join(""), "a = 1\r\n"]) {
      expect(withoutTable(withTable(text, keys, values), keys)).toBe(text);
      expect(withoutTable(text, keys)).toBe(text);
      const more = '\n# of a\n[mcp_servers.kumiko.env]\nX = "1" # x\n\n# mine\n[b]\nc = 1\n';
      const after = withoutTable(`${withTable(text, keys, values)}${more}`, keys);
      expect(after).toContain("\n# mine\n[b]\nc = 1\n");
      expect(after.startsWith(text)).toBe(true);
      expect(after.slice(text.length)).not.toContain("kumiko");
    }
  });

  test("is changed where it stands, and keeps its other keys", () => {
    const before =
      '[mcp_servers.kumiko] # ours\nargs = [\n "old", # x\n]\nstartup_timeout_sec = 30\ncommand = "old" # c\n\n[mcp_servers.kumiko.env]\nX = "1"\n';
    const after = withTable(before, keys, values);
    expect(after).toBe(
      '[mcp_servers.kumiko] # ours\nargs = ["kumiko","mcp"]\nstartup_timeout_sec = 30\ncommand = "node" # c\n\n[mcp_servers.kumiko.env]\nX = "1"\n',
    );
    expect(withTable("[mcp_servers.kumiko] # ours\nenabled = false", keys, values)).toBe(
      '[mcp_servers.kumiko] # ours\ncommand = "node"\nargs = ["kumiko","mcp"]\nenabled = false',
    );
  });

  test.each([
    "mcp_servers = { other = { command = 'x' } }",
    "[mcp_servers]\nkumiko = { command = 'x' }",
    "[mcp_servers]\nkumiko.command = 'x'",
    "mcp_servers.kumiko.command = 'x'",
    "[[mcp_servers.kumiko]]\ncommand = 'x'",
    "[a",
    "a = ",
    "a = [1, 2",
    'a = "open',
    "a = 1 b = 2",
    "= 1",
    '{"a":1}',
    "a = tru",
  ])("%s is refused", (text) => {
    expect(() => withTable(text, keys, values)).toThrow(NotEditable);
  });
});
