import type { z } from "zod";
import { KumikoError } from "../../base/errors.ts";

/** What a schema means as XML: which element or attribute stands for what. */
export type Field =
  | { readonly kind: "text"; readonly about: About }
  | {
      readonly kind: "scalar";
      readonly type: "number" | "boolean" | "choice";
      readonly about: About;
      readonly choices: readonly unknown[];
    }
  | { readonly kind: "json"; readonly about: About }
  | {
      readonly kind: "object";
      readonly about: About;
      readonly members: ReadonlyMap<string, Member>;
    }
  | {
      readonly kind: "list";
      readonly about: About;
      readonly item: Field;
      readonly itemName: string;
    }
  | {
      readonly kind: "union";
      readonly about: About;
      readonly key: string;
      readonly options: ReadonlyMap<string, Field & { readonly kind: "object" }>;
    };

interface Member {
  readonly field: Field;
  readonly isAttribute: boolean;
}

export interface About {
  readonly description: string;
  readonly isOptional: boolean;
  readonly isNullable: boolean;
}

type Definition = z.core.$ZodTypeDef & { readonly [name: string]: unknown };

/** How a schema's meta says what stands in an attribute, and what the elements of a list are called. */
interface Meta {
  readonly attribute?: boolean;
  readonly item?: string;
  readonly description?: string;
}

export function fieldOf(schema: z.ZodType, given: Partial<About> & { item?: string } = {}): Field {
  const meta = metaOf(schema);
  const about: About = {
    description: given.description || meta.description || "",
    isOptional: given.isOptional ?? false,
    isNullable: given.isNullable ?? false,
  };
  const itemName = given.item ?? meta.item;
  const def = schema.def as unknown as Definition;
  const inner = (more: Partial<About>): Field =>
    fieldOf(def["innerType"] as z.ZodType, {
      ...about,
      ...more,
      ...(itemName !== undefined && { item: itemName }),
    });
  switch (def.type) {
    case "optional":
    case "default":
    case "prefault":
    case "catch":
      return inner({ isOptional: true });
    case "nullable":
      return inner({ isNullable: true });
    case "readonly":
    case "nonoptional":
      return inner({});
    case "pipe":
      return fieldOf(def["in"] as z.ZodType, given);
    case "string":
      return { kind: "text", about };
    case "number":
    case "int":
      return { kind: "scalar", type: "number", about, choices: [] };
    case "boolean":
      return { kind: "scalar", type: "boolean", about, choices: [] };
    case "enum":
      return {
        kind: "scalar",
        type: "choice",
        about,
        choices: Object.values(def["entries"] as object),
      };
    case "literal":
      return { kind: "scalar", type: "choice", about, choices: def["values"] as unknown[] };
    case "object":
      return {
        kind: "object",
        about,
        members: membersOf(def["shape"] as { [name: string]: z.ZodType }),
      };
    case "array":
      return {
        kind: "list",
        about,
        item: fieldOf(def["element"] as z.ZodType),
        itemName: itemName ?? "item",
      };
    case "union":
      return typeof def["discriminator"] === "string"
        ? unionOf(def["discriminator"], def["options"] as z.ZodType[], about)
        : { kind: "json", about };
    default:
      return { kind: "json", about };
  }
}

function membersOf(shape: { [name: string]: z.ZodType }): Map<string, Member> {
  return new Map(
    Object.entries(shape).map(([name, schema]) => {
      if (!/^[A-Za-z_][\w.-]*$/.test(name)) {
        throw new KumikoError(
          "invalid_argument",
          `The key "${name}" cannot be the name of a tag.`,
          { key: name },
        );
      }
      const field = fieldOf(schema);
      const isAttribute = metaOf(schema).attribute === true;
      if (isAttribute && field.kind !== "text" && field.kind !== "scalar") {
        throw new KumikoError(
          "invalid_argument",
          `"${name}" is not plain text, so it cannot be an attribute.`,
          {
            key: name,
          },
        );
      }
      return [name, { field, isAttribute }];
    }),
  );
}

/** The key that tells the options apart is an attribute of the element. */
function unionOf(key: string, options: readonly z.ZodType[], about: About): Field {
  const found = new Map<string, Field & { kind: "object" }>();
  for (const option of options) {
    const field = fieldOf(option);
    const member = field.kind === "object" ? field.members.get(key) : undefined;
    if (field.kind !== "object" || member?.field.kind !== "scalar") return { kind: "json", about };
    const members = new Map(field.members).set(key, { ...member, isAttribute: true });
    for (const choice of member.field.choices) found.set(String(choice), { ...field, members });
  }
  return { kind: "union", about, key, options: found };
}

function metaOf(schema: z.ZodType): Meta {
  return (schema.meta() ?? {}) as Meta;
}
