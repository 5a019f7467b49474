import { compileGlob } from "../base/index.ts";
import { Protections } from "./built-in.ts";
import { givesMore } from "./decision.ts";
import { fileOperations } from "./levels.ts";
import type { FileRule, Rules } from "./rules.ts";

/** A rule that says less than it seems to. */
export interface RuleWarning {
  readonly pattern: string;
  readonly from: string;
  readonly warning: string;
}

const EVERYTHING = ["*", "**", "**/*", "/**"];
const NAMED = 4;

/** What a person may not expect of their rules. None of it is an error. */
export function ruleWarnings({ files }: Pick<Rules, "files">): RuleWarning[] {
  const all = files.findIndex(({ pattern }) => EVERYTHING.includes(pattern));
  return files.flatMap((rule, index) => {
    const { pattern, from } = rule;
    const kept = keptFrom(rule);
    const before = all >= 0 && all < index ? files[all] : undefined;
    const warnings = [
      ...(before === undefined ? [] : [neverReached(before)]),
      ...(kept.length === 0 ? [] : [protectedFrom(kept)]),
    ];
    return warnings.map((warning) => ({ pattern, from, warning }));
  });
}

function neverReached({ pattern, from }: FileRule): string {
  return `It is never reached: ${JSON.stringify(pattern)} (${from}) matches everything. Write it before that one.`;
}

function protectedFrom(kept: readonly string[]): string {
  const more = kept.length > NAMED ? ` and ${kept.length - NAMED} more` : "";
  return (
    `It also matches what is protected and does not name it: ${kept.slice(0, NAMED).join(", ")}${more}. ` +
    "That stays protected; to open it, write a rule with its name in the path before this one."
  );
}

/** Patterns of what it matches, at any place, and would give more of than its protection does. */
function keptFrom({ pattern, from, level, escalate }: FileRule): string[] {
  const glob = compileGlob(pattern);
  const written = { rule: { pattern, from }, level, escalate };
  return new Protections(false).all
    .filter((each) => {
      const kept = { rule: { pattern: each.pattern, from }, level: each.level, escalate: [] };
      return (
        !glob.holds(each.word) &&
        glob.matches(exampleOf(each.pattern)) &&
        fileOperations.some((operation) => givesMore(written, kept, operation))
      );
    })
    .map((each) => each.pattern);
}

function exampleOf(pattern: string): string {
  const name = pattern.replace("*", "x");
  return name.endsWith("/") ? `${name}x` : name;
}
