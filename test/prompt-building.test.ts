import { describe, expect, test } from "vitest";
import { diffTrees, parseXml, prompt, PromptBlock, render } from "../src/prompt/index.ts";

describe("building", () => {
  test("B1 sections are closed at the end of their scope, also when it is left by an error", () => {
    const root = new PromptBlock({ role: "system" });
    const write = (): void => {
      using context = root.open("context", { style: "xml", attrs: { n: 1 } });
      using file = context.open("file", { style: "xml" });
      file.append("a < b and </file>");
      throw new Error("stop");
    };
    expect(write).toThrow("stop");
    expect(root.text).toBe('<context n="1"><file>a < b and &lt;/file></file></context>');
    expect(root.at("context.file")?.value).toBe("a < b and </file>");
  });

  test("B2 what is appended to a closed block lands before its closing tag, children too", () => {
    const root = new PromptBlock();
    const section = root.open("notes", { style: "xml lines" });
    section.append("one");
    section.close();
    section.close();
    section.append(" two");
    section.appendChild("three");
    expect(root.text).toBe("<notes>\none two\nthree\n</notes>");
    section.prepend("zero ");
    expect(root.text).toBe("<notes>\nzero one two\nthree\n</notes>");
  });

  test("B3 lists own their markers and separators, and number anew", () => {
    const root = new PromptBlock();
    const list = root.open("", { style: "numbered" });
    for (const item of ["one", "two\nlines"]) list.appendChild({ text: item, style: "item" });
    list.insertChild(0, "zero");
    expect(root.text).toBe("1. zero\n2. one\n3. two\nlines");
    list.removeChild(list.children[1]!);
    expect(root.text).toBe("1. zero\n2. two\nlines");
    list.children[1]!.move(list, 0);
    expect(root.text).toBe("1. two\nlines\n2. zero");
  });

  test("B4 a fence grows with what stands in it, and begins a line", () => {
    const root = new PromptBlock("Look:");
    {
      using code = root.open("md", { style: "code" });
      code.append("```js\nx\n```");
    }
    root.append("then");
    expect(root.text).toBe("Look:````md\n```js\nx\n```\n````then");
    const written = new PromptBlock();
    {
      using part = written.open("part", { style: "xml" });
      part.append("Look:");
      using code = part.open("js", { style: "code" });
      code.append("</part>");
    }
    expect(written.text).toBe("<part>Look:\n```js\n</part>\n```</part>");
    expect(parseXml(written.text).diagnostics).toEqual([]);
  });

  test("B5 headings are as deep as they are nested", () => {
    const root = new PromptBlock({ style: "root", state: "open" });
    using one = root.open("One", { style: "markdown" });
    one.append("text");
    using two = one.open("Two", { style: "markdown" });
    two.append("more");
    expect(root.text).toBe("# One\ntext\n\n## Two\nmore");
  });

  test("B6 the template takes text, blocks and lists, and leaves out its indentation", () => {
    const file = new PromptBlock({ style: "xml", tags: ["file"], text: "a" });
    const block = prompt`
      Hello ${"you"}, ${1} + ${null}${false}
        indented
      ${[file, "\nend"]}
    `;
    expect(render(block).text).toBe("Hello you, 1 + \n  indented\n<file>a</file>\nend");
    expect(prompt``.text).toBe("");
    expect(prompt`one line`.text).toBe("one line");
  });

  test("B7 the builder says it in one expression", () => {
    const { text } = render(
      prompt
        .build({ style: "root" })
        .paragraph("- not a list")
        .heading("Steps", (steps) =>
          steps.list(["one", (item) => item.text("two").list(["inner"])], { numbered: true }),
        )
        .code("x", "ts")
        .xml("note", (note) => note.text("1 < 2"), { lang: "en" })
        .done(),
    );
    expect(text).toBe(
      '\\- not a list\n\n# Steps\n1. one\n2. two\n   - inner\n\n```ts\nx\n```\n\n<note lang="en">1 < 2</note>',
    );
  });

  test("B8 text that is source already is taken as it is, when asked", () => {
    const root = new PromptBlock();
    using part = root.open("p", { style: "xml" });
    part.append("<b/>", { verbatim: true });
    part.append("<b/>");
    expect(root.text).toBe("<p><b/>&lt;b/>");
  });

  test("B9 trees are compared by identity, not by place", () => {
    const before = new PromptBlock({ id: "root" });
    for (const id of ["a", "b", "c", "d"]) before.appendChild({ id, text: id });
    const after = before.copy({ keepIds: true });
    const [a, b, c] = after.children as [PromptBlock, PromptBlock, PromptBlock];
    after.removeChild(b);
    a.move(after, 2);
    c.append("!");
    c.set({ tags: ["t"] });
    c.appendChild({ id: "e", text: "e" });
    expect(diffTrees(before, after)).toEqual({
      added: ["e"],
      removed: ["b"],
      moved: ["a"],
      rewritten: ["c"],
      changed: ["c"],
    });
    expect(diffTrees(before, before.copy({ keepIds: true }))).toEqual({
      added: [],
      removed: [],
      moved: [],
      rewritten: [],
      changed: [],
    });
  });
});
