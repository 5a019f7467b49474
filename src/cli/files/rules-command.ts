import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SecretNames } from "../../files/index.ts";
import { parseRules, type Rules, type RuleWarning, ruleWarnings } from "../../permission/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { widest } from "../home/columns.ts";
import { counted } from "../home/counted.ts";
import type { HomeFlags } from "../home/options.ts";
import { bold, dim } from "../home/paint.ts";
import { pathFrom, shownPath, standing, targetFrom } from "../home/paths.ts";
import type { OpenKernel } from "../home/access.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import { decodeNamed, readNamedBytes } from "../input.ts";
import type { Terminal } from "../terminal.ts";

type Explained = RpcAnswers["Kernel"]["explainRules"];

const FILE = "kumiko.toml";
const BUILT_IN = "built in";

/** Which rule decides about a path, and what it says to whom. */
export function testRules(terminal: Terminal, given: string, flags: HomeFlags): Promise<number> {
  const path = targetFrom(terminal, given);
  const run = async (kernel: OpenKernel, { actor }: Caller): Promise<number> => {
    const explained = await kernel.ask((each) => each.explainRules({ path }));
    if (flags.json) {
      await printJson(terminal, { ok: true, ...explained });
      return exitCode.fine;
    }
    // A name alone makes nobody an agent.
    const who = `person: whoever types here, ${actor} too (--actor is only a name). agent: who comes by MCP, or with an agent's token.`;
    const lines = [...explanation(terminal, explained), "", dim(terminal, who)];
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  };
  return withKernel(terminal, flags, "kumiko rules test", run, { path });
}

function explanation(terminal: Terminal, explained: Explained): string[] {
  const { mount, folder, path, trouble, level, looked, protections, operations } = explained;
  const name = shownPath(terminal, join(folder, path));
  const matched = looked.at(-1)!;
  const passed = looked.filter(({ from, matched: hit }) => from === BUILT_IN && !hit);
  const told = looked.filter((each) => !passed.includes(each));
  const patterns = widest(told.map(({ pattern }) => pattern));
  const levels = widest(told.map(levelWithAsks));
  const names = widest(operations.map(({ operation }) => operation));
  const verdicts = operations.flatMap(({ agent, person }) => [agent, person]);
  const why = ["ask", "deny"].flatMap(
    (wanted) => verdicts.find(({ decision }) => decision === wanted)?.reason ?? [],
  );
  const limits = matched.from === BUILT_IN ? [] : protections;
  const decisive =
    matched.level === level ? matched : limits.find((each) => each.level === level && !each.named);
  const by = decisive === matched ? matched.from : BUILT_IN;
  return [
    ...(trouble === undefined
      ? []
      : [
          styled(terminal, "red", trouble),
          "Until it can be read, the rules that it had before are in force. By these:",
          "",
        ]),
    `${bold(terminal, name)} is ${bold(terminal, level)} ${dim(terminal, `in @${mount}, by "${decisive?.pattern ?? matched.pattern}" (${by})`)}`,
    "",
    "Looked at, in this order; the first that matches decides:",
    ...told.map((each) => {
      const { pattern, from, matched: hit } = each;
      const row = `  ${hit ? ">" : " "} ${pattern.padEnd(patterns)}  ${levelWithAsks(each).padEnd(levels)}  ${from}`;
      return hit ? row : dim(terminal, row);
    }),
    ...(passed.length === 0
      ? []
      : [
          dim(
            terminal,
            `    (and ${counted(passed.length, "built-in rule")} before it, about other files)`,
          ),
        ]),
    ...limits.map((each) => limitLine(matched, each)),
    "",
    `  ${"".padEnd(names)}  agent  person`,
    ...operations.map(
      ({ operation, agent, person }) =>
        `  ${operation.padEnd(names)}  ${verdict(terminal, agent.decision, 5)}  ${verdict(terminal, person.decision, 5)}`,
    ),
    ...(why.length > 0 ? ["", "For example:"] : []),
    ...why,
  ];
}

