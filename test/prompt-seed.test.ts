/** Every usage in the design that prompt trees follow, section by section, with the same outcome here. */
import { describe, expect, test } from "vitest";
import {
  Mutator,
  parseXml,
  prompt,
  PromptBlock,
  registerMutator,
  render,
  XmlParser,
} from "../src/prompt/index.ts";

const chunksOf = (block: PromptBlock): [string, string | null][] =>
  block.chunks.map(({ text, style }) => [text, style]);

describe("Architecture: String Ownership", () => {
  test("children are ranges of the root's text", () => {
    const root = new PromptBlock("Full ");
    const first = root.appendChild("document");
    const second = root.appendChild(" content here...");
    expect(root.text).toBe("Full document content here...");
    expect([root.start, root.end]).toEqual([0, 29]);
    expect([first.start, first.end]).toEqual([5, 13]);
    expect(root.text.slice(second.start, second.end)).toBe(second.text);
  });
});

describe("Data Structures", () => {
  test("ChunkMeta: start, end, length, logprob, style, id", () => {
    const block = new PromptBlock("ab");
    const chunk = block.append("content", { logprob: -0.1, style: "xml-tag" })!;
    expect(chunk).toMatchObject({ start: 2, end: 9, length: 7, logprob: -0.1, style: "xml-tag" });
    expect(chunk.id).toMatch(/^[a-z0-9]+$/);
    expect(block.append("x")!.id).not.toBe(chunk.id);
  });

  test("Block: root, text, is_root, depth", () => {
    const root = new PromptBlock();
    const child = root.appendChild("x");
    const grandchild = child.appendChild("y");
    expect(grandchild.root).toBe(root);
    expect([root.isRoot, grandchild.isRoot]).toEqual([true, false]);
    expect([root.depth, child.depth, grandchild.depth]).toEqual([0, 1, 2]);
    expect([root.role, root.tags, root.style, root.attrs]).toEqual([null, [], [], {}]);
  });
});

describe("Core Operations", () => {
  test("1. Text Access: text, and the text of a chunk", () => {
    const block = new PromptBlock("one");
    const chunk = block.append("two")!;
    expect(block.text).toBe("onetwo");
    expect(chunk.text).toBe("two");
    expect(block.text.slice(chunk.start, chunk.end)).toBe("two");
  });

  test("2. and 3. Streaming Append shifts what stands behind", () => {
    const root = new PromptBlock();
    const first = root.appendChild("first");
    const second = root.appendChild("second");
    const chunk = first.append("!", { logprob: -0.5 })!;
    expect(root.text).toBe("first!second");
    expect([second.start, second.end]).toEqual([6, 12]);
    expect([chunk.start, chunk.end, chunk.logprob]).toEqual([5, 6, -0.5]);
  });

  test("4. Child Operations: a child brings its own text and children", () => {
    const child = new PromptBlock("child ");
    child.appendChild("grandchild");
    const root = new PromptBlock("root ");
    expect(root.appendChild(child)).toBe(child);
    expect(root.text).toBe("root child grandchild");
    expect([child.start, child.end]).toEqual([5, 21]);
    expect(child.at("0")?.start).toBe(11);
  });

  test("5. Tree Traversal: depth first, ancestors, next sibling", () => {
    const root = new PromptBlock();
    const first = root.appendChild("1");
    const second = root.appendChild("2");
    const inner = first.appendChild("1a");
    expect([...root.depthFirst()]).toEqual([root, first, inner, second]);
    expect([...inner.ancestors()]).toEqual([inner, first, root]);
    expect([first.nextSibling, second.nextSibling, root.nextSibling]).toEqual([second, null, null]);
  });

  test("6. String Operations: find, find_all (overlapping), regex_find", () => {
    const block = new PromptBlock("aaa bcd");
    expect([block.find("aa"), block.find("zz")]).toEqual([0, -1]);
    expect(block.findAll("aa")).toEqual([0, 1]);
    expect(block.regexFind(/[a-c]+/).map((match) => [match[0], match.index])).toEqual([
      ["aaa", 0],
      ["bc", 4],
    ]);
  });
});

