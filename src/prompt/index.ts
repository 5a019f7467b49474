export type { Attrs, AttrValue, BlockInit, BlockState, Role } from "./block-facts.ts";
export type { PromptBuilder } from "./builder.ts";
export { Chunk, type ChunkInit, type ChunkStyle } from "./chunk.ts";
export { type Confidence, confidenceOf, type UnsureSpan, unsureSpans } from "./confidence.ts";
export { diffTrees, type TreeDiff } from "./diff.ts";
export { type Edit, type EditListener, inverse, type Step } from "./edits.ts";
export { decodeEntities } from "./entities.ts";
export { countedIds, type IdSource } from "./ids.ts";
export { MarkdownParser, parseMarkdown } from "./markdown-parser.ts";
export { Mutator, registerMutator } from "./mutators.ts";
export { type Diagnostic, type Parsed, type ParseEvent, reduceEvents } from "./parse-events.ts";
export { type Piece, prompt } from "./prompt.ts";
export { PromptBlock, type TextOptions } from "./prompt-block.ts";
export { type Message, render, Rendered, type RenderedSpan } from "./render.ts";
export type { StoredItem, StoredTree } from "./stored.ts";
export {
  type ParserOptions,
  parseXml,
  type TagShape,
  XmlParser,
  type XmlParserOptions,
} from "./xml-parser.ts";
