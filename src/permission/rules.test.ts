import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { refusal } from "../../test/support/refusal.ts";
import { escalations } from "./decision.ts";
import { levels } from "./levels.ts";
import { parseRuleFlag, parseRules } from "./rules.ts";

describe("rules that can be read", () => {
  it("are read in their order, with where they stand", () => {
    const text = [
      "\uFEFF# First match wins.",
      "[[rule]]",
      'path = ["docs/**",',
      "  'notes/\\*.md', # a star",
      "]",
      'level = "append"',
      'escalate = ["delete", "read"]',
      "",
      "[[conversation]]",
      'context = "review-*"',
      'whose = "others"',
      'level = "append"',
      "[mount]",
      'save = "manual"',
      'largest = "2 KiB"',
      "[[rule]]",
      'level = "admin"',
      'path = "**"',
    ].join("\r\n");
    const { files, conversations, mount } = parseRules(text, "rules.toml");
    const escalate = ["delete", "read"];
    expect(files).toEqual([
      { pattern: "docs/**", level: "append", escalate, from: "rules.toml line 3" },
      { pattern: "notes/\\*.md", level: "append", escalate, from: "rules.toml line 4" },
      { pattern: "**", level: "admin", escalate: [], from: "rules.toml line 18" },
    ]);
    expect(conversations).toMatchObject([
      { whose: "others", level: "append", from: "rules.toml line 9" },
    ]);
    expect(conversations[0]!.context.pattern).toBe("review-*");
    expect(mount).toEqual({ save: "manual", largest: 2048 });
  });

  it("may be none, inline, or given as flags", () => {
    const nothing = { files: [], conversations: [], mount: { save: "auto", largest: 16_777_216 } };
    expect(parseRules("")).toEqual(nothing);
    expect(parseRules("# nothing\n")).toEqual(nothing);
    expect(parseRules("mount.largest = 10").mount).toEqual({ save: "auto", largest: 10 });
    expect(parseRules('rule = [{ path = "a", level = "human" }]').files).toMatchObject([
      { pattern: "a", level: "human", from: "kumiko.toml line 1" },
    ]);
    expect(parseRuleFlag("a=b/** = read_only")).toEqual({
      pattern: "a=b/**",
      level: "read_only",
      escalate: [],
      from: "flag",
    });
    expect(refusal(() => parseRuleFlag("docs/**")).code).toBe("invalid_argument");
    expect(refusal(() => parseRuleFlag("docs/**=none")).message).toContain("read_only");
    expect(refusal(() => parseRuleFlag("a**=admin")).code).toBe("invalid_pattern");
  });

  it("given as flags escalate what the same rule of a file does", () => {
    const some = fc.uniqueArray(fc.constantFrom(...escalations), { minLength: 1 });
    const path = fc.constantFrom("src/**", "a=b", "[!a]*", "x!read");
    fc.assert(
      fc.property(path, fc.constantFrom(...levels), some, fc.boolean(), (at, level, ops, wide) => {
        const list = ops.map((each) => `"${each}"`).join(", ");
        const [written] = parseRules(
          rule(`'${at}'`, `level = "${level}"\nescalate = [${list}]`),
        ).files;
        const flag = wide
          ? `${at} = ${level} ! ${ops.join(" , ")}`
          : `${at}=${level}!${ops.join(",")}`;
        expect(parseRuleFlag(flag)).toEqual({ ...written, from: "flag" });
      }),
      fcOptions(200),
    );
  });

  it.each([
    [
      "a=read_write!delet",
      'There is no operation "delet" in the rule "a=read_write!delet". Did you mean "delete"?',
    ],
    [
      "a=read_write!",
      'There is no operation "" in the rule "a=read_write!". Write "read", "append", "change" or "delete".',
    ],
    ["a=read_write!delete,", 'There is no operation ""'],
    ["a=read_write!delete!change", 'There is no operation "delete!change"'],
    ["a=read_write,delete", "pattern=level!operation"],
    ["a!delete=read_write!x=y", "pattern=level!operation"],
  ])("given as the flag %s are refused with what to write", (flag, says) => {
    const { code, message } = refusal(() => parseRuleFlag(flag));
    expect(code).toBe("invalid_argument");
    expect(message).toContain(says);
  });
});

