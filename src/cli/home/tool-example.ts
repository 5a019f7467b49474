import { type ToolArgument, wordsOf } from "./tool-arguments.ts";

/** An example of a tool's input as one would type it. */
export function exampleLine(typed: string, args: readonly ToolArgument[], input: unknown): string {
  const given = new Map(Object.entries(input as { [name: string]: unknown }));
  const line = [typed];
  for (const argument of wordsOf(args)) {
    // Behind one that is left out, words would be taken for it.
    if (!given.has(argument.name)) break;
    line.push(written(argument, given.get(argument.name)));
    given.delete(argument.name);
  }
  for (const argument of args) {
    const value = given.get(argument.name);
    if (value === undefined) continue;
    if (argument.form === "switch")
      line.push(value === true ? argument.flag : argument.flag.replace("--", "--no-"));
    else if (argument.form === "texts" && Array.isArray(value))
      for (const each of value) line.push(argument.flag, quoted(String(each)));
    else line.push(argument.flag, written(argument, value));
  }
  return line.join(" ");
}

function written({ form }: ToolArgument, value: unknown): string {
  if (form === "lines") {
    const { start, end } = value as { start: number; end: number };
    return `${start + 1}:${end}`;
  }
  return quoted(typeof value === "string" ? value : JSON.stringify(value));
}

/** For a shell: single quotes keep everything but themselves. */
function quoted(text: string): string {
  if (/^[\w@%+=:,./~-]+$/.test(text)) return text;
  if (/[\n\t]/.test(text) && !text.includes("'"))
    return `$'${text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t")}'`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
