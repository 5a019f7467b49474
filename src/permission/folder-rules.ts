import { compileGlob } from "../base/index.ts";
import { type Default, defaults, type Protection, Protections } from "./built-in.ts";
import { type Decision, decided, type Escalation, type RuleName, type Ruling } from "./decision.ts";
import {
  type ActorKind,
  type FileOperation,
  fileOperations,
  type Level,
  levels,
} from "./levels.ts";
import { relativePath, type RelativePath } from "./path.ts";
import type { FileRule, Rules } from "./rules.ts";

export interface FolderRulesOptions {
  /** Of the folder's `kumiko.toml`. */
  readonly rules?: Rules;
  /** Of the command line; they go before. */
  readonly flags?: readonly FileRule[];
  /** Whether `.gitignore` or `.kumikoignore` name the path, as the disk spells it. */
  readonly isIgnored: (path: string) => boolean;
  /** Whether the file system of the folder ignores case. */
  readonly ignoreCase: boolean;
}

export interface Explanation {
  readonly path: string;
  readonly level: Level;
  /** Every rule that was looked at, in order; the last one matched. */
  readonly looked: readonly (RuleName & {
    readonly level: Level;
    /** What it makes an ask of, whatever the level. */
    readonly escalate: readonly Escalation[];
    readonly matched: boolean;
  })[];
  /** What protects it, and whether the rule that matched names it; one that does not gives no more than this. */
  readonly protections: readonly {
    readonly pattern: string;
    readonly level: Level;
    readonly word: string;
    readonly named: boolean;
  }[];
  readonly operations: readonly {
    readonly operation: FileOperation;
    readonly agent: Decision;
    readonly person: Decision;
  }[];
}

interface Written extends Ruling {
  matches(path: string): boolean;
  names(protection: Protection): boolean;
}

/** What is decided about a path. */
interface Found {
  /** All of them hold: of each operation the strictest. */
  readonly rulings: readonly [Ruling, ...Ruling[]];
  /** The first that matched. */
  readonly matched: Written | Protection | Default;
  readonly protecting: readonly Protection[];
}

const NOTHING: readonly Escalation[] = [];
const BUILT_IN = "built in";

/**
 * Which rule holds for a path of one mounted folder, and what it says. The first that matches decides; where it
 * matches something protected that it does not name, it can only take away.
 */
export class FolderRules {
  /** What the folder's file says of blocks that are no files. */
  readonly conversations: Rules["conversations"];
  readonly #written: readonly Written[];
  readonly #protections: Protections;
  readonly #defaults: readonly Default[];

  constructor({ rules, flags = [], isIgnored, ignoreCase }: FolderRulesOptions) {
    this.conversations = rules?.conversations ?? [];
    this.#written = [...flags, ...(rules?.files ?? [])].map(
      ({ pattern, from, level, escalate }): Written => {
        const glob = compileGlob(pattern, { ignoreCase });
        return {
          rule: { pattern, from },
          level,
          escalate,
          matches: (path) => glob.matches(path),
          names: ({ word }) => glob.holds(word),
        };
      },
    );
    this.#protections = new Protections(ignoreCase);
    this.#defaults = defaults(isIgnored);
  }

  decide(path: string, operation: FileOperation, kind: ActorKind): Decision {
    const read = relativePath(path);
    return decided(this.#find(read).rulings, operation, kind, JSON.stringify(read.path));
  }

  /** The strictest of what holds. */
  levelOf(path: string): { readonly level: Level; readonly rule: RuleName } {
    return strictest(this.#find(relativePath(path)).rulings);
  }

  explain(path: string): Explanation {
    const read = relativePath(path);
    const { rulings, matched, protecting } = this.#find(read);
    const target = JSON.stringify(read.path);
    return {
      path: read.path,
      level: strictest(rulings).level,
      looked: this.#looked(matched),
      protections: protecting.map((each) => ({
        pattern: each.pattern,
        level: each.level,
        word: each.word,
        named: "names" in matched && matched.names(each),
      })),
      operations: fileOperations.map((operation) => ({
        operation,
        agent: decided(rulings, operation, "agent", target),
        person: decided(rulings, operation, "person", target),
      })),
    };
  }

  #find({ path, onDisk }: RelativePath): Found {
    const written = this.#written.find((each) => each.matches(path));
    const protecting = this.#protections.of(path);
    const limits = protecting
      .filter((each) => written?.names(each) !== true)
      .map((each): Ruling => ({ ...builtIn(each), word: each.word, unnamedBy: written?.rule }));
    const [first, ...others] = limits;
    if (written !== undefined)
      return { rulings: [written, ...limits], matched: written, protecting };
    if (first !== undefined)
      return { rulings: [first, ...others], matched: protecting[0]!, protecting };
    // There is always one: the last matches everything.
    const last = this.#defaults.find((each) => each.matches(onDisk))!;
    return { rulings: [builtIn(last)], matched: last, protecting };
  }

  /** Up to the one that matched. */
  #looked(matched: Found["matched"]): Explanation["looked"] {
    const all = [...this.#written, ...this.#protections.all, ...this.#defaults];
    const at = all.indexOf(matched);
    return all.slice(0, at + 1).map((each, index) => {
      const { rule, level, escalate } = "rule" in each ? each : builtIn(each);
      return { ...rule, level, escalate, matched: index === at };
    });
  }
}

function builtIn({ pattern, level }: Protection | Default): Ruling {
  return { rule: { pattern, from: BUILT_IN }, level, escalate: NOTHING };
}

function strictest(rulings: readonly [Ruling, ...Ruling[]]): { level: Level; rule: RuleName } {
  const [first, ...others] = rulings;
  const { level, rule } = others.reduce(
    (one, other) => (levels.indexOf(other.level) < levels.indexOf(one.level) ? other : one),
    first,
  );
  return { level, rule };
}
