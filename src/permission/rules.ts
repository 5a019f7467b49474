import { compileGlob, type Glob, KumikoError } from "../base/index.ts";
import { type Escalation, escalations } from "./decision.ts";
import { type Level, levels } from "./levels.ts";
import { isTable, oneOf, type Path, quoted, RulesText } from "./rules-text.ts";

/** One pattern of one rule: a rule with a list of patterns is several of these. */
export interface FileRule {
  readonly pattern: string;
  readonly level: Level;
  readonly escalate: readonly Escalation[];
  /** `kumiko.toml line 7`, `flag` */
  readonly from: string;
}

interface ConversationRule {
  readonly context: Glob;
  readonly whose: "own" | "others" | "any";
  readonly level: Level;
  readonly from: string;
}

/** What a `kumiko.toml` says. */
export interface Rules {
  readonly files: readonly FileRule[];
  readonly conversations: readonly ConversationRule[];
  readonly mount: {
    readonly save: "manual" | "auto";
    /** Bytes; larger files are listed, and refused as text. */
    readonly largest: number;
  };
}

const LARGEST = 16 * 1024 * 1024;

/** Reads a `kumiko.toml`, or throws `invalid_rules` with line, column and what to write. */
export function parseRules(text: string, file = "kumiko.toml"): Rules {
  const read = new RulesText(text, file);
  read.checkKeys([], read.root, ["rule", "conversation", "mount"]);
  return {
    files: read.tables("rule").flatMap((_, index) => fileRules(read, index)),
    conversations: read.tables("conversation").map((_, index) => conversationRule(read, index)),
    mount: mountSettings(read),
  };
}

/** In place of rules that nobody can read now: whatever they kept from agents is kept from them. */
export function unreadRules(from: string): Pick<Rules, "conversations"> {
  return {
    conversations: [{ context: compileGlob("**"), whose: "others", level: "secret", from }],
  };
}

/** A rule of the command line: `docs/**=read_only`, or with what asks whatever the level: `src/**=read_write!delete`. */
export function parseRuleFlag(flag: string): FileRule {
  const at = flag.lastIndexOf("=");
  const [word = "", ...rest] = flag.slice(at + 1).split("!");
  const level = levels.find((each) => each === word.trim());
  if (at < 1 || level === undefined) {
    throw new KumikoError(
      "invalid_argument",
      `The rule ${quoted(flag)} is not written pattern=level or pattern=level!operation,operation; ` +
        `levels are ${levels.join(", ")}, operations that are to ask ${escalations.join(", ")}.`,
      { value: flag, levels: [...levels], operations: [...escalations] },
    );
  }
  const { pattern } = compileGlob(flag.slice(0, at).trim());
  const escalate = rest.length === 0 ? [] : askedOperations(flag, rest.join("!"));
  return { pattern, level, escalate, from: "flag" };
}

function askedOperations(flag: string, operations: string): Escalation[] {
  return operations.split(",").map((each) => {
    const word = each.trim();
    const found = escalations.find((one) => one === word);
    if (found !== undefined) return found;
    throw new KumikoError(
      "invalid_argument",
      `There is no operation ${quoted(word)} in the rule ${quoted(flag)}. ${oneOf(word, escalations)}`,
      { value: flag, operation: word, operations: [...escalations] },
    );
  });
}

function fileRules(read: RulesText, index: number): FileRule[] {
  const at: Path = ["rule", index];
  const table = read.tables("rule")[index]!;
  read.checkKeys(at, table, ["path", "level", "escalate"]);
  const { path, level: word, escalate = [] } = table;
  if (path === undefined)
    throw read.atKey(at, "the rule has no path", 'Write path = "docs/**" below it.');
  if (word === undefined)
    throw read.atKey(at, "the rule has no level", 'Write level = "read_only" below it.');
  const level = read.word([...at, "level"], word, "level", levels);
  if (!Array.isArray(escalate)) {
    throw read.atValue([...at, "escalate"], "escalate is a list", 'Write escalate = ["delete"].');
  }
  const escalated = escalate.map((each, place) =>
    read.word([...at, "escalate", place], each, "operation", escalations),
  );
  const patterns: readonly (readonly [unknown, Path])[] = Array.isArray(path)
    ? path.map((each, place) => [each, [...at, "path", place]] as const)
    : [[path, [...at, "path"]]];
  if (patterns.length === 0)
    throw read.atValue([...at, "path"], "the list is empty", 'Write path = "docs/**".');
  return patterns.map(([pattern, place]) => ({
    pattern: readGlob(read, place, pattern).pattern,
    level,
    escalate: escalated,
    from: read.from(place),
  }));
}

function conversationRule(read: RulesText, index: number): ConversationRule {
  const at: Path = ["conversation", index];
  const table = read.tables("conversation")[index]!;
  read.checkKeys(at, table, ["context", "whose", "level"]);
  const { context = "*", whose = "any", level } = table;
  if (level === undefined)
    throw read.atKey(at, "the rule has no level", 'Write level = "append" below it.');
  const glob = readGlob(read, [...at, "context"], context);
  if (glob.pattern.includes("/")) {
    const slash = glob.pattern.indexOf("/");
    const place = [...at, "context"];
    throw read.inString(place, slash, "a context has no `/` in its name", 'Write "review-*".');
  }
  return {
    context: glob,
    whose: read.word([...at, "whose"], whose, "whose", ["own", "others", "any"]),
    level: read.word([...at, "level"], level, "level", levels),
    from: read.from(at),
  };
}

function readGlob(read: RulesText, place: Path, value: unknown): Glob {
  if (typeof value !== "string") {
    throw read.atValue(place, "a pattern is text in quotes", 'Write, for example, "docs/**".');
  }
  try {
    return compileGlob(value);
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "invalid_pattern") throw error;
    const what = `the pattern ${quoted(value)} cannot be used`;
    const { reason, offset } = error.facts as { readonly reason: string; readonly offset: number };
    const hint = `${reason[0]!.toUpperCase()}${reason.slice(1)}.`;
    throw read.inString(place, offset, what, hint);
  }
}

function mountSettings(read: RulesText): Rules["mount"] {
  const { mount } = read.root;
  if (mount === undefined) return { save: "auto", largest: LARGEST };
  if (!isTable(mount)) throw read.atKey(["mount"], "mount stands once", "Write [mount].");
  read.checkKeys(["mount"], mount, ["save", "largest"]);
  const { save = "auto", largest } = mount;
  return {
    save: read.word(["mount", "save"], save, "way to save", ["manual", "auto"]),
    largest: largest === undefined ? LARGEST : readBytes(read, ["mount", "largest"], largest),
  };
}

const units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

function readBytes(read: RulesText, place: Path, value: unknown): number {
  const match = /^(\d{1,12}) ?(B|KiB|MiB|GiB)$/.exec(
    typeof value === "number" ? `${value} B` : String(value),
  );
  const bytes = match === null ? 0 : Number(match[1]) * units[match[2] as keyof typeof units];
  if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  const hint = 'Write a number of bytes, or a whole number with B, KiB, MiB or GiB: "16 MiB".';
  throw read.atValue(place, "largest is no size above 0", hint);
}