describe("Implementation Steps", () => {
  test("Phase 2: append, prepend and insert", () => {
    const block = new PromptBlock("b");
    block.prepend("a");
    block.append("d");
    block.insert(2, "c");
    expect(block.text).toBe("abcd");
    expect(block.chunks.map(({ start }) => start)).toEqual([0, 1, 2, 3]);
  });

  test("Phase 4: prepend_child, insert_child(index), remove_child with and without its text", () => {
    const root = new PromptBlock();
    const last = root.appendChild("c");
    root.prependChild("a");
    root.insertChild(1, "b");
    expect(root.text).toBe("abc");
    root.removeChild(last, { keepText: true });
    expect([root.text, root.children.length]).toEqual(["abc", 2]);
    const first = root.children[0]!;
    expect(root.removeChild(first)).toBe(first);
    expect([root.text, first.text, first.isRoot]).toEqual(["bc", "a", true]);
  });

  test("Phase 5: by tag, and chunk queries", () => {
    const root = new PromptBlock();
    root.appendChild({ text: "one", tags: ["x"] });
    root.appendChild({ text: "two", tags: ["x", "y"] });
    expect(root.byTag("y")?.text).toBe("two");
    expect(root.allByTag("x")).toHaveLength(2);
    expect(root.children[0]!.previousSibling).toBeNull();
    const block = new PromptBlock();
    const chunk = block.append("ab", { logprob: -1, style: "s" });
    block.append("c");
    expect(block.chunkAt(1)).toBe(chunk);
    expect(block.chunksByStyle("s")).toEqual([chunk]);
    expect([block.logprobAt(0), block.logprobAt(2)]).toEqual([-1, null]);
  });

  test("Phase 6: a scope for each child; from_string and from_chunks", () => {
    const parent = new PromptBlock("Parent");
    {
      using child = parent.open("Child1");
      expect(child.state).toBe("open");
    }
    {
      using _ = parent.open("Child2");
    }
    expect(parent.text).toBe("ParentChild1Child2");
    expect(parent.children.map(({ text, state }) => [text, state])).toEqual([
      ["Child1", "closed"],
      ["Child2", "closed"],
    ]);
    expect(prompt.from("text").text).toBe("text");
    const block = prompt.fromChunks([{ text: "a", logprob: -1 }, "b", { text: "c", style: "s" }]);
    expect(block.chunks.map(({ text, logprob, style }) => [text, logprob, style])).toEqual([
      ["a", -1, "content"],
      ["b", null, "content"],
      ["c", null, "s"],
    ]);
  });

  test("Phase 7: dump and load", () => {
    const root = new PromptBlock({ role: "user", tags: ["t"], attrs: { n: 1, s: "x", b: true } });
    root.append("a", { logprob: -0.5 });
    root.appendChild({ text: "b", style: ["xml"] });
    const loaded = prompt.fromJSON(JSON.parse(JSON.stringify(root)));
    expect(loaded.toJSON()).toEqual(root.toJSON());
    expect(loaded.logprobAt(0)).toBe(-0.5);
  });

  test("Phase 8: a parser over a stream of chunks", () => {
    const parser = new XmlParser();
    for (const token of ["<mess", "age>Hel", "lo</", "message>"]) parser.feed(token);
    const { tree } = parser.end();
    expect(tree.byTag("message")?.content).toBe("Hello");
    expect(render(tree).text).toBe("<message>Hello</message>");
  });
});

describe("Mutator Integration", () => {
  test("Chunk Styles as Regions", () => {
    const block = new PromptBlock({ style: ["xml"] });
    block.mutator.init("tag");
    block.append("content");
    block.mutator.commit("tag");
    expect(block.chunks.map(({ start, end, style }) => [start, end, style])).toEqual([
      [0, 5, "prefix"],
      [5, 12, "content"],
      [12, 18, "postfix"],
    ]);
  });

  test("Mutator Base Class: head, body, content; the default appends at the end", () => {
    const block = new PromptBlock("text");
    const child = block.mutator.appendChild(new PromptBlock("child"));
    expect([block.mutator.head, block.mutator.body, block.mutator.content]).toEqual([
      "text",
      [child],
      "textchild",
    ]);
  });

  test("XmlMutator Example: opening and closing tag, head, attributes", () => {
    const block = new PromptBlock({ style: ["xml"] });
    block.mutator.init("note", { kind: 'a "b" <c>', n: 1 });
    block.append("hi");
    block.mutator.commit("note");
    expect(block.mutator.openingTag).toBe('<note kind="a &quot;b&quot; &lt;c>" n="1">');
    expect(block.mutator.closingTag).toBe("</note>");
    expect(block.mutator.head).toBe(`${block.mutator.openingTag}hi`);
    expect(parseXml(block.text).tree.byTag("note")?.attrs).toEqual({ kind: 'a "b" <c>', n: "1" });
  });

  test("MutatorMeta Registry: registered by style; an unknown style is the default", () => {
    class Shout extends Mutator {
      static override readonly styles = ["shout"];

      override opening(title: string): string {
        return `${title.toUpperCase()}! `;
      }
    }
    registerMutator(Shout);
    const root = new PromptBlock();
    const section = root.open("hear", { style: "shout" });
    section.append("this");
    section.close();
    expect(root.text).toBe("HEAR! this");
    expect(section.mutator).toBeInstanceOf(Shout);
    expect(new PromptBlock({ style: "nobody-knows" }).mutator.constructor).toBe(Mutator);
  });

  test("Flow Example", () => {
    const block = new PromptBlock({ style: ["xml"] });
    block.mutator.init("message");
    block.append("Hello World");
    block.mutator.commit("message");
    expect(chunksOf(block)).toEqual([
      ["<message>", "prefix"],
      ["Hello World", "content"],
      ["</message>", "postfix"],
    ]);
    expect(block.text).toBe("<message>Hello World</message>");
    block.append(" - Updated");
    expect(block.text).toBe("<message>Hello World - Updated</message>");
  });
});

describe("Open Questions", () => {
  test("Copy semantics: deep, with new ids or the same", () => {
    const block = new PromptBlock("a");
    block.appendChild("b");
    const copy = block.copy();
    copy.at("0")!.append("!");
    expect([block.text, copy.text]).toEqual(["ab", "ab!"]);
    expect(copy.id).not.toBe(block.id);
    expect(block.copy({ keepIds: true }).toJSON()).toEqual(block.toJSON());
  });
});

describe("Appendix: Example Usage", () => {
  test("streams, adds children, reads and searches", () => {
    const root = new PromptBlock();
    root.append("Hello ", { logprob: -0.1 });
    root.append("World", { logprob: -0.2 });
    expect(root.text).toBe("Hello World");
    const first = root.appendChild(new PromptBlock());
    first.append("Child 1 content");
    const second = root.appendChild(new PromptBlock());
    second.append("Child 2 content");
    expect(root.text).toBe("Hello WorldChild 1 contentChild 2 content");
    expect(first.text).toBe("Child 1 content");
    expect(root.find("World")).toBe(6);
    const words = root.regexFind(/\w+/).map(([word]) => word);
    expect(words).toEqual(["Hello", "WorldChild", "1", "contentChild", "2", "content"]);
    expect([root.logprobAt(0), root.logprobAt(6)]).toEqual([-0.1, -0.2]);
  });
});
