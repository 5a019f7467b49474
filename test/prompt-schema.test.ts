import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Random } from "../src/base/index.ts";
import { PromptBlock, render } from "../src/prompt/index.ts";
import { PromptSchema } from "../src/prompt/schema/index.ts";
import { fcOptions } from "./support/counts.ts";
import { cut } from "./support/prompt-trees.ts";

const calls = new PromptSchema(
  "answer",
  z.object({
    thought: z.string().describe("why you do it"),
    score: z.number().min(0).max(10),
    sure: z.boolean().optional(),
    mood: z.enum(["calm", "tense"]).nullable(),
    lang: z.string().meta({ attribute: true }),
    calls: z
      .array(
        z.discriminatedUnion("name", [
          z.object({ name: z.literal("search"), query: z.string(), limit: z.number().default(5) }),
          z.object({ name: z.literal("write"), path: z.string(), content: z.string() }),
        ]),
      )
      .meta({ item: "call" }),
    extra: z.record(z.string(), z.number()).optional(),
  }),
);

const answer = `Sure.
<answer lang="en">
<thought>
First a &lt; b, then <b>bold</b> text.
</thought>
<score>7</score><mood>null</mood>
<calls>
<call name="search"><query>kumiko</query></call>
<call name="write"><path>a.html</path><content><call name="search">not a call</call></content></call>
</calls>
<extra>{"n": 2}</extra>
</answer> Done.`;

const value = {
  lang: "en",
  thought: "First a < b, then <b>bold</b> text.",
  score: 7,
  mood: null,
  calls: [
    { name: "search", query: "kumiko", limit: 5 },
    { name: "write", path: "a.html", content: '<call name="search">not a call</call>' },
  ],
  extra: { n: 2 },
};

describe("a schema", () => {
  test("S1 says to a model what is wanted", () => {
    expect(calls.instructionText()).toBe(`Answer in this form, with these tags and no others:

\`\`\`xml
<answer lang="text">
  <thought>text; why you do it</thought>
  <score>number</score>
  <sure>true | false; may be left out</sure>
  <mood>calm | tense; or null</mood>
  <calls> <!-- one <call> for each -->
    <call name="search">
      <query>text</query>
      <limit>number; may be left out</limit>
    </call>
    <!-- or -->
    <call name="write">
      <path>text</path>
      <content>text</content>
    </call>
  </calls>
  <extra>JSON; may be left out</extra>
</answer>
\`\`\``);
  });

  test("S2 reads an answer: tags it does not know are text", () => {
    const result = calls.parse(answer);
    expect(result).toMatchObject({ ok: true, value });
    expect(result.tree.text).toBe(answer);
  });

  test("S3 partial values only grow, and end as the value, wherever the stream is cut", () => {
    fc.assert(
      fc.property(fc.nat(), (cuts) => {
        const stream = calls.stream();
        const thoughts: string[] = [];
        let count = 0;
        for (const piece of cut(answer, new Random(cuts), 12)) {
          stream.feed(piece);
          const { partial } = stream;
          if (partial?.thought !== undefined) thoughts.push(partial.thought);
          if (partial?.score !== undefined) expect(partial.score).toBe(7);
          expect(partial?.calls?.length ?? 0).toBeGreaterThanOrEqual(count);
          count = partial?.calls?.length ?? count;
        }
        for (const [index, each] of thoughts.entries()) {
          expect(
            each.startsWith(thoughts[index - 1]?.replace(/&[a-z]*$/, "").trimEnd() ?? ""),
          ).toBe(true);
        }
        expect(stream.end()).toMatchObject({ ok: true, value });
      }),
      fcOptions(500),
    );
  });

  test("S4 errors say what is wrong and where", () => {
    const text =
      '<answer lang="en"><thought>x</thought><score>high</score><mood>odd</mood><calls><call name="write"><path>p</path></call></calls></answer>';
    const result = calls.parse(text);
    expect(result.ok).toBe(false);
    const errors = result.ok ? [] : result.errors;
    const quoted = errors.map(({ path, code, start, end }) => [
      path.join("."),
      code,
      text.slice(start, end),
    ]);
    expect(quoted).toEqual([
      ["score", "invalid", "<score>high</score>"],
      ["mood", "invalid", "<mood>odd</mood>"],
      ["calls.0.content", "missing", '<call name="write"><path>p</path></call>'],
    ]);
    expect(errors[2]!.message).toBe("<content> is missing in <call>.");
    expect(calls.parse("no answer")).toMatchObject({
      ok: false,
      errors: [{ code: "missing", path: [] }],
    });
  });

  test("S4 a truncated answer is an error that names the innermost field, with what there is", () => {
    const result = calls.parse('<answer lang="en"><thought>half a tho');
    expect(result.ok).toBe(false);
    expect(result.partial).toEqual({ lang: "en", thought: "half a tho" });
    expect(result.ok ? [] : result.errors[0]).toMatchObject({
      code: "truncated",
      path: ["thought"],
    });
  });

  test("S4 an unknown option is an error of the key that tells them apart", () => {
    const result = calls.parse(answer.replace('name="search"><query>', 'name="dance"><query>'));
    expect(result.ok ? [] : result.errors).toMatchObject([
      { path: ["calls", 0, "name"], code: "invalid" },
    ]);
  });

  test("S5 confidence is told for each field, and spans that are not sure", () => {
    const stream = calls.stream();
    for (const [text, logprob] of [
      ['<answer lang="en"><thou', -0.1],
      ["ght>all", -0.1],
      [" good", -2],
      [" here", -3],
      ["</thought><score>", -0.01],
      ["9", -0.7],
      ["</score><mood>calm</mood><calls></calls></answer>", 0],
    ] as const) {
      stream.feed(text, logprob);
    }
    const unsure = stream.unsure(-1);
    const result = stream.end();
    expect(result.ok).toBe(true);
    const byPath = Object.fromEntries(
      result.confidence.map(({ path, ...rest }) => [path.join("."), rest]),
    );
    expect(byPath["thought"]).toMatchObject({
      tokens: 3,
      lowest: -3,
      mean: expect.closeTo(-1.7, 9),
    });
    expect(byPath["score"]).toMatchObject({
      tokens: 1,
      mean: -0.7,
      probability: expect.closeTo(0.4966, 4),
    });
    expect(unsure).toMatchObject([{ text: " good here", mean: -2.5, lowest: -3 }]);
    expect(result.tree.text.slice(unsure[0]!.start, unsure[0]!.end)).toBe(" good here");
  });

  test("S6 any value goes through XML and back", () => {
    const simple = new PromptSchema(
      "v",
      z.object({ a: z.string(), n: z.number(), items: z.array(z.object({ t: z.string() })) }),
    );
    const text = fc
      .string({ unit: "binary", maxLength: 12 })
      .filter((each) => !/^[ \t]*\r?\n/.test(each));
    const some = fc.record({
      a: text,
      n: fc.integer(),
      items: fc.array(fc.record({ t: text }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(some, (given) => {
        const root = new PromptBlock({ style: "xml", tags: ["v"] });
        const put = (parent: PromptBlock, tag: string, each: string): void =>
          void parent.appendChild({ style: "xml", tags: [tag], text: each });
        put(root, "a", given.a);
        put(root, "n", String(given.n));
        const items = root.appendChild({ style: "xml", tags: ["items"] });
        for (const { t } of given.items)
          put(items.appendChild({ style: "xml", tags: ["item"] }), "t", t);
        expect(simple.parse(render(root).text)).toMatchObject({ ok: true, value: given });
      }),
      fcOptions(2_000),
    );
  });
});
