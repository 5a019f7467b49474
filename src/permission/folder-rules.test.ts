import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { refusal } from "../../test/support/refusal.ts";
import { FolderRules, type FolderRulesOptions } from "./folder-rules.ts";
import { hostileGlobs } from "../../test/support/hostile-globs.ts";
import { levels } from "./levels.ts";
import { parseRuleFlag, parseRules } from "./rules.ts";
import { ruleWarnings } from "./warnings.ts";

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
      rule: { pattern: ".env*", from: "built in" },
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
    const flags = [parseRuleFlag("x=admin!delete")];
    const found = folder({ rules, flags }).explain("src/./a.ts");
    expect(found.path).toBe("src/a.ts");
    expect(found.level).toBe("human");
    const escalate: string[] = [];
    expect(found.looked).toEqual([
      { pattern: "x", from: "flag", level: "admin", escalate: ["delete"], matched: false },
      { pattern: "docs/**", from: "kumiko.toml line 2", level: "append", escalate, matched: false },
      { pattern: "src/**", from: "kumiko.toml line 5", level: "human", escalate, matched: true },
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
    [".git/.env", "kumiko/.ssh/.env.example", ".envrc", "a/.envrc", ".pgpass"],
    [".env-production", ".env_local", ".env2", ".env~", "a/.env.example~"],
  ].flat();
  const plain = [
    [".env.example", "a/.env.sample", ".env.template", "env", "pem", "a.pem.md"],
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

describe("what is protected", () => {
  const strictness = ["deny", "ask", "allow"];
  const operations = ["read", "append", "create", "change", "delete"] as const;
  /** With a path that each protects and the text by which a rule names it. */
  const protectedPaths = [
    ["kumiko.toml", "kumiko.toml"],
    ["a/.env", ".env"],
    [".env.local", ".env"],
    ["x.pem", ".pem"],
    ["a/x.key", ".key"],
    ["id_rsa.pub", "id_rsa"],
    [".npmrc", ".npmrc"],
    ["b/.aws/config", ".aws"],
    ["credentials.json", "credentials"],
    ["service-account-1.json", "service-account"],
    [".git-credentials", ".git-credentials"],
    [".git/hooks/pre-commit", ".git"],
  ] as const;
  const broad = fc.constantFrom("**", "*", "**/*", "/**", "{a,b,*}", "[!x]*", "?*", "[.env]*");

  it("is given no more of by a rule that does not name it, and no more than that rule gives", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...protectedPaths),
        fc.constantFrom(...levels),
        broad,
        fc.boolean(),
        fc.constantFrom(...operations),
        ([path], level, pattern, ignoreCase, operation) => {
          const verdict = (rules: FolderRules, at: string = path) =>
            strictness.indexOf(rules.decide(at, operation, "agent").decision);
          const rules = ruled([pattern, level]);
          const together = folder({ rules, ignoreCase });
          const alone = verdict(folder({ ignoreCase }));
          const own = verdict(folder({ rules: ruled(["plain", level]) }), "plain");
          const matches = together.explain(path).looked.at(-1)!.from !== "built in";
          expect(verdict(together)).toBe(matches ? Math.min(alone, own) : alone);
        },
      ),
      fcOptions(5_000),
    );
  });

  it("is opened by a rule that has its name in the path, in any case where that is ignored", () => {
    for (const [path, word] of protectedPaths) {
      for (const pattern of [
        path,
        `*${word}*`,
        `**/*${word}*/**`,
        `{${word}*,**}`,
        `{**,*${word}}`,
      ]) {
        const rules = ruled([pattern, "admin"], ["**", "admin"]);
        const { level, protections } = folder({ rules }).explain(path);
        if (!folder({ rules: ruled([pattern, "admin"]) }).explain(path).looked[0]!.matched)
          continue;
        expect([path, pattern, level]).toEqual([path, pattern, "admin"]);
        expect(protections.filter(({ named }) => !named)).toEqual([]);
        const capitals = ruled([pattern.toUpperCase(), "admin"]);
        expect(folder({ rules: capitals, ignoreCase: true }).levelOf(path).level).toBe("admin");
      }
    }
  });

  it("by several at once is opened only by a rule that names them all", () => {
    const both = (pattern: string) => folder({ rules: ruled([pattern, "admin"]) });
    expect(both(".env/**").levelOf(".env/id_rsa").level).toBe("secret");
    expect(both(".env/id_rsa").levelOf(".env/id_rsa").level).toBe("admin");
    expect(both(".git/**").decide(".git/.env", "read", "agent").decision).toBe("ask");
    // Without any rule the strictest holds, operation by operation.
    expect(folder().decide(".git/.env", "read", "agent").decision).toBe("ask");
    expect(folder().decide(".git/.env", "change", "person").decision).toBe("deny");
    expect(folder().levelOf(".ssh/kumiko.toml").level).toBe("secret");
  });

  it("is explained: which rule matched, what protects it, whether it was named", () => {
    const rules = ruled(["docs/**", "append"], ["**", "admin"], [".env", "admin"]);
    expect(folder({ rules }).explain("a/.env")).toMatchObject({
      level: "secret",
      looked: [
        { pattern: "docs/**", matched: false },
        { pattern: "**", level: "admin", matched: true },
      ],
      protections: [{ pattern: ".env*", level: "secret", word: ".env", named: false }],
    });
    expect(folder({ rules }).explain("docs/a.md").protections).toEqual([]);
    expect(folder().explain(".git/HEAD").looked.at(-1)).toMatchObject({ pattern: ".git" });
    // What is ignored is no more than a default.
    const ignored = folder({ rules: ruled(["**", "admin"]), isIgnored: () => true });
    expect(ignored.levelOf("dist/a.js").level).toBe("admin");
  });

  it("takes linear time to decide about, whatever the patterns", () => {
    const patterns = hostileGlobs.filter((each) => !each.includes("'")).slice(0, 60);
    const rules = ruled(...patterns.map((each) => [each, "admin"] as const));
    const all = folder({ rules });
    const path = `${"a".repeat(200)}/${"b".repeat(200)}/.env`;
    // Three tries: a busy machine is not a slow pattern.
    const fast = Array.from({ length: 3 }).some(() => {
      const { user } = process.cpuUsage();
      expect(all.levelOf(path).level).toBe("secret");
      return process.cpuUsage().user - user < 50_000;
    });
    expect(fast).toBe(true);
  });
});

