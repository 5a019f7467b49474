import type { ToolForm } from "../../tools/index.ts";
import forms from "./tools.json" with { type: "json" };

/**
 * Everything that can be called from a command line, as `npm run docs` wrote it down from the definitions: with a
 * server, who calls a tool need not load it.
 */
export const tools = forms as unknown as readonly ToolForm[];

/** `block_apply_patch` is `kumiko block apply-patch`. */
export function verbOf({ name }: ToolForm): { family: string; verb: string } {
  const [family = "", ...rest] = name.split("_");
  return { family, verb: rest.join("-") };
}
