/** What begins something else than text at the beginning of a line, also when more text may follow. */
const SPECIAL =
  /((?:^|\n) {0,3})(?=\\*(?:#{1,6}(?:\s|$)|[-+*](?:\s|$)|[`~|]|-[-\s]*(?:\n|$)|_[_\s]*(?:\n|$)|\*[*\s]*(?:\n|$))|\\+[-#+*_])/g;
const NUMBERED = /((?:^|\n) {0,3}\d{1,9})(?=\\*[.)](?:\s|$)|\\+[.)])/g;
const ESCAPED = /((?:^|\n) {0,3})\\(?=\\*[-#+*`~|_])/g;
const ESCAPED_NUMBER = /((?:^|\n) {0,3}\d{1,9})\\(?=\\*[.)])/g;
const LINE_START = /(?:^|\n) {0,3}\d{0,9}$/;

/** A paragraph's text, so that none of its lines is read as a heading, a list, a fence or a table. */
export function escapeMarkdown(text: string, before: string): string {
  const head = LINE_START.exec(before)?.[0] ?? "x";
  return (head + text).replaceAll(SPECIAL, "$1\\").replaceAll(NUMBERED, "$1\\").slice(head.length);
}

/** Lines of a paragraph or an item may be indented, which says nothing. */
export function unescapeMarkdown(text: string): string {
  return text
    .replaceAll(/\n[ \t]+/g, "\n")
    .replaceAll(ESCAPED, "$1")
    .replaceAll(ESCAPED_NUMBER, "$1");
}
