import { describe, expect, test } from "vitest";
import { KumikoError } from "../../base/index.ts";
import { applyPatchToText } from "./apply-file.ts";
import { parsePatch } from "./parse.ts";

/** Diffs as language models print them, each with what must come of it. */

const text = `import { read } from "./read.ts";

export function total(items) {
  let sum = 0;

  for (const item of items) {
    sum += item.price;
  }

  return sum;
}

export function mean(items) {
  if (items.length === 0) {
    return 0;
  }

  return total(items) / items.length;
}
`;

const changed = text.replace("sum += item.price;", "sum += item.price * item.count;");
const hunk = `   for (const item of items) {
-    sum += item.price;
+    sum += item.price * item.count;
   }
`;
const header = "--- a/total.js\n+++ b/total.js\n";
const crlf = (lf: string): string => lf.replaceAll("\n", "\r\n");

interface Mangled {
  readonly patch: string;
  readonly on?: string;
  readonly gives?: string;
  readonly refused?: string;
  readonly report?: object;
}

const corpus: Record<string, Mangled> = {
  "as it should be": { patch: `${header}@@ -6,3 +6,3 @@\n${hunk}`, report: { offset: 0, fuzz: 0 } },
  "counts too large": { patch: `${header}@@ -6,9 +6,12 @@\n${hunk}` },
  "counts too small": { patch: `${header}@@ -6,1 +6,1 @@\n${hunk}` },
  "counts of 0": { patch: `${header}@@ -6,0 +6,0 @@\n${hunk}` },
  "line numbers drifted down": {
    patch: `${header}@@ -12,3 +12,3 @@\n${hunk}`,
    report: { line: 5, offset: -6 },
  },
  "line numbers beyond the end": {
    patch: `${header}@@ -600,3 +600,3 @@\n${hunk}`,
    report: { line: 5 },
  },
  "line number 0": {
    patch: `${header}@@ -0,3 +0,3 @@\n${hunk}`,
    report: { requestedLine: null, line: 5 },
  },
  "bare @@": { patch: `${header}@@\n${hunk}`, report: { requestedLine: null, line: 5 } },
  "bare @@ @@": { patch: `${header}@@ @@\n${hunk}` },
  "@@ ... @@": { patch: `${header}@@ ... @@\n${hunk}` },
  "@@ with a hint": { patch: `${header}@@ export function total(items) {\n${hunk}` },
  "@@ with a hint between @@": { patch: `${header}@@ export function total(items) @@\n${hunk}` },
  "no @@ at all": { patch: header + hunk },
  "no file header": { patch: `@@ -6,3 +6,3 @@\n${hunk}` },
  "a fence without header or @@": { patch: `Try this:\n\n\`\`\`diff\n${hunk}\`\`\`\n` },
  "prose and a fence around": {
    patch: `Sure! Here is the change:\n\n\`\`\`diff\n${header}@@ -6,3 +6,3 @@\n${hunk}\`\`\`\n\nThis multiplies:\n- price\n- count\n`,
  },
  "prose without a fence, wrong counts": {
    patch: `Here:\n${header}@@ -6,5 +6,5 @@\n${hunk}\nThat multiplies the price.\n`,
  },
  "a list below right counts": {
    patch: `${header}@@ -6,3 +6,3 @@\n${hunk}\n- multiplies the price\n- by the count\n`,
  },
  "indented in a Markdown list": {
    patch: `1. Change this:\n\n${`${header}@@ -6,3 +6,3 @@\n${hunk}`.replaceAll(/^/gm, "   ").trimEnd()}\n`,
  },
  "blank context lines lost their space": {
    patch: `${header}@@ -4,5 +4,5 @@\n   let sum = 0;\n\n${hunk}`,
    report: { line: 3, fuzz: 0 },
  },
  "blank context at the end and blank lines below": {
    patch: `${header}@@ -6,4 +6,4 @@\n${hunk}\n\n\n`,
    report: { fuzz: 0 },
  },
  "context with its indentation changed": {
    patch: `${header}@@ -6,3 +6,3 @@\n for (const item of items) {\n-    sum += item.price;\n+    sum += item.price * item.count;\n }\n`,
    report: { whitespace: true },
  },
  "context with trailing blanks": {
    patch: `${header}@@ -6,3 +6,3 @@\n${hunk.replace("items) {", "items) {  ")}`,
    report: { whitespace: true },
  },
  "an outer context line made up": {
    patch: `${header}@@ -5,4 +5,4 @@\n   // add the prices\n${hunk}`,
    report: { fuzz: 1 },
  },
  "the whole patch in CRLF": {
    patch: crlf(`${header}@@ -6,3 +6,3 @@\n${hunk}`),
    report: { fuzz: 0 },
  },
  "an LF patch for a CRLF text": {
    patch: `${header}@@ -6,3 +6,3 @@\n${hunk}`,
    on: crlf(text),
    gives: crlf(changed),
    report: { lineEnding: true },
  },
  "a CRLF patch for a CRLF text": {
    patch: crlf(`${header}@@ -6,3 +6,3 @@\n${hunk}`),
    on: crlf(text),
    gives: crlf(changed),
  },
  "no prefixes in the names": { patch: `--- total.js\n+++ total.js\n@@ -6,3 +6,3 @@\n${hunk}` },
  "git headers with made-up hashes": {
    patch: `diff --git a/total.js b/total.js\nindex abc1234..def5678 100644\n${header}@@ -6,3 +6,3 @@ export function total(items) {\n${hunk}`,
  },
  "unchanged lines removed and added again": {
    patch: `${header}@@ -6,3 +6,3 @@\n-  for (const item of items) {\n-    sum += item.price;\n-  }\n+  for (const item of items) {\n+    sum += item.price * item.count;\n+  }\n`,
  },
  "a byte order mark before the patch": { patch: `\uFEFF${header}@@ -6,3 +6,3 @@\n${hunk}` },
  "no final newline of the patch": { patch: `${header}@@ -6,3 +6,3 @@\n${hunk.trimEnd()}` },
  "the text lacks its final newline and the patch does not know": {
    patch: `${header}@@ -18,2 +18,2 @@\n   return total(items) / items.length;\n-}\n+};\n`,
    on: text.trimEnd(),
    gives: `${text.trimEnd()};`,
  },
  "a new file without counts": {
    patch: "--- /dev/null\n+++ b/new.js\n@@\n+one\n+\n+two\n",
    on: "",
    gives: "one\n\ntwo\n",
  },
  "a removed line misremembered": {
    patch: `${header}@@ -6,3 +6,3 @@\n${hunk.replace("-    sum += item.price;", "-    sum += item.cost;")}`,
    refused: "patch_rejected",
  },
  "a removed line with other indentation": {
    patch: `${header}@@ -6,3 +6,3 @@\n${hunk.replace("-    sum", "-  sum")}`,
    refused: "patch_rejected",
  },
  "a bare hunk that fits twice": {
    patch: `${header}@@\n-  return total(items) / items.length;\n+  return 1;\n`,
    on: text + text,
    refused: "ambiguous",
  },
  "only additions and no idea where": {
    patch: `${header}@@\n+// the end\n`,
    refused: "patch_rejected",
  },
  "a context line that lost its prefix": {
    patch: `${header}@@ -6,3 +6,3 @@\nfor (const item of items) {\n-    sum += item.price;\n+    sum += 1;\n   }\n`,
    refused: "patch_malformed",
  },
  "lines left out by an ellipsis": {
    patch: `${header}@@ -3,8 +3,8 @@\n export function total(items) {\n ...\n-    sum += item.price;\n+    sum += item.price * item.count;\n   }\n`,
    report: { line: 4, fuzz: 2 },
  },
  "lines left out between two changes": {
    patch: `${header}@@ -4,8 +4,8 @@\n-  let sum = 0;\n+  let sum = 1;\n ...\n-    sum += item.price;\n+    sum += 1;\n   }\n`,
    refused: "patch_rejected",
  },
  "already applied": {
    patch: `${header}@@ -6,3 +6,3 @@\n${hunk}`,
    on: changed,
    refused: "patch_rejected",
  },
};

function outcomeOf(mangled: Mangled): object {
  try {
    const { text: given, reports } = applyPatchToText(
      mangled.on ?? text,
      parsePatch(mangled.patch).files[0]!,
    );
    return { given, report: reports[0] };
  } catch (error) {
    if (error instanceof KumikoError) return { refused: error.code };
    throw error;
  }
}

describe("diffs as models mangle them", () => {
  test.each(Object.entries(corpus))("PATCH-3 PATCH-11 %s", (_name, mangled) => {
    const { refused, gives = changed, report = {} } = mangled;
    expect(outcomeOf(mangled)).toMatchObject(
      refused === undefined ? { given: gives, report } : { refused },
    );
  });
});
