import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type FileEditKind,
  fileEdit,
  flipEdit,
  flipOf,
  formatEdit,
  isEdit,
  isFileEdit,
} from "./edit-id.ts";

const KINDS: FileEditKind[] = ["moves", "deletes", "patches"];
const plain = fc
  .tuple(fc.nat(), fc.option(fc.nat()), fc.nat())
  .map(([owner, again, sequence]) =>
    formatEdit(again === null ? `${owner}` : `${owner}r${again}`, sequence),
  );
const ofFiles = fc.tuple(plain, fc.constantFrom(...KINDS)).map((parts) => fileEdit(...parts));

test("an id says whether the Edit is of files, and what it flips", () => {
  fc.assert(
    fc.property(plain, fc.oneof(plain, ofFiles), fc.boolean(), (edit, target, active) => {
      const flip = flipEdit(edit, { target, active });
      expect(flipOf(flip)).toEqual({ target, active });
      expect([edit, target, flip].map(isEdit)).toEqual([true, true, true]);
      expect(flipOf(target)).toBeUndefined();
      // What undoes an Edit of files changes files itself, but is found by what it flips.
      expect([edit, flip].map(isFileEdit)).toEqual([false, false]);
      expect(isFileEdit(target)).toBe(KINDS.some((kind) => target.endsWith(kind)));
    }),
  );
});

test.each([
  "",
  "e7",
  "e7-12-",
  "e7-12-saves",
  "e7-12-undoes-",
  "src/e7-12",
  "e7-12/a",
  "main~ann~1",
  "exercise-3",
  "e7-12-undoes-src/a.txt",
  "e7r-1",
  "e7-1 2",
])("%j is no Edit", (text) => {
  expect(isEdit(text)).toBe(false);
  expect(isFileEdit(text)).toBe(false);
  expect(flipOf(text)).toBeUndefined();
});
