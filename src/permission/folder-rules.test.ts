import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { refusal } from "../../test/support/refusal.ts";
import { FolderRules, type FolderRulesOptions } from "./folder-rules.ts";
import { parseRuleFlag, parseRules } from "./rules.ts";

const folder = (options: Partial<FolderRulesOptions> = {}) =>
  new FolderRules({ isIgnored: () => false, ignoreCase: false, ...options });

const ruled = (...rules: readonly (readonly [path: string, level: string])[]) =>
  parseRules(
    rules.map(([path, level]) => `[[rule]]\npath = '${path}'\nlevel = "${level}"`).join("\n"),
  );

describe("the order of rules", () => {
  it("is flags, the file, built in; the first that matches decides", () => {
    const rules = ruled([".env", "read_write"], ["docs/**", "append"], ["docs/a.md", "admin"]);
    const flags = [parseRuleFlag("docs/b.md=read_only"), parseRuleFlag("docs/b.md=admin")];
    const all = folder({ rules, flags });
    expect(all.levelOf("docs/b.md")).toEqual({
      level: "read_only",
      rule: { pattern: "docs/b.md", from: "flag" },
    });
    expect(all.levelOf("docs/a.md")).toEqual({
      level: "append",
      rule: { pattern: "docs/**", from: "kumiko.toml line 5" },
    });
    expect(all.levelOf("x/.env").level).toBe("read_write");
    expect(all.levelOf("x/.env.local")).toEqual({
      level: "secret",
      rule: { pattern: ".env.*", from: "built in" },
    });
    expect(all.levelOf("src/a.ts")).toEqual({
      level: "read_write",
      rule: { pattern: "**", from: "built in" },
    });
  });

  it("holds for any rules: the decision is that of the first that matches alone", () => {
    const path = fc.constantFrom("a", "a/b", "a/b/c", "b/a", "c");
    const rule = fc.tuple(
      fc.constantFrom("a", "a/**", "/b", "*", "c", "{a,c}/b", "x"),
      fc.constantFrom("read_only", "append", "admin", "human"),
    );
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 6 }), path, (rules, name) => {
        const alone = rules
          .map((each) => folder({ rules: ruled(each) }).levelOf(name))
          .find((each) => each.rule.from !== "built in");
        const together = folder({ rules: ruled(...rules) }).levelOf(name);
        expect(together.level).toBe(alone?.level ?? "read_write");
        expect(together.rule.pattern).toBe(alone?.rule.pattern ?? "**");
      }),
      fcOptions(2_000),
    );
  });

  it("is explained, with what each operation would be", () => {
    const rules = ruled(["docs/**", "append"], ["src/**", "human"], ["*", "admin"]);
    const found = folder({ rules }).explain("src/./a.ts");
    expect(found.path).toBe("src/a.ts");
    expect(found.level).toBe("human");
    expect(found.looked).toEqual([
      { pattern: "docs/**", from: "kumiko.toml line 2", level: "append", matched: false },
      { pattern: "src/**", from: "kumiko.toml line 5", level: "human", matched: true },
    ]);
    expect(
      found.operations.map(({ operation, agent, person }) => [
        operation,
        agent.decision,
        person.decision,
      ]),
    ).toEqual([
      ["read", "allow", "allow"],
      ["append", "ask", "allow"],
      ["create", "ask", "allow"],
      ["change", "ask", "allow"],
      ["delete", "ask", "allow"],
    ]);
    expect(folder().explain("a").looked.at(-1)).toMatchObject({ pattern: "**", matched: true });
  });
});

describe("what is built in", () => {
  const secret = [
    [".env", "a/.env", ".env/a", ".env.local", "a/.env.production", ".env.example/.env.local"],
    [".env.d/.env.example", "x.pem", "a/b.key", "a.p12", "a.pfx", "id_rsa", "id_rsa.pub"],
    ["k/id_ed25519", "id_ecdsa_sk", ".npmrc", "a/.npmrc", ".netrc", ".pypirc", ".aws/config"],
    ["home/.aws/x/y", ".ssh/known_hosts", "a/.ssh/config", ".gnupg/a", "credentials"],
    ["a/credentials", "credentials.json", "service-account-1.json", "a.kdbx", ".git-credentials"],
    [".git/.env", "kumiko/.ssh/.env.example"],
  ].flat();
  const plain = [
    [".env.example", "a/.env.sample", ".env.template", "env", ".envrc", "pem", "a.pem.md"],
    ["keys.ts", ".aws", "my-credentials", "credentials.ts", "service-account.ts", "not_id_rsa"],
    [".gitignore", ".github/workflows/a.yml", "kumiko.toml.md"],
  ].flat();

  it("keeps secrets wherever they are, ignored or not", () => {
    for (const isIgnored of [() => true, () => false]) {
      const rules = folder({ isIgnored });
      expect(secret.filter((path) => rules.levelOf(path).level !== "secret")).toEqual([]);
    }
    const rules = folder();
    expect(plain.filter((path) => rules.levelOf(path).level !== "read_write")).toEqual([]);
  });

  it("makes the rules human, git's own and what is ignored read_only", () => {
    const rules = folder({ isIgnored: (path) => path.startsWith("dist/") });
    expect(rules.levelOf("kumiko.toml").level).toBe("human");
    expect(rules.levelOf("a/kumiko.toml").level).toBe("human");
    expect(rules.levelOf(".git/config")).toMatchObject({ level: "read_only" });
    expect(rules.levelOf("module/.git/HEAD").level).toBe("read_only");
    expect(rules.levelOf(".git").level).toBe("read_only");
    expect(rules.levelOf("dist/a.js")).toEqual({
      level: "read_only",
      rule: { pattern: ".gitignore, .kumikoignore", from: "built in" },
    });
    expect(folder({ isIgnored: () => true }).levelOf("kumiko.toml").level).toBe("human");
  });
});

