import type { z } from "zod";
import {
  type Confidence,
  confidenceOf,
  type Diagnostic,
  type ParserOptions,
  type PromptBlock,
  render,
  type TagShape,
  type UnsureSpan,
  unsureSpans,
  XmlParser,
} from "../index.ts";
import { type Field, fieldOf } from "./fields.ts";
import { instructionsFor } from "./instructions.ts";
import { tagShape } from "./shape.ts";
import { type Found, valueIn } from "./values.ts";

/** A value of which anything may still be missing. */
export type Partly<Type> = Type extends readonly (infer Item)[]
  ? Partly<Item>[]
  : Type extends object
    ? { [Key in keyof Type]?: Partly<Type[Key]> }
    : Type;

export interface SchemaError {
  readonly path: readonly (string | number)[];
  readonly code: "missing" | "truncated" | "invalid";
  readonly message: string;
  /** Where in the text: of what is missing, the block in which it should stand. */
  readonly start: number;
  readonly end: number;
}

export interface FieldConfidence extends Confidence {
  readonly path: readonly (string | number)[];
}

interface Ended<Type> {
  readonly tree: PromptBlock;
  readonly diagnostics: readonly Diagnostic[];
  readonly partial: Partly<Type> | undefined;
  /** How sure the model was of each field that has logprobs. */
  readonly confidence: readonly FieldConfidence[];
}

export type SchemaResult<Type> = Ended<Type> &
  (
    | { readonly ok: true; readonly value: Type }
    | { readonly ok: false; readonly errors: readonly SchemaError[] }
  );

/**
 * A zod schema as a form of XML: what a model is told, how its answer is read, and what it means.
 *
 * An object is an element with an element for each key; `.meta({ attribute: true })` makes a key an
 * attribute. A list is an element with one `<item>` for each, or what `.meta({ item: "call" })` says. What tells the
 * options of a discriminated union apart is an attribute. Everything else that is not text, a number,
 * true, false or one of several words stands as JSON.
 */
export class PromptSchema<Schema extends z.ZodType> {
  readonly name: string;
  readonly schema: Schema;
  readonly shape: TagShape;
  readonly #field: Field;

  constructor(name: string, schema: Schema) {
    this.name = name;
    this.schema = schema;
    this.#field = fieldOf(schema);
    const inside = tagShape([this.#field]);
    this.shape = { child: (tag) => (tag === name ? inside : null) };
  }

  /** What the model is told, as a tree to be put into a prompt. */
  instructions(): PromptBlock {
    return instructionsFor(this.name, this.#field);
  }

  instructionText(): string {
    return render(this.instructions()).text;
  }

  stream(options: ParserOptions = {}): SchemaStream<Schema> {
    return new SchemaStream(this, this.#field, options);
  }

  parse(text: string): SchemaResult<z.infer<Schema>> {
    const stream = this.stream();
    stream.feed(text);
    return stream.end();
  }
}

/** Reads one answer while it comes in. */
export class SchemaStream<Schema extends z.ZodType> {
  readonly #schema: PromptSchema<Schema>;
  readonly #field: Field;
  readonly #parser: XmlParser;

  constructor(schema: PromptSchema<Schema>, field: Field, options: ParserOptions) {
    this.#schema = schema;
    this.#field = field;
    this.#parser = new XmlParser({ ...options, shape: schema.shape });
  }

  feed(text: string, logprob: number | null = null): void {
    this.#parser.feed(text, logprob);
  }

  get tree(): PromptBlock {
    return this.#parser.tree;
  }

  /** What is known so far; undefined before the answer began. */
  get partial(): Partly<z.infer<Schema>> | undefined {
    return this.#found(false)?.value as Partly<z.infer<Schema>> | undefined;
  }

  /** Stretches of the answer's text, tags apart, of which the model was not sure. */
  unsure(below?: number): UnsureSpan[] {
    return unsureSpans(this.tree, below);
  }

  end(): SchemaResult<z.infer<Schema>> {
    const { tree, diagnostics } = this.#parser.end();
    const found = this.#found(true);
    const confidence = (found?.places ?? []).flatMap(({ path, block, isLeaf }) => {
      const measured = isLeaf ? confidenceOf(block) : null;
      return measured === null ? [] : [{ path, ...measured }];
    });
    const partial = found?.value as Partly<z.infer<Schema>> | undefined;
    const ended = { tree, diagnostics, partial, confidence };
    const errors = found === null ? [this.#missing(tree)] : this.#errors(found, diagnostics);
    if (errors.length > 0) return { ...ended, ok: false, errors };
    return { ...ended, ok: true, value: this.#schema.schema.parse(found!.value) };
  }

  #found(isEnd: boolean): Found | null {
    const root = this.tree.children.find(({ tags }) => tags[0] === this.#schema.name);
    return root === undefined ? null : valueIn(root, this.#field, isEnd);
  }

  #missing(tree: PromptBlock): SchemaError {
    const message = `There is no <${this.#schema.name}> in the text.`;
    return { path: [], code: "missing", message, start: 0, end: tree.length };
  }

  #errors({ value, places }: Found, diagnostics: readonly Diagnostic[]): SchemaError[] {
    const unfinished = new Set(
      diagnostics.flatMap(({ code, offset }) => (code === "truncated" ? [offset] : [])),
    );
    const truncated = places.findLast(({ block }) => unfinished.has(block.start));
    const errors: SchemaError[] = [];
    if (truncated !== undefined) {
      const { path, block } = truncated;
      const message = `The text ends inside <${block.tags[0]}>.`;
      errors.push({ path, code: "truncated", message, start: block.start, end: block.end });
    }
    const checked = this.#schema.schema.safeParse(value);
    for (const issue of checked.error?.issues ?? []) {
      const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
      const at = (length: number): Found["places"][number] | undefined =>
        places.find(
          (place) =>
            place.path.length === length && place.path.every((step, index) => step === path[index]),
        );
      let length = path.length;
      while (at(length) === undefined && length > 0) length--;
      const { block } = at(length)!;
      const isMissing = length < path.length && valueAt(value, path) === undefined;
      errors.push({
        path,
        code: isMissing ? "missing" : "invalid",
        message: isMissing ? `<${path.at(-1)}> is missing in <${block.tags[0]}>.` : issue.message,
        start: block.start,
        end: block.end,
      });
    }
    return errors;
  }
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce((found, step) => (Object(found) as { [name: string]: unknown })[step], value);
}
