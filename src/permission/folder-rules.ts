import { compileGlob } from "../base/index.ts";
import { builtIns } from "./built-in.ts";
import { type Decision, decided, type Escalation, type RuleName, type Ruling } from "./decision.ts";
import { type ActorKind, type FileOperation, fileOperations, type Level } from "./levels.ts";
import { relativePath } from "./path.ts";
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
  /** Every rule that was looked at, in order; the last one decided. */
  readonly looked: readonly (RuleName & { readonly level: Level; readonly matched: boolean })[];
  readonly operations: readonly {
    readonly operation: FileOperation;
    readonly agent: Decision;
    readonly person: Decision;
  }[];
}

interface Candidate extends Ruling {
  matches(path: string, onDisk: string): boolean;
}

const NOTHING: readonly Escalation[] = [];

/** Which rule holds for a path of one mounted folder, and what it says. The first that matches decides. */
export class FolderRules {
  /** What the folder's file says of blocks that are no files. */
  readonly conversations: Rules["conversations"];
  readonly #candidates: readonly Candidate[];

  constructor({ rules, flags = [], isIgnored, ignoreCase }: FolderRulesOptions) {
    this.conversations = rules?.conversations ?? [];
    const written = [...flags, ...(rules?.files ?? [])].map(
      ({ pattern, from, level, escalate }): Candidate => {
        const glob = compileGlob(pattern, { ignoreCase });
        return { rule: { pattern, from }, level, escalate, matches: (path) => glob.matches(path) };
      },
    );
    const behind = builtIns(ignoreCase, isIgnored).map((builtIn): Candidate => ({
      rule: { pattern: builtIn.pattern, from: "built in" },
      level: builtIn.level,
      escalate: NOTHING,
      matches: (path, onDisk) => builtIn.matches(path, onDisk),
    }));
    this.#candidates = [...written, ...behind];
  }

  decide(path: string, operation: FileOperation, kind: ActorKind): Decision {
    const read = relativePath(path);
    const { ruling } = this.#find(read.path, read.onDisk);
    return decided(ruling, operation, kind, JSON.stringify(read.path));
  }

  levelOf(path: string): { readonly level: Level; readonly rule: RuleName } {
    const read = relativePath(path);
    const { level, rule } = this.#find(read.path, read.onDisk).ruling;
    return { level, rule };
  }

  explain(path: string): Explanation {
    const read = relativePath(path);
    const { ruling, at } = this.#find(read.path, read.onDisk);
    const target = JSON.stringify(read.path);
    return {
      path: read.path,
      level: ruling.level,
      looked: this.#candidates
        .slice(0, at + 1)
        .map(({ rule, level }, index) => ({ ...rule, level, matched: index === at })),
      operations: fileOperations.map((operation) => ({
        operation,
        agent: decided(ruling, operation, "agent", target),
        person: decided(ruling, operation, "person", target),
      })),
    };
  }

  /** There is always one: the last built-in rule matches everything. */
  #find(path: string, onDisk: string): { readonly ruling: Ruling; readonly at: number } {
    const at = this.#candidates.findIndex((candidate) => candidate.matches(path, onDisk));
    return { ruling: this.#candidates[at]!, at };
  }
}
