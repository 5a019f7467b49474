/** Enough to tell texts apart; each costs a list to be read, and each case of a letter another. */
const TRIGRAMS = 24;
const TRIGRAMS_IN_ANY_CASE = 6;

/** What a letter of ASCII is equal to when case is ignored: two of them have relatives elsewhere. */
const relatives: { readonly [letter: string]: readonly string[] } = {
  k: ["\u212a"],
  s: ["\u017f"],
};

/**
 * What to ask the index of trigrams: for every trigram of one of the literals. Undefined when that would be
 * anything. With `ignoreCase` the literals are of ASCII, and are asked for in every case they can have.
 */
export function matchExpression(
  literals: readonly string[],
  ignoreCase: boolean,
): string | undefined {
  const expressions = literals.map((literal) => {
    const trigrams = spread(trigramsOf(literal), ignoreCase ? TRIGRAMS_IN_ANY_CASE : TRIGRAMS);
    return trigrams
      .map((trigram) => (ignoreCase ? inAnyCase(trigram) : [trigram]).map(quoted).join(" OR "))
      .map((choice) => `(${choice})`)
      .join(" AND ");
  });
  if (expressions.length === 0 || expressions.includes("")) return undefined;
  return expressions.map((expression) => `(${expression})`).join(" OR ");
}

function trigramsOf(literal: string): string[] {
  // The index leaves out every NUL, and its language ends at one.
  const characters = [...literal.split("\0").toSorted((a, b) => b.length - a.length)[0]!];
  const last = characters.length - 3;
  const all = Array.from({ length: Math.max(0, last + 1) }, (_, at) =>
    characters.slice(at, at + 3).join(""),
  );
  return [...new Set(all)];
}

/** So many of them, from the first to the last. */
function spread(trigrams: readonly string[], most: number): string[] {
  if (trigrams.length <= most) return [...trigrams];
  return Array.from(
    { length: most },
    (_, index) => trigrams[Math.round((index * (trigrams.length - 1)) / (most - 1))]!,
  );
}

function inAnyCase(trigram: string): string[] {
  return [...trigram].reduce<string[]>(
    (beginnings, character) => {
      const lower = character.toLowerCase();
      const cases = new Set([lower, character.toUpperCase(), ...(relatives[lower] ?? [])]);
      return beginnings.flatMap((beginning) => [...cases].map((each) => beginning + each));
    },
    [""],
  );
}

function quoted(trigram: string): string {
  return `"${trigram.replaceAll('"', '""')}"`;
}