/** In each text ▲ stands where the error must point to, and is taken out. */
const rule = (path: string, more = 'level = "append"') => `[[rule]]\npath = ${path}\n${more}\n`;
const broken: [what: string, text: string, says: RegExp][] = [
  // Syntax.
  ["a value without quotes", "[[rule]]\nlevel = ▲append", /in quotes/],
  [
    "a string that does not end",
    '# é\n[[rule]]\npath = "docs/**▲\nlevel = "x"',
    /ends on its line/,
  ],
  ["a header that does not end", "[[rule▲\nx = 1", /\[\[rule\]\], then path/],
  ["an escape in a pattern", rule('"a\\▲*b"'), /single quotes/],
  ["two keys on one line", '[[rule]]\npath = "a" ▲level = "append"', /a line of its own/],
  ["a key twice", rule('"a"', 'level = "append"\n▲level = "admin"'), /stands once/],
  ["a bracket too few", '[[rule]▲\npath = "a"', /two brackets/],
  ["a list that does not end", '[[rule]]\npath = ["a",\n▲', /list is written/],
  ["a key without a value", "[[rule]]\n▲path", /then path/],
  ["too much nesting", `[[rule]]\npath = ${"[".repeat(20)}▲[`, /list is written/],
  // Keys.
  ["an unknown table", "[[▲rules]]\npath = 1", /Did you mean "rule"\? .*conversation, mount/],
  ["an unknown key at the top", '▲level = "admin"\n', /Write "rule", "conversation" or "mount"/],
  ["an unknown key of a rule", `${rule('"a"')}\n  ▲paths = "b"`, /Did you mean "path"\?/],
  ["one in the second rule", `${rule('"a"')}[[rule]]\n▲glob = "x"\npath = "y"`, /"glob"/],
  ["a dotted key", '[[rule]]\nlevel = "append"\n▲path.x = 1', /text in quotes/],
  ["a quoted key", rule('"a"', '▲"lev el" = 1'), /Did you mean "level"/],
  ["one that objects have", rule('"a"', "▲__proto__ = 1"), /"__proto__"/],
  ["an unknown key of a conversation", '[[conversation]]\n▲who = "own"', /Did you mean "whose"/],
  ["an unknown setting", '[mount]\n▲saves = "auto"', /Did you mean "save"/],
  ["one inside an inline table", 'rule = [{ path = "a", ▲levle = "x" }]', /Did you mean "level"/],
  ["one behind long strings", `${rule('"""\na]"#\\\n  b"""')}▲x = 1`, /no key "x"/],
  ["one behind a literal string", `${rule("'''a\n'''")}▲x = 1`, /no key "x"/],
  // Shapes.
  ["[rule] instead of [[rule]]", '[▲rule]\npath = "a"', /Write \[\[rule\]\]/],
  ["[[mount]] instead of [mount]", "[[▲mount]]\n", /Write \[mount\]/],
  ["rules that are no tables", "rule = [▲1]", /holds tables only/],
  [
    "a rule without a path",
    '[[rule]]\npath = "a"\nlevel = "admin"\n[[▲rule]]\nlevel = "x"',
    /no path/,
  ],
  ["a rule without a level", '[[▲rule]]\npath = "a"', /no level/],
  ["a conversation without a level", "[[▲conversation]]\n", /no level/],
  ["a path that is a number", rule("▲1"), /text in quotes/],
  ["a path in a list that is none", rule('["a",\n  ▲1]'), /text in quotes/],
  ["an empty list", rule("▲[]"), /list is empty/],
  ["escalate that is no list", rule('"a"', 'level = "append"\nescalate = ▲"read"'), /is a list/],
  // Words.
  ["an unknown level", rule('"a"', 'level = ▲"readonly"'), /Did you mean "read_only"/],
  ["one like nothing", rule('"a"', 'level = ▲"xyz"'), /Write "secret", .* or "admin"/],
  ["a level in capitals", rule('"a"', 'level = ▲"ADMIN"'), /Did you mean "admin"/],
  ["a level that is none", rule('"a"', "level = ▲3"), /a word in quotes/],
  [
    "an unknown operation",
    rule('"a"', 'level = "append"\nescalate = ["read", ▲"remove"]'),
    /"remove"/,
  ],
  ["whose it may not be", '[[conversation]]\nwhose = ▲"other"\nlevel = "append"', /"others"/],
  ["an unknown way to save", '[mount]\nsave = ▲"manually"', /Did you mean "manual"/],
  ["a size without a unit", '[mount]\nlargest = ▲"16"', /"16 MiB"/],
  ["a size of nothing", "[mount]\nlargest = ▲0", /above 0/],
  ["a size that is no number", "[mount]\nlargest = ▲nan", /above 0/],
  ["a size below nothing", "[mount]\nlargest = ▲-5", /above 0/],
  ["a broken size", "[mount]\nlargest = ▲1.5", /above 0/],
  // Patterns: the place inside them.
  ["a pattern that is empty", rule('"▲"'), /It is empty/],
  ["** inside a name", rule('"docs/a▲**"'), /stands alone/],
  ["a class without an end", rule("'a/▲[b'"), /has no `\]`/],
  ["a brace without an end", rule('["a", "b/▲{c,d"]'), /has no `\}`/],
  ["one behind escapes", rule('"\\u00e9\\U0001F30D\\"\\\\\\\\▲[b"'), /has no `\]`/],
  ["one in a decomposed name", rule('"e\u0301▲[b"'), /has no `\]`/],
  ["one in a long string", rule('"""\ndocs/\\\n   ▲[b"""'), /has no `\]`/],
  ["one in a long literal string", rule("'''\n▲[b'''"), /has no `\]`/],
  ["a backslash for a folder", rule("'docs▲\\api'"), /separated by `\/`/],
  ["a context with a folder", '[[conversation]]\ncontext = "a▲/b"\nlevel = "append"', /no `\/`/],
  [
    "a context that cannot be read",
    '[[conversation]]\ncontext = "▲{a}"\nlevel = "append"',
    /two alt/,
  ],
];

