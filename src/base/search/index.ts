/** A door of its own: threads that only search start faster without the rest of the room. */
export { findReplacements, type PatternReplacement, type Replacement } from "./replacements.ts";
export { LONGEST_LITERAL } from "./required-literals.ts";
export { TextMatcher } from "./text-matcher.ts";
export { asPatternError, compilePattern, type FoundLine, type TextQuery } from "./text-query.ts";
export { type ScanLimits, TextScan, unitsOf } from "./text-scan.ts";
export { type SearchPart, WatchedScan } from "./watched-scan.ts";
