import { aliases } from "./aliases.ts";
import { tools, verbOf } from "./tools.ts";

/** Verbs of their own that do what a tool does. */
const own: { readonly [tool: string]: string } = {
  file_resolve: "kumiko resolve",
  file_list: "kumiko ls",
};

/** What is written for whoever calls tools, in the words of whoever types verbs. */
export function inVerbs(text: string): string {
  return text.replaceAll(/\b(?:block|file|kernel)_[a-z_]+\b/g, (name) => {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) return name;
    const [short] = Object.entries(aliases).find(([, { tools: of }]) => of[0] === name) ?? [];
    const { family, verb } = verbOf(tool);
    return `\`${own[name] ?? `kumiko ${short ?? `${family} ${verb}`}`}\``;
  });
}
