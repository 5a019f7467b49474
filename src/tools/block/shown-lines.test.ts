import fc from "fast-check";
import { expect, it } from "vitest";
import { fcOptions } from "../../../test/support/counts.ts";
import { shownLines } from "./shown-lines.ts";

/** The same by lists of lines: what it means, however long it takes. */
function bySplitting(
  text: string,
  { start, end }: { start: number; end: number },
  numbered: boolean,
): { content: string; count: number } {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const first = Math.min(start, lines.length);
  const chosen = lines.slice(first, Math.max(first, end));
  const width = String(first + chosen.length).length;
  const ended = first + chosen.length < lines.length || text.endsWith("\n");
  const exact = chosen.join("\n") + (chosen.length > 0 && ended ? "\n" : "");
  const shown = chosen.map((line, at) => `${String(first + at).padStart(width)} ${line}`);
  return { content: numbered ? shown.join("\n") : exact, count: lines.length };
}

const text = fc
  .array(fc.constantFrom("\n", "\n", "a", "word", "é", "🌍", "\r"), { maxLength: 60 })
  .map((parts) => parts.join(""));
const bound = fc.nat({ max: 30 });

it("shows the lines that splitting the text would", () => {
  fc.assert(
    fc.property(text, bound, bound, fc.boolean(), (shown, start, end, numbered) => {
      const range = { start, end };
      expect(shownLines(shown, range, numbered)).toEqual(bySplitting(shown, range, numbered));
      const all = { start: 0, end: Number.MAX_SAFE_INTEGER };
      expect(shownLines(shown, undefined, numbered)).toEqual(bySplitting(shown, all, numbered));
    }),
    fcOptions(2_000),
  );
});
