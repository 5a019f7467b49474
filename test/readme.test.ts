import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningServer, startServer } from "../src/app/server.ts";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/**
 * Runs the `sh` and `ts` blocks of README.md in their order, as a reader does whose server runs. All `sh` blocks share
 * one empty folder, with `kumiko` on PATH. "```sh no-run" marks what only a reader should run.
 */

interface CodeBlock {
  language: string;
  line: number;
  code: string;
}

function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: (CodeBlock & { fence: string }) | undefined;
  for (const [index, line] of markdown.split("\n").entries()) {
    const match = /^(`{3,}|~{3,})\s*(.*)$/.exec(line);
    if (open === undefined) {
      if (match === null) continue;
      open = { language: match[2] ?? "", line: index + 1, code: "", fence: match[1] ?? "" };
    } else if (match !== null && match[1] === open.fence && match[2] === "") {
      blocks.push(open);
      open = undefined;
    } else {
      open.code += `${line}\n`;
    }
  }
  if (open !== undefined) throw new Error(`The code block of line ${open.line} does not end.`);
  return blocks;
}

const runnable = codeBlocks(readFileSync(join(root, "README.md"), "utf8")).filter(
  ({ language }) => language === "sh" || language === "ts",
);
const shellFolder = temporaryFolder();
const scriptFolder = temporaryFolder(join(root, ".tmp"));
const projectNode = join(root, "node_modules", "node", "bin", "node");

const home = join(shellFolder.path, ".home");
let server: RunningServer | undefined;

beforeAll(async () => {
  server = await startServer({ home });
});

afterAll(async () => {
  await server?.close();
  shellFolder[Symbol.dispose]();
  scriptFolder[Symbol.dispose]();
});

function runShell(code: string) {
  const path = [join(root, "bin"), dirname(projectNode), process.env["PATH"]].join(delimiter);
  return runProgram("bash", ["-euo", "pipefail", "-c", code], {
    cwd: shellFolder.path,
    env: { ...process.env, PATH: path, KUMIKO_HOME: home },
  });
}

function runTypeScript(code: string, line: number) {
  // What a reader imports from the package comes from dist, which a clone need not have.
  const fromSource = code.replaceAll(
    /(["'])kumiko\/([a-z]+)\1/g,
    (_, quote: string, room: string) => `${quote}${join(root, "src", room, "index.ts")}${quote}`,
  );
  const file = scriptFolder.write(`line-${line}.ts`, fromSource);
  const { url, ownerToken } = server!;
  return runProgram(projectNode, [file], {
    cwd: shellFolder.path,
    env: { ...process.env, KUMIKO_URL: url, KUMIKO_TOKEN: ownerToken },
  });
}

describe("README.md", () => {
  test("has code that can be run", () => {
    expect(runnable.length).toBeGreaterThan(0);
  });

  test.each(runnable)(
    "the $language block of line $line runs",
    async ({ language, line, code }) => {
      const ended = await (language === "sh" ? runShell(code) : runTypeScript(code, line));
      expect(ended.code, `${ended.stdout}${ended.stderr}`).toBe(0);
    },
  );
});

test("only blocks that say no more than their language are run", () => {
  const text = ["```sh no-run", "a", "```", "````ts", "```", "b", "````", "```", "c", "```"];
  expect(codeBlocks(text.join("\n"))).toMatchObject([
    { language: "sh no-run", line: 1, code: "a\n" },
    { language: "ts", line: 4, code: "```\nb\n" },
    { language: "", line: 8, code: "c\n" },
  ]);
});
