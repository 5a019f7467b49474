import { expect, test } from "vitest";
import { faultLog } from "./log.ts";

test("the log of a verb tells of faults, with their stack and without what would deceive, and of nothing else", () => {
  const lines: string[] = [];
  const log = faultLog((line) => lines.push(line));
  log.info({ folder: "/a" }, "mounted");
  log.warn({ err: new Error("passing") }, "a subscription failed");
  log.error({ err: new Error("bro\u001bken"), method: "history" }, "a fault of ours");
  expect(lines).toHaveLength(1);
  const [said, first, second] = lines[0]!.split("\n");
  expect(said).toMatch(/^\d\d:\d\d:\d\d error a fault of ours {2}method=history$/);
  expect(first).toBe("  Error: bro\\u001bken");
  expect(second).toMatch(/^ {6}at /);
});