/** As `--rule` takes it: what asks whatever the level stands behind it. */
function levelWithAsks({ level, escalate }: Explained["looked"][number]): string {
  return escalate === undefined ? level : `${level}!${escalate.join(",")}`;
}

/** Whether the rule that matched opens what is protected. */
function limitLine(
  matched: Explained["looked"][number],
  { pattern, level, word, named }: Explained["protections"][number],
): string {
  const rule = `"${matched.pattern}" (${matched.from})`;
  const kept = `"${pattern}" is ${level} (${BUILT_IN})`;
  return named
    ? `${kept}; ${rule} has ${word} in its path and goes before.`
    : `${kept}; ${rule} does not have ${word} in its path: it is passed over wherever it allows more.`;
}

function verdict(terminal: Terminal, decision: string, width: number): string {
  const text = decision.padEnd(width);
  if (decision === "allow") return styled(terminal, "green", text);
  return styled(terminal, decision === "ask" ? "cyan" : "red", text);
}

export interface CheckFlags {
  readonly json: boolean;
}

/** Reads a rule file as mounting the folder would. What is wrong in it is refused with line and column. */
export async function checkRules(
  terminal: Terminal,
  given: string | undefined,
  flags: CheckFlags,
): Promise<number> {
  const place = given === undefined ? standing(terminal) : pathFrom(terminal, given);
  const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? nearestFile(place) : place;
  if (file === undefined) {
    const links = await otherNames(place);
    const where = given === undefined ? "here" : `in ${shownPath(terminal, place)}`;
    const said = `There is no ${FILE} ${where} or above: the built-in rules hold.`;
    if (flags.json)
      await printJson(terminal, { ok: true, file: null, rules: 0, warnings: [], links });
    else await terminal.print(linesOf([said, ...links.map((each) => linkLine(terminal, each))]));
    return exitCode.fine;
  }
  const name = shownPath(terminal, file);
  const text = decodeNamed(await readNamedBytes(terminal, file), name);
  const rules = parseRules(text, name);
  const { files, conversations, mount } = rules;
  const warnings = ruleWarnings(rules);
  // Another file may be a draft, and stand anywhere.
  const links = basename(file) === FILE ? await otherNames(dirname(file), rules) : [];
  if (flags.json)
    await printJson(terminal, {
      ok: true,
      file: name,
      rules: files.length,
      conversations: conversations.length,
      save: mount.save,
      largest: mount.largest,
      warnings,
      links,
    });
  else
    await terminal.print(
      linesOf([
        `${bold(terminal, name)} is fine: ${counted(files.length, "pattern")} for files, ${counted(conversations.length, "rule")} for conversations.`,
        ...warnings.map((each) => warningLine(terminal, each)),
        ...links.map((each) => linkLine(terminal, each)),
      ]),
    );
  return exitCode.fine;
}

function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** What looks at a folder is loaded only for this. */
async function otherNames(folder: string, rules?: Rules): Promise<SecretNames[]> {
  const { secretNames } = await import("../../files/index.ts");
  return secretNames(folder, rules);
}

function warningLine(terminal: Terminal, { pattern, from, warning }: RuleWarning): string {
  return `${styled(terminal, "yellow", "warning")} ${from}, "${pattern}": ${warning}`;
}

function linkLine(terminal: Terminal, { path, names, elsewhere }: SecretNames): string {
  const [first] = names;
  const others = names.map((each) => `"${each.path}" (${each.level})`).join(", ");
  const told =
    first === undefined
      ? `"${path}" is secret and has ${counted(elsewhere, "more name")}, not in this folder or below what is ignored. ` +
        "Whoever mounts those reads it by the rules for them."
      : `"${path}" is secret, and the same file as ${others}: rules are by path, so it is read by that name as its rule says. ` +
        `Remove that name, make a link of it (ln -s), or write a rule that keeps it secret.`;
  return `${styled(terminal, "yellow", "warning")} ${told}`;
}

function nearestFile(folder: string): string | undefined {
  const file = join(folder, FILE);
  if (existsSync(file)) return file;
  return dirname(folder) === folder ? undefined : nearestFile(dirname(folder));
}
