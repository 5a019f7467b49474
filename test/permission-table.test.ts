import { describe, expect, it } from "vitest";
import {
  type ActorKind,
  type BlockTarget,
  type Decision,
  decideBlock,
  decisionOf,
  type Explanation,
  type FileOperation,
  type FileRule,
  FolderRules,
  type Level,
  parseRuleFlag,
  parseRules,
  type Rules,
  whenBothChanged,
} from "../src/permission/index.ts";

/**
 * What must be decided, written down by hand: a letter for each operation in the order read, append, create, change,
 * delete. y: allow, n: deny, h: ask any person, p: ask the partner, a: allow, because a person's own act answers the ask.
 */
const expected: { readonly [level in Level]: { readonly [kind in ActorKind]: string } } = {
  secret: { person: "aaaan", agent: "hhhhn", service: "hhhhn", disk: "yyyyy", system: "yyyyy" },
  read_only: { person: "ynnnn", agent: "ynnnn", service: "ynnnn", disk: "yyyyy", system: "yyyyy" },
  partner: { person: "yaaan", agent: "ypppn", service: "ypppn", disk: "yyyyy", system: "yyyyy" },
  human: { person: "yaaaa", agent: "yhhhh", service: "yhhhh", disk: "yyyyy", system: "yyyyy" },
  append: { person: "yyynn", agent: "yyynn", service: "yyynn", disk: "yyyyy", system: "yyyyy" },
  read_write: { person: "yyyya", agent: "yyyyh", service: "yyyyh", disk: "yyyyy", system: "yyyyy" },
  admin: { person: "yyyyy", agent: "yyyyy", service: "yyyyy", disk: "yyyyy", system: "yyyyy" },
};
const operations: readonly FileOperation[] = ["read", "append", "create", "change", "delete"];
const levels = Object.keys(expected) as Level[];

function letter({ decision, whom, answered }: Decision): string {
  if (decision === "ask") return whom === "partner" ? "p" : whom === "human" ? "h" : "?";
  if (whom !== undefined) return "?";
  if (decision === "deny") return answered === undefined ? "n" : "?";
  return answered === true ? "a" : "y";
}

const cases = levels.flatMap((level) =>
  Object.entries(expected[level]).flatMap(([kind, letters]) =>
    operations.map((operation, index) => ({
      level,
      kind: kind as ActorKind,
      operation,
      wanted: letters[index]!,
    })),
  ),
);

const ruled = (level: Level, more = "") =>
  new FolderRules({
    rules: parseRules(`[[rule]]\npath = "x/**"\nlevel = "${level}"\n${more}`),
    isIgnored: () => false,
    ignoreCase: false,
  });

