import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import {
  countedIds,
  MarkdownParser,
  type ParseEvent,
  parseMarkdown,
  parseXml,
  type PromptBlock,
  reduceEvents,
  render,
  XmlParser,
  type XmlParserOptions,
} from "../src/prompt/index.ts";
import { fcOptions, scaled, seed } from "./support/counts.ts";
import { charactersOf, cut, faultsOf, shapeOf } from "./support/prompt-trees.ts";

const parsers = {
  xml: (options: XmlParserOptions = {}) => new XmlParser(options),
  "xml with known tags": (options: XmlParserOptions = {}) =>
    new XmlParser({ ...options, tags: ["a", "code"] }),
  markdown: (options: XmlParserOptions = {}) => new MarkdownParser(options),
};

const piece = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "a",
      "word",
      " ",
      "\n",
      "\n\n",
      "  ",
      "\t",
      "\r\n",
      "é",
      "😀",
      "\u0000",
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "<a>",
      "</a>",
      "<b>",
      "</b>",
      "<code>",
      "</code>",
      "<br/>",
      '<a x="1">',
      "<a y='<'>",
      "<a z=q/>",
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "<",
      ">",
      "</",
      "/>",
      "<!--",
      "-->",
      "<![CDATA[",
      "]]>",
      "&",
      "&lt;",
      "&#60;",
      '"',
      "'",
      "=",
      "<a ",
      "<a b=",
      '<a b="',
      "]",
      "--",
      "<!",
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "```",
      "`",
      "~~~",
      "```js\n",
      "\n```\n",
      "````",
      "# ",
      "## Title\n",
      "#",
      "- ",
      "* ",
      "+",
      "1. ",
      "12)",
      "---",
      "- - -",
      "***",
      "_",
      "| a |",
      "|",
      "   ",
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 3 }) },
);
const input = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));

/** Neighbouring deltas of one block and style as one: what is left does not depend on the cuts. */
function merged(events: readonly ParseEvent[]): unknown[] {
  const result: { [name: string]: unknown }[] = [];
  for (const event of events) {
    const last = result.at(-1);
    const { id: _, ...rest } = event;
    if (
      event.type === "delta" &&
      last?.["type"] === "delta" &&
      last["path"] === event.path &&
      last["style"] === event.style
    ) {
      last["text"] = String(last["text"]) + event.text;
    } else result.push({ ...rest });
  }
  return result;
}

describe.each(Object.entries(parsers))("the %s parser", (_, make) => {
  const read = (pieces: readonly string[], options: XmlParserOptions = {}) => {
    const parser = make(options);
    for (const each of pieces) parser.feed(each);
    return parser.end();
  };

  test("P1 P2 any chunking gives the same tree, events and diagnostics, and no character is lost", () => {
    fc.assert(
      fc.property(input, fc.nat(), (text, cuts) => {
        const wholeEvents: ParseEvent[] = [];
        const whole = read([text], { onEvent: (event) => wholeEvents.push(event) });
        expect(whole.tree.text).toBe(text);
        expect(faultsOf(whole.tree)).toEqual([]);
        for (const pieces of [text.split(""), cut(text, new Random(cuts))]) {
          const events: ParseEvent[] = [];
          const parsed = read(pieces, { onEvent: (event) => events.push(event) });
          expect(shapeOf(parsed.tree)).toEqual(shapeOf(whole.tree));
          expect(parsed.diagnostics).toEqual(whole.diagnostics);
          expect(merged(events)).toEqual(merged(wholeEvents));
          // Without anyone listening it is written in another way, and is the same.
          expect(shapeOf(read(pieces).tree)).toEqual(shapeOf(whole.tree));
        }
      }),
      fcOptions(6_000),
    );
  });

  test("P3 the events alone rebuild the tree, with its ids", () => {
    fc.assert(
      fc.property(input, fc.nat(), (text, cuts) => {
        const events: ParseEvent[] = [];
        const { tree } = read(cut(text, new Random(cuts)), {
          onEvent: (event) => events.push(event),
        });
        const rebuilt = reduceEvents(JSON.parse(JSON.stringify(events)));
        expect(shapeOf(rebuilt)).toEqual(shapeOf(tree));
        const ids = (block: PromptBlock): string[] =>
          Array.from(block.depthFirst(), ({ id }) => id);
        expect(ids(rebuilt)).toEqual(ids(tree));
        for (const event of events)
          if (event.type === "open") expect(tree.at(event.path)?.id).toBe(event.id);
      }),
      fcOptions(2_000),
    );
  });

  test("P4 logprobs survive at every character, wherever tokens are cut", () => {
    fc.assert(
      fc.property(input, fc.nat(), (text, cuts) => {
        const random = new Random(cuts);
        const parser = make();
        const wanted: (number | null)[] = [];
        for (const each of cut(text, random)) {
          const logprob = random.pick([null, -0.25, -3]);
          parser.feed(each, logprob);
          wanted.push(...Array.from({ length: each.length }, () => logprob));
        }
        const { tree } = parser.end();
        expect(Array.from(wanted.keys(), (at) => tree.logprobAt(at))).toEqual(wanted);
        const bare = make();
        bare.feed(text);
        const without = (found: unknown): unknown =>
          JSON.parse(
            JSON.stringify(found, (key, value: unknown) => (key === "logprob" ? undefined : value)),
          );
        const structure = (block: PromptBlock): unknown =>
          (charactersOf(block) as unknown[]).map((each) =>
            Array.isArray(each) ? each.slice(0, 2) : each,
          );
        expect(without(structure(tree))).toEqual(without(structure(bare.end().tree)));
      }),
      fcOptions(1_500),
    );
  });

  test("P5 looking at the tree while it is read changes nothing", () => {
    fc.assert(
      fc.property(input, fc.nat(), (text, cuts) => {
        const random = new Random(cuts);
        const parser = make();
        let soFar = "";
        for (const each of cut(text, random)) {
          parser.feed(each);
          soFar += each;
          const { tree } = parser;
          const look = random.below(4);
          if (look === 0) expect(soFar.startsWith(tree.text)).toBe(true);
          else if (look === 1) expect(faultsOf(tree)).toEqual([]);
          else if (look === 2)
            Array.from(tree.depthFirst(), ({ end, chunks }) => [end, chunks.length]);
        }
        expect(shapeOf(parser.end().tree)).toEqual(shapeOf(read([text]).tree));
      }),
      fcOptions(1_500),
    );
  });

  test("P2 what was parsed renders to what was read", () => {
    fc.assert(
      fc.property(input, (text) => {
        expect(render(read([text]).tree).text).toBe(text);
      }),
      fcOptions(1_000),
    );
  });

  test("P6 fuzzed bytes never throw, hang or get lost", () => {
    const random = new Random(seed());
    const odd = "<>/!-[]&;\"'=`~#*+|_ \n\t0aA\ud83d\ude00";
    let lost = 0;
    for (let run = 0; run < scaled(10_000); run++) {
      const length = random.below(200);
      const text = Array.from({ length }, () =>
        random.below(4) === 0
          ? String.fromCharCode(random.below(256))
          : odd[random.below(odd.length)]!,
      ).join("");
      const { tree } = read(cut(text, random, 40));
      if (tree.text !== text) lost++;
    }
    expect(lost).toBe(0);
  });
});

