import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { Content } from "./content.ts";

test("contents are equal when their bytes are, whether those or only their hashes are at hand", () => {
  const [one, other] = [Buffer.from("one"), Buffer.from("other")];
  const forms = (bytes: Buffer): Content[] => {
    const [hashed, letGo] = [Content.of(bytes), Content.of(bytes)];
    expect(hashed.hash).toBe(hash("sha256", bytes));
    letGo.letGo();
    expect(letGo.bytes).toBeUndefined();
    return [Content.of(bytes), Content.known(hash("sha256", bytes)), hashed, letGo];
  };
  for (const left of forms(one)) {
    for (const right of forms(Buffer.from("one"))) expect(left.equals(right)).toBe(true);
    for (const right of forms(other)) expect(left.equals(right)).toBe(false);
  }
});
