import { join } from "node:path";
import ignore, { type Ignore } from "ignore";
import { readRuleText, RULES_FILE } from "./rule-text.ts";
import { isTemporaryName } from "./temporary-name.ts";

/** In the order in which they are read: what a later one says counts more. */
const RULE_FILES = [".gitignore", ".kumikoignore"];
/** The package remembers every path it was asked about; so often it starts with an empty memory. */
const REMEMBERED = 4096;

export interface IgnoredOptions {
  /** Names that differ only in case are one. */
  readonly ignoresCase?: boolean;
  /** A folder in it that is Kumiko's own. */
  readonly own?: string | undefined;
  /** A rule file that cannot be read ignores nothing. */
  onUnreadable?(path: string, reason: string): void;
}

interface FolderRules {
  readonly ignored: boolean;
  readonly rules: Rules;
}

/**
 * Which paths of a folder the rule files in it leave out, by the rules of git: a folder's rules hold below it,
 * deeper ones count more than higher ones and later lines more than earlier ones, and nothing below an ignored
 * folder can be taken back. `.git` is always left out. Paths are relative to the root, with `/`.
 */
export class Ignored {
  readonly #root: string;
  readonly #options: IgnoredOptions;
  readonly #folders = new Map<string, FolderRules>();

  constructor(root: string, options: IgnoredOptions = {}) {
    this.#root = root;
    this.#options = options;
  }

  isIgnored(path: string, isFolder: boolean): boolean {
    if (path === "") return false;
    if (this.isOwn(path)) return true;
    const { ignored, rules } = this.#folder(parentOf(path));
    if (ignored || nameOf(path) === ".git") return true;
    return rules.ignores(isFolder ? `${path}/` : path);
  }

  /**
   * Whether nobody needs to know what happens there. A rule file is noticed although it is ignored, or rules could be
   * changed, or taken away, without being in force: not below an ignored folder, where it says nothing.
   */
  isUnnoticed(path: string, isFolder: boolean): boolean {
    if (!this.isIgnored(path, isFolder)) return false;
    return isFolder || !isOfRules(path) || this.isOwn(path) || this.#folder(parentOf(path)).ignored;
  }

  /** A rule file that is only noticed: otherwise it is left out like all that is ignored. */
  isOnlyNoticed(path: string): boolean {
    return isOfRules(path) && this.isIgnored(path, false);
  }

  /** Kumiko's own files: for everybody else they are not there, whatever the rules say. */
  isOwn(path: string): boolean {
    const { own } = this.#options;
    return (own !== undefined && isWithin(path, own)) || isTemporaryName(nameOf(path));
  }

  /** A rule file in this folder changed. */
  forget(folder: string): void {
    for (const known of this.#folders.keys()) {
      if (isWithin(known, folder)) this.#folders.delete(known);
    }
  }

  #folder(path: string): FolderRules {
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const above = path === "" ? undefined : this.#folder(parentOf(path));
    const ignored = above !== undefined && (above.ignored || this.isIgnored(path, true));
    const inherited = above?.rules ?? new Rules([], this.#options.ignoresCase ?? false);
    const found = { ignored, rules: ignored ? inherited : this.#read(path, inherited) };
    this.#folders.set(path, found);
    return found;
  }

  #read(folder: string, inherited: Rules): Rules {
    const patterns: string[] = [];
    for (const name of RULE_FILES) {
      const text = this.#readRuleFile(folder === "" ? name : `${folder}/${name}`);
      for (const line of text.split(/\r?\n/)) {
        const pattern = fromRoot(line, folder);
        if (pattern !== undefined) patterns.push(pattern);
      }
    }
    return patterns.length === 0 ? inherited : inherited.with(patterns);
  }

  #readRuleFile(path: string): string {
    const found = readRuleText(join(this.#root, path));
    if ("text" in found) return found.text;
    if (found.none === "too_large") this.#options.onUnreadable?.(path, "it is too large");
    if (found.none === "unreadable") this.#options.onUnreadable?.(path, found.reason);
    // Like git, which does not take rules from where a link leads.
    return "";
  }
}

/** Whether it says what is ignored. */
export function isRuleFile(path: string): boolean {
  return RULE_FILES.includes(nameOf(path));
}

function isOfRules(path: string): boolean {
  return path === RULES_FILE || isRuleFile(path);
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether a path is the folder or below it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** The patterns that hold in a folder, all as seen from the root, so that the last one that fits decides. */
class Rules {
  readonly #patterns: readonly string[];
  readonly #ignoresCase: boolean;
  #compiled: Ignore;
  #asked = 0;

  constructor(patterns: readonly string[], ignoresCase: boolean) {
    this.#patterns = patterns;
    this.#ignoresCase = ignoresCase;
    this.#compiled = this.#fresh();
    for (const pattern of patterns) this.#compiled.add({ pattern });
  }

  with(patterns: readonly string[]): Rules {
    return new Rules([...this.#patterns, ...patterns], this.#ignoresCase);
  }

  ignores(path: string): boolean {
    if (this.#patterns.length === 0) return false;
    this.#asked += 1;
    if (this.#asked % REMEMBERED === 0) this.#compiled = this.#fresh().add(this.#compiled);
    return this.#compiled.ignores(path);
  }

  #fresh(): Ignore {
    return ignore({ ignorecase: this.#ignoresCase, allowRelativePaths: true });
  }
}

/** The same pattern, as a rule file in the root would say it. */
function fromRoot(line: string, folder: string): string | undefined {
  if (line === "" || line.startsWith("#")) return undefined;
  if (folder === "") return line;
  const negative = line.startsWith("!");
  const body = negative ? line.slice(1) : line;
  if (body.trim() === "") return undefined;
  const isAnchored = /\/(?=.*[^ ])/.test(body);
  const inFolder = `/${folder.replace(/[\\*?[\]]/g, "\\$&")}/`;
  const below = isAnchored ? body.replace(/^\//, "") : `**/${body}`;
  return `${negative ? "!" : ""}${inFolder}${below}`;
}
