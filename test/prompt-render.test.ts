import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeEntities,
  parseMarkdown,
  parseXml,
  prompt,
  PromptBlock,
  render,
} from "../src/prompt/index.ts";
import { fcOptions } from "./support/counts.ts";

/** A tree as it is meant: names, attributes, and what stands in them, text joined. */
type Meant =
  | string
  | {
      readonly name: string;
      readonly attrs: { readonly [name: string]: unknown };
      readonly items: readonly Meant[];
    }
  | { readonly language: string; readonly code: string };

const xmlText = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom("a", " ", "b < c", "x && y", "\n", "é", "😀", "a & b"),
      },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          "<",
          "&",
          "</",
          "<x>",
          "</x>",
          "<!--",
          "<![CDATA[",
          "]]>",
          "&lt;",
          "&#60;",
          "amp;",
          "&am",
          "p;",
        ),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom("`", "``", "```", "\n```", "\n  ```js", "~~~", ">", "\n~"),
      },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 3 }) },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((pieces) => pieces.join(""));
const name = fc.stringMatching(/^[A-Za-z_][\w.-]{0,5}$/);
const attrs = fc.dictionary(name, fc.oneof(xmlText, fc.constant(true), fc.constant("")), {
  maxKeys: 3,
  noNullPrototype: true,
});
const codeText = fc
  .array(
    fc.constantFrom("x", "\n", "</a>", "&lt;", "```", "\n````", "~~~", " ", "<b>", "\n   ```"),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(""));
const { element } = fc.letrec<{ element: Exclude<Meant, string>; item: Meant }>((tie) => ({
  element: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({ name, attrs, items: fc.array(xmlText, { maxLength: 2 }) }),
    fc.record({ name, attrs, items: fc.array(tie("item"), { maxLength: 4 }) }),
    fc.record({
      name,
      attrs,
      items: fc.tuple(fc.record({ language: fc.constantFrom("", "ts"), code: codeText })),
    }),
  ),
  item: fc.oneof(xmlText, tie("element")),
}));

function build(meant: Exclude<Meant, string>): PromptBlock {
  if ("code" in meant) {
    return new PromptBlock({
      style: "code",
      tags: meant.language === "" ? [] : [meant.language],
      text: meant.code,
    });
  }
  const block = new PromptBlock({ style: "xml", tags: [meant.name], attrs: meant.attrs as never });
  for (const item of meant.items) {
    if (typeof item === "string") block.append(item);
    else block.appendChild(build(item));
  }
  return block;
}

function joined(items: readonly Meant[]): Meant[] {
  const result: Meant[] = [];
  for (const item of items) {
    const last = result.at(-1);
    if (typeof item === "string" && typeof last === "string")
      result[result.length - 1] = last + item;
    else if (item !== "") result.push(item);
  }
  return result;
}

/** A complete fence in a text is read as a block of code, so both are compared as the text that they are. */
function normal(meant: Meant): Meant {
  if (typeof meant === "string") return meant;
  return "items" in meant
    ? { ...meant, items: joined(meant.items.map(normal)) }
    : render(build(meant)).text;
}

