import { expect, test } from "vitest";
import { documentOf, loaded, stamp } from "../../test/support/documents.ts";
import { refusal } from "../../test/support/refusal.ts";

test("what was lent ends with the birth: the document is then the one that its record gives", () => {
  using document = documentOf("one\n");
  expect(document.lend()).toBe(true);
  expect(document.lend()).toBe(false);
  document.commit([{ at: 0, remove: 0, insert: "zero\n" }], stamp("amy", "e1"));
  document.exportSnapshot();
  expect(document.born).toBe(false);
  expect(refusal(() => document.versionVector()).code).toBe("not_born");
  document.birth(stamp("system", "birth"));
  document.commit([{ at: 0, remove: 0, insert: "first\n" }], stamp("amy", "e2"));
  const bytes = document.exportSince();
  using again = loaded(document.save());
  expect(again.exportSince()).toEqual(bytes);
  expect(document.lend()).toBe(false);
});

test("nothing of a form that was only lent is kept", () => {
  using document = documentOf("one\n");
  document.lend();
  document.exportSnapshot();
  const saved = document.save({ snapshot: true });
  expect(saved.snapshot).toBeUndefined();
  using again = loaded(saved);
  expect(again.born).toBe(false);
  expect(again.lend()).toBe(true);
});