describe("warnings", () => {
  const warned = (...rules: readonly (readonly [path: string, level: string])[]) =>
    ruleWarnings(ruled(...rules)).map(({ pattern, warning }) => [pattern, warning] as const);

  it("tell of rules that match what is protected without naming it", () => {
    expect(warned(["src/**", "admin"], ["*.md", "admin"], [".env*", "admin"])).toEqual([]);
    expect(warned(["*.json", "read_write"])).toEqual([
      [
        "*.json",
        expect.stringContaining("does not name it: credentials.json, service-account*.json."),
      ],
    ]);
    const [[pattern, warning] = []] = warned(["**", "admin"]);
    expect(pattern).toBe("**");
    expect(warning).toContain("kumiko.toml, .env*, *.pem, *.key and 18 more");
    // One that gives nothing more takes nothing away.
    expect(warned(["**", "secret"]).join()).not.toContain(".env");
  });

  it("tell of rules that are never reached", () => {
    expect(warned(["**", "secret"], ["docs/**", "admin"]).at(-1)).toEqual([
      "docs/**",
      'It is never reached: "**" (kumiko.toml line 2) matches everything. Write it before that one.',
    ]);
    expect(warned(["docs/**", "admin"], ["**", "secret"]).join()).not.toContain("never");
  });
});

describe("spelling", () => {
  it("changes nothing: every form and, where the file system ignores case, every case", () => {
    const paths = ["é/Ångström.md", "Docs/NAÏVE.txt", "x/.env", "Straße/ΣΑΣ"];
    const given = ["append", "admin", "human", "read_only"];
    const rules = ruled(...paths.map((path, index) => [path, given[index]!] as const));
    const form = fc.constantFrom("NFC", "NFD");
    fc.assert(
      fc.property(fc.nat(3), form, form, fc.nat(0xffff), (index, one, other, bits) => {
        const path = paths[index]!.normalize(one);
        expect(folder({ rules }).levelOf(path).level).toBe(given[index]);
        const odd = Array.from(path, (each, at) =>
          (bits >> at) % 2 === 1 ? each.toUpperCase() : each.toLowerCase(),
        ).join("");
        const either = folder({ rules, ignoreCase: true });
        expect(either.levelOf(odd.normalize(other)).level, odd).toBe(given[index]);
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
      '(kumiko.toml line 2). Let the person whose agent this is do it, or write a rule before it in kumiko.toml (level = "read_write").',
  );
  expect(rules.decide(".git/config", "change", "agent").reason).toBe(
    'Changing ".git/config" is denied: ".git" is read_only (built in). ' +
      "Only a rule with .git in its path in kumiko.toml, which a person may write, changes that.",
  );
  expect(folder().decide("a", "delete", "agent").reason).toContain(
    'write a rule before it in kumiko.toml (level = "admin").',
  );
  const open = folder({ rules: ruled(["**", "admin"]) });
  expect(open.decide("a/.env", "read", "agent").reason).toBe(
    'Reading "a/.env" needs a yes from a person: ".env*" is secret (built in), and "**" (kumiko.toml line 2) does not ' +
      'name it. Let a person do it, or write a rule with .env in its path before that one (level = "read_only").',
  );
  const shut = parseRules('[[rule]]\npath = "a"\nlevel = "admin"\nescalate = ["read"]\n');
  expect(folder({ rules: shut }).decide("a", "change", "agent").reason).toContain(
    '"a" is admin and escalates reading, and whoever changes a text is shown it (kumiko.toml line 2)',
  );
});
