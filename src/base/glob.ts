import { GlobAutomaton, type GlobMoment } from "./glob-automaton.ts";
import { type GlobPart, parseGlob } from "./glob-pattern.ts";
import { spelled } from "./spelling.ts";

export interface Glob {
  readonly pattern: string;
  /** Of a path with `/` between its names and at neither end; a folder that matches covers what is below it. */
  matches(path: string): boolean;
  /** Whether the pattern has this text in it as it stands: no wildcard or class counts, an alternative does. */
  holds(text: string): boolean;
}

/**
 * `*` `?` `[a-z]` `[!a-z]` within a name, `**` for any number of folders, `{a,b}` for alternatives, `\` before a
 * character that is meant literally. A pattern without `/`, but for one at its end, matches at any depth; `/` at its
 * beginning ties it to the root; one at its end means what is below. `{a,b}` means the same as both patterns.
 *
 * Throws `invalid_pattern`. Matching takes at most the product of both lengths, whatever the pattern.
 */
export function compileGlob(
  pattern: string,
  { ignoreCase = false }: { readonly ignoreCase?: boolean } = {},
): Glob {
  const parts = parseGlob(pattern);
  const automaton = new GlobAutomaton(parts, ignoreCase);
  const contained = longestText(parts, ignoreCase);
  return {
    pattern,
    matches(path) {
      const text = spelled(path, ignoreCase);
      return text.includes(contained) && run(automaton, text);
    },
    holds: (text) => holds(parts, spelled(text, ignoreCase), ignoreCase),
  };
}

const SLASH = 0x2f;

function run(automaton: GlobAutomaton, text: string): boolean {
  let moment: GlobMoment = automaton.start();
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!;
    at += code > 0xffff ? 2 : 1;
    moment = automaton.after(moment, code);
    if (moment.dead) return false;
    // At the end of a name, or behind the `/` that follows one.
    if (moment.ended && (code === SLASH || at === text.length || text.charCodeAt(at) === SLASH))
      return true;
  }
  return false;
}

/** Text that every match contains: most paths need no closer look. */
function longestText(parts: readonly GlobPart[], ignoreCase: boolean): string {
  let longest = "";
  for (const part of parts) {
    const text = part.kind === "text" ? spelled(part.text, ignoreCase) : "";
    if (text.length > longest.length) longest = text;
  }
  return longest;
}

function holds(parts: readonly GlobPart[], text: string, ignoreCase: boolean): boolean {
  return parts.some((part) => {
    if (part.kind === "text") return spelled(part.text, ignoreCase).includes(text);
    return part.kind === "choice" && part.choices.some((each) => holds(each, text, ignoreCase));
  });
}
