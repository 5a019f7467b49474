import * as z from "zod";
import type { Tool } from "./define-tool.ts";

/** One argument of a tool as JSON Schema describes it: as much of it as options and pages are made from. */
export interface ArgumentSchema {
  /** Several when it may also be null. */
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly anyOf?: readonly ArgumentSchema[];
  readonly oneOf?: readonly ArgumentSchema[];
  readonly items?: ArgumentSchema;
  readonly properties?: { readonly [name: string]: ArgumentSchema };
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface InputSchema {
  readonly properties: { readonly [name: string]: ArgumentSchema };
  readonly required: readonly string[];
}

/** What a tool takes, as JSON Schema. */
export function inputSchema({ name, input }: Pick<Tool, "name" | "input">): InputSchema {
  const schema = z.toJSONSchema(input, { io: "input" }) as Partial<InputSchema>;
  if (schema.properties === undefined) throw new Error(`${name} does not take an object`);
  return { properties: schema.properties, required: schema.required ?? [] };
}
