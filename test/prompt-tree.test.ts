import { describe, expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { type Edit, inverse, prompt, PromptBlock } from "../src/prompt/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { faultsOf, RandomTree } from "./support/prompt-trees.ts";
import { refusal, refusalCode } from "./support/refusal.ts";

const stored = (block: PromptBlock): string => JSON.stringify(block.toJSON());

describe("a tree under random edits", () => {
  test("T1 its text is that of a plain string, and its chunks and children tile it", () => {
    for (let run = 0; run < scaled(600); run++) {
      const tree = new RandomTree(seed() + run, false);
      let model = "";
      for (let step = 0; step < 40; step++) {
        model = tree.edit(model);
        expect(tree.root.text, `seed ${seed() + run}, step ${step}`).toBe(model);
      }
      expect(faultsOf(tree.root), `seed ${seed() + run}`).toEqual([]);
    }
  });

  test("T1 with every style, chunks and children tile the text after every edit", () => {
    for (let run = 0; run < scaled(400); run++) {
      const tree = new RandomTree(seed() + run, true);
      for (let step = 0; step < 25; step++) {
        tree.edit("");
        expect(faultsOf(tree.root), `seed ${seed() + run}, step ${step}`).toEqual([]);
      }
    }
  });

  test.each([false, true])(
    "T5 edits rebuild the tree elsewhere, and their inverses take them back (styled: %s)",
    (isStyled) => {
      for (let run = 0; run < scaled(400); run++) {
        const where = `seed ${seed() + run}`;
        const tree = new RandomTree(seed() + run, isStyled);
        const replica = prompt.fromJSON(tree.root.toJSON());
        const edits: Edit[] = [];
        const states = [stored(tree.root)];
        using _ = tree.root.subscribe((edit) => {
          edits.push(structuredClone(edit));
          replica.apply(edit);
          states.push(stored(tree.root));
        });
        for (let step = 0; step < 25; step++) tree.edit("");
        expect(stored(replica), where).toBe(states.at(-1));
        for (let index = edits.length - 1; index >= 0; index--) {
          replica.apply(inverse(edits[index]!));
          expect(stored(replica), `${where}, edit ${index} (${edits[index]!.name})`).toBe(
            states[index],
          );
        }
        for (const edit of edits) replica.apply(edit);
        expect(stored(replica), where).toBe(states.at(-1));
        expect(faultsOf(replica), where).toEqual([]);
      }
    },
  );

  test("T6 stored and read back it is the same: ids, chunks, attrs, states", () => {
    for (let run = 0; run < scaled(200); run++) {
      const tree = new RandomTree(seed() + run, true);
      for (let step = 0; step < 20; step++) tree.edit("");
      const read = prompt.fromJSON(JSON.parse(stored(tree.root)));
      expect(stored(read)).toBe(stored(tree.root));
      expect(read.text).toBe(tree.root.text);
      expect(stored(tree.root.copy({ keepIds: true }))).toBe(stored(tree.root));
      const ids = new Set(tree.root.toJSON().items.map((item) => ("id" in item ? item.id : "")));
      const copied = tree.root.copy().toJSON().items;
      expect(copied.filter((item) => "id" in item && ids.has(item.id))).toEqual([]);
    }
  });
});

describe("what cannot be done is refused and changes nothing", () => {
  const make = (): { root: PromptBlock; child: PromptBlock; grandchild: PromptBlock } => {
    const root = new PromptBlock("root ");
    const child = root.appendChild("child 😀");
    return { root, child, grandchild: child.appendChild("grandchild") };
  };

  test.each<[string, string, (tree: ReturnType<typeof make>) => unknown]>([
    ["an offset behind the end", "out_of_range", ({ child }) => child.insert(99, "x")],
    ["a negative offset", "out_of_range", ({ child }) => child.delete(-1, 2)],
    ["an offset that is no integer", "out_of_range", ({ child }) => child.split(1.5)],
    ["a range that ends before it starts", "out_of_range", ({ child }) => child.replace(3, 1, "x")],
    ["half a character", "split_character", ({ child }) => child.insert(7, "x")],
    ["a place that there is not", "out_of_range", ({ root }) => root.insertChild(5, "x")],
    ["a block in itself", "wrong_parent", ({ child, grandchild }) => child.move(grandchild)],
    [
      "the root in its own tree",
      "wrong_parent",
      ({ root, grandchild }) => grandchild.appendChild(root),
    ],
    ["a root that moves", "wrong_parent", ({ root, child }) => root.move(child)],
    [
      "a block that stands elsewhere",
      "wrong_parent",
      ({ root, grandchild }) => root.appendChild(grandchild),
    ],
    ["a child of another", "wrong_parent", ({ root, grandchild }) => root.removeChild(grandchild)],
    ["a target in another tree", "wrong_parent", ({ child }) => child.move(new PromptBlock())],
    ["an unreadable path", "invalid_argument", ({ root }) => root.at("a[b]")],
    ["an empty pattern", "invalid_argument", ({ root }) => root.findAll("")],
    ["an unreadable pattern", "invalid_pattern", ({ root }) => root.regexFind("(")],
    [
      "an edit of another tree",
      "conflict",
      ({ root }) =>
        root.apply({
          name: "x",
          steps: [{ kind: "splice", parent: "?", after: null, removed: [], inserted: [] }],
        }),
    ],
  ])("%s", (_, code, action) => {
    const tree = make();
    const before = stored(tree.root);
    const edits: Edit[] = [];
    using watched = tree.root.subscribe((edit) => edits.push(edit));
    const error = refusal(() => action(tree));
    expect(error.code).toBe(code);
    expect(stored(tree.root)).toBe(before);
    expect([edits, typeof watched]).toEqual([[], "object"]);
  });

  test("an edit that fits only in part is taken back", () => {
    const { root, child } = make();
    const edits: Edit[] = [];
    {
      using _ = root.subscribe((edit) => edits.push(edit));
      child.append("more");
    }
    const [step] = edits[0]!.steps;
    const before = stored(root);
    const undoTwice = inverse({ name: "twice", steps: [step!, step!] });
    expect(refusalCode(() => root.apply(undoTwice))).toBe("conflict");
    expect(stored(root)).toBe(before);
  });

  test.each([
    {},
    { format: "kumiko-prompt", version: 1, items: [] },
    { format: "kumiko-prompt", version: 1, items: [{ kind: "open", id: "a" }] },
    { format: "kumiko-prompt", version: 1, items: [{ kind: "close" }] },
    { format: "kumiko-prompt", version: 1, items: [{ kind: "chunk", id: "a", text: "" }] },
    {
      format: "kumiko-prompt",
      version: 1,
      items: [{ kind: "open", id: "a" }, { kind: "chunk", id: "a", text: "x" }, { kind: "close" }],
    },
    { format: "kumiko-prompt", version: 1, items: [null] },
  ])("stored data of a wrong shape: %j", (data) => {
    expect(refusalCode(() => prompt.fromJSON(data as never))).toBe("damaged");
  });
});

describe("looking things up", () => {
  const tree = (): PromptBlock => {
    const root = new PromptBlock({ role: "system" });
    root.appendChild({ tags: ["intro"], text: "Hello " });
    const answer = root.appendChild({ tags: ["answer"], role: "model" });
    answer.appendChild({ tags: ["step"], text: "one" });
    answer.appendChild({ tags: ["step"], text: "two" });
    return root;
  };

  test("T2 by path, tag and offset", () => {
    const root = tree();
    expect(root.at("1.1")?.text).toBe("two");
    expect(root.at("answer.step[1]")?.text).toBe("two");
    expect(root.at("1.step")?.path).toBe("1.0");
    expect(root.at("")).toBe(root);
    expect(root.at("answer.nothing")).toBeNull();
    expect(root.allByTag("step").map(({ text }) => text)).toEqual(["one", "two"]);
    expect(root.byTag("answer")?.role).toBe("model");
    expect(root.at("answer.step")?.role).toBe("model");
    expect(root.at("0")?.role).toBe("system");
    expect(root.blockAt(7)?.path).toBe("1.0");
    expect(root.blockAt(99)).toBeNull();
    expect(root.byId(root.at("1.1")!.id)).toBe(root.at("1.1"));
  });

  test("T2 finding may cross blocks, in any subtree", () => {
    const root = tree();
    expect(root.find("o onetw")).toBe(4);
    expect(root.at("1")!.find("etw")).toBe(2);
    expect(root.findAll("o")).toEqual([4, 6, 11]);
    expect(root.regexFind(/one(?<next>t)/)[0]).toMatchObject({ index: 6, groups: { next: "t" } });
  });

  test("T2 walking: siblings, ancestors, depth first", () => {
    const root = tree();
    const step = root.at("1.0")!;
    expect(step.nextSibling?.text).toBe("two");
    expect(step.previousSibling).toBeNull();
    expect(step.siblings.map(({ text }) => text)).toEqual(["two"]);
    expect(Array.from(step.ancestors(), ({ depth }) => depth)).toEqual([2, 1, 0]);
    expect(Array.from(root.depthFirst(), ({ path }) => path)).toEqual(["", "0", "1", "1.0", "1.1"]);
  });

  test("T2 offsets and blocks agree in a large tree of any depth", () => {
    const random = new Random(seed());
    const root = new PromptBlock();
    let block = root;
    for (let count = 0; count < 3_000; count++) {
      block.append(`${count} `);
      const choice = random.below(3);
      if (choice === 0) block = block.appendChild("");
      else if (choice === 1) block = block.parent ?? block;
    }
    expect(root.text.length).toBe(root.length);
    for (const each of root.depthFirst()) {
      for (const chunk of each.chunks) {
        expect(root.chunkAt(each.start + chunk.start)).toBe(chunk);
        expect(root.chunkAt(each.start + chunk.end - 1)).toBe(chunk);
      }
    }
  });

  test("T3 splitting by a separator keeps it on the side that is named", () => {
    const parent = new PromptBlock();
    const line = parent.appendChild({ text: "key: value", tags: ["line"] });
    const [before, after] = line.splitPrefix(": ")!;
    expect([before.text, after.text, after.tags]).toEqual(["key: ", "value", ["line"]]);
    expect(parent.children).toEqual([before, after]);
    const [left, right] = after.splitPostfix(/l/)!;
    expect([left.text, right.text]).toEqual(["va", "lue"]);
    expect(line.splitPrefix("nowhere")).toBeNull();
    expect(parent.text).toBe("key: value");
  });
});
