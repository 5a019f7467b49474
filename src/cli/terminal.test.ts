import { styleText } from "node:util";
import { expect, test } from "vitest";
import { harmless } from "./terminal.ts";

test("what a terminal would obey is shown, but for the command's own styles", () => {
  const styles = (["bold", "dim", "green", "red", "cyan"] as const).map((style) =>
    styleText(style, "x", { validateStream: false }),
  );
  for (const styled of styles) expect(harmless(styled)).toBe(styled);
  expect(harmless("a\u001b[2Jb\u001b]0;pwned\u0007c\rd\u009be")).toBe(
    String.raw`a\x1b[2Jb\x1b]0;pwned\x07c\x0dd\x9be`,
  );
  expect(harmless("hidden \u001b[8m text")).toBe(String.raw`hidden \x1b[8m text`);
  expect(harmless("two\nlines\tand 😀 é")).toBe("two\nlines\tand 😀 é");
});
