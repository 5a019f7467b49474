import { Random } from "../../src/base/index.ts";
import { type Chunk, PromptBlock } from "../../src/prompt/index.ts";

/** Checks what must hold of every tree, from nothing but its contents; gives what is wrong. */
export function faultsOf(root: PromptBlock): string[] {
  const faults: string[] = [];
  const whole = root.text;
  const check = (what: string, found: unknown, wanted: unknown): void => {
    if (found !== wanted) faults.push(`${what}: ${String(found)} instead of ${String(wanted)}`);
  };
  const visit = (block: PromptBlock, start: number, depth: number): number => {
    check("start", block.start, start);
    check("depth", block.depth, depth);
    check("root", block.root, root);
    let at = start;
    for (const content of block.contents()) {
      check("parent", content.parent, block);
      if (content.kind === "block") at = visit(content, at, depth + 1);
      else {
        check("chunk start", content.start, at - start);
        check("chunk end", content.end, at - start + content.text.length);
        check("chunk text", content.text, whole.slice(at, at + content.text.length));
        if (content.text === "") faults.push("an empty chunk");
        at += content.text.length;
      }
    }
    check("end", block.end, at);
    check("text", block.text, whole.slice(start, at));
    check("length", block.length, at - start);
    return at;
  };
  check("whole length", visit(root, 0, 0), whole.length);
  return faults;
}

/** A tree without its ids, to compare what was built on different ways. */
export function shapeOf(block: PromptBlock): unknown {
  return block.toJSON().items.map((item) => ({ ...item, id: undefined }));
}

/** The same without the cuts between chunks: each character with its logprob and style. */
export function charactersOf(block: PromptBlock): unknown {
  return Array.from(block.walk()).flatMap((item): unknown[] => {
    if (item.kind === "end") return ["end"];
    if (item.kind === "block") return [{ tags: item.tags, style: item.style, attrs: item.attrs }];
    return item.text.split("").map((char) => [char, item.style, item.logprob]);
  });
}

/** Cuts a text into pieces of any length, empty ones and halves of characters included. */
export function cut(text: string, random: Random, longest = 9): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const length = random.below(longest + 1);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

const TEXTS = [
  "a",
  "some words",
  "\n",
  "x < y",
  "a & b",
  "- item",
  "# no",
  "😀",
  "é日",
  "```",
  "</x>",
  "&lt;",
  " ",
];

export class RandomTree {
  readonly root: PromptBlock;
  readonly random: Random;
  readonly #isStyled: boolean;

  constructor(seed: number, isStyled: boolean) {
    this.random = new Random(seed);
    this.#isStyled = isStyled;
    this.root = new PromptBlock({ id: "root" });
  }

  block(): PromptBlock {
    return this.random.pick([...this.root.depthFirst()]);
  }

  text(): string {
    return Array.from({ length: this.random.below(4) }, () => this.random.pick(TEXTS)).join("");
  }

  /** A place between characters. */
  offset(block: PromptBlock): number {
    const { text } = block;
    const at = this.random.below(text.length + 1);
    const isInside = at > 0 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
    return isInside ? at - 1 : at;
  }

  fresh(): PromptBlock {
    const style = this.#isStyled
      ? this.random.pick([
          [],
          ["xml"],
          ["list"],
          ["numbered"],
          ["code"],
          ["markdown"],
          ["xml", "lines"],
        ])
      : [];
    const child = new PromptBlock({ style, tags: ["t"], role: this.random.pick([null, "user"]) });
    child.append(this.text());
    if (this.random.below(3) === 0) child.appendChild("inner");
    return child;
  }

  /** One random edit, told as what it does to the plain text of the whole. */
  edit(model: string): string {
    const { random } = this;
    const block = this.block();
    const { start, end } = block;
    const text = this.text();
    const put = (at: number, removed: number, added: string): string =>
      model.slice(0, at) + added + model.slice(at + removed);
    switch (random.below(this.#isStyled ? 13 : 12)) {
      case 0:
      case 1:
        block.append(text, { logprob: random.pick([null, -0.5]) });
        return put(end, 0, text);
      case 2:
        block.prepend(text);
        return put(start, 0, text);
      case 3: {
        const at = this.offset(block);
        block.insert(at, text);
        return put(start + at, 0, text);
      }
      case 4: {
        const [from, to] = [this.offset(block), this.offset(block)].toSorted((a, b) => a - b);
        block.replace(from!, to!, text);
        return put(start + from!, to! - from!, text);
      }
      case 5: {
        const [from, to] = [this.offset(block), this.offset(block)].toSorted((a, b) => a - b);
        block.delete(from!, to!);
        return put(start + from!, to! - from!, "");
      }
      case 6: {
        const at = this.offset(block);
        if (block.isRoot && this.root.children.length < 3) return model;
        const rest = block.split(at)[1];
        return block.isRoot ? put(start + at, rest.length, "") : model;
      }
      case 7: {
        const child = this.fresh();
        const added = child.text;
        block.appendChild(child);
        return put(end, 0, added);
      }
      case 8: {
        const child = this.fresh();
        const added = child.text;
        const { children } = block;
        const index = random.below(children.length + 1);
        const at = children[index]?.start ?? end;
        block.insertChild(index, child);
        return put(at, 0, added);
      }
      case 9: {
        if (block.parent === null) return model;
        const { text: gone } = block;
        const keepText = random.below(2) === 0;
        block.parent.removeChild(block, { keepText });
        return keepText ? model : put(start, gone.length, "");
      }
      case 10: {
        const target = this.block();
        if (block.parent === null || [...target.ancestors()].includes(block)) return model;
        const moved = block.text;
        const others = target.children.filter((child) => child !== block);
        const index = random.below(others.length + 1);
        block.move(target, index);
        const without = put(start, moved.length, "");
        const at = block.start;
        return without.slice(0, at) + moved + without.slice(at);
      }
      case 11:
        block.set({ attrs: { n: random.below(9) }, tags: ["t", text] });
        return model;
      default: {
        const style = random.pick([
          "xml",
          "list",
          "numbered",
          "code",
          "markdown",
          "default",
          "root",
        ]);
        using section = block.open("Part", { style });
        section.append(text);
        if (random.below(2) === 0) section.appendChild("child");
        return model;
      }
    }
  }
}

export function chunksOf(block: PromptBlock): Chunk[] {
  return Array.from(block.walk()).filter((item) => item.kind === "chunk");
}
