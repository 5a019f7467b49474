import * as z from "zod";
import type { Tool } from "../../tools/index.ts";

/** A JSON Schema, as much of it as is touched here. */
interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: unknown;
  readonly description?: string;
  readonly const?: unknown;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
}

type Json = z.infer<ReturnType<typeof z.json>>;

/** What `tools/list` gives of a tool's arguments. */
export interface ModelSchema {
  [keyword: string]: unknown;
  type: "object";
  properties: { [name: string]: { [keyword: string]: Json } };
  required?: string[];
}

/** What a connection decides, not a model: it is still taken when somebody passes it. */
const notForModels = new Set(["reader", "call_id"]);

/** Clients choke on these, or they cost tokens and tell a model nothing. Arguments are checked all the same. */
const dropped = new Set([
  "$schema",
  "$defs",
  "additionalProperties",
  "propertyNames",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
]);

/** A tool's arguments as models are shown them: small, and without what some clients cannot read. */
export function modelSchema({ input }: Pick<Tool, "input">): ModelSchema {
  const { properties = {}, ...schema } = simplified(
    z.toJSONSchema(input, { io: "input" }) as Schema,
  );
  const shown = Object.entries(properties).filter(([name]) => !notForModels.has(name));
  return { ...schema, type: "object", properties: Object.fromEntries(shown) } as ModelSchema;
}

function simplified(schema: Schema): Schema {
  // Any JSON at all: what refers to itself is nothing a model needs spelled out.
  if ("$ref" in schema)
    return schema.description === undefined ? {} : { description: schema.description };
  const kept = Object.entries(schema).filter(
    ([keyword, value]) =>
      !dropped.has(keyword) && !(typeof value === "number" && !isTelling(keyword, value)),
  );
  const { properties, items, oneOf, anyOf, ...rest } = Object.fromEntries(kept) as Schema;
  return {
    ...rest,
    ...(oneOf !== undefined && merged(oneOf.map(simplified))),
    ...(anyOf !== undefined && { anyOf: anyOf.map(simplified) }),
    ...(items !== undefined && { items: simplified(items) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, simplified(each)]),
      ),
    }),
  };
}

function isTelling(keyword: string, value: number): boolean {
  if (keyword === "maximum") return value < Number.MAX_SAFE_INTEGER;
  return keyword !== "minimum" || value > 0;
}

/**
 * Objects that one constant tells apart as one object: the constants become a choice, and what only some of
 * them have says which.
 */
function merged(variants: readonly Schema[]): Schema {
  const tag = Object.entries(variants[0]?.properties ?? {}).find(
    ([, property]) => property.const !== undefined,
  )?.[0];
  if (tag === undefined) return { oneOf: variants };
  const names = new Set(variants.flatMap(({ properties = {} }) => Object.keys(properties)));
  const properties = [...names].map((name) => {
    const having = variants.filter((variant) => variant.properties?.[name] !== undefined);
    const kinds = having.map((variant) => variant.properties![tag]!.const);
    if (name === tag) return [name, { type: "string", enum: kinds }] as const;
    const [{ description, ...property }] = having.map((each) => each.properties![name]!) as [
      Schema,
    ];
    const where = having.length < variants.length ? `for ${kinds.join(" and ")}` : undefined;
    const told = [where, description].filter((each) => each !== undefined).join(": ");
    return [name, { ...property, ...(told !== "" && { description: told }) }] as const;
  });
  const required = [...names].filter((name) =>
    variants.every((variant) => variant.required?.includes(name) === true),
  );
  return { type: "object", properties: Object.fromEntries(properties), required };
}
