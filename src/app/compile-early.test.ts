import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const QUICKLY = 1 << 5;
const THOROUGHLY = 1 << 6;

test("what a server runs is compiled quickly after some dozens of calls, and thoroughly only where it loops", () => {
  const ours = "const early = compileEarly();";
  const over = `${ours} early[Symbol.dispose]();`;
  const few = { calls: 200, rounds: 0 };
  expect(compiled("", few)).toBe(0);
  expect(compiled(ours, few)).toBe(QUICKLY);
  expect(compiled(over, few)).toBe(0);
  const many = { calls: 30_000, rounds: 0 };
  expect(compiled("", many)).toBe(THOROUGHLY);
  expect(compiled(ours, many)).toBe(QUICKLY);
  expect(compiled(ours, { calls: 4000, rounds: 200 })).toBe(THOROUGHLY);
});

/** What V8 has made of a function after so many calls, in a process of its own. */
function compiled(first: string, { calls, rounds }: { calls: number; rounds: number }): number {
  const url = new URL("./compile-early.ts", import.meta.url).href;
  // One of several that are called there: one alone would become part of its caller, and be compiled with that.
  const script = `
    import { setImmediate } from "node:timers/promises";
    import { compileEarly } from ${JSON.stringify(url)};
    ${first}
    const add = new Function("rounds", "let sum = 0; for (let each = 0; each < rounds; each++) sum += each; return sum;");
    const all = [add, ...Array.from({ length: 9 }, (_, each) => new Function("rounds", "return rounds + " + each))];
    for (let call = 0; call < ${calls}; call++) {
      for (const each of all) each(${rounds});
      if (call % 10 === 0) await setImmediate();
      %FinalizeOptimization();
    }
    console.log(%GetOptimizationStatus(add) & ${QUICKLY | THOROUGHLY});`;
  const flags = ["--allow-natives-syntax", "--input-type=module", "-e", script];
  return Number(execFileSync(process.execPath, flags, { encoding: "utf8" }));
}
