import { PromptBlock } from "../index.ts";
import type { Field } from "./fields.ts";

/** What a model is told about the form of its answer. */
export function instructionsFor(name: string, field: Field): PromptBlock {
  const block = new PromptBlock({ style: "root", tags: ["instructions"] });
  block.appendChild({
    style: "paragraph",
    text: "Answer in this form, with these tags and no others:",
  });
  block.appendChild({
    style: "code",
    tags: ["xml"],
    text: element(name, field, [], "").join("\n"),
  });
  return block;
}

function element(name: string, field: Field, attrs: readonly string[], indent: string): string[] {
  const attributes = [...attrs, ...attributesOf(field)];
  const opening = `<${[name, ...attributes].join(" ")}>`;
  const note = notes(field);
  switch (field.kind) {
    case "object": {
      const members = Array.from(field.members).flatMap(([key, member]) =>
        member.isAttribute ? [] : element(key, member.field, [], `${indent}  `),
      );
      return [`${indent}${opening}${comment(note)}`, ...members, `${indent}</${name}>`];
    }
    case "list":
      return [
        `${indent}${opening}${comment([...note, `one <${field.itemName}> for each`])}`,
        ...element(field.itemName, field.item, [], `${indent}  `),
        `${indent}</${name}>`,
      ];
    case "union":
      return Array.from(field.options).flatMap(([choice, option], index) => [
        ...(index === 0 ? [] : [`${indent}<!-- or -->`]),
        ...element(name, withoutKey(option, field.key), [`${field.key}="${choice}"`], indent),
      ]);
    default:
      return [`${indent}${opening}${[typeOf(field), ...note].join("; ")}</${name}>`];
  }
}

function withoutKey(field: Field & { kind: "object" }, key: string): Field {
  return { ...field, members: new Map(Array.from(field.members).filter(([name]) => name !== key)) };
}

function attributesOf(field: Field): string[] {
  if (field.kind !== "object") return [];
  return Array.from(field.members).flatMap(([name, { field: member, isAttribute }]) =>
    isAttribute ? [`${name}="${[typeOf(member), ...notes(member)].join("; ")}"`] : [],
  );
}

function typeOf(field: Field): string {
  if (field.kind === "text") return "text";
  if (field.kind !== "scalar") return "JSON";
  if (field.type === "choice") return field.choices.map(String).join(" | ");
  return field.type === "boolean" ? "true | false" : "number";
}

function notes({ about }: Field): string[] {
  return [
    ...(about.isOptional ? ["may be left out"] : []),
    ...(about.isNullable ? ["or null"] : []),
    ...(about.description === "" ? [] : [about.description]),
  ];
}

function comment(note: readonly string[]): string {
  return note.length === 0 ? "" : ` <!-- ${note.join("; ")} -->`;
}
