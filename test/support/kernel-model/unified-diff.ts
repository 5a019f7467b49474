import type { Hunk } from "./placing.ts";
import { linesOf } from "./placing.ts";

const BARE = "\\ No newline at end of file";

/** Does what a unified diff says, at the lines it names; throws when something else stands there. */
export function patched(text: string, diff: string): string {
  const old = text === "" ? [] : (text.match(/[^\n]*\n|[^\n]+$/g) ?? []);
  const result: string[] = [];
  let at = 0;
  const body = diff.split("\n").slice(0, -1);
  for (const [index, line] of body.entries()) {
    const header = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (header !== null) {
      const start = header[2] === "0" ? Number(header[1]) : Number(header[1]) - 1;
      result.push(...old.slice(at, start));
      at = start;
      continue;
    }
    if (
      line === BARE ||
      (at === 0 && result.length === 0 && /^(---|\+\+\+) /.test(line) && index < 2)
    )
      continue;
    const content = line.slice(1) + (body[index + 1] === BARE ? "" : "\n");
    if (line[0] === "+") result.push(content);
    else if (old[at] !== content)
      throw new Error(`the diff has "${line}" where "${old[at]}" stands`);
    else {
      if (line[0] === " ") result.push(content);
      at++;
    }
  }
  return [...result, ...old.slice(at)].join("");
}

/** A patch that replaces lines of a text and shows all the others. */
export function patchOf(text: string, { start, end, lines }: Hunk): string {
  const old = linesOf(text);
  const bare = text !== "" && !text.endsWith("\n");
  const body = old.slice(0, start).map((line) => ` ${line}`);
  const ends: number[] = [];
  const put = (prefix: string, content: readonly string[], reachesEnd: boolean): void => {
    for (const line of content) body.push(prefix + line);
    if (bare && reachesEnd && content.length > 0) body.push(BARE);
  };
  put("-", old.slice(start, end), end === old.length);
  put("+", lines, end === old.length);
  put(" ", old.slice(end), true);
  ends.push(old.length, old.length - (end - start) + lines.length);
  const [before, behind] = ends.map((count) => (count === 0 ? "0,0" : `1,${count}`));
  return `@@ -${before} +${behind} @@\n${body.join("\n")}\n`;
}
