import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

test("what a server runs is compiled after some hundred calls, once it is busy, and otherwise not", () => {
  expect(isCompiledBy("const early = compileEarly(() => 200);")).toBe(true);
  expect(isCompiledBy("const early = compileEarly(() => 199);")).toBe(false);
  const over = "await setTimeout(200); early[Symbol.dispose]();";
  expect(isCompiledBy(`const early = compileEarly(() => 200); ${over}`)).toBe(false);
});

/** Whether V8 has made its best of a function after a fifth of the calls it waits for, in a process of its own. */
function isCompiledBy(first: string): boolean {
  const url = new URL("./compile-early.ts", import.meta.url).href;
  const script = `
    import { setImmediate, setTimeout } from "node:timers/promises";
    import { compileEarly } from ${JSON.stringify(url)};
    ${first}
    await setTimeout(200);
    const add = new Function("a", "b", "let sum = 0; for (const each of [a, b, a]) sum += each * 3; return sum;");
    for (let call = 0; call < 600; call++) {
      add(call, 1);
      await setImmediate();
      %FinalizeOptimization();
    }
    console.log((%GetOptimizationStatus(add) & (1 << 6)) !== 0);`;
  const flags = ["--allow-natives-syntax", "--input-type=module", "-e", script];
  return execFileSync(process.execPath, flags, { encoding: "utf8" }) === "true\n";
}
