import type { Attrs, AttrValue } from "./block-facts.ts";
import { decodeEntities } from "./entities.ts";
import { FenceScan } from "./fence-scan.ts";
import type { IdSource } from "./ids.ts";
import type { Diagnostic, ParseEvent, Parsed } from "./parse-events.ts";
import type { PromptBlock } from "./prompt-block.ts";
import { Source } from "./source.ts";
import { type Scanned, TagScan } from "./tag-scan.ts";
import { TreeWriter } from "./tree-writer.ts";

/** Which tags are structure below a place; null: the tag is text there. */
export interface TagShape {
  child(name: string): TagShape | null;
}

export interface ParserOptions {
  readonly onEvent?: ((event: ParseEvent) => void) | undefined;
  /** Ids for what is built; without it they are made when somebody asks for one. */
  readonly ids?: IdSource | undefined;
}

export interface XmlParserOptions extends ParserOptions {
  /** Tags that are structure wherever they stand; all others are text. Without it every tag is. */
  readonly tags?: readonly string[] | undefined;
  /** Says of every place which tags are structure. */
  readonly shape?: TagShape | undefined;
  /** Whether a code fence becomes a block in which no tag counts. Yes, unless it is false. */
  readonly fences?: boolean | undefined;
}

/** Tags nested deeper are text: a tree that nobody meant should not be one that nobody can store. */
const DEEPEST = 1_000;

/** Shorter pieces are looked through faster than searched. */
const SHORT = 24;

const ANY: TagShape = { child: () => ANY };
/** What is being read. Numbers, because it is asked for every tag. */
const TEXT = 0;
const TAG = 1;
const COMMENT = 2;
const CDATA = 3;
const FENCE_OPENING = 4;
const FENCE = 5;

const XML: readonly string[] = Object.freeze(["xml"]);
const CODE: readonly string[] = Object.freeze(["code"]);
const NONE: Attrs = Object.freeze({});

/**
 * Reads XML as models write it, piece by piece. It never throws and loses nothing: what is not a tag
 * is text, and the text of the tree is always the input.
 *
 * The tree belongs to the parser until `end`.
 */
export class XmlParser {
  readonly #writer: TreeWriter;
  readonly #source = new Source();
  readonly #tag = new TagScan();
  readonly #fence: FenceScan | null;
  readonly #diagnostics: Diagnostic[] = [];
  /** What may stand in each of the open blocks. */
  readonly #shapes: TagShape[];
  readonly #tags = new Map<string, readonly string[]>();
  readonly #recent: (readonly string[] | undefined)[] = Array.from({ length: 64 });
  /** How many tags of a name began as text in the innermost block: as many ends are text. */
  readonly #textual = new Map<string, number>();
  #mode = TEXT;
  #ended = false;

  constructor(options: XmlParserOptions = {}) {
    const { onEvent, ids, fences = true } = options;
    this.#writer = new TreeWriter({ onEvent, ids });
    this.#fence = fences ? new FenceScan({ tags: true }) : null;
    this.#shapes = [options.shape ?? shapeOf(options.tags)];
  }

  /** As far as it has been read. */
  get tree(): PromptBlock {
    return this.#writer.root;
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics;
  }