test("P5 positions are the same whether or not anyone has asked for chunks before", () => {
  const random = new Random(seed());
  const names = ["a", "b", "c"];
  for (let run = 0; run < scaled(300); run++) {
    let text = "";
    const open: string[] = [];
    for (let step = 0; step < 200; step++) {
      const choice = random.below(3);
      if (choice === 0) text += `<${(open.push(random.pick(names)), open.at(-1))}>`;
      else if (choice === 1 && open.length > 0) text += `</${open.pop()}>`;
      else text += "text ".slice(0, 1 + random.below(5));
    }
    const expanded = parseXml(text).tree;
    expect(faultsOf(expanded)).toEqual([]);
    for (let look = 0; look < 5; look++) {
      const { tree } = parseXml(text);
      const offset = random.below(text.length);
      const range = (block: PromptBlock): unknown => [
        block.end,
        block.start,
        block.length,
        block.text,
      ];
      expect(range(tree.blockAt(offset)!)).toEqual(range(expanded.blockAt(offset)!));
    }
  }
});

describe("long hostile input takes time in proportion to its length", () => {
  const times = (text: string, size: number): string => text.repeat(Math.ceil(size / text.length));

  test.each([
    "<a b='",
    "<a b='<a b=\"",
    "<",
    "</",
    "<a ",
    "<a>",
    "<a><b></c>",
    "`",
    "\n`",
    "\n```",
    "~",
    "<!--",
    "<![CDATA[",
    "&",
    "- ",
    "\n- ",
    "* ",
    "#",
    "\n",
    "\n ",
    " ",
    "1",
    "1. ",
    "|",
    "_",
    "\n  - ",
  ])("%j", (unit) => {
    const text = times(unit, scaled(400_000));
    for (const make of [parsers.xml, parsers.markdown]) {
      for (const size of [7, 65_536]) {
        const parser = make();
        for (let at = 0; at < text.length; at += size) parser.feed(text.slice(at, at + size));
        expect(parser.end().tree.text === text).toBe(true);
      }
    }
  });
});

