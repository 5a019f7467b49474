import { aliases } from "./aliases.ts";
import { flagOf } from "./tool-arguments.ts";
import { tools, verbOf } from "./tools.ts";

/** Verbs of their own that do what a tool does. */
const own: { readonly [tool: string]: string } = {
  file_resolve: "kumiko resolve",
  file_list: "kumiko ls",
};

const names = [...new Set(tools.flatMap(({ input }) => Object.keys(input.properties)))];
const argument = `(?:${names.toSorted((a, b) => b.length - a.length).join("|")})`;

/** `pass context, or blocks`: what is to be given, up to the end of the clause. */
const given = /\b[Pp]ass (?!one\b|it\b|the\b)[^.;:]*/g;
const inList = new RegExp(`(^[Pp]ass |, |, or | or | and )(${argument})\\b(?! of)`, "g");
const listed = /\bit takes: [^;.]*/g;
/** Names that are no words of any language, where they are not a file's. */
const alone = (name: string): RegExp => new RegExp(`(?<![\\w./~-])${name}(?![\\w/~-]|\\.\\w)`, "g");
const compound = alone(`(?:${names.filter((name) => name.includes("_")).join("|")})`);
const tool = alone("(?:block|file|kernel)_[a-z_]+");

/** What is written for whoever calls tools, in the words of whoever types verbs: tools are verbs, arguments flags. */
export function inVerbs(text: string): string {
  return text
    .replaceAll(tool, verbFor)
    .replace(/^[a-z]+[A-Z]\w* cannot be called like that: /, "It cannot be done like that: ")
    .replaceAll(given, (clause) =>
      clause.replaceAll(inList, (_, before: string, name: string) => before + flagOf(name)),
    )
    .replaceAll(/(--[a-z-]+): true\b/g, "$1")
    .replaceAll(listed, (clause) =>
      clause.replaceAll(new RegExp(`\\b${argument}\\b`, "g"), (name) => flagOf(name)),
    )
    .replaceAll(
      /\b([Ww]ith) (literal|position|occurrence)\b/g,
      (_, word: string, name: string) => `${word} ${flagOf(name)}`,
    )
    .replaceAll(/\bwith choice ([a-z]+)/g, "with `$1`")
    .replaceAll(compound, (name) => (name === "block_id" ? "block" : flagOf(name)));
}

function verbFor(name: string): string {
  const found = tools.find((each) => each.name === name);
  if (found === undefined) return name;
  const [short] = Object.entries(aliases).find(([, { tools: of }]) => of[0] === name) ?? [];
  const { family, verb } = verbOf(found);
  return `\`${own[name] ?? `kumiko ${short ?? `${family} ${verb}`}`}\``;
}
