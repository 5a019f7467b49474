import {
  endsWith,
  isOneFile,
  type NamedSide,
  readGitNames,
  readNamedSide,
  readPlainName,
  stripped,
} from "./file-names.ts";
import { malformed } from "./malformed.ts";
import type { FilePatch, Hunk } from "./types.ts";

/** One file's part of a patch while it is being read. */
export class FileSection {
  readonly hunks: Hunk[] = [];
  readonly #line: number;
  readonly #git: string | null;
  #old: NamedSide | null = null;
  #new: NamedSide | null = null;
  #renameFrom: string | null = null;
  #renameTo: string | null = null;
  #created = false;
  #deleted = false;
  #oldMode: string | null = null;
  #newMode: string | null = null;
  readonly #notes: string[] = [];

  private constructor(git: string | null, line: number) {
    this.#git = git;
    this.#line = line;
  }

  /** `names` is what follows `diff --git `. `line` counts from 1. */
  static fromGit(names: string, line: number): FileSection {
    return new FileSection(names, line);
  }

  static unnamed(line: number): FileSection {
    return new FileSection(null, line);
  }

  static named(old: string, fresh: string, line: number): FileSection {
    const section = new FileSection(null, line);
    section.#old = readNamedSide(old);
    section.#new = readNamedSide(fresh);
    return section;
  }

  get #awaitsNames(): boolean {
    return this.#git !== null && this.#old === null && this.hunks.length === 0;
  }

  /** Takes the names of `---` and `+++` lines; false when they begin another file. */
  name(old: string, fresh: string): boolean {
    const sides = [readNamedSide(old), readNamedSide(fresh)] as const;
    if (!this.#awaitsNames || !this.#isOwn(sides[0].name, sides[1].name)) return false;
    [this.#old, this.#new] = sides;
    return true;
  }

  /** A file that is only renamed, made, deleted or given a mode has no such lines: what follows may be any other. */
  #isOwn(old: string | null, fresh: string | null): boolean {
    if (this.#renameFrom !== null && this.#renameTo !== null)
      return endsWith(old, this.#renameFrom) || endsWith(fresh, this.#renameTo);
    if (!this.#created && !this.#deleted && this.#newMode === null) return true;
    const names = readGitNames(this.#git ?? "");
    return names === null || isOneFile(names.old, old) || isOneFile(names.new, fresh);
  }

  /** Prose between hunks comes here too and is passed over. */
  readExtendedHeader(line: string): void {
    if (!this.#awaitsNames) return;
    const [, key, value] =
      /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to) (.+)$/.exec(
        line,
      ) ?? [];
    if (key === undefined || value === undefined) return;
    if (key.startsWith("copy"))
      throw malformed("a copied file has no text of its own to patch.", this.#line);
    if (key === "old mode") this.#oldMode = value;
    if (key === "rename from") this.#renameFrom = readPlainName(value);
    if (key === "rename to") this.#renameTo = readPlainName(value);
    if (key === "deleted file mode") this.#deleted = true;
    if (key === "new file mode") this.#created = true;
    if (key === "new mode" || key === "new file mode") this.#newMode = value;
    if (key.endsWith("mode") && !value.startsWith("100")) {
      throw malformed(
        `mode ${value} is a link or a submodule, which has no text to patch.`,
        this.#line,
        { mode: value },
      );
    }
  }

  finish(strip: number | null): FilePatch {
    const named = this.#names(strip);
    const kind = this.#kind();
    if (this.#old !== null || this.#git !== null) this.#refuseEmpty(kind);
    if (this.#newMode !== null && kind !== "create") {
      this.#notes.push(`File mode ${this.#oldMode ?? "?"} becomes ${this.#newMode}.`);
    }
    return {
      oldPath: kind === "create" ? null : (named.old ?? named.new),
      newPath: kind === "delete" ? null : (named.new ?? named.old),
      kind,
      newMode: this.#newMode,
      hunks: this.hunks,
      notes: this.#notes,
    };
  }

  #names(strip: number | null): { old: string | null; new: string | null } {
    if (this.#renameFrom !== null && this.#renameTo !== null) {
      const folders = strip === null ? 0 : Math.max(0, strip - 1);
      return stripped(this.#renameFrom, this.#renameTo, folders);
    }
    if (this.#old !== null && this.#new !== null)
      return stripped(this.#old.name, this.#new.name, strip);
    if (this.#git === null) return { old: null, new: null };
    const names = readGitNames(this.#git);
    if (names === null) {
      throw malformed("the two names of the `diff --git` line cannot be told apart.", this.#line, {
        names: this.#git,
      });
    }
    return stripped(names.old, names.new, strip);
  }

  #kind(): FilePatch["kind"] {
    if (this.#old?.name === null && this.#new?.name === null) {
      throw malformed("both sides are /dev/null.", this.#line);
    }
    const only = this.hunks.length === 1 ? this.hunks[0]! : null;
    const oldEmpty = only !== null && only.oldStart === 0 && only.oldCount === 0;
    const newEmpty = only !== null && only.newStart === 0 && only.newCount === 0;
    if (this.#created || this.#old?.name === null || (this.#old?.epoch === true && oldEmpty))
      return "create";
    if (this.#deleted || this.#new?.name === null || (this.#new?.epoch === true && newEmpty))
      return "delete";
    return this.#renameFrom !== null && this.#renameTo !== null ? "rename" : "modify";
  }

  #refuseEmpty(kind: FilePatch["kind"]): void {
    if (this.hunks.length > 0) return;
    if (this.#git !== null && (kind !== "modify" || this.#newMode !== null)) return;
    throw malformed("a file is named here but no hunk follows.", this.#line);
  }
}
