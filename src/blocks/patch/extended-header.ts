import { malformed } from "./malformed.ts";

/** What git says of a file between `diff --git` and `---`. */
export interface ExtendedHeader {
  readonly key: string;
  readonly value: string;
}

const shape =
  /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to) (.+)$/;

export function readExtendedHeader(line: string): ExtendedHeader | null {
  const [, key, value] = shape.exec(line) ?? [];
  if (key === undefined || value === undefined) return null;
  return { key, value: key.endsWith("mode") ? value.trimEnd() : value };
}

/** Whether it is one also where no `diff --git` is before it: prose has lines that begin as one does. */
export function isSurelyExtended(lines: readonly string[], at: number): boolean {
  const [line, next = ""] = lines.slice(at, at + 2);
  if (/ mode \d{6}\s*$/.test(line!)) return true;
  return ["rename", "copy"].some(
    (what) => line!.startsWith(`${what} from `) && next.startsWith(`${what} to `),
  );
}

/** What both are said of is one file. */
export function goTogether(key: string, other: string): boolean {
  return key !== other && !isOfWhole(key) && !isOfWhole(other);
}

/** A file that is made or deleted is not renamed, and has no other mode before or after. */
function isOfWhole(key: string): boolean {
  return key.endsWith("file mode");
}

export function checkMode(mode: string, line: number): void {
  if (mode.startsWith("100")) return;
  const isNoFile = ["120000", "160000"].includes(mode);
  const what = isNoFile
    ? "is a link or a submodule, which has no text to patch."
    : "is none of a file: git's are 100644, and 100755 for a program.";
  throw malformed(`mode ${mode} ${what}`, line, { mode });
}
