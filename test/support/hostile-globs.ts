import { Random } from "../../src/base/index.ts";

/** Patterns that take matchers with backtracking or expansion seconds to for ever, each at most 1,000 characters. */
export const hostileGlobs: readonly string[] = [
  // Many stars in one name, with and without something that cannot match behind them.
  ...["a", "ab", "?", "[a-z]", "[!b]", "{a,aa}", "{a,b}"].flatMap((one) => [
    `${fill(`*${one}`)}b`,
    fill(`${one}*`),
    `/${fill(`*${one}`)}`,
    `x/${fill(`*${one}`)}b`,
  ]),
  // Many `**` with folders between them that nearly match (CVE-2026-27903).
  fill("**/"),
  `${fill("**/")}b`,
  `${fill("**/a/")}b`,
  `${fill("**/*/")}b`,
  `${fill("**/*a*/")}b`,
  `${fill("*/")}b`,
  `${fill("**/[a-z]/")}b`,
  `${fill("**/{a,b}/")}b`,
  `${fill("{**,a}/")}b`,
  `${fill("{a/**,**}/")}b`,
  `a/${fill("**/?/")}z`,
  // Repeated wildcards before a literal that is never there (CVE-2026-26996, in the form that is allowed here).
  `${fill("*a")}[!a]`,
  `*${fill("?")}b`,
  `${fill("?*")}b`,
  // Braces: expansion would give 2^100 patterns and more; alternatives that overlap (as in CVE-2026-33671).
  fill("{a,b}"),
  fill("{a,aa}"),
  `${fill("{a,aa}")}b`,
  `a${fill("{a,}")}b`,
  `a${fill("{*,*}")}b`,
  `a${fill("{*a,*aa,}")}b`,
  `a${fill("{,,,,,,,,}")}b`,
  `${nested("*", 10)}b`,
  fill(nested("a", 10)),
  fill(nested("*a", 10)),
  `${fill(nested("a*", 10))}b`,
  `${fill(`a${nested("*", 9)}`)}b`,
  `{${fill("a,")}b}`,
  `{${fill("*a*,")}b}`,
  `{${fill("**/a,")}b}`,
  // Long classes.
  `[${fill("a-b")}]`,
  `*[!${fill("b-c")}]b`,
  `*[${"b".repeat(480)}]*[!${"a".repeat(480)}]`,
  `${fill("[a-zA-Z0-9]*")}!`,
  `${fill("[!b]*")}b`,
  // Those that meet another set of steps with every character of a random path.
  `*a${"?".repeat(900)}c`,
  `*a${fill("?{a,b,?}", 900)}c`,
  `**/*a${fill("[ab]", 900)}c`,
  `{${fill("*a???????????????????????,", 900)}c}`,
  // Only text.
  "a".repeat(1_000),
  `${"a".repeat(999)}b`,
];

/** The patterns of advisories in a syntax that is refused here: CVE-2026-26996, CVE-2026-27904, CVE-2026-33671. */
export const refusedGlobs: readonly string[] = [
  `${"*".repeat(34)}b`,
  `${"*".repeat(998)}b`,
  "*(*(*(a|b)))",
  "+(a|aa)",
  "+(*|?)",
  "+(+(a))",
  "*(+(a))",
  "+(+(+(a)))",
  "[[:constructor:]]",
];

/** Paths of 4,000 characters on which they are slowest. */
export const longPaths: readonly string[] = [
  "a".repeat(4_000),
  `${"a/".repeat(1_999)}ab`.slice(0, 4_000),
  `${"a".repeat(99)}/`.repeat(40).slice(0, 3_999),
  `x/${"ab".repeat(1_999)}`,
  `${random(3_999)}c`,
];

function random(length: number): string {
  const chance = new Random(1);
  return Array.from({ length }, () => chance.pick(["a", "b"])).join("");
}

function fill(part: string, length = 990): string {
  return part.repeat(Math.floor(length / part.length));
}

function nested(inner: string, depth: number): string {
  return depth === 0 ? inner : `{${nested(inner, depth - 1)},a}`;
}
