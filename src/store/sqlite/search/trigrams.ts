import { casesOf } from "./letter-cases.ts";

/** Enough to tell texts apart; each costs a list to be read, and each case of a letter another. */
const TRIGRAMS = 24;
const TRIGRAMS_IN_ANY_CASE = 6;

/** What to ask an index of trigrams for a literal: for every one of them. Undefined when it has none. */
export function trigramExpression(literal: string, ignoreCase: boolean): string | undefined {
  const trigrams = spread(trigramsOf(literal), ignoreCase ? TRIGRAMS_IN_ANY_CASE : TRIGRAMS);
  if (trigrams.length === 0) return undefined;
  return trigrams
    .map((trigram) => (ignoreCase ? inAnyCase(trigram) : [trigram]).map(quoted).join(" OR "))
    .map((choice) => `(${choice})`)
    .join(" AND ");
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
    (beginnings, character) =>
      beginnings.flatMap((beginning) => casesOf(character).map((each) => beginning + each)),
    [""],
  );
}

function quoted(trigram: string): string {
  return `"${trigram.replaceAll('"', '""')}"`;
}