describe("spelling", () => {
  it("changes nothing: every form and, where the file system ignores case, every case", () => {
    const paths = ["é/Ångström.md", "Docs/NAÏVE.txt", "x/.env", "Straße/ΣΑΣ"];
    const levels = ["append", "admin", "human", "read_only"];
    const rules = ruled(...paths.map((path, index) => [path, levels[index]!] as const));
    const form = fc.constantFrom("NFC", "NFD");
    fc.assert(
      fc.property(fc.nat(3), form, form, fc.nat(0xffff), (index, one, other, bits) => {
        const path = paths[index]!.normalize(one);
        expect(folder({ rules }).levelOf(path).level).toBe(levels[index]);
        const odd = Array.from(path, (each, at) =>
          (bits >> at) % 2 === 1 ? each.toUpperCase() : each.toLowerCase(),
        ).join("");
        const either = folder({ rules, ignoreCase: true });
        expect(either.levelOf(odd.normalize(other)).level, odd).toBe(levels[index]);
      }),
      fcOptions(2_000),
    );
  });

  it("keeps case apart where the file system does, in built-in rules too", () => {
    expect(folder().levelOf(".ENV").level).toBe("read_write");
    expect(folder({ ignoreCase: true }).levelOf("A/.Env").level).toBe("secret");
    expect(folder({ ignoreCase: true }).levelOf(".ENV.Example").level).toBe("read_write");
    expect(folder({ ignoreCase: true }).levelOf(".GIT/config").level).toBe("read_only");
    expect(folder({ ignoreCase: true }).levelOf("Kumiko.TOML").level).toBe("human");
  });

  it("asks for ignored paths as the disk spells them", () => {
    const asked: string[] = [];
    const isIgnored = (path: string) => asked.push(path) > 0;
    folder({ isIgnored }).levelOf("./cafe\u0301//a/");
    expect(asked).toEqual(["cafe\u0301/a"]);
    expect(folder().explain("cafe\u0301").path).toBe("caf\u00e9");
  });
});

describe("paths", () => {
  it.each([
    ["", "names no file"],
    [".", "names no file"],
    ["./", "names no file"],
    ["/etc/passwd", "is absolute"],
    ["//a", "is absolute"],
    ["..", "leads out"],
    ["a/../b", "leads out"],
    ["a/..", "leads out"],
    ["a\0b", "NUL"],
  ])("%j is refused", (path, says) => {
    const rules = folder({ rules: ruled(["**", "admin"]) });
    for (const action of [
      () => rules.levelOf(path),
      () => rules.decide(path, "read", "person"),
      () => rules.explain(path),
    ]) {
      expect(refusal(action)).toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining(says),
        facts: { path },
      });
    }
  });

  it.each(["./a", "a/", "a//", ".//./a/."])("%s means a", (path) => {
    expect(folder().explain(path).path).toBe("a");
  });
});

it("tells an agent what to try", () => {
  const rules = folder({ rules: ruled(["notes/**", "partner"]) });
  expect(rules.decide("notes/a\nb.md", "change", "agent").reason).toBe(
    'Changing "notes/a\\nb.md" needs a yes from the person whose agent this is: "notes/**" is partner ' +
      "(kumiko.toml line 2). Let the person whose agent this is do it, or write a rule before it in kumiko.toml.",
  );
  expect(rules.decide(".git/config", "change", "agent").reason).toBe(
    'Changing ".git/config" is denied: ".git" is read_only (built in). ' +
      "Only a rule before it in kumiko.toml, which a person may write, changes that.",
  );
});
