import * as z from "zod";
import type { StreamingTool, Tool } from "./define-tool.ts";
import { type ArgumentSchema, inputSchema } from "./input-schema.ts";

const NOTE = "<!-- Made from the definition in src/tools by `npm run docs`. -->";

const MOST_WORDS = 12;

/** The reference pages of tools, by file name, made from nothing but their definitions. */
export function referencePages(tools: readonly (Tool | StreamingTool)[]): Map<string, string> {
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return new Map([
    ["README.md", index(sorted)],
    ...sorted.map((tool): [string, string] => [`${tool.name}.md`, page(tool)]),
  ]);
}

function index(tools: readonly (Tool | StreamingTool)[]): string {
  const rows = tools.map(
    (tool) =>
      `| [${tool.name}](${tool.name}.md) | ${manner(tool)} | ${cell(firstSentence(tool.description))} |`,
  );
  return [
    NOTE,
    "# Tools",
    "",
    "Every operation on blocks, as agents, people, scripts and doors call it. Arguments that are not listed are errors.",
    "",
    "| Tool | | What it does |",
    "|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function page(tool: Tool | StreamingTool): string {
  const { properties, required } = inputSchema(tool);
  const output = z.toJSONSchema(tool.output, { io: "output" }) as ArgumentSchema;
  const examples = tool.examples.flatMap(({ when, input }) => [
    when,
    "",
    "```json",
    JSON.stringify(input, null, 2),
    "```",
    "",
  ]);
  return [
    NOTE,
    `# ${tool.name}`,
    "",
    tool.description,
    "",
    `It ${manner(tool)}.`,
    "",
    "## Takes",
    "",
    ...table({ properties, required }),
    "",
    "stream" in tool ? "## Gives, again and again" : "## Gives",
    "",
    ...table(output),
    "",
    "## Examples",
    "",
    ...examples,
  ].join("\n");
}

function manner(tool: Tool | StreamingTool): string {
  if ("stream" in tool) return "streams";
  return tool.writes ? "writes" : "reads";
}

function table(schema: Pick<ArgumentSchema, "properties" | "required">): string[] {
  return [
    "| Name | Type | | Meaning |",
    "|---|---|---|---|",
    ...rowsOf(schema, "").map(
      ({ name, type, must, meaning }) =>
        `| \`${name}\` | ${cell(type)} | ${must ? "always" : ""} | ${cell(meaning)} |`,
    ),
  ];
}

interface ArgumentRow {
  readonly name: string;
  readonly type: string;
  readonly must: boolean;
  readonly meaning: string;
}

/** One row per argument, those inside objects and lists below their owner. */
function rowsOf(
  { properties = {}, required = [] }: Pick<ArgumentSchema, "properties" | "required">,
  owner: string,
): ArgumentRow[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${owner}${key}`;
    const meaning = schema.description ?? "";
    const row = { name, type: typeOf(schema), must: required.includes(key), meaning };
    return [row, ...insideOf(schema, name)];
  });
}

function insideOf(schema: ArgumentSchema, name: string): ArgumentRow[] {
  if (schema.items !== undefined) return insideOf(schema.items, `${name}[]`);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) {
    return choices.flatMap((choice) => insideOf(choice, `${name}${labelOf(choice)}`));
  }
  return rowsOf(schema, `${name}.`);
}

/** What tells one choice from the others: the one value that it alone has. */
function labelOf({ properties = {} }: ArgumentSchema): string {
  const fixed = Object.values(properties).find((property) => property.const !== undefined);
  return fixed === undefined ? "" : `(${String(fixed.const)})`;
}

function typeOf(schema: ArgumentSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) {
    // The codes of errors: a page would change with each of them.
    if (schema.enum.length > MOST_WORDS) return "one of many words";
    return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  }
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(" or ");
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  if (schema.type === undefined) return "JSON";
  return `${[schema.type].flat().join(" or ")}${limitsOf(schema)}`;
}

function limitsOf({ minimum, maximum }: ArgumentSchema): string {
  const low = minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const high = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (low === undefined && high === undefined) return "";
  if (high === undefined) return ` from ${low}`;
  return low === undefined ? ` to ${high}` : ` ${low} to ${high}`;
}

function firstSentence(text: string): string {
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, ".") ?? text;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
