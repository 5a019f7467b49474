import { join } from "node:path";
import { expect, test } from "vitest";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const check = join(root, "scripts", "check-layers.mjs");

async function checkTree(files: Record<string, string>) {
  using folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  return await runProgram(process.execPath, [check, folder.path]);
}

const allowed: Record<string, Record<string, string>> = {
  "a room that the table names, through its index": {
    "src/blocks/a.ts": `import { b } from "../base/index.ts";`,
  },
  "any file of the own room": { "src/blocks/deep/a.ts": `import { b } from "../other/b.ts";` },
  "a package of the room": { "src/base/a.ts": `import { sha256 } from "@noble/hashes/sha2.js";` },
  "Node's modules in a room that runs on Node only": { "src/cli/a.ts": `import "node:fs";` },
  "a named door of a room": { "src/store/a.ts": `import type { S } from "../kernel/ports.ts";` },
  "Node's modules, test tools and test/ in a test": {
    "src/base/a.test.ts": [
      `import fs from "node:fs";`,
      `import { test } from "vitest";`,
      `import fc from "fast-check";`,
      `import { scaled } from "../../test/support/counts.ts";`,
    ].join("\n"),
  },
  "an import that is only text": {
    "src/base/a.ts": `// import "../cli/index.ts"\nexport const s = 'import "../cli/index.ts"';`,
  },
};

for (const [what, files] of Object.entries(allowed)) {
  test(`the layer check allows ${what}`, async () => {
    expect(await checkTree(files)).toMatchObject({ code: 0, stdout: "" });
  });
}

const refused: Record<string, { files: Record<string, string>; says: string }> = {
  "a static import of a room above": {
    files: { "src/base/a.ts": `\n\nimport { b } from "../blocks/index.ts";` },
    says: `src/base/a.ts:3: import of "../blocks/index.ts": base may import no other room.`,
  },
  "a type-only import": {
    files: { "src/protocol/a.ts": `import type { B } from "../blocks/index.ts";` },
    says: `src/protocol/a.ts:1: import of "../blocks/index.ts": protocol may import base.`,
  },
  "an import written as a type": {
    files: { "src/protocol/a.ts": `export type A = import("../blocks/index.ts").B;` },
    says: `src/protocol/a.ts:1: import of "../blocks/index.ts": protocol may import base.`,
  },
  "a re-export": {
    files: { "src/blocks/a.ts": `export * from "../kernel/index.ts";` },
    says: `src/blocks/a.ts:1: import of "../kernel/index.ts": blocks may import base, protocol.`,
  },
  "a re-export of names": {
    files: { "src/blocks/a.ts": `export { k } from "../kernel/index.ts";` },
    says: `src/blocks/a.ts:1: import of "../kernel/index.ts": blocks may import base, protocol.`,
  },
  "an import() of a literal": {
    files: { "src/blocks/a.ts": `export const load = () =>\n  import("../cli/index.ts");` },
    says: `src/blocks/a.ts:2: import of "../cli/index.ts": blocks may import base, protocol.`,
  },
  "a way past another room's index": {
    files: { "src/blocks/a.ts": `import { b } from "../base/errors.ts";` },
    says: `import of "../base/errors.ts": base is entered only through its index.ts.`,
  },
  "another door than the one named": {
    files: { "src/store/a.ts": `import { k } from "../kernel/index.ts";` },
    says: `import of "../kernel/index.ts": store may import base, `,
  },
  "a room that is not in the table": {
    files: { "src/cellar/a.ts": `export {};` },
    says: `src/cellar/a.ts: there is no room "cellar" in the table.`,
  },
  "an import of a room that is not in the table": {
    files: { "src/cli/a.ts": `import "../cellar/index.ts";` },
    says: `import of "../cellar/index.ts": there is no room "cellar" in the table.`,
  },
  "a file outside any room": {
    files: { "src/a.ts": `export {};` },
    says: `src/a.ts: src/ itself holds only rooms, no files.`,
  },
  "a file outside src": {
    files: { "src/cli/a.ts": `import { x } from "../../bench/x.ts";` },
    says: `import of "../../bench/x.ts": bench/x.ts is outside src/.`,
  },
  "test/ in what is not a test": {
    files: { "src/cli/a.ts": `import { x } from "../../test/x.ts";` },
    says: `import of "../../test/x.ts": test/x.ts is outside src/.`,
  },
  "Node's modules in a room that runs in browsers": {
    files: { "src/blocks/a.ts": `import fs from "node:fs";` },
    says: `import of "node:fs": blocks also runs in browsers and may not import Node's modules.`,
  },
  "Node's modules without the prefix": {
    files: { "src/client/a.ts": `import fs from "fs/promises";` },
    says: `import of "fs/promises": client also runs in browsers`,
  },
  "a package that the room does not name": {
    files: { "src/base/a.ts": `import { z } from "zod/v4";` },
    says: `import of "zod/v4": base may use the packages @noble/hashes.`,
  },
  "a test tool in what is not a test": {
    files: { "src/base/a.ts": `import { test } from "vitest";` },
    says: `import of "vitest": base may use the packages @noble/hashes.`,
  },
  "a room above in a test": {
    files: { "src/base/a.test.ts": `import { b } from "../blocks/index.ts";` },
    says: `src/base/a.test.ts:1: import of "../blocks/index.ts": base may import no other room.`,
  },
  "a file that cannot be read": {
    files: { "src/base/a.ts": `import {` },
    says: `src/base/a.ts: cannot be read:`,
  },
};

for (const [what, { files, says }] of Object.entries(refused)) {
  test(`the layer check refuses ${what}`, async () => {
    const { code, stdout } = await checkTree(files);
    expect(stdout).toContain(says);
    expect(code).toBe(1);
  });
}

test("the real tree keeps to the layers", async () => {
  const { code, stdout } = await runProgram(process.execPath, [check]);
  expect(stdout).toBe("");
  expect(code).toBe(0);
});
