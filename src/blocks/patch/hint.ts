import type { LineIndex } from "./line-index.ts";
import type { Place } from "./place.ts";

/**
 * `@@ function foo()` names a line above the hunk. Keeps the places that come first after such a
 * line, so that two equal bodies under different headings can be told apart; all of them when the
 * hint names no line of the text.
 */
export function placesAfterHint(
  index: LineIndex,
  places: readonly Place[],
  hint: string,
): readonly Place[] {
  const wanted = hint.trim();
  if (wanted === "") return places;
  const kept = new Set<Place>();
  for (let line = 0; line < index.lines.length; line++) {
    if (!index.lines[line]!.trimStart().startsWith(wanted)) continue;
    const first = places.find((place) => place.start >= line);
    if (first !== undefined) kept.add(first);
  }
  return kept.size === 0 ? places : places.filter((place) => kept.has(place));
}
