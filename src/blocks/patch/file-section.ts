import { checkMode, type ExtendedHeader, goTogether } from "./extended-header.ts";
import {
  endsWith,
  isOneFile,
  type NamedSide,
  readGitNames,
  readNamedSide,
  readPlainName,
  type Sides,
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
  /** What git says of the file between `diff --git` and `---`. */
  readonly #said = new Map<string, string>();
  readonly #notes: string[] = [];

  private constructor(git: string | null, line: number) {
    this.#git = git;
    this.#line = line;
  }

  /** `names` is what follows `diff --git `. `line` counts from 1. */
  static fromGit(names: string, line: number): FileSection {
    return new FileSection(names, line);
  }

  /** What git's header lines are of whose `diff --git` line is missing: `---` and `+++` have to name it. */
  static headed(line: number): FileSection {
    return new FileSection("", line);
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

  /** Whether a `---` or `+++` line that stands alone is of this file, which git's lines have named. */
  isNamed(half: string): boolean {
    const { name } = readNamedSide(half);
    return this.#awaitsNames && (name === null || this.#isCalled(name, name));
  }

  /** A file that is only renamed, made, deleted or given a mode has no such lines: what follows may be any other. */
  #isOwn(old: string | null, fresh: string | null): boolean {
    return this.#said.size === 0 || this.#isCalled(old, fresh);
  }

  #isCalled(old: string | null, fresh: string | null): boolean {
    const rename = this.#rename;
    if (rename !== null) return endsWith(old, rename.from) || endsWith(fresh, rename.to);
    const names = readGitNames(this.#git ?? "");
    return names === null || isOneFile(names.old, old) || isOneFile(names.new, fresh);
  }

  /** False when it is of another file, whose `diff --git` line is missing. */
  readExtendedHeader({ key, value }: ExtendedHeader): boolean {
    const isOwn = this.#said.keys().every((said) => goTogether(said, key));
    if (this.hunks.length > 0 || !isOwn) return false;
    if (key.startsWith("copy"))
      throw malformed("a copied file has no text of its own to patch.", this.#line);
    if (key.endsWith("mode")) checkMode(value, this.#line);
    this.#said.set(key, value);
    return true;
  }

  get #rename(): { readonly from: string; readonly to: string } | null {
    const [from, to] = [this.#said.get("rename from"), this.#said.get("rename to")];
    if (from === undefined && to === undefined) return null;
    if (from !== undefined && to !== undefined)
      return { from: readPlainName(from), to: readPlainName(to) };
    throw malformed("a rename needs both `rename from` and `rename to`.", this.#line);
  }

  finish(strip: number | null): FilePatch {
    const sides = this.#sides();
    const kind = this.#kind(sides);
    if (this.#old !== null || this.#git !== null) this.#refuseEmpty(kind);
    const newMode = this.#newMode;
    if (newMode !== null && kind !== "create")
      this.#notes.push(`File mode ${this.#said.get("old mode") ?? "?"} becomes ${newMode}.`);
    const named = this.#named(sides, strip);
    return {
      oldPath: kind === "create" ? null : (named.old ?? named.new),
      newPath: kind === "delete" ? null : (named.new ?? named.old),
      kind,
      newMode,
      hunks: this.hunks,
      notes: this.#notes,
    };
  }

  get #newMode(): string | null {
    return this.#said.get("new mode") ?? this.#said.get("new file mode") ?? null;
  }

  /** As they are written; null when neither is. */
  #sides(): Sides | null {
    if (this.#old !== null && this.#new !== null)
      return { old: this.#old.name, new: this.#new.name };
    if (this.#git === null) return null;
    const names = readGitNames(this.#git);
    if (names !== null || this.#rename !== null) return names;
    if (this.#git !== "")
      throw malformed("the two names of the `diff --git` line cannot be told apart.", this.#line, {
        names: this.#git,
      });
    throw malformed("git's header lines need a `diff --git` line before them.", this.#line);
  }

  #named(sides: Sides | null, strip: number | null): Sides {
    const rename = this.#rename;
    if (rename !== null) {
      const folders = strip === null ? 0 : Math.max(0, strip - 1);
      return stripped(rename.from, rename.to, folders);
    }
    return sides === null ? { old: null, new: null } : stripped(sides.old, sides.new, strip);
  }

  #kind(sides: Sides | null): FilePatch["kind"] {
    if (sides?.old === null && sides.new === null)
      throw malformed("both sides are /dev/null.", this.#line);
    const only = this.hunks.length === 1 ? this.hunks[0]! : null;
    const oldEmpty = only !== null && only.oldStart === 0 && only.oldCount === 0;
    const newEmpty = only !== null && only.newStart === 0 && only.newCount === 0;
    const isMade = this.#said.has("new file mode") || sides?.old === null;
    const isGone = this.#said.has("deleted file mode") || sides?.new === null;
    if (isMade && isGone)
      throw malformed("it says both that the file is made and that it is deleted.", this.#line);
    if (isMade || (this.#old?.epoch === true && oldEmpty)) return "create";
    if (isGone || (this.#new?.epoch === true && newEmpty)) return "delete";
    return this.#rename === null ? "modify" : "rename";
  }

  #refuseEmpty(kind: FilePatch["kind"]): void {
    if (this.hunks.length > 0) return;
    if (this.#git !== null && (kind !== "modify" || this.#newMode !== null)) return;
    throw malformed("a file is named here but no hunk follows.", this.#line);
  }
}
