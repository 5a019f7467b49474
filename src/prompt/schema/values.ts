import type { AttrValue, PromptBlock } from "../index.ts";
import type { Field } from "./fields.ts";

type Path = readonly (string | number)[];

/** What was found, and the block that each value came from. */
export interface Found {
  readonly value: unknown;
  readonly places: readonly {
    readonly path: Path;
    readonly block: PromptBlock;
    readonly isLeaf: boolean;
  }[];
}

/**
 * The value that a tree stands for, so far. While blocks are open, texts are as long as they are and
 * everything else that is not complete is left out; at the end nothing is, so that what is wrong with it can be said.
 */
export function valueIn(block: PromptBlock, field: Field, isEnd: boolean): Found {
  const places: { path: Path; block: PromptBlock; isLeaf: boolean }[] = [];
  const read = (each: PromptBlock, of: Field, path: Path): unknown => {
    const isLeaf = of.kind !== "object" && of.kind !== "list" && of.kind !== "union";
    places.push({ path, block: each, isLeaf });
    const isComplete = isEnd || each.state === "closed";
    switch (of.kind) {
      case "object":
        return readObject(each, of, path);
      case "union": {
        const choice = each.attrs[of.key];
        const option = of.options.get(String(choice)) ?? of.options.values().next().value!;
        return readObject(each, option, path);
      }
      case "list":
        return each.children
          .filter(({ tags }) => tags[0] === of.itemName)
          .map((child, index) => read(child, of.item, [...path, index]))
          .filter((value) => isEnd || value !== undefined);
      case "text": {
        const text = withoutFrame(each.value);
        return of.about.isNullable && isComplete && text.trim() === "null" ? null : text;
      }
      default:
        return isComplete ? scalar(each.value.trim(), of) : undefined;
    }
  };
  const readObject = (each: PromptBlock, of: Field & { kind: "object" }, path: Path): unknown => {
    const value: { [name: string]: unknown } = {};
    const { children } = each;
    for (const [name, member] of of.members) {
      const found = member.isAttribute
        ? attribute(each.attrs[name], member.field)
        : children
            .filter(({ tags }) => tags[0] === name)
            .slice(0, 1)
            .map((child) => read(child, member.field, [...path, name]))[0];
      if (found !== undefined) value[name] = found;
    }
    return value;
  };
  return { value: read(block, field, []), places };
}

/** Models put a text on lines of its own: these line ends belong to the tags. */
function withoutFrame(text: string): string {
  if (!/^[ \t]*\r?\n/.test(text)) return text;
  return text.replace(/^[ \t]*\r?\n/, "").replace(/\r?\n[ \t]*$/, "");
}

function attribute(value: AttrValue | undefined, field: Field): unknown {
  if (value === undefined) return undefined;
  return field.kind === "text" || typeof value !== "string" ? value : scalar(value.trim(), field);
}

/** What cannot be read stays the text that it is: the schema then says what it wanted. */
function scalar(text: string, field: Field): unknown {
  if (field.about.isNullable && (text === "null" || text === "")) return null;
  if (field.kind === "json") return json(text);
  if (field.kind !== "scalar") return text;
  if (field.type === "choice")
    return field.choices.find((choice) => String(choice) === text) ?? text;
  if (field.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  const number = Number(text);
  return text === "" || Number.isNaN(number) ? text : number;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON is no failure of ours: it goes to the schema as the text that it is.
    return text;
  }
}
