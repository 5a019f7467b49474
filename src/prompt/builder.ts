import type { Attrs, BlockInit, Role } from "./block-facts.ts";
import { PromptBlock, type TextOptions } from "./prompt-block.ts";

type Fill = string | ((inside: PromptBuilder) => void);

/** Builds a logical tree in one expression; rendering adds tags, headings, bullets and fences. */
export class PromptBuilder {
  readonly #block: PromptBlock;

  constructor(block: PromptBlock) {
    this.#block = block;
  }

  text(text: string, options: TextOptions = {}): this {
    this.#block.append(text, options);
    return this;
  }

  /** Any block, with what stands in it. */
  block(init: BlockInit, fill: Fill = ""): this {
    return this.child(filled(new PromptBlock(init), fill));
  }

  child(block: PromptBlock): this {
    this.#block.appendChild(block);
    return this;
  }

  xml(name: string, fill: Fill = "", attrs: Attrs = {}): this {
    return this.block({ style: "xml", tags: [name], attrs }, fill);
  }

  heading(title: string, fill: Fill = ""): this {
    return this.block({ style: "markdown", tags: [title] }, fill);
  }

  paragraph(text: string): this {
    return this.block({ style: "paragraph" }, text);
  }

  list(items: readonly Fill[], { numbered = false }: { readonly numbered?: boolean } = {}): this {
    const list = new PromptBlock({ style: numbered ? "numbered" : "list" });
    for (const item of items) list.appendChild(filled(new PromptBlock({ style: "item" }), item));
    return this.child(list);
  }

  code(text: string, language = ""): this {
    return this.block({ style: "code", tags: language === "" ? [] : [language] }, text);
  }

  /** A part that one role says. */
  says(role: Role, fill: Fill): this {
    return this.block({ role, style: "root" }, fill);
  }

  done(): PromptBlock {
    return this.#block;
  }
}

function filled(block: PromptBlock, fill: Fill): PromptBlock {
  if (typeof fill === "string") block.append(fill);
  else fill(new PromptBuilder(block));
  return block;
}