/** Text behind a fence begins with a line, which is then one more. */
function isUnchanged(meant: Meant): boolean {
  if (typeof meant === "string" || "code" in meant) return true;
  return meant.items.every((item, index) => {
    const next = meant.items[index + 1];
    const endsFence = typeof item === "string" && /(?:^|\n) {0,3}(?:`{3,}|~{3,})[ \t]*$/.test(item);
    return isUnchanged(item) && !(endsFence && typeof next === "string" && !next.startsWith("\n"));
  });
}

function meaning(block: PromptBlock): Meant {
  if (block.style[0] === "code") return block.text;
  const items = Array.from(block.contents()).flatMap((content): Meant[] => {
    if (content.kind === "block") return [meaning(content)];
    return content.style === "prefix" || content.style === "postfix"
      ? []
      : [decodeEntities(content.text)];
  });
  return { name: block.tags[0] ?? "", attrs: block.attrs, items: joined(items) };
}

describe("rendering", () => {
  test("R1 parsing what was rendered gives the tree that was meant", () => {
    fc.assert(
      fc.property(element, (meant) => {
        fc.pre(isUnchanged(meant));
        const tree = build(meant);
        const { tree: parsed, diagnostics } = parseXml(render(tree).text);
        expect(diagnostics).toEqual([]);
        expect(parsed.children).toHaveLength(1);
        expect(meaning(parsed.children[0]!)).toEqual(normal(meant));
      }),
      fcOptions(4_000),
    );
  });

  test("R2 R3 it is pure and idempotent, and its spans tile the text", () => {
    fc.assert(
      fc.property(element, (meant) => {
        const tree = build(meant);
        const before = JSON.stringify(tree);
        const rendered = render(tree);
        expect(JSON.stringify(tree)).toBe(before);
        expect(render(tree).text).toBe(rendered.text);
        expect(render(parseXml(rendered.text).tree).text).toBe(rendered.text);
        let at = 0;
        for (const { start, end } of rendered.spans) {
          expect(start).toBe(at);
          expect(end).toBeGreaterThan(start);
          expect(rendered.at(start)).toMatchObject({ start, end });
          at = end;
        }
        expect(at).toBe(rendered.text.length);
        for (const block of tree.depthFirst()) {
          const { start, end } = rendered.rangeOf(block)!;
          const inside = rendered.spans.filter((span) =>
            [...span.block.ancestors()].includes(block),
          );
          if (inside.length > 0)
            expect([inside[0]!.start, inside.at(-1)!.end]).toEqual([start, end]);
        }
      }),
      fcOptions(1_000),
    );
  });

  test("R1 the same holds when the tree is written instead, section by section", () => {
    const write = (parent: PromptBlock, meant: Exclude<Meant, string>): void => {
      if ("code" in meant) {
        using code = parent.open(meant.language, { style: "code" });
        code.append(meant.code);
        return;
      }
      using section = parent.open(meant.name, { style: "xml", attrs: meant.attrs as never });
      for (const item of meant.items) {
        if (typeof item === "string") section.append(item);
        else write(section, item);
      }
    };
    fc.assert(
      fc.property(element, (meant) => {
        fc.pre(isUnchanged(meant));
        const root = new PromptBlock();
        write(root, meant);
        expect(render(root).text).toBe(root.text);
        expect(meaning(parseXml(root.text).tree.children[0]!)).toEqual(normal(meant));
      }),
      fcOptions(1_500),
    );
  });

  const line = fc
    .array(
      fc.constantFrom(
        "a",
        "word",
        "#",
        "-",
        "+",
        "*",
        "_",
        "1.",
        "2)",
        "`",
        "```",
        "~~~",
        "|",
        "\\",
        ".",
        "--",
        "***",
        "é",
      ),
      { minLength: 1, maxLength: 4 },
    )
    .chain((words) => fc.constantFrom(words.join(" "), words.join("")));
  const several = fc.array(line, { minLength: 1, maxLength: 3 }).map((each) => each.join("\n"));
  type Part = { kind: string; text?: string; title?: string; parts?: Part[] };
  const { part } = fc.letrec<{ part: Part; item: Part; section: Part }>((tie) => ({
    part: fc.oneof(
      { maxDepth: 3 },
      fc.record({ kind: fc.constant("paragraph"), text: several }),
      fc.record({ kind: fc.constant("code"), text: codeText }),
      fc.record({
        kind: fc.constantFrom("list", "numbered"),
        parts: fc.array(tie("item"), { minLength: 1, maxLength: 3 }),
      }),
      tie("section"),
    ),
    section: fc.record({
      kind: fc.constant("markdown"),
      title: fc.stringMatching(/^[a-z]{1,5}( [a-z]{1,3})?$/),
      parts: fc.array(tie("part"), { maxLength: 4 }),
    }),
    item: fc.oneof(
      { maxDepth: 3 },
      fc.record({ kind: fc.constant("item"), text: several }),
      fc.record({
        kind: fc.constant("item"),
        text: several,
        parts: fc.tuple(
          fc.record({
            kind: fc.constantFrom("list", "numbered"),
            parts: fc.array(tie("item"), { minLength: 1, maxLength: 2 }),
          }),
        ),
      }),
    ),
  }));

  /** What can be told apart in Markdown: sections last, and no two lists of a kind side by side. */
  function tellable(parts: readonly Part[]): Part[] {
    const isSection = ({ kind }: Part): boolean => kind === "markdown";
    const plain = parts.filter((each) => !isSection(each));
    const apart = plain.filter(
      (each, index) =>
        !["list", "numbered"].includes(each.kind) || plain[index - 1]?.kind !== each.kind,
    );
    return [...apart, ...parts.filter(isSection)].map((each) =>
      each.parts === undefined
        ? each
        : {
            ...each,
            parts: each.kind === "markdown" ? tellable(each.parts) : each.parts.map((item) => item),
          },
    );
  }

  function buildPart({ kind, text, title, parts = [] }: Part): PromptBlock {
    const block = new PromptBlock({ style: kind, tags: title === undefined ? [] : [title] });
    if (text !== undefined) block.append(text);
    for (const each of parts) block.appendChild(buildPart(each));
    return block;
  }

  function partOf(block: PromptBlock): Part {
    const kind = block.style[0]!;
    const own = block.chunks
      .filter(({ style }) => style === "content")
      .map(({ text }) => text)
      .join("");
    const hasText = kind !== "list" && kind !== "numbered" && kind !== "markdown";
    const { children } = block;
    return {
      kind,
      ...(hasText && { text: kind === "code" ? own : block.mutator.unescape(own) }),
      ...(kind === "markdown" && { title: block.tags[0]! }),
      ...((kind === "list" ||
        kind === "numbered" ||
        kind === "markdown" ||
        children.length > 0) && {
        parts: children.map(partOf),
      }),
    };
  }

  test("R1 Markdown: parsing what was rendered gives the tree that was meant", () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (given) => {
        const parts = tellable(given);
        const root = new PromptBlock({ style: "root" });
        for (const each of parts) root.appendChild(buildPart(each));
        const { text } = render(root);
        expect(parseMarkdown(text).tree.children.map(partOf), text).toEqual(parts);
        expect(render(parseMarkdown(text).tree).text).toBe(text);
      }),
      fcOptions(3_000),
    );
  });

  test("R1 marks are escaped where the text behind them comes later", () => {
    for (const pieces of [
      ["&", "lt;"],
      ["&l", "t;"],
      ["<", "b>"],
      ["</", "x>"],
      ["`", "``\nx"],
      ["\n``", "`"],
      ["\n  ", "~~~"],
      ["a >", "```\n</x>\n```"],
      ["```\n</x>\n```"],
    ]) {
      const logical = new PromptBlock({ style: "xml", tags: ["x"] });
      const root = new PromptBlock();
      const written = root.open("x", { style: "xml" });
      for (const piece of pieces) {
        logical.append(piece);
        written.append(piece);
      }
      written.close();
      for (const { text } of [render(logical), root]) {
        const { tree, diagnostics } = parseXml(text);
        expect([tree.byTag("x")?.value, diagnostics, tree.allByTag("x").length]).toEqual([
          pieces.join(""),
          [],
          1,
        ]);
      }
    }
  });

  test("R4 messages: one for each stretch of a role, which children inherit", () => {
    const tree = prompt
      .build({ style: "root" })
      .says("system", (system) =>
        system.heading("Rules", (rules) => rules.list(["Be brief", "Be right"])),
      )
      .says("user", (user) => user.text("Hi").xml("file", "a < b </file>", { path: 'x"y' }))
      .says("user", "And this")
      .says("model", "Hello")
      .done();
    expect(render(tree).messages()).toEqual([
      { role: "system", content: "# Rules\n- Be brief\n- Be right" },
      { role: "user", content: 'Hi\n\n<file path="x&quot;y">a < b &lt;/file></file>\n\nAnd this' },
      { role: "model", content: "Hello" },
    ]);
    expect(render(new PromptBlock("x")).messages("system")).toEqual([
      { role: "system", content: "x" },
    ]);
  });

  test("R5 styles compose, the first one outermost", () => {
    const steps = new PromptBlock({ style: ["xml", "numbered"], tags: ["steps"] });
    steps.appendChild("one\nand more");
    steps.appendChild("two <b>");
    expect(render(steps).text).toBe("<steps>1. one\n   and more\n2. two &lt;b></steps>");
    const lines = new PromptBlock({ style: "xml lines", tags: ["note"] });
    lines.append("text");
    expect(render(lines).text).toBe("<note>\ntext\n</note>");
  });
});
