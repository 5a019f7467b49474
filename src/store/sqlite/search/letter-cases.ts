/** What a letter of ASCII is equal to when case is ignored: two of them have relatives elsewhere. */
const relatives: { readonly [letter: string]: readonly string[] } = {
  k: ["\u212a"],
  s: ["\u017f"],
};

/** All that a character of ASCII can be when case is ignored. */
export function casesOf(character: string): string[] {
  const lower = character.toLowerCase();
  return [...new Set([lower, character.toUpperCase(), ...(relatives[lower] ?? [])])];
}
