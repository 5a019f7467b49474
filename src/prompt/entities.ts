const NAMED: { readonly [name: string]: string } = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};
const ENTITY = /&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));/g;

/** What is not an entity that we know stays as it is: models write `&` as they like. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(ENTITY, (whole: string, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return NAMED[name]!;
    const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

export function escapeAttribute(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll("\n", "&#10;")
    .replaceAll("\t", "&#9;")
    .replaceAll("\r", "&#13;");
}

const FENCE_END = /(?:^|\n) {0,3}(?:`{3,}|~{3,})[ \t]*$/;
/** What the parser could take for a tag, an entity or a fence, also when more text comes behind it. */
const LESS = /<(?=[A-Za-z_/!]|$)/g;
const AND = /&(?=[A-Za-z#]|$)/g;
const FENCE = /((?:^|[\n>]) {0,3})(?:(`)(?=``|`?$)|(~)(?=~~|~?$))/g;
/** Where the parser surely takes one: text has no `<` before a letter, so what looks like a tag is one. */
const FENCE_START = /(?:(?:^|\n)|<\/?[A-Za-z_][^<>]*>) {0,3}$/;
const LINE_START = /(?:^|[\n>]) {0,3}$/;

/**
 * Text as it stands inside a tag. Only what would be read as something else is escaped, because a
 * model reads `a < b` better than its escape. Complete fences stay: the parser takes no tags there.
 *
 * `before` is what stands to the left, as far as it matters (the last characters of the line).
 */
export function escapeXmlText(given: string, before: string): string {
  // A fence that ends the text before this is one only as long as its line goes no further.
  const text = FENCE_END.test(before) && !given.startsWith("\n") ? `\n${given}` : given;
  if (!/[<&`~]/.test(text)) return text;
  let escaped = "";
  let done = 0;
  for (const [start, end] of completeFences(text, FENCE_START.test(before))) {
    escaped +=
      escapePlain(text.slice(done, start), done === 0 ? before : "x") + text.slice(start, end);
    done = end;
  }
  return escaped + escapePlain(text.slice(done), done === 0 ? before : "x");
}

const OPENING = /^ {0,3}(`{3,1000}(?=[^`<]{0,1000}$)|~{3,1000}(?=[^<]{0,1000}$))/;
const CLOSING = /^ {0,3}(`{3,1000}|~{3,1000})[ \t]*$/;

/** Where in a text a fence begins and ends, by whole lines. */
function completeFences(text: string, startsLine: boolean): [number, number][] {
  if (!/`{3}|~{3}/.test(text)) return [];
  const found: [number, number][] = [];
  const lines = text.split("\n");
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1)! + line.length + 1);
  /** The shortest run of a mark that no line ends any more: looking for it again would be in vain. */
  const endless: { [mark: string]: number } = { "`": Infinity, "~": Infinity };
  for (let index = startsLine ? 0 : 1; index < lines.length; index++) {
    const run = OPENING.exec(lines[index]!)?.[1];
    if (run === undefined || run.length >= endless[run[0]!]!) continue;
    const closes = (line: string): boolean => CLOSING.exec(line)?.[1]?.startsWith(run) === true;
    let last = index + 1;
    while (last < lines.length && !closes(lines[last]!)) last++;
    if (last === lines.length) endless[run[0]!] = run.length;
    else {
      found.push([starts[index]!, starts[last + 1]! - 1]);
      index = last;
    }
  }
  return found;
}

function escapePlain(text: string, before: string): string {
  const head = LINE_START.exec(before)?.[0] ?? "x";
  const escaped = text.replaceAll(AND, "&amp;").replaceAll(LESS, "&lt;");
  return (head + escaped)
    .replaceAll(FENCE, (_, start: string, tick?: string) =>
      tick === undefined ? `${start}&#126;` : `${start}&#96;`,
    )
    .slice(head.length);
}
