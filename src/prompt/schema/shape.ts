import type { TagShape } from "../index.ts";
import type { Field } from "./fields.ts";

const TEXT: TagShape = { child: () => null };

/** Which tags are structure: those that the schema has at that place, and no others. */
export function tagShape(fields: readonly Field[]): TagShape {
  const below = new Map<string, Field[]>();
  for (const field of fields) {
    for (const [name, child] of childrenOf(field)) {
      const known = below.get(name);
      if (known === undefined) below.set(name, [child]);
      else known.push(child);
    }
  }
  if (below.size === 0) return TEXT;
  const shapes = new Map<string, TagShape>();
  return {
    child(name) {
      const children = below.get(name);
      if (children === undefined) return null;
      let shape = shapes.get(name);
      if (shape === undefined) {
        shape = tagShape(children);
        shapes.set(name, shape);
      }
      return shape;
    },
  };
}

function childrenOf(field: Field): (readonly [string, Field])[] {
  switch (field.kind) {
    case "object":
      return Array.from(field.members).flatMap(([name, member]) =>
        member.isAttribute ? [] : [[name, member.field] as const],
      );
    case "list":
      return [[field.itemName, field.item]];
    case "union":
      return Array.from(field.options.values()).flatMap(childrenOf);
    default:
      return [];
  }
}
