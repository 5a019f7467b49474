import { KumikoError } from "../../base/index.ts";
import { isSurelyExtended, readExtendedHeader } from "./extended-header.ts";
import { FileSection } from "./file-section.ts";
import { readHunkBody } from "./hunk-body.ts";
import { headless, readHunkHeader } from "./hunk-header.ts";
import { malformed } from "./malformed.ts";
import { patchLines } from "./patch-lines.ts";
import {
  isBodyLine,
  isFileHeader,
  isForeignHeader,
  isHalfHeader,
  isHeadlessFence,
} from "./shape.ts";
import type { HunkHeader, Patch } from "./types.ts";

export interface ParseOptions {
  /** Folders to take off each name, as `patch -p`. Default: `a/` and `b/` where both are there. */
  readonly strip?: number;
}

export function parsePatch(text: string, options: ParseOptions = {}): Patch {
  if (typeof text !== "string")
    throw new KumikoError("invalid_argument", "A patch must be a string.");
  const strip = options.strip ?? null;
  if (strip !== null && !(Number.isSafeInteger(strip) && strip >= 0)) {
    throw new KumikoError(
      "invalid_argument",
      "strip must be a whole number of folders, 0 or more.",
      { strip },
    );
  }
  return new PatchReader(patchLines(text), strip).read();
}

class PatchReader {
  readonly #lines: readonly string[];
  readonly #strip: number | null;
  readonly #sections: FileSection[] = [];
  readonly #notes: string[] = [];
  /** Where a file begins that nothing names as a diff does: what follows is not of the file before. */
  #unnamed: number | null = null;
  /** Where a fence begins that holds lines of a hunk and nothing else. */
  readonly #headless: number[] = [];
  #at = 0;

  constructor(lines: readonly string[], strip: number | null) {
    this.#lines = lines;
    this.#strip = strip;
  }

  read(): Patch {
    while (this.#at < this.#lines.length) this.#step();
    this.#readHeadlessFence();
    if (this.#sections.length === 0) {
      throw malformed(
        "There is no unified diff here: no `@@` line and no file header was found.",
        null,
      );
    }
    return {
      files: this.#sections.map((section) => section.finish(this.#strip)),
      notes: this.#notes,
    };
  }

  get #section(): FileSection | undefined {
    return this.#sections[this.#sections.length - 1];
  }

  #step(): void {
    const line = this.#lines[this.#at]!;
    this.#refuseForeign(line);
    if (line.startsWith("diff --git ")) {
      this.#begin(FileSection.fromGit(line.slice("diff --git ".length), this.#at + 1));
      this.#at++;
    } else if (isFileHeader(this.#lines, this.#at)) {
      this.#readFileHeader();
    } else if (line.startsWith("@@")) {
      this.#at++;
      this.#readHunk(readHunkHeader(line), this.#at);
    } else {
      if (/^Only in .*: /.test(line)) this.#notes.push(`Not part of the patch: ${line}`);
      if (isHeadlessFence(this.#lines, this.#at)) this.#headless.push(this.#at);
      if (this.#section !== undefined && this.#beginsUnnamed(this.#section))
        this.#unnamed = this.#at + 1;
      this.#readExtendedHeader(line);
      this.#at++;
    }
  }

  #beginsUnnamed(before: FileSection): boolean {
    const line = this.#lines[this.#at]!;
    if (isHalfHeader(this.#lines, this.#at)) return !before.isNamed(line.slice(4));
    return isForeignHeader(line);
  }

  #begin(section: FileSection): void {
    this.#sections.push(section);
    this.#unnamed = null;
  }

  #readFileHeader(): void {
    const [old, fresh] = [this.#lines[this.#at]!.slice(4), this.#lines[this.#at + 1]!.slice(4)];
    if (this.#section?.name(old, fresh) !== true)
      this.#begin(FileSection.named(old, fresh, this.#at + 1));
    this.#unnamed = null;
    this.#at += 2;
    const next = this.#lines[this.#at];
    if (next !== undefined && isBodyLine(next) && !isFileHeader(this.#lines, this.#at)) {
      this.#readHunk(headless, this.#at);
    }
  }

  /** Prose between hunks comes here too and is passed over. */
  #readExtendedHeader(line: string): void {
    const header = readExtendedHeader(line);
    if (header === null || this.#section?.readExtendedHeader(header) === true) return;
    if (!isSurelyExtended(this.#lines, this.#at)) return;
    const section = FileSection.headed(this.#at + 1);
    section.readExtendedHeader(header);
    this.#begin(section);
  }

  #readHunk(header: HunkHeader, headerLine: number): void {
    const { oldCount, newCount } = header;
    const counts = oldCount === null || newCount === null ? null : { old: oldCount, new: newCount };
    const body = readHunkBody(this.#lines, this.#at, counts);
    if (body.lines.length === 0) throw malformed("the hunk has no lines.", headerLine);
    if (this.#unnamed !== null)
      throw malformed(
        "a file begins here, and needs both a `---` and a `+++` line.",
        this.#unnamed,
      );
    if (this.#section === undefined) this.#begin(FileSection.unnamed(headerLine));
    this.#section!.hunks.push({
      ...header,
      lines: body.lines,
      oldNoNewline: body.oldNoNewline,
      newNoNewline: body.newNoNewline,
    });
    this.#at = body.next;
  }

  /** A ```diff block that has neither file header nor `@@`: its lines are one hunk. */
  #readHeadlessFence(): void {
    const [fence, other] = this.#headless;
    if (fence === undefined) return;
    if (other !== undefined || this.#sections.length > 0) {
      throw malformed(
        "a diff without any header stands beside others: give it `---` and `+++` lines, and `@@`.",
        (other ?? fence) + 1,
      );
    }
    this.#at = fence + 1;
    this.#readHunk(headless, fence + 1);
  }

  #refuseForeign(line: string): void {
    const at = this.#at + 1;
    if (/^(diff --(cc|combined) |@@@)/.test(line)) {
      throw malformed(
        "a combined diff of a merge cannot be applied; diff against one parent instead.",
        at,
      );
    }
    if (/^(GIT binary patch$|Binary files .* differ$)/.test(line)) {
      throw malformed("it describes a change of a binary file, which has no text to patch.", at, {
        binary: true,
      });
    }
    if (/^\*\*\* (Begin Patch|(Add|Update|Delete) File: )/.test(line)) {
      throw malformed(
        "this is an `apply_patch` envelope, not a unified diff (`---`, `+++`, `@@`).",
        at,
      );
    }
    if (/^\*\*\* \d+(,\d+)? \*\*\*\*$/.test(line)) {
      throw malformed("this is a context diff; make a unified one (diff -u).", at);
    }
  }
}
