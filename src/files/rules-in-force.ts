import { join } from "node:path";
import { KumikoError } from "../base/index.ts";
import { type FileRule, FolderRules, parseRuleFlag, parseRules } from "../permission/index.ts";
import type { Folder } from "./contained.ts";
import type { Ignored } from "./ignored.ts";
import { readRuleText, RULES_FILE, type RuleText } from "./rule-text.ts";

interface Said {
  readonly rules: FolderRules;
  readonly manual: boolean;
  readonly largest: number;
}

/** What the `kumiko.toml` of a folder said when it could last be read, together with the flags of its mount. */
export class RulesInForce {
  readonly #folder: Folder;
  readonly #ignored: Ignored;
  readonly #flags: readonly FileRule[];
  readonly #manual: boolean | undefined;
  #said: Said;

  /** Throws why they cannot be read. */
  constructor(
    folder: Folder,
    ignored: Ignored,
    flags: {
      readonly rules?: readonly string[] | undefined;
      readonly manual?: boolean | undefined;
    },
  ) {
    this.#folder = folder;
    this.#ignored = ignored;
    this.#flags = (flags.rules ?? []).map(parseRuleFlag);
    this.#manual = flags.manual;
    try {
      this.#said = this.#read();
    } catch (error) {
      throw error instanceof KumikoError ? notMounted(error) : error;
    }
  }

  get rules(): FolderRules {
    return this.#said.rules;
  }

  /** Whether files are written only when somebody says so. */
  get manual(): boolean {
    return this.#manual ?? this.#said.manual;
  }

  /** Bytes above which a file is not read as text. */
  get largest(): number {
    return this.#said.largest;
  }

  /** Why the file cannot be read now. */
  get trouble(): KumikoError | undefined {
    try {
      this.#read();
      return undefined;
    } catch (error) {
      if (error instanceof KumikoError) return error;
      throw error;
    }
  }

  /** After the file changed. What cannot be read throws and leaves what is in force: nobody gains by breaking it. */
  readAgain(): void {
    this.#said = this.#read();
  }

  #read(): Said {
    const { path, ignoresCase } = this.#folder;
    const found = readRuleText(join(path, RULES_FILE));
    if ("none" in found && found.none !== "absent") throw refused(found);
    const rules = parseRules("text" in found ? found.text : "", RULES_FILE);
    return {
      rules: new FolderRules({
        rules,
        flags: this.#flags,
        isIgnored: (each) => this.#ignored.isIgnored(each, false),
        ignoreCase: ignoresCase,
      }),
      manual: rules.mount.save === "manual",
      largest: rules.mount.largest,
    };
  }
}

function notMounted(error: KumikoError): KumikoError {
  const { code, message, facts } = error;
  const meanwhile =
    "The folder is not mounted without its rules: nobody reads or writes its files here until they can be read.";
  return new KumikoError(code, `${message} ${meanwhile}`, facts, { cause: error });
}

/** One that cannot be read is not the same as none. */
function refused(found: Exclude<RuleText, { readonly text: string }>): KumikoError {
  const told: { readonly [none: string]: string } = {
    link: "it is a link, and rules are not taken from where a link leads; put a copy in its place",
    not_plain: "it is no plain file",
    too_large: "it is too large for a file of rules",
  };
  const reason = found.none === "unreadable" ? found.reason : found.none;
  return new KumikoError(
    "file_unreadable",
    `The rules in ${RULES_FILE} cannot be read (${told[reason] ?? reason}).`,
    { path: RULES_FILE, reason },
  );
}