describe("rules that are broken", () => {
  it.each(broken)("%s", (_what, marked, says) => {
    for (const text of [marked, `# before\n\n${marked}`, `\uFEFF${marked}`, withCarriage(marked)]) {
      const before = text
        .replace(/^\uFEFF/, "")
        .split("▲")[0]!
        .split("\n");
      const { code, facts, message } = refusal(() => parseRules(text.replace("▲", "")));
      expect(code).toBe("invalid_rules");
      expect({ line: facts["line"], column: facts["column"] }, message).toEqual({
        line: before.length,
        column: before.at(-1)!.length + 1,
      });
      expect(message).toMatch(says);
      const line = text
        .replace(/^\uFEFF/, "")
        .replace("▲", "")
        .split(/\r?\n/)[before.length - 1]!;
      expect(facts).toMatchObject({ file: "kumiko.toml", text: line });
      expect(message).toContain(line.trim());
      expect(message).toContain(`kumiko.toml line ${before.length}, column`);
    }
  });

  it("are refused when they are too long, and long lines are cut when they are shown", () => {
    expect(refusal(() => parseRules("#".repeat(65_537))).message).toMatch(/longer than 65536/);
    const { facts } = refusal(() =>
      parseRules(`[[rule]]\npath = "${"a".repeat(2_000)}"\nlevel = "admin"`),
    );
    expect(facts).toMatchObject({ line: 2, column: 9 + 1_000 });
    expect(JSON.stringify(facts["text"]).length).toBeLessThan(130);
  });

  it("are never anything but rules or a refusal with a place", () => {
    const whole =
      '[[rule]]\npath = ["docs/**", \'a\']\nlevel = "append"\nescalate = ["read"]\n[mount]\nsave = "auto"\n' +
      '[[conversation]]\ncontext = """\na"""\nwhose = "own"\nlevel = "human"\n';
    const piece = fc.constantFrom(
      "",
      '"',
      "'",
      "[",
      "]",
      "=",
      "\n",
      "{",
      "}",
      "x",
      "\\",
      '"""',
      "#",
      ".",
    );
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(6), piece, (at, removed, inserted) => {
        const text = whole.slice(0, at) + inserted + whole.slice(at + removed);
        try {
          parseRules(text);
        } catch (error) {
          const { code, facts } = refusal(() => {
            throw error;
          });
          expect(code).toBe("invalid_rules");
          const lines = text.split("\n");
          const { line, column } = facts as { line: number; column: number };
          expect(line).toBeGreaterThan(0);
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeGreaterThan(0);
          expect(column).toBeLessThanOrEqual(lines[line - 1]!.length + 1);
        }
      }),
      fcOptions(20_000),
    );
  });
});

function withCarriage(text: string): string {
  return text.replaceAll("\n", "\r\n");
}
