import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const folder = temporaryFolder(join(root, ".tmp"));
afterAll(() => folder[Symbol.dispose]());

/** What a reader imports from the package comes from dist, which a clone need not have. */
function fromSource(code: string): string {
  return code.replaceAll(/"kumiko\/(prompt(?:\/schema)?)"/g, (_, room: string) =>
    JSON.stringify(join(root, "src", room, "index.ts")),
  );
}

/** What each example must print, in part. */
const printed: { readonly [name: string]: readonly string[] } = {
  "prompt-build.ts": [
    "--- system\nYou review changes.\n\n# Rules\n- Quote the line you mean\n",
    "sum += i; // &lt;/file> does not end it\n// and one more line</file>",
    '"sum += i" comes from <file>',
  ],
  "prompt-schema.ts": [
    '<call name="read">',
    '[{"name":"read","path":"a."}]',
    '"content":"<b>hi</b>"',
    "read a.ts\nwrite b.html\n",
  ],
  "prompt-stream.ts": [
    '"a < b holds"',
    "<why> is still open where the input ends.",
    "[ ' holds' ]",
    "true\n",
  ],
};

describe("examples", () => {
  test("are all run here", () => {
    const examples = readdirSync(join(root, "examples")).filter((name) =>
      name.startsWith("prompt"),
    );
    expect(examples.toSorted()).toEqual(Object.keys(printed).toSorted());
  });

  test.each(Object.keys(printed))("%s runs and prints what it promises", async (name) => {
    const file = folder.write(name, fromSource(readFileSync(join(root, "examples", name), "utf8")));
    const ended = await runProgram(process.execPath, [file]);
    expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: "" });
    for (const part of printed[name]!) expect(ended.stdout).toContain(part);
  });
});

test("every ts block of the guide runs", async () => {
  const guide = readFileSync(join(root, "docs", "prompt.md"), "utf8");
  const blocks = Array.from(guide.matchAll(/^```ts\n([^]*?)^```$/gm), ([, code]) => code!);
  expect(blocks.length).toBeGreaterThan(5);
  for (const [index, code] of blocks.entries()) {
    const ended = await runProgram(process.execPath, [
      folder.write(`guide-${index}.ts`, fromSource(code)),
    ]);
    expect(ended.code, `${code}\n${ended.stderr}`).toBe(0);
  }
});

test("the library is small, runs in browsers, and only its schema part knows zod", async () => {
  const bundle = (entry: string) =>
    build({
      entryPoints: [join(root, "src", "prompt", entry)],
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "browser",
      target: "esnext",
    });
  const { outputFiles, metafile } = await bundle("index.ts");
  expect(gzipSync(outputFiles[0]!.contents).length).toBeLessThan(25_000);
  expect(
    Object.keys(metafile.inputs).filter((file) => !/^src\/(?:prompt|base)\//.test(file)),
  ).toEqual([]);
  const schema = await bundle("schema/index.ts");
  // The caller's schema brings zod with it.
  expect(Object.keys(schema.metafile.inputs).filter((file) => file.includes("zod"))).toEqual([]);
});
