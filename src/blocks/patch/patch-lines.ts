/** The patch's lines with what transport did to it undone: a BOM, CRLF on every line, indentation. */
export function patchLines(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return withoutIndentation(withoutTransportCarriageReturns(lines));
}

/** A diff of a CRLF file has `\r` on body lines only; on headers too, the whole patch was converted. */
function withoutTransportCarriageReturns(lines: string[]): string[] {
  const headers = lines.filter((line) => /^(@@|\+\+\+ |diff --git )/.test(line));
  if (headers.length === 0 || !headers.every((line) => line.endsWith("\r"))) return lines;
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** In a Markdown list a whole diff is indented. Lines that are not stay as they are. */
function withoutIndentation(lines: string[]): string[] {
  if (lines.some((line) => line.startsWith("@@"))) return lines;
  const indented = lines.find((line) => /^[ \t]+@@ /.test(line));
  if (indented === undefined) return lines;
  const indentation = indented.slice(0, indented.indexOf("@@"));
  return lines.map((line) =>
    line.startsWith(indentation) ? line.slice(indentation.length) : line,
  );
}
