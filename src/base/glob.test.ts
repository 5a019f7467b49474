import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { hostileGlobs, longPaths, refusedGlobs } from "../../test/support/hostile-globs.ts";
import { refusal, refusalCode } from "../../test/support/refusal.ts";
import { compileGlob } from "./glob.ts";

const matches = (pattern: string, path: string, ignoreCase = false) =>
  compileGlob(pattern, { ignoreCase }).matches(path);

describe("what a pattern means", () => {
  const table: [pattern: string, matched: string[], others: string[]][] = [
    ["a.ts", ["a.ts", "x/a.ts", "a.ts/b"], ["b.ts", "a.tsx", "xa.ts", "a"]],
    ["*.pem", [".pem", "x.pem", "k/x.pem", "x.pem/y"], ["x.pem2", "pem", "x/pem"]],
    ["/a", ["a", "a/b"], ["x/a", "ab"]],
    ["a/b", ["a/b", "a/b/c"], ["x/a/b", "a", "a/bc", "a/x/b"]],
    ["secrets/", ["secrets/a", "x/secrets/a/b"], ["secrets", "x/secrets", "secrets2/a"]],
    ["/secrets/", ["secrets/a"], ["secrets", "x/secrets/a"]],
    ["secrets/**", ["secrets/a", "secrets/a/b"], ["secrets", "x/secrets/a"]],
    ["**", ["a", "a/b/c"], []],
    ["**/b", ["b", "a/b", "a/a/b", "b/c"], ["ab", "a/ab"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b", "a/b/c"], ["ab", "b", "a/xb", "x/a/b"]],
    ["a/*/b", ["a/x/b"], ["a/b", "a/x/y/b"]],
    ["**/", ["a/b", "a/b/c"], ["a"]],
    ["*/b", ["a/b"], ["b", "a/a/b"]],
    ["a?c", ["abc", "a🌍c", "x/a.c"], ["ac", "a/c", "abbc"]],
    ["[a-c]x", ["ax", "cx"], ["dx", "x"]],
    ["[!a-c]x", ["dx", "🌍x"], ["ax", "x", "a/x"]],
    ["a[!b]c", ["axc"], ["a/c", "abc"]],
    ["[a-]", ["a", "-"], ["b"]],
    ["[\\]]", ["]"], ["["]],
    ["{a,b{c,d}}.ts", ["a.ts", "bc.ts", "x/bd.ts"], ["b.ts", "ad.ts"]],
    ["{docs/,.env}", ["docs/a", "x/docs/a", "x/.env"], ["docs", "env"]],
    ["{a/b,c}", ["a/b", "c", "x/c"], ["x/a/b"]],
    ["{/a,b}", ["a", "b", "x/b"], ["x/a"]],
    ["a/{,b/}c", ["a/c", "a/b/c"], ["a/b", "x/a/c"]],
    ["a/{,b}", ["a/x", "a/b", "x/a/y"], ["a"]],
    ["{a,**}/c", ["c", "a/c", "x/y/c"], ["xc"]],
    ["{x/**,y}/z", ["x/z", "x/1/2/z", "y/z"], ["z", "1/y/z"]],
    ["a,b", ["a,b"], ["a", "b"]],
    ["\\*\\{\\?", ["*{?"], ["a{b"]],
    ["a b#", ["a b#"], ["a"]],
    ["(x)", ["(x)"], ["x"]],
    ["*", ["a", "a/b", ".env"], []],
    ["..a", ["..a"], ["a"]],
    ["line\nend", ["line\nend"], ["line"]],
  ];
  it.each(table)("%s", (pattern, matched, others) => {
    const glob = compileGlob(pattern);
    expect([...matched, ...others].filter((path) => glob.matches(path))).toEqual(matched);
  });

  it("holds for every form of a name, and without case where that is asked for", () => {
    expect(matches("cafe\u0301.md", "caf\u00e9.md")).toBe(true);
    expect(matches("caf\u00e9.md", "cafe\u0301.md")).toBe(true);
    expect(matches("caf?.md", "cafe\u0301.md")).toBe(true);
    expect(matches("caf[e\u0301].md", "caf\u00e9.md")).toBe(true);
    expect(matches(".ENV", ".env")).toBe(false);
    expect(matches(".ENV", ".env", true)).toBe(true);
    expect(matches(".env", "A/.Env", true)).toBe(true);
    expect(matches("[A-C]x", "bX", true)).toBe(true);
    expect(matches("[a-c]x", "BX", true)).toBe(true);
    expect(matches("[!a-c]x", "BX", true)).toBe(false);
    expect(matches("CAFE\u0301", "caf\u00e9", true)).toBe(true);
    expect(matches("\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c2", true)).toBe(true);
    expect(matches("stra\u00dfe", "STRASSE", true)).toBe(true);
    expect(matches("mask", "ma\u017fk", true)).toBe(true);
    expect(matches("id", "\u0131d", true)).toBe(false);
    expect(matches(".env", ".e\u200cnv", true)).toBe(true);
    expect(matches(".env", ".e\u200cnv")).toBe(false);
    expect(matches("\u200c", "a/b", true)).toBe(false);
  });
});

describe("what is refused", () => {
  const table: [pattern: string, offset: number, says: RegExp][] = [
    ["", 0, /empty/],
    ["/", 1, /names nothing/],
    ["{,a}", 4, /names nothing/],
    ["!a", 0, /no `!`/],
    ["./a", 0, /names no file/],
    ["a/../b", 2, /names no file/],
    ["a//b", 2, /two `\/`/],
    ["a/{b,/c}", 5, /two `\/`/],
    ["a/{,b}/c", 6, /two `\/`/],
    ["a**", 1, /stands alone/],
    ["**a", 2, /stands alone/],
    ["x{**,b}", 2, /stands alone/],
    ["{a,**}{b,/c}", 7, /stands alone/],
    ["a/***", 2, /more than two/],
    ["a[b", 1, /no `\]`/],
    ["a[]", 1, /class is empty/],
    ["[^a]", 1, /\[!…\]/],
    ["[b-a]", 1, /backwards/],
    ["[a/b]", 2, /cannot match/],
    ["[[:alpha:]]", 1, /named classes/],
    ["a]", 1, /no `\[`/],
    ["{a,b", 0, /no `\}`/],
    ["a}", 1, /no `\{`/],
    ["{a}", 0, /two alternatives/],
    ["{1..3}", 0, /two alternatives/],
    ["*.@(js|ts)", 2, /\{a,b\}/],
    ["+(a)", 0, /\{a,b\}/],
    ["a\\", 1, /at the end/],
    ["docs\\api", 4, /separated by `\/`/],
    ["e\u0301e\u0301**", 4, /stands alone/],
    [`${"{a,".repeat(11)}b${"}".repeat(11)}`, 30, /10 deep/],
    ["a".repeat(1_001), 1_000, /longer than 1000/],
  ];
  it.each(table)("%s", (pattern, offset, says) => {
    const { code, message, facts } = refusal(() => compileGlob(pattern));
    expect(code).toBe("invalid_pattern");
    expect(message).toMatch(says);
    expect(facts["offset"]).toBe(offset);
  });
});

describe("against a slow oracle", () => {
  const piece = fc.constantFrom(
    "a",
    "b",
    "A",
    "*",
    "?",
    "/",
    "/",
    "**",
    "**/",
    "/**/",
    "{",
    ",",
    "}",
    "[ab]",
    "[!a]",
  );
  const braces = fc
    .array(fc.array(piece, { maxLength: 3 }), { minLength: 2, maxLength: 3 })
    .map((choices) => `{${choices.map((choice) => choice.join("")).join(",")}}`);
  const pattern = fc
    .array(fc.oneof({ arbitrary: piece, weight: 4 }, { arbitrary: braces, weight: 1 }), {
      minLength: 1,
      maxLength: 7,
    })
    .map((pieces) => pieces.join(""));
  const path = fc
    .array(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((names) => names.map((name) => name.join("")).join("/"));

  it("matches the same paths and refuses the same structures", () => {
    let compared = 0;
    let matched = 0;
    const { numRuns, seed } = fcOptions(200_000);
    fc.assert(
      fc.property(pattern, fc.array(path, { minLength: 4, maxLength: 4 }), (text, paths) => {
        // Two single stars may meet when braces are expanded; those are not `**`.
        const choices = text.includes("***") ? undefined : expand(text.replaceAll("**", FOLDERS));
        const readable = choices?.every(isPlainPattern) ?? false;
        expect(
          refusalCode(() => compileGlob(text)),
          text,
        ).toBe(readable ? undefined : "invalid_pattern");
        if (!readable) return;
        const glob = compileGlob(text);
        for (const each of paths) {
          const expected = choices!.some((choice) => slowMatch(choice, each));
          expect(glob.matches(each), `${text} on ${each}`).toBe(expected);
          compared++;
          if (expected) matched++;
        }
      }),
      { numRuns, seed },
    );
    expect(compared).toBeGreaterThan(numRuns / 4);
    expect(matched).toBeGreaterThan(compared / 10);
    expect(matched).toBeLessThan((compared * 9) / 10);
  });
});

describe("hostile patterns", () => {
  it("are at least 50, each allowed, on paths of 4,000 characters", () => {
    expect(new Set(hostileGlobs).size).toBeGreaterThanOrEqual(50);
    expect(hostileGlobs.flatMap((each) => refusalCode(() => compileGlob(each)) ?? [])).toEqual([]);
    for (const path of longPaths) expect(path.length).toBeGreaterThanOrEqual(3_999);
  });

  it.each(hostileGlobs.map((pattern) => [pattern.slice(0, 40), pattern]))(
    "takes at most 50 ms: %s",
    (_name, pattern) => {
      const tries = [
        ...longPaths.map((path) => [path, false] as const),
        [longPaths.at(-1)!, true] as const,
      ];
      for (const [path, ignoreCase] of tries) {
        const isQuick = () =>
          cpuMilliseconds(() => compileGlob(pattern, { ignoreCase }).matches(path)) <= 50;
        // Whatever else runs on the machine may spoil some tries, but a slow pattern is slow in all of them.
        expect(Array.from({ length: 10 }).some(isQuick), path.slice(0, 20)).toBe(true);
      }
    },
  );

  it.each(refusedGlobs)("is refused at once: %s", (pattern) => {
    expect(refusalCode(() => compileGlob(pattern))).toBe("invalid_pattern");
  });

  it("match what they say all the same", () => {
    const many = "a".repeat(4_000);
    expect(matches("*a".repeat(490), many)).toBe(true);
    expect(matches(`${"*a".repeat(490)}b`, many)).toBe(false);
    expect(matches("{a,aa}".repeat(160), "a".repeat(320))).toBe(true);
    expect(matches("{a,aa}".repeat(160), "a".repeat(321))).toBe(false);
    expect(matches("{a,aa}".repeat(160), "a".repeat(159))).toBe(false);
    expect(matches("**/".repeat(300) + "b", `${"a/".repeat(1_000)}b`)).toBe(true);
    expect(matches("**/a/".repeat(190) + "b", `${"a/".repeat(189)}b`)).toBe(false);
  });

  it("give the same answer when more sets of steps were met than are remembered", () => {
    const path = longPaths.at(-1)!.slice(0, -1);
    const glob = compileGlob(`*a${"?".repeat(900)}`);
    const expected = path.at(-901) === "a";
    for (let turn = 0; turn < 3; turn++) expect(glob.matches(path)).toBe(expected);
    for (let length = 890; length < 930; length++) {
      const part = path.slice(0, length);
      expect(glob.matches(part), String(length)).toBe(part.at(-901) === "a");
    }
  });
});

/** Of this thread: others on the machine do not count. */
function cpuMilliseconds(action: () => unknown): number {
  const before = process.threadCpuUsage();
  action();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const FOLDERS = "§";

/** All patterns that one with braces stands for, or undefined when the braces do not fit together. */
function expand(pattern: string): string[] | undefined {
  const open = pattern.indexOf("{");
  const stray = pattern.indexOf("}");
  if (open < 0) return stray < 0 ? [pattern] : undefined;
  if (stray >= 0 && stray < open) return undefined;
  let depth = 0;
  const cuts = [open];
  for (let at = open; at < pattern.length; at++) {
    if (pattern[at] === "{") depth++;
    else if (pattern[at] === "}") depth--;
    else if (pattern[at] === "," && depth === 1) cuts.push(at);
    if (depth > 0) continue;
    cuts.push(at);
    if (cuts.length < 3) return undefined;
    const all: string[] = [];
    for (const [index, cut] of cuts.slice(0, -1).entries()) {
      // What is chosen may hold braces, and so may what follows: both are expanded by the next rounds.
      const choice = expand(pattern.slice(cut + 1, cuts[index + 1]));
      const rest = expand(pattern.slice(at + 1));
      if (choice === undefined || rest === undefined) return undefined;
      for (const one of choice)
        for (const other of rest) all.push(pattern.slice(0, open) + one + other);
    }
    return all;
  }
  return undefined;
}

function isPlainPattern(pattern: string): boolean {
  const body = pattern.replace(/^\//, "").replace(/\/$/, "");
  if (body === "") return false;
  return body
    .split("/")
    .every((name) => name !== "" && (name === FOLDERS || !name.includes(FOLDERS)));
}

function slowMatch(pattern: string, path: string): boolean {
  const below = pattern.endsWith("/");
  const body = below ? pattern.slice(0, -1) : pattern;
  const names = body.replace(/^\//, "").split("/");
  if (!body.includes("/")) names.unshift(FOLDERS);
  return slowNames(names, path.split("/"), below, 0);
}

function slowNames(
  pattern: readonly string[],
  names: readonly string[],
  below: boolean,
  used: number,
): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return used > 0 && (!below || names.length > 0);
  if (first === FOLDERS) {
    const none = (rest.length > 0 || below) && slowNames(rest, names, below, used);
    return (
      none ||
      (names.length > 0 &&
        (slowNames(pattern, names.slice(1), below, used + 1) ||
          slowNames(rest, names.slice(1), below, used + 1)))
    );
  }
  return (
    names.length > 0 &&
    slowName(first, names[0]!) &&
    slowNames(rest, names.slice(1), below, used + 1)
  );
}

function slowName(pattern: string, name: string): boolean {
  if (pattern === "") return name === "";
  if (pattern.startsWith("*")) {
    return slowName(pattern.slice(1), name) || (name !== "" && slowName(pattern, name.slice(1)));
  }
  if (name === "") return false;
  const [, one] = /^(\[[^\]]*\]|.)/.exec(pattern)!;
  const fits =
    one === "?" ||
    (one === "[ab]" ? "ab".includes(name[0]!) : one === "[!a]" ? name[0] !== "a" : one === name[0]);
  return fits && slowName(pattern.slice(one!.length), name.slice(1));
}
