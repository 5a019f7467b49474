import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test("what one throws keeps nobody else from their turn, in their order", () => {
  const module = new URL("./soon.ts", import.meta.url).href;
  // In a process of its own: what is thrown there is caught by nobody.
  const program = `
    import { soon } from ${JSON.stringify(module)};
    process.on("uncaughtException", ({ message }) => console.log(message));
    soon(() => console.log("first"));
    soon(() => { throw new Error("second"); });
    soon(() => console.log("third"));
    soon(() => console.log("fourth"));
  `;
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", program]);
  expect(run.stdout.toString()).toBe("first\nsecond\nthird\nfourth\n");
});
