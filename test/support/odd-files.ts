import { linkSync, mkdirSync, symlinkSync, writeFileSync, chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import { Random } from "../../src/base/index.ts";

export interface OddFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly mode: number;
  /** A second name: a link to it, or an equal one. */
  readonly second: { readonly name: string; readonly kind: "link" | "equal" } | undefined;
  readonly reads: "text" | "binary" | "undecodable";
}

const NAMES = [
  "plain",
  "with space",
  " leading and trailing ",
  "new\nline",
  "tab\there",
  "caf\u00e9",
  "cafe\u0301",
  "\u1112\u1161\u11ab",
  "\ud55c",
  "😀",
  "-rf",
  "--help",
  "$(touch x)",
  "`x`",
  "quote'\"",
  "back\\slash",
  "trailing.",
  "trailing ",
  "...",
  ".hidden",
  "%2e%2e%2f",
  "~",
  "*?[]",
  "\u202egnp",
  "\u0007bell",
  "Aa",
  "aA",
  "x".repeat(240),
];

/** What may not be written is refused, except to whoever may write everything. */
const MODES = [0o644, 0o600, 0o755, 0o640, 0o664, process.getuid?.() === 0 ? 0o444 : 0o777];

const LINES = [
  "",
  "a",
  "  indented",
  "\ttab",
  "żółw 日本語",
  "😀 pairs 👩‍👩‍👧",
  "e\u0301",
  "\u2028 \u0085 \u000b \u000c",
  "\uFEFF inside",
  "x".repeat(5_000),
  "lone \r return",
];

/** Not text: each is refused for that reason. */
const NOT_TEXT: readonly (readonly [OddFile["reads"], number[]])[] = [
  ["binary", [0]],
  ["binary", [0x61, 0, 0x0a]],
  ["binary", [0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]],
  ["binary", [0x7f, 0x45, 0x4c, 0x46, 0, 1]],
  ["undecodable", [0xc0, 0xaf]],
  ["undecodable", [0x61, 0x0d, 0x0a, 0xe2, 0x82]],
  ["undecodable", [0x63, 0xe9]],
  ["undecodable", [0xed, 0xa0, 0x80]],
  ["undecodable", [0xff, 0xfe, 0x3d, 0xd8]],
  ["undecodable", [0xfe, 0xff, 0x61]],
];

/** As many as asked for, each in a folder of its own, written below `root`. */
export function makeOddFiles(root: string, count: number, seed: number): OddFile[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, index) => {
    const file = oddFile(index, random);
    const path = join(root, file.name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.bytes);
    chmodSync(path, file.mode);
    if (file.second?.kind === "equal") linkSync(path, join(root, file.second.name));
    if (file.second?.kind === "link") symlinkSync(relativeTo(file), join(root, file.second.name));
    return file;
  });
}

function oddFile(index: number, random: Random): OddFile {
  const folder = `${index}${random.pick(["", " x", "\u00e9", "\n"])}`;
  const name = `${folder}/${NAMES[index % NAMES.length]!}`;
  const reads = index % 8 === 7 ? random.pick(NOT_TEXT) : (["text", undefined] as const);
  const second = random.pick([undefined, undefined, "link", "equal"] as const);
  return {
    name,
    bytes: reads[1] === undefined ? oddText(random) : Buffer.from(reads[1]),
    mode: random.pick(MODES),
    second: second && { name: `${folder}/second`, kind: second },
    reads: reads[0],
  };
}

function oddText(random: Random): Buffer {
  const lines = Array.from({ length: random.below(30) }, () => random.pick(LINES));
  const end = random.pick(["\n", "\r\n", "\r", "mixed", "\r\r\n"]);
  const ended = lines.map((line, index) => {
    const last = index === lines.length - 1 && random.below(2) === 0;
    return last ? line : line + (end === "mixed" ? random.pick(["\n", "\r\n"]) : end);
  });
  const text = ended.join("");
  const form = random.pick(["utf-8", "utf-8", "utf-8 with a mark", "utf-16le", "utf-16be"]);
  if (form === "utf-8") return Buffer.from(text.startsWith("\uFEFF") ? `x${text}` : text);
  const marked = `\uFEFF${text}`;
  if (form === "utf-8 with a mark") return Buffer.from(marked);
  const bytes = Buffer.from(marked, "utf16le");
  return form === "utf-16le" ? bytes : bytes.swap16();
}

function relativeTo({ name }: { name: string }): string {
  return name.slice(name.indexOf("/") + 1);
}