describe("XML as models write it", () => {
  test("attributes in any quoting, also none", () => {
    const { tree } = parseXml(
      `<t a="1" b='two' c=3 d e = "x &lt; &quot;y&quot;" f="a > b" g='<' h=/x/y __proto__="p"/>`,
    );
    const block = tree.byTag("t")!;
    expect(block.attrs).toEqual(
      JSON.parse(
        '{"a":"1","b":"two","c":"3","d":true,"e":"x < \\"y\\"","f":"a > b","g":"<","h":"/x/y","__proto__":"p"}',
      ),
    );
    expect(block.text).toBe(tree.text);
  });

  test("stray marks are text", () => {
    for (const text of [
      "a < b",
      "1 <2 and 3> 2",
      "x <- y",
      "<>",
      "<3",
      "a && b",
      "&unknown;",
      "<a",
      '<a b="c',
      "</ a>",
    ]) {
      const { tree } = parseXml(text);
      expect([tree.text, tree.children.length]).toEqual([text, 0]);
    }
  });

  test("nested tags of one name, and tags that somebody forgot to close", () => {
    const { tree, diagnostics } = parseXml("<a>1<a>2</a>3</a><b><c>x</b>");
    expect(tree.at("0.0")?.content).toBe("2");
    expect(tree.at("0")?.content).toBe("1<a>2</a>3");
    expect(tree.at("1.0")?.content).toBe("x");
    expect(diagnostics).toMatchObject([{ code: "unclosed", offset: 20 }]);
  });

  test("CDATA, comments and entities: what the block says", () => {
    const { tree } = parseXml("<a>x &lt; <![CDATA[<b> &amp;]]><!-- not this --> &amp; y</a>");
    expect(tree.byTag("a")!.value).toBe("x < <b> &amp; & y");
  });

  test("tags inside a fence are text, and the fence is a block", () => {
    const { tree, diagnostics } = parseXml(
      "<answer>Use:\n```xml\n<answer>\n</answer>\n```\ndone</answer>",
    );
    expect(diagnostics).toEqual([]);
    const [code] = tree.byTag("answer")!.children;
    expect(code).toMatchObject({ style: ["code"], tags: ["xml"], content: "<answer>\n</answer>" });
  });

  test("a fence may end right before a tag", () => {
    const { tree } = parseXml("<code>```\nx = 1\n```</code><b>y</b>");
    expect(tree.children.map(({ tags }) => tags[0])).toEqual(["code", "b"]);
  });

  test("a truncated stream is closed and says so", () => {
    const { tree, diagnostics } = parseXml("<a><b>text ```");
    expect(tree.at("a.b")?.content).toBe("text ```");
    expect(diagnostics.map(({ code, offset }) => [code, offset])).toEqual([
      ["truncated", 3],
      ["truncated", 0],
    ]);
    expect(parseXml("<a>x<![CDATA[y").diagnostics.map(({ code }) => code)).toEqual([
      "truncated",
      "truncated",
    ]);
  });

  test("only known tags are structure when some are named", () => {
    const { tree, diagnostics } = parseXml("<a>see <div>x</div></a>", { tags: ["a"] });
    expect(tree.byTag("a")?.content).toBe("see <div>x</div>");
    expect(tree.byTag("div")).toBeNull();
    expect(diagnostics).toEqual([]);
  });

  test("what is nested deeper than any tree should be is text", () => {
    const text = "<a>".repeat(1_500);
    const { tree, diagnostics } = parseXml(text);
    expect(tree.text).toBe(text);
    expect(diagnostics.filter(({ code }) => code === "too_deep")).toHaveLength(500);
    expect(Math.max(...Array.from(tree.depthFirst(), ({ depth }) => depth))).toBe(1_000);
  });

  test("ids may be given, and are then the same every time", () => {
    const ids = (): unknown[] =>
      parseXml("<a>x<b/></a>", { ids: countedIds() })
        .tree.toJSON()
        .items.map((item) => item);
    expect(ids()).toEqual(ids());
    expect(ids()[0]).toMatchObject({ id: "b1" });
  });
});

describe("Markdown as models write it", () => {
  test("headings hold what belongs to them", () => {
    const { tree } = parseMarkdown("intro\n\n# One\ntext\n\n## Two ##\nmore\n# Three\nend");
    expect(tree.children.map(({ style, tags }) => [style[0], tags[0]])).toEqual([
      ["paragraph", undefined],
      ["markdown", "One"],
      ["markdown", "Three"],
    ]);
    expect(tree.at("One.Two")?.attrs).toEqual({ level: 2 });
    expect(tree.at("One.Two.0")?.text).toBe("more");
  });

  test("lists nest by indentation and items go on", () => {
    const { tree } = parseMarkdown("- a\n  still a\n- b\n  1. x\n  2. y\n\n3) z");
    const list = tree.at("0")!;
    expect(list.style).toEqual(["list"]);
    expect(list.children.map(({ value }) => value)).toEqual(["a\nstill a", "b\n  x\n  y"]);
    expect(list.at("1.0")?.style).toEqual(["numbered"]);
    expect(tree.at("1")?.attrs).toEqual({ start: 3 });
  });

  test("fences, tables and rules", () => {
    const { tree } = parseMarkdown(
      "```ts\n# no heading\n```\n| a |\n|---|\n| 1 |\n\n---\n~~~\nopen",
    );
    expect(tree.children.map(({ style }) => style[0])).toEqual(["code", "table", "rule", "code"]);
    expect(tree.at("0")?.value).toBe("# no heading");
    expect(tree.at("ts")?.tags).toEqual(["ts"]);
    expect(parseMarkdown("~~~\nopen").diagnostics).toMatchObject([
      { code: "truncated", offset: 0 },
    ]);
  });

  test("emphasis, numbers and marks within a line are text", () => {
    const text = "a *b* `c` - d # e 1. f | g\n2. still text";
    expect(parseMarkdown(text).tree.children.map(({ text: each }) => each)).toEqual([text]);
  });
});