  /** The next piece of the input, of any length. */
  feed(text: string, logprob: number | null = null): void {
    if (text === "" || this.#ended) return;
    const source = this.#source;
    // Most pieces are short, go on with a text, and have nothing in them that could be markup.
    if (
      this.#mode === TEXT &&
      logprob === null &&
      text.length < SHORT &&
      nextMark(text, 0) === text.length
    ) {
      if (source.isEmpty && this.#writer.goOn(text)) {
        source.pass(text);
        return;
      }
    }
    source.add(text, logprob);
    this.#read(false);
  }

  /** The input is over: what is still open is closed and reported. */
  end(): Parsed {
    if (!this.#ended) {
      this.#ended = true;
      this.#read(true);
      this.#finish();
    }
    return { tree: this.tree, diagnostics: this.#diagnostics };
  }

  #read(isLast: boolean): void {
    const source = this.#source;
    while (source.at < source.text.length) {
      const from = source.at;
      const mode = this.#mode;
      if (mode === TEXT) {
        // What ends a text is most often a tag, and all of it is there.
        this.#readText();
        if (this.#mode === TAG) this.#readTag(isLast);
        if (source.at === from && this.#mode !== FENCE_OPENING) return;
        continue;
      }
      if (mode === TAG) this.#readTag(isLast);
      else if (mode === COMMENT) this.#readUntil("-->", "comment", "comment", isLast);
      else if (mode === CDATA) this.#readUntil("]]>", "cdata", "markup", isLast);
      else if (mode === FENCE_OPENING) this.#readFenceOpening(isLast);
      else this.#readFence(isLast);
      if (source.at === from && this.#mode === mode) return;
    }
  }

  #readText(): void {
    const source = this.#source;
    const { text, at } = source;
    const isShort = text.length - at < SHORT;
    const mark = isShort ? nextMark(text, at) : at;
    const less = isShort && text.charCodeAt(mark) === 60 ? mark : text.indexOf("<", mark);
    const hasFence = less !== mark && mark < text.length;
    const fence = hasFence
      ? (this.#fence?.next(source, less === -1 ? text.length : less) ?? -1)
      : -1;
    const to = fence !== -1 ? fence : less;
    source.take(to === -1 ? text.length : to, "content", this.#writer);
    if (to === -1) return;
    if (fence !== -1) this.#mode = FENCE_OPENING;
    else {
      this.#mode = TAG;
      this.#tag.reset();
    }
  }

  #readTag(isLast: boolean): void {
    const source = this.#source;
    const scanned = this.#tag.read(source);
    if (scanned === "more") {
      if (!isLast) return;
      this.#report("truncated", "The input ends inside a tag, which is text.", source.offset);
    }
    this.#mode = TEXT;
    if (!this.#take(scanned)) this.#takeLess();
  }

  /** What begins with a `<` and is no markup. */
  #takeLess(): void {
    this.#source.take(this.#source.at + 1, "content", this.#writer);
  }

  #take(scanned: Scanned): boolean {
    const source = this.#source;
    const end = source.at + this.#tag.length;
    switch (scanned) {
      case "open":
      case "empty":
        return this.#takeOpening(end, scanned === "empty");
      case "close":
        return this.#takeClosing(end);
      case "comment":
        this.#mode = COMMENT;
        source.take(end, "comment", this.#writer);
        return true;
      case "cdata":
        this.#mode = CDATA;
        source.take(end, "markup", this.#writer);
        return true;
      default:
        return false;
    }
  }

  #takeOpening(end: number, isEmpty: boolean): boolean {
    const source = this.#source;
    const { text, at } = source;
    const nameEnd = at + this.#tag.nameEnd;
    const tags = this.#tagsAt(text, at + 1, nameEnd);
    const shape = this.#shapes[this.#shapes.length - 1]!.child(tags[0]!);
    if (shape === null) {
      if (!isEmpty) this.#noteTextual(tags[0]!);
      return false;
    }
    if (this.#shapes.length > DEEPEST) {
      this.#report("too_deep", `<${tags[0]}> is nested too deeply, and is text.`, source.offset);
      return false;
    }
    this.#textual.clear();
    const attrsEnd = isEmpty ? end - 2 : end - 1;
    this.#writer.open(XML, tags, attrsEnd === nameEnd ? NONE : attrsIn(text, nameEnd, attrsEnd));
    source.take(end, "prefix", this.#writer);
    this.#fence?.lineStartsAt(source.offset);
    if (isEmpty) this.#writer.close("closed");
    else this.#shapes.push(shape);
    return true;
  }

  #takeClosing(end: number): boolean {
    const source = this.#source;
    const { text, at, offset } = source;
    const length = this.#tag.nameEnd - 2;
    let { block } = this.#writer;
    if (this.#textual.size > 0 && this.#isTextual(text.slice(at + 2, at + 2 + length)))
      return false;
    while (!isNamed(block, text, at + 2, length)) {
      if (block.parent === null)
        return this.#strayClosing(text.slice(at + 2, at + 2 + length), offset);
      block = block.parent;
    }
    this.#textual.clear();
    while (this.#writer.block !== block) {
      const { block: inner } = this.#writer;
      const message = `<${inner.tags[0]}> is not closed before </${block.tags[0]}>.`;
      this.#report("unclosed", message, inner.start);
      this.#shapes.pop();
      this.#writer.close("implied");
    }
    source.take(end, "postfix", this.#writer);
    this.#shapes.pop();
    this.#writer.close("closed");
    this.#fence?.lineStartsAt(source.offset);
    return true;
  }

  /** Its own tag within a text is more likely spoken of than meant to be closed. */
  #noteTextual(name: string): void {
    if (name === this.#writer.block.tags[0]) return;
    this.#textual.set(name, (this.#textual.get(name) ?? 0) + 1);
  }

  #isTextual(name: string): boolean {
    const count = this.#textual.get(name) ?? 0;
    if (count > 0) this.#textual.set(name, count - 1);
    return count > 0;
  }

  /** Where the tag would be text, its end is text too, and nothing is odd about it. */
  #strayClosing(name: string, offset: number): false {
    if (this.#shapes.at(-1)!.child(name) !== null) {
      this.#report("stray_close", `</${name}> closes nothing that is open, and is text.`, offset);
    }
    return false;
  }

  /** Comments and CDATA: their text is written as it comes, but for what may be the end's beginning. */
  #readUntil(ending: string, style: string, endStyle: string, isLast: boolean): void {
    const source = this.#source;
    const { text, at } = source;
    const found = text.indexOf(ending, at);
    if (found !== -1) {
      source.take(found, style, this.#writer);
      source.take(found + ending.length, endStyle, this.#writer);
      this.#mode = TEXT;
      return;
    }
    let kept = isLast ? 0 : Math.min(ending.length - 1, text.length - at);
    while (kept > 0 && !ending.startsWith(text.slice(text.length - kept))) kept--;
    source.take(text.length - kept, style, this.#writer);
  }

  #readFenceOpening(isLast: boolean): void {
    const source = this.#source;
    const opening = this.#fence!.opening(source, isLast);
    if (opening === "more") return;
    this.#mode = TEXT;
    if (opening === "text") {
      source.take(source.at + this.#fence!.run, "content", this.#writer);
      return;
    }
    const { language } = opening;
    this.#writer.open(CODE, language === "" ? undefined : this.#tagsOf(language));
    source.take(opening.end, "prefix", this.#writer);
    this.#shapes.push(ANY);
    this.#mode = FENCE;
  }

  #readFence(isLast: boolean): void {
    const source = this.#source;
    const line = this.#fence!.line(source, isLast);
    source.take(line.content, "content", this.#writer);
    if (line.end === -1) return;
    source.take(line.end, "postfix", this.#writer);
    this.#shapes.pop();
    this.#writer.close("closed");
    this.#mode = TEXT;
  }

  #finish(): void {
    if (this.#mode === COMMENT || this.#mode === CDATA) {
      this.#report(
        "truncated",
        `The input ends inside a ${this.#mode === COMMENT ? "comment" : "CDATA section"}.`,
        this.#source.offset,
      );
    }
    for (let { block } = this.#writer; block.parent !== null; { block } = this.#writer) {
      const what = block.style === CODE ? "A code fence" : `<${block.tags[0]}>`;
      this.#report("truncated", `${what} is still open where the input ends.`, block.start);
      this.#writer.close("truncated");
    }
    this.#writer.close("closed");
  }

  /** The same for a name within a text, which is not copied when it came before. */
  #tagsAt(text: string, from: number, to: number): readonly string[] {
    const slot = (text.charCodeAt(from) * 31 + text.charCodeAt(to - 1) * 7 + to - from) & 63;
    const recent = this.#recent[slot];
    if (recent !== undefined && isAt(recent[0]!, text, from, to)) {
      return recent;
    }
    const tags = this.#tagsOf(text.slice(from, to));
    this.#recent[slot] = tags;
    return tags;
  }

  #tagsOf(name: string): readonly string[] {
    let tags = this.#tags.get(name);
    if (tags === undefined) {
      tags = Object.freeze([name]);
      this.#tags.set(name, tags);
    }
    return tags;
  }

  #report(code: Diagnostic["code"], message: string, offset: number): void {
    this.#diagnostics.push({ code, message, offset });
  }
}

function shapeOf(tags: readonly string[] | undefined): TagShape {
  if (tags === undefined) return ANY;
  const known = new Set(tags);
  const shape: TagShape = { child: (name) => (known.has(name) ? shape : null) };
  return shape;
}

/** Between two indices, attributes that the scan found well formed. One without a value is true. */
function attrsIn(text: string, from: number, to: number): Attrs {
  let attrs: { [name: string]: AttrValue } | undefined;
  let at = from;
  for (;;) {
    at = skipSpace(text, at, to);
    if (at >= to) return attrs ?? NONE;
    const nameEnd = wordEnd(text, at, to, true);
    const name = text.slice(at, nameEnd);
    let value: AttrValue = true;
    at = skipSpace(text, nameEnd, to);
    if (text.charCodeAt(at) === 61) {
      at = skipSpace(text, at + 1, to);
      const quote = text[at];
      const isQuoted = quote === '"' || quote === "'";
      const end = isQuoted ? text.indexOf(quote, at + 1) : wordEnd(text, at, to, false);
      value = decodeEntities(text.slice(isQuoted ? at + 1 : at, end));
      at = isQuoted ? end + 1 : end;
    }
    attrs ??= {};
    // Assigning __proto__ would not make an attribute.
    if (name === "__proto__") Object.defineProperty(attrs, name, { value, enumerable: true });
    else attrs[name] = value;
  }
}

/** Where something stands that may be markup: `<`, a backtick or a tilde; else the end. */
function nextMark(text: string, from: number): number {
  let index = from;
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 60 || code === 96 || code === 126) break;
  }
  return index;
}

function skipSpace(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && text.charCodeAt(at) <= 32) at++;
  return at;
}

/** The next space, or, behind a name, `=` or `/`. */
function wordEnd(text: string, from: number, to: number, isName: boolean): number {
  let at = from;
  for (; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code <= 32 || (isName && (code === 61 || code === 47))) break;
  }
  return at;
}

function isNamed(block: PromptBlock, text: string, from: number, length: number): boolean {
  const name = block.tags[0];
  return name !== undefined && isAt(name, text, from, from + length);
}

/** As startsWith, which is slower for words as short as names. */
function isAt(word: string, text: string, from: number, to: number): boolean {
  if (word.length !== to - from) return false;
  for (let index = 0; index < word.length; index++) {
    if (word.charCodeAt(index) !== text.charCodeAt(from + index)) return false;
  }
  return true;
}

/** The tree of a whole text. */
export function parseXml(text: string, options: XmlParserOptions = {}): Parsed {
  const parser = new XmlParser(options);
  parser.feed(text);
  return parser.end();
}
