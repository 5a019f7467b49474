import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/** The bit of `%GetOptimizationStatus` that says TurboFan. */
const COMPILED_WELL = 1 << 6;
const CALLS = 400;

test("what a server runs is compiled after some hundred calls, and otherwise not", () => {
  expect(statusAfter(`compileEarly();`) & COMPILED_WELL).toBe(COMPILED_WELL);
  expect(statusAfter("") & COMPILED_WELL).toBe(0);
  expect(statusAfter(`compileEarly()[Symbol.dispose]();`) & COMPILED_WELL).toBe(0);
});

/** Of a function that was called so often in a process of its own, when V8 is done with it. */
function statusAfter(first: string): number {
  const url = new URL("./compile-early.ts", import.meta.url).href;
  const script = `
    import { compileEarly } from ${JSON.stringify(url)};
    ${first}
    const add = new Function("a", "b", "let sum = 0; for (const each of [a, b, a]) sum += each * 3; return sum;");
    for (let call = 0; call < ${CALLS}; call++) {
      add(call, 1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    %FinalizeOptimization();
    add(1, 1);
    console.log(%GetOptimizationStatus(add));`;
  const flags = ["--allow-natives-syntax", "--input-type=module", "-e", script];
  return Number(execFileSync(process.execPath, flags, { encoding: "utf8" }));
}
