/** A document like those that models write, always the same, and the trees that peers build of it. */
import { Parser } from "htmlparser2";
import { SaxesParser } from "saxes";
import { Random } from "../../src/base/index.ts";
import { type PromptBlock, XmlParser } from "../../src/prompt/index.ts";
import { Words } from "./words.ts";

/** Steps with a thought and a tool call in each: a tag for about every forty characters. */
export function modelDocument(characters: number): string {
  const words = new Words(6);
  const random = new Random(7);
  const prose = (count: number): string =>
    Array.from({ length: count }, () => words.next()).join(" ");
  const parts: string[] = ["<answer>\n"];
  for (let length = 0; length < characters;) {
    const part = `<step n="${random.below(100)}">
<thought>${prose(30 + random.below(40))}</thought>
<call name="search" id='c${random.below(1000)}'><query>${prose(5)}</query><limit>${random.below(50)}</limit></call>
</step>
`;
    parts.push(part);
    length += part.length;
  }
  parts.push("</answer>");
  return parts.join("");
}

interface PeerNode {
  readonly name: string;
  readonly attributes: { readonly [name: string]: unknown };
  readonly children: (PeerNode | string)[];
}

/** Pieces are cut beforehand, so that cutting is in nobody's time. */
export function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
}

export function readOurs(fed: readonly string[]): PromptBlock {
  const parser = new XmlParser();
  for (const piece of fed) parser.feed(piece);
  return parser.end().tree;
}

/** Elements, attributes and text, joined where it stands side by side, as in our tree. */
class PeerTree {
  readonly root: PeerNode = { name: "", attributes: {}, children: [] };
  readonly #open: PeerNode[] = [this.root];

  open(name: string, attributes: PeerNode["attributes"]): void {
    const node: PeerNode = { name, attributes, children: [] };
    this.#open.at(-1)!.children.push(node);
    this.#open.push(node);
  }

  text(text: string): void {
    const { children } = this.#open.at(-1)!;
    const last = children.at(-1);
    if (typeof last === "string") children[children.length - 1] = last + text;
    else children.push(text);
  }

  close(): void {
    this.#open.pop();
  }
}

export function readSaxes(fed: readonly string[]): PeerNode {
  const tree = new PeerTree();
  const parser = new SaxesParser({});
  parser.on("opentag", ({ name, attributes }) => tree.open(name, attributes));
  parser.on("closetag", () => tree.close());
  parser.on("text", (text) => tree.text(text));
  for (const piece of fed) parser.write(piece);
  parser.close();
  return tree.root;
}

export function readHtmlparser2(fed: readonly string[]): PeerNode {
  const tree = new PeerTree();
  const parser = new Parser(
    {
      onopentag: (name, attributes) => tree.open(name, attributes),
      onclosetag: () => tree.close(),
      ontext: (text) => tree.text(text),
    },
    { xmlMode: true },
  );
  for (const piece of fed) parser.write(piece);
  parser.end();
  return tree.root;
}

/** The same for us and our peers: names, attributes and text. */
export function sameTree(block: PromptBlock, node: PeerNode): boolean {
  const contents = Array.from(block.contents()).filter(
    (content) =>
      content.kind === "block" || (content.style !== "prefix" && content.style !== "postfix"),
  );
  return (
    (block.tags[0] ?? "") === node.name &&
    JSON.stringify(block.attrs) === JSON.stringify(node.attributes) &&
    contents.length === node.children.length &&
    contents.every((content, index) => {
      const child = node.children[index]!;
      return content.kind === "chunk"
        ? content.text === child
        : typeof child !== "string" && sameTree(content, child);
    })
  );
}
