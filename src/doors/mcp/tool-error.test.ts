import { expect, test } from "vitest";
import { KumikoError } from "../../base/index.ts";
import { errorText } from "./tool-error.ts";

test("lines that are not shown are not said to count as read", () => {
  const shown = { around: [{ line: 0, text: "one" }], version: 2, since: "" };
  expect(errorText(new KumikoError("conflict", "Not made.", shown))).toContain("count as read");
  const resolving = new KumikoError("conflict", "The lines of c2 were changed since.", {
    conflict: "c2",
    lost: "one\n",
  });
  expect(errorText(resolving)).toBe("conflict: The lines of c2 were changed since.");
  const { since: _, ...alone } = shown;
  expect(errorText(new KumikoError("conflict", "Not made.", alone))).toContain(
    "read the block again",
  );
});