describe("the whole table", () => {
  it("has every level, operation and kind", () => {
    expect(cases).toHaveLength(7 * 5 * 5);
  });

  it.each(cases)("$level, $kind, $operation: $wanted", ({ level, kind, operation, wanted }) => {
    const file = ruled(level).decide("x/y.md", operation, kind);
    expect(letter(file)).toBe(wanted);
    expect(file).toMatchObject({ level, rule: { pattern: "x/**", from: "kumiko.toml line 2" } });
    expect(file.reason).toContain('"x/y.md"');
    expect(file.reason).toMatch(/^[A-Z].*\.$/s);
    if (kind !== "disk" && kind !== "system") {
      expect(file.reason).toContain(`"x/**" is ${level}`);
      expect(file.reason).toContain("kumiko.toml line 2");
    }

    const flags: readonly FileRule[] = [parseRuleFlag(`x/**=${level}`)];
    const flagged = new FolderRules({ flags, isIgnored: () => true, ignoreCase: true });
    expect(letter(flagged.decide("X/y.md", operation, kind))).toBe(wanted);
    expect(flagged.levelOf("x/y.md")).toEqual({ level, rule: { pattern: "x/**", from: "flag" } });

    const { operations: explained }: Explanation = flagged.explain("x/y.md");
    const row = explained.find((each) => each.operation === operation)!;
    if (kind === "agent" || kind === "person") expect(letter(row[kind])).toBe(wanted);

    const rules: Rules = parseRules(`[[conversation]]\nlevel = "${level}"\n`);
    const block = { context: "main", owner: "ann" };
    expect(letter(decideBlock([rules], block, operation, { actor: "bob", kind }))).toBe(wanted);

    const plain = { y: "allow", a: "allow", n: "deny", h: "ask", p: "ask" }[wanted];
    if (kind === "agent") expect(decisionOf(level, operation)).toBe(plain);
  });

  it.each(cases)("$level, $kind, $operation, escalated", ({ level, kind, operation }) => {
    const ask = level === "partner" ? "p" : "h";
    const wanted = { person: "a", agent: ask, service: ask, disk: "y", system: "y" }[kind];
    const all = ruled(level, 'escalate = ["read", "append", "change", "delete"]');
    expect(letter(all.decide("x/y.md", operation, kind))).toBe(wanted);
    const own = operation === "create" ? "append" : operation;
    const others = ["read", "append", "change", "delete"].filter((each) => each !== own);
    const rest = ruled(level, `escalate = ${JSON.stringify(others)}`);
    const before = expected[level][kind][operations.indexOf(operation)]!;
    // Whoever changes a text is shown it: what may not be read may not be changed either.
    const shown = operation === "change" && before === "y";
    expect(letter(rest.decide("x/y.md", operation, kind))).toBe(shown ? wanted : before);
  });

  it("says who stands when both sides changed the same lines", () => {
    const disk = { stands: "disk", keepsAppended: false };
    const nobody = { stands: "nobody", keepsAppended: false };
    expect(Object.fromEntries(levels.map((level) => [level, whenBothChanged(level)]))).toEqual({
      secret: disk,
      read_only: disk,
      partner: nobody,
      human: nobody,
      append: { stands: "disk", keepsAppended: true },
      read_write: disk,
      admin: { stands: "memory", keepsAppended: false },
    });
  });
});

describe("conversations", () => {
  const agent = { actor: "claude", kind: "agent" } as const;
  const own: BlockTarget = { context: "main", owner: "claude" };
  const others: BlockTarget = { context: "main", owner: "ann" };
  const letters = (text: string, target: BlockTarget, who: { actor: string; kind: ActorKind }) =>
    operations.map((each) => letter(decideBlock([parseRules(text)], target, each, who))).join("");

  it("let an agent append to its own blocks and change them, and ask about others'", () => {
    expect(letters("", own, agent)).toBe("yyyyh");
    expect(letters("", others, agent)).toBe("yhhhh");
    expect(letters("", others, { actor: "bob", kind: "person" })).toBe("yaaaa");
    expect(decideBlock([parseRules("")], others, "change", agent).reason).toBe(
      `Changing a block of ann in main needs a yes from a person: "others' blocks" is human (built in). ` +
        'Let a person do it, or write a rule before it in kumiko.toml (level = "read_write").',
    );
  });

  it("follow the first rule that names the context and whose block it is", () => {
    const text = `
      [[conversation]]
      context = "review-*"
      whose = "others"
      level = "append"
      [[conversation]]
      context = "review-*"
      level = "admin"
      [[conversation]]
      whose = "own"
      level = "read_only"`;
    expect(letters(text, { ...others, context: "review-1" }, agent)).toBe("yyynn");
    expect(letters(text, { ...own, context: "review-1" }, agent)).toBe("yyyyy");
    expect(letters(text, own, agent)).toBe("ynnnn");
    expect(letters(text, others, agent)).toBe("yhhhh");
    expect(letters(text, { ...others, context: "my-review-1" }, agent)).toBe("yhhhh");
    expect(
      decideBlock([parseRules(text)], { ...own, context: "review-1" }, "delete", agent).rule,
    ).toEqual({ pattern: "review-*", from: "kumiko.toml line 6" });
  });

  it("follow of several folders' rules the strictest, operation by operation", () => {
    const folders = ["append", "human", undefined, "admin"].map((level) =>
      parseRules(level === undefined ? "" : `[[conversation]]\nlevel = "${level}"`),
    );
    for (const several of [folders, folders.toReversed()])
      expect(
        operations.map((each) => letter(decideBlock(several, others, each, agent))).join(""),
      ).toBe("yhhnn");
    // A folder that says nothing of it takes nothing away.
    const [, , silent, admin] = folders;
    expect(letter(decideBlock([silent!, admin!], others, "delete", agent))).toBe("y");
  });
});
