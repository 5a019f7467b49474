import { readdirSync } from "node:fs";
import { join } from "node:path";
import { flipOf, KumikoError } from "../base/index.ts";
import { parentOf } from "./ignored.ts";
import { errorCodeOf, lookAt } from "./look.ts";
import { readRuleText } from "./rule-text.ts";
import { listFolder, type Unseen } from "./scan.ts";
import type { Swept } from "./sweep.ts";
import type { WatchTrouble } from "./watch-trouble.ts";

/** As many are kept; of each that comes it is told. */
const MOST = 100;

interface Trouble {
  readonly error: KumikoError;
  /** Whether it is so still; without it, until somebody says that it is over. */
  readonly stands?: (() => boolean) | undefined;
  /** Where nobody can look. */
  readonly unseen?: Unseen | undefined;
}

export interface MountTroublesOptions {
  readonly mount: string;
  /** The folder's real path. */
  readonly root: string;
  /** Once for each that comes. */
  readonly onTrouble: (error: KumikoError) => void;
}

/** What is wrong with a mount now, each thing once. */
export class MountTroubles {
  readonly #options: MountTroublesOptions;
  readonly #troubles = new Map<string, Trouble>();

  constructor(options: MountTroublesOptions) {
    this.#options = options;
  }

  /** In the order in which they came. */
  list(): KumikoError[] {
    return this.#now().map(({ error }) => error);
  }

  /** What could not be looked at, and cannot be still. */
  unseen(): Unseen[] {
    return this.#now().flatMap(({ unseen }) => unseen ?? []);
  }

  /** `what` is the same for what is the same trouble. */
  came(what: string, error: KumikoError, how: Omit<Trouble, "error"> = {}): void {
    const isKnown = this.#troubles.get(what)?.error.message === error.message;
    if (this.#troubles.size < MOST || this.#troubles.has(what))
      this.#troubles.set(what, { error, ...how });
    if (!isKnown) this.#options.onTrouble(error);
  }

  over(what: string): void {
    this.#troubles.delete(what);
  }

  ofWatch(trouble: WatchTrouble): void {
    const { kind } = trouble;
    if (kind === "root_gone") {
      const why =
        "The folder is gone. Nothing in it is taken for deleted; it goes on when the folder is back.";
      this.came("root", this.#error(why, { trouble: kind }, { code: "root_gone" }));
    } else if (kind === "root_back") {
      this.over("root");
      this.#options.onTrouble(this.#error("The folder is back.", { trouble: kind }));
    } else if (kind === "unseen") this.#unseen(trouble.unseen);
    else if (kind === "fault") {
      const { error: cause } = trouble;
      const sentence = `What changed in the folder could not be taken in, which is tried again: ${messageOf(cause)}`;
      this.came("fault", this.#error(sentence, { trouble: kind }, { cause }));
    } else this.came("watcher", this.#error(trouble.reason, { trouble: kind }));
  }

  /** What an earlier process left half done. */
  ofSweep({ finished, overtaken }: Swept): void {
    for (const path of finished) {
      const why = `${path} was half-written when an earlier process ended; it was finished.`;
      this.#options.onTrouble(this.#error(why, { path }));
    }
    for (const path of overtaken) {
      const why =
        `${path} was being written when an earlier process ended, and somebody else has written it since. ` +
        "What is there stands, and is merged with what its block has.";
      this.came(`overtaken ${path}`, this.#error(why, { path }));
    }
  }

  /** What an earlier process had begun to do with whole files, and what is `left` of it to do; undefined when it was flipped. */
  ofCutOff(edit: string, left?: () => readonly string[]): void {
    const what = `cut off ${flipOf(edit)?.target ?? edit}`;
    if (left === undefined) return this.over(what);
    const why =
      `Edit ${edit} was cut off when an earlier process ended. Still to be done: ${left().join(", ")}. ` +
      "Do that with file_move and file_delete, or take back what was done with block_undo.";
    return this.came(what, this.#error(why, { edit }, { code: "done_in_part" }), {
      stands: () => left().length > 0,
    });
  }

  /** What was saved is in place; whether a power cut leaves it there. */
  ofSettling(path: string, cause?: unknown): void {
    if (cause === undefined) return this.over("settling");
    const why = `${path} is saved, but a power cut may bring back what was there before: ${messageOf(cause)}`;
    return this.came("settling", this.#error(why, { path }, { cause }));
  }

  /** What is known of files is found out again by reading them all, if it cannot be written down. */
  ofRecords(cause?: unknown): void {
    if (cause === undefined) return this.over("records");
    const why = `What is known of the files cannot be written down, which is tried again: ${messageOf(cause)}`;
    return this.came("records", this.#error(why, {}, { cause }));
  }

  /** What another program wrote to a file while it was being replaced. */
  ofLost(path: string, cause: unknown): void {
    const why = `What another program wrote to ${path} at the moment of a save could not be merged, and is not in it: ${messageOf(cause)}`;
    this.came(`lost ${path}`, this.#error(why, { path }, { cause }));
  }

  /** What is saved while git is at work there may be taken out, if its next command is fast. */
  ofGit(folder: string, cause?: unknown): void {
    if (cause === undefined) return this.over(`git ${folder}`);
    const why = `${folder} cannot be watched: what is saved here while git changes files may be taken out by it. ${messageOf(cause)}`;
    this.came(`git ${folder}`, this.#error(why, { path: folder }, { cause }));
  }

  /** A file like .gitignore that cannot be read ignores nothing. */
  ofRuleFile(path: string, reason: string): void {
    const why = `${path} cannot be read (${reason}): what it names is not ignored.`;
    const stands = () => {
      const found = readRuleText(join(this.#options.root, path));
      return "none" in found && ["unreadable", "too_large"].includes(found.none);
    };
    this.came(`rules ${path}`, this.#error(why, { path, reason }), { stands });
  }

  #now(): Trouble[] {
    for (const [what, { stands }] of this.#troubles)
      if (stands?.() === false) this.#troubles.delete(what);
    return [...this.#troubles.values()];
  }

  #unseen(unseen: Unseen): void {
    const { path, why, reason } = unseen;
    const sentence =
      why === "bad_name"
        ? `${path} has a name that cannot be written down (${reason}): it is left as it is and not listed.`
        : `${path} cannot be looked at (${reason}): changes there are not seen.`;
    const error = this.#error(sentence, { path, reason });
    const stands = (): boolean => isUnseen(this.#options.root, unseen);
    this.came(`unseen ${path}`, error, { stands, unseen });
  }

  #error(
    sentence: string,
    facts: { readonly [name: string]: string },
    {
      code = "file_unreadable",
      cause,
    }: { code?: "root_gone" | "file_unreadable" | "done_in_part"; cause?: unknown } = {},
  ): KumikoError {
    const { mount, root } = this.#options;
    return new KumikoError(code, sentence, { mount, root, ...facts }, { cause });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isUnseen(root: string, { path, why }: Unseen): boolean {
  try {
    if (why === "bad_name") {
      const bad = new Set<string>();
      listFolder(root, parentOf(path), (each) => bad.add(each.path));
      return bad.has(path);
    }
    if (lookAt(join(root, path))?.kind === "folder") readdirSync(join(root, path));
    return false;
  } catch (error) {
    return errorCodeOf(error) !== "ENOENT";
  }
}
