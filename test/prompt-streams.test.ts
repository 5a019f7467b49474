import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  confidenceOf,
  MarkdownParser,
  type ParseEvent,
  reduceEvents,
  render,
  unsureSpans,
  XmlParser,
} from "../src/prompt/index.ts";
import { PromptSchema } from "../src/prompt/schema/index.ts";
import { root } from "./support/process.ts";
import { charactersOf, chunksOf } from "./support/prompt-trees.ts";

type Token = readonly [text: string, logprob: number];

/** What a model wrote, token by token with its logprobs. */
function stream(name: string): readonly Token[] {
  return JSON.parse(
    readFileSync(join(root, "test", "support", "prompt-streams", `${name}.json`), "utf8"),
  ) as Token[];
}

const textOf = (tokens: readonly Token[]): string => tokens.map(([text]) => text).join("");

describe("streams as models send them, in tokens with logprobs", () => {
  test("plain text with XML sections", () => {
    const tokens = stream("sections");
    const events: ParseEvent[] = [];
    const parser = new XmlParser({ onEvent: (event) => events.push(event) });
    for (const [text, logprob] of tokens) parser.feed(text, logprob);
    const { tree, diagnostics } = parser.end();
    expect(diagnostics).toEqual([]);
    expect(tree.text).toBe(textOf(tokens));
    expect(tree.children.map(({ tags }) => tags[0])).toEqual(["analysis", "answer"]);
    expect(tree.at("analysis")?.attrs).toEqual({ confidence: "high" });
    expect(tree.at("analysis.finding[0]")?.attrs).toEqual({ file: "src/tag-scan.ts", line: "42" });
    expect(tree.at("analysis.finding[1]")?.value.trim()).toBe(
      "Nothing wrong here – naïve readers stumble over 日本語 and 😀, this one does not.",
    );
    expect(tree.at("answer")?.value).toBe("Move the check into the loop.Then add a test.");
    expect(charactersOf(reduceEvents(events))).toEqual(charactersOf(tree));
    // Every token's logprob is at every character of it, wherever a tag cuts it.
    let at = 0;
    for (const [text, logprob] of tokens) {
      for (const end = at + text.length; at < end; at++) expect(tree.logprobAt(at)).toBe(logprob);
    }
    expect(chunksOf(tree).length).toBeGreaterThanOrEqual(tokens.length);
    const unsure = unsureSpans(tree, -1);
    expect(unsure.length).toBeGreaterThan(3);
    for (const { start, end, text } of unsure) expect(tree.text.slice(start, end)).toBe(text);
    expect(confidenceOf(tree.at("answer")!)!.probability).toBeGreaterThan(0.3);
  });

  test("tool calls as XML, read by a schema", () => {
    const schema = new PromptSchema(
      "calls",
      z
        .array(
          z.discriminatedUnion("name", [
            z.object({ name: z.literal("read"), path: z.string() }),
            z.object({ name: z.literal("write"), path: z.string(), content: z.string() }),
            z.object({ name: z.literal("run"), command: z.string(), timeout: z.number() }),
          ]),
        )
        .meta({ item: "call" }),
    );
    const tokens = stream("tool-calls");
    const parser = schema.stream();
    const seen: number[] = [];
    for (const [text, logprob] of tokens) {
      parser.feed(text, logprob);
      const count = parser.partial?.length;
      if (count !== undefined && seen.at(-1) !== count) seen.push(count);
    }
    const result = parser.end();
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(result).toMatchObject({
      ok: true,
      value: [
        { name: "read", path: "config/app.json" },
        {
          name: "write",
          path: "config/app.json",
          content: '{\n  "title": "A & B",\n  "html": "<b>bold</b>"\n}',
        },
        { name: "run", command: 'grep -n "<title>" *.html | head -5', timeout: 30 },
      ],
    });
    expect(result.tree.text).toBe(textOf(tokens));
    expect(result.confidence.map(({ path }) => path.join("."))).toEqual([
      "0.path",
      "1.path",
      "1.content",
      "2.command",
      "2.timeout",
    ]);
  });

  test("a Markdown answer with code", () => {
    const tokens = stream("markdown");
    const parser = new MarkdownParser();
    for (const [text, logprob] of tokens) parser.feed(text, logprob);
    const { tree, diagnostics } = parser.end();
    expect(diagnostics).toEqual([]);
    expect(tree.text).toBe(textOf(tokens));
    expect(render(tree).text).toBe(tree.text);
    expect(tree.children.map(({ style, tags }) => [style[0], tags[0]])).toEqual([
      ["paragraph", undefined],
      ["markdown", "Layout"],
      ["markdown", "Limits"],
    ]);
    expect(tree.at("Layout")?.children.map(({ style }) => style[0])).toEqual([
      "paragraph",
      "numbered",
      "code",
      "table",
    ]);
    expect(tree.at("Layout.1")?.children).toHaveLength(3);
    expect(tree.at("Layout.1.1.0")?.children.map(({ value }) => value)).toEqual([
      "left part stays",
      "right part moves",
    ]);
    expect(tree.at("Layout.ts")?.value).toMatch(/^\/\/ # not a heading\nfunction cut[^]*\n}$/);
  });
});
