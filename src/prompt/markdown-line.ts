import type { FenceScan } from "./fence-scan.ts";
import type { Source } from "./source.ts";

/** How a line begins. Ends are indices of the source's text. */
export type Line =
  | { readonly kind: "text" | "table" | "rule" }
  | {
      readonly kind: "heading";
      readonly level: number;
      readonly title: string;
      readonly end: number;
    }
  | { readonly kind: "fence"; readonly language: string; readonly end: number }
  | {
      readonly kind: "marker";
      readonly marker: string;
      readonly number: number | null;
      /** Behind the marker and the space after it. */
      readonly end: number;
    };

/** A heading or a rule that is longer is text: nobody waits for its end any more. */
const LONGEST = 1_024;
const TEXT: Line = Object.freeze({ kind: "text" });

/** What the line is whose first character, spaces apart, stands at `index`; null: more must be seen. */
export function classifyLine(
  source: Source,
  index: number,
  fence: FenceScan,
  isLast: boolean,
): Line | null {
  const { text } = source;
  switch (text[index]) {
    case "#":
      return heading(text, index, isLast);
    case "`":
    case "~": {
      const opening = fence.opening(source, isLast, index);
      if (opening === "more") return null;
      return opening === "text" ? TEXT : { kind: "fence", ...opening };
    }
    case "|":
      return { kind: "table" };
    case "-":
    case "*":
    case "+":
    case "_":
      return ruleOrBullet(text, index, isLast);
    default:
      return /\d/.test(text[index]!) ? numbered(text, index, isLast) : TEXT;
  }
}

function heading(text: string, index: number, isLast: boolean): Line | null {
  let end = index;
  while (text[end] === "#" && end - index < 7) end++;
  const level = end - index;
  if (level > 6) return TEXT;
  if (end === text.length && !isLast) return null;
  if (end < text.length && !/\s/.test(text[end]!)) return TEXT;
  const newline = text.indexOf("\n", end);
  const lineEnd = newline === -1 ? text.length : newline;
  if (lineEnd - index > LONGEST) return TEXT;
  if (newline === -1 && !isLast) return null;
  const title = text
    .slice(end, lineEnd)
    .trim()
    .replace(/(?:^|\s+)#+$/, "");
  return { kind: "heading", level, title, end: newline === -1 ? lineEnd : newline + 1 };
}

/** `---` and `- - -` are rules, `- a` is an item. */
function ruleOrBullet(text: string, index: number, isLast: boolean): Line | null {
  const mark = text[index]!;
  let count = 0;
  let end = index;
  const limit = Math.min(text.length, index + LONGEST);
  for (; end < limit; end++) {
    if (mark === "+") break;
    if (text[end] === mark) count++;
    else if (text[end] !== " " && text[end] !== "\t" && text[end] !== "\r") break;
  }
  if (mark !== "+" && end === text.length && end < index + LONGEST && !isLast) return null;
  if (count >= 3 && (end === text.length || text[end] === "\n")) return { kind: "rule" };
  return mark === "_" ? TEXT : marker(text, index + 1, mark, null, isLast);
}

function numbered(text: string, index: number, isLast: boolean): Line | null {
  let end = index;
  while (end < text.length && end - index < 10 && /\d/.test(text[end]!)) end++;
  if (end - index > 9) return TEXT;
  if (end === text.length) return isLast ? TEXT : null;
  if (text[end] !== "." && text[end] !== ")") return TEXT;
  return marker(text, end + 1, text[end]!, Number(text.slice(index, end)), isLast);
}

function marker(
  text: string,
  end: number,
  mark: string,
  number: number | null,
  isLast: boolean,
): Line | null {
  if (end === text.length) {
    if (!isLast) return null;
    // A lone mark at the end of everything could only be an empty item.
    return { kind: "marker", marker: mark, number, end };
  }
  if (text[end] === "\n") return { kind: "marker", marker: mark, number, end };
  if (text[end] !== " " && text[end] !== "\t") return TEXT;
  return { kind: "marker", marker: mark, number, end: end + 1 };
}
