/** A door of its own: threads that only search start faster without the rest of the room. */
export { findReplacements, type PatternReplacement, type Replacement } from "./replacements.ts";
export type { Piece } from "./pattern-part.ts";
export { LONGEST_STRETCH, LONGEST_WORD, type Required, type Stretch } from "./required.ts";
export { TextMatcher } from "./text-matcher.ts";
export { asPatternError, compilePattern, type FoundLine, type TextQuery } from "./text-query.ts";
export { type ScanLimits, TextScan, unitsOf } from "./text-scan.ts";
export { type SearchPart, WatchedScan } from "./watched-scan.ts";
