/** The width that the widest of them needs. A hundred thousand arguments are too many for one call of `Math.max`. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((width, { length }) => Math.max(width, length), 0);
}

/** A name in one line: a file may be called anything, and what has a line of its own looks like another file. */
export function visible(name: string): string {
  return name.replaceAll(/\p{Cc}/gu, (control) => JSON.stringify(control).slice(1, -1));
}

/** Cut to a width, which is then seen. */
export function shortened(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1)).toWellFormed()}…` : text;
}

/** Pieces of at most this width: text is not ours, so it is cut where it must be and not between words. */
export function wrapped(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const characters = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += width)
    pieces.push(characters.slice(at, at + width).join(""));
  return pieces;
}
