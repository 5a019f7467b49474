/** A text's lines: what `\n` ends or separates. `\r` is ordinary text here. */
export interface TextLines {
  readonly lines: readonly string[];
  /** False for the empty text, which has no line that could end in one. */
  readonly finalNewline: boolean;
}

export function splitText(text: string): TextLines {
  if (text === "") return { lines: [], finalNewline: false };
  const lines = text.split("\n");
  const finalNewline = text.endsWith("\n");
  if (finalNewline) lines.pop();
  return { lines, finalNewline };
}

export function joinText(text: TextLines): string {
  if (text.lines.length === 0) return "";
  const joined = text.lines.join("\n");
  return text.finalNewline ? `${joined}\n` : joined;
}
