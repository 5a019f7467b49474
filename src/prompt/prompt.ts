import type { BlockInit } from "./block-facts.ts";
import { PromptBuilder } from "./builder.ts";
import { Chunk, type ChunkInit } from "./chunk.ts";
import { parseMarkdown } from "./markdown-parser.ts";
import { PromptBlock } from "./prompt-block.ts";
import { loadTree, type StoredTree } from "./stored.ts";
import { parseXml, type XmlParserOptions } from "./xml-parser.ts";

/** What a template may hold: text, numbers, blocks, lists of these; null, undefined and false are nothing. */
export type Piece =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | PromptBlock
  | readonly Piece[];

/** A block from a template. The indentation that all its lines share is not part of it. */
function template(strings: TemplateStringsArray, ...pieces: readonly Piece[]): PromptBlock {
  const block = new PromptBlock();
  for (const [index, text] of dedented(strings).entries()) {
    block.append(text);
    add(block, pieces[index]);
  }
  return block;
}

function add(block: PromptBlock, piece: Piece): void {
  if (piece === null || piece === undefined || typeof piece === "boolean") return;
  if (piece instanceof PromptBlock) block.appendChild(piece);
  else if (typeof piece === "object") for (const each of piece) add(block, each);
  else block.append(String(piece));
}

function dedented({ raw, ...cooked }: TemplateStringsArray): string[] {
  const texts = raw.map((_, index) => cooked[index]!);
  const indents = texts.flatMap((text) =>
    Array.from(text.matchAll(/\n([ \t]*)(?=[^\s]|$)/g), ([, indent]) => indent!.length),
  );
  // The line before the closing backtick says nothing about the others, unless it is the only one.
  const last = /\n[ \t]*$/.test(texts.at(-1)!) ? indents.slice(0, -1) : indents;
  const shared = Math.min(...(last.length > 0 ? last : [0]));
  const lines = texts.map((text) =>
    text.replaceAll(/\n[ \t]*/g, (line) => `\n${line.slice(shared + 1)}`),
  );
  lines[0] = lines[0]!.replace(/^\n/, "");
  lines[lines.length - 1] = lines.at(-1)!.replace(/\n[ \t]*$/, "");
  return lines;
}

/** Ways to begin a tree. */
export const prompt: typeof template & {
  from(text: string, init?: BlockInit): PromptBlock;
  fromChunks(chunks: Iterable<ChunkInit | string>, init?: BlockInit): PromptBlock;
  fromMarkdown(text: string): PromptBlock;
  fromXml(text: string, options?: XmlParserOptions): PromptBlock;
  fromJSON(stored: StoredTree): PromptBlock;
  build(init?: BlockInit): PromptBuilder;
} = Object.assign(template, {
  from: (text: string, init: BlockInit = {}) => new PromptBlock({ ...init, text }),
  fromChunks(chunks: Iterable<ChunkInit | string>, init: BlockInit = {}) {
    const block = new PromptBlock(init);
    for (const given of chunks) {
      const {
        text,
        style = "content",
        logprob = null,
        id,
      } = typeof given === "string" ? { text: given } : given;
      if (text === "") continue;
      block.tree.splice(block, block.closing, 0, [new Chunk(text, style, logprob, id)]);
    }
    return block;
  },
  fromMarkdown: (text: string) => parseMarkdown(text).tree,
  fromXml: (text: string, options: XmlParserOptions = {}) => parseXml(text, options).tree,
  fromJSON: (stored: StoredTree) => loadTree(stored),
  build: (init: BlockInit = {}) => new PromptBuilder(new PromptBlock(init)),
});
