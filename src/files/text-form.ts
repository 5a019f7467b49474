import { KumikoError } from "../base/index.ts";

/** What a file's bytes are beside their text, and what is put back when the text is saved. */
export interface TextForm {
  readonly encoding: "utf-8" | "utf-16le" | "utf-16be";
  /** Always true of UTF-16: without a mark nothing is taken for UTF-16. */
  readonly bom: boolean;
  readonly crlf: boolean;
  /** Returns are text in it, also when an edit leaves none but those before a line end: what is not edited stays. */
  readonly returns?: true;
}

/** Of a file that is new. */
export const PLAIN: TextForm = { encoding: "utf-8", bom: false, crlf: false };

export interface TextFile {
  readonly text: string;
  readonly form: TextForm;
}

export type NotText =
  | { readonly why: "binary" | "undecodable"; readonly size: number }
  | { readonly why: "too_large"; readonly size: number; readonly limit: number };

const MARKS = [
  { encoding: "utf-8", bytes: [0xef, 0xbb, 0xbf] },
  { encoding: "utf-16le", bytes: [0xff, 0xfe] },
  { encoding: "utf-16be", bytes: [0xfe, 0xff] },
] as const;

// Fatal: a U+FFFD in place of bytes would be written back over them. Marks are taken off by us: a second one is text.
const decoders = {
  "utf-8": new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }),
  "utf-16le": new TextDecoder("utf-16le", { fatal: true, ignoreBOM: true }),
  "utf-16be": new TextDecoder("utf-16be", { fatal: true, ignoreBOM: true }),
};

/**
 * The text of a file, or why it has none. `writeText` of the answer gives the same bytes. What has no line end does not
 * show which it would use: that is taken from `before`, the form the file had when it was last read. So is whether
 * returns are text in it.
 */
export function readText(bytes: Uint8Array, limit: number, before?: TextForm): TextFile | NotText {
  const size = bytes.length;
  if (size > limit) return { why: "too_large", size, limit };
  const mark = MARKS.find((one) => one.bytes.every((byte, index) => bytes[index] === byte));
  const encoding = mark?.encoding ?? "utf-8";
  // In UTF-16 every Latin letter has a zero byte; there only the character NUL counts.
  if (encoding === "utf-8" && bytes.includes(0)) return { why: "binary", size };
  const raw = decoded(mark === undefined ? bytes : bytes.subarray(mark.bytes.length), encoding);
  if (raw === undefined) return { why: "undecodable", size };
  if (encoding !== "utf-8" && raw.includes("\0")) return { why: "binary", size };
  const { crlf = false, returns } = before ?? {};
  return understood(raw, { encoding, bom: mark !== undefined, crlf, ...(returns && { returns }) });
}

/** Whether a file that begins like this may be text. Not all that begins like one is one. */
export function beginsLikeText(head: Uint8Array): boolean {
  const mark = MARKS.find((one) => one.bytes.every((byte, index) => head[index] === byte));
  const encoding = mark?.encoding ?? "utf-8";
  if (encoding === "utf-8" && head.includes(0)) return false;
  try {
    // In a stream the last character may be cut.
    new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true });
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** The bytes of a text in a file of that form. */
export function writeText(text: string, form: TextForm): Uint8Array {
  if (text.includes("\0")) {
    throw new KumikoError(
      "file_unwritable",
      "The text holds a NUL character; saved, the file would be taken for a binary one. Remove it.",
      { offset: text.indexOf("\0") },
    );
  }
  if (!text.isWellFormed()) {
    throw new KumikoError("ill_formed_text", "The text holds half of a surrogate pair.");
  }
  const marked = form.bom ? `\uFEFF${withEnds(text, form)}` : withEnds(text, form);
  if (form.encoding === "utf-8") return Buffer.from(marked, "utf8");
  const bytes = Buffer.from(marked, "utf16le");
  return form.encoding === "utf-16le" ? bytes : bytes.swap16();
}

/**
 * A text as it will be read again once it is saved, in the form that it has then. It differs where an edit put \r before
 * the line end of a CRLF file, which means no second \r there, and where it begins with a byte order mark that the file did
 * not have.
 */
export function afterSaving({ text, form }: TextFile): TextFile {
  const raw = withEnds(text, form);
  const marks = !form.bom && raw.startsWith("\uFEFF");
  const kept: TextForm = form.crlf || !raw.includes("\r") ? form : { ...form, returns: true };
  return marks ? understood(raw.slice(1), { ...kept, bom: true }) : understood(raw, kept);
}

/** Characters as they are stored; what has no line end keeps the form it had. */
function understood(raw: string, { returns, ...form }: TextForm): TextFile {
  const ends = lineEnds(raw);
  const crlf = ends === "none" ? form.crlf : ends === "crlf" && returns !== true;
  if (crlf && ends !== "none")
    return { text: raw.replaceAll("\r\n", "\n"), form: { ...form, crlf } };
  const areText = !crlf && raw.includes("\r");
  return { text: raw, form: { ...form, crlf, ...(areText && { returns: true }) } };
}

function decoded(bytes: Uint8Array, encoding: TextForm["encoding"]): string | undefined {
  try {
    return decoders[encoding].decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * "crlf" only when every \n is behind exactly one \r. With \r\r\n allowed, an edit that puts "\r\n" into a CRLF file
 * could not be told from what the file held, and would have to become \r\r\n.
 */
function lineEnds(raw: string): "none" | "crlf" | "other" {
  let at = raw.indexOf("\n");
  if (at === -1) return "none";
  for (; at !== -1; at = raw.indexOf("\n", at + 1)) {
    if (raw[at - 1] !== "\r" || raw[at - 2] === "\r") return "other";
  }
  return "crlf";
}

/** In a CRLF file every line end, with whatever returns stand before it, is \r\n. A \r elsewhere stays. */
function withEnds(text: string, { crlf }: TextForm): string {
  if (!crlf) return text;
  if (!text.includes("\r\n")) return text.replaceAll("\n", "\r\n");
  // Not /\r*\n/: that takes quadratic time on a long run of \r.
  const lines = text.split("\n");
  return lines
    .map((line, index) => (index < lines.length - 1 ? trimReturns(line) : line))
    .join("\r\n");
}

function trimReturns(line: string): string {
  let length = line.length;
  while (length > 0 && line[length - 1] === "\r") length -= 1;
  return line.slice(0, length);
}
