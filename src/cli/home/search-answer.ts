import { styled } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import { bold, dim } from "./paint.ts";
import type { Answer } from "./tool-answer.ts";

interface Match {
  readonly line: number;
  readonly match_start: number;
  readonly match_end: number;
  readonly end_line?: number;
  readonly content: string;
  readonly shortened?: { readonly from: number };
  readonly before: readonly string[];
  readonly after: readonly string[];
}

type FoundBlock = Answer & {
  readonly block_id: string;
  readonly path?: string;
  readonly version?: number;
};

/** As grep prints them: a colon where it matched, a dash around. */
function printMatches(terminal: Terminal, answer: Answer): string[] {
  const matches = answer["matches"] as readonly Match[];
  const width = String(
    Math.max(0, ...matches.map(({ line, after }) => line + 1 + after.length)),
  ).length;
  const number = (line: number): string => dim(terminal, String(line + 1).padStart(width));
  return matches.flatMap((match, at) => {
    const { line, before, after, content, match_start, match_end, end_line, shortened } = match;
    const from = shortened?.from ?? 0;
    const start = Math.max(0, match_start - from);
    const end = end_line === undefined ? Math.max(start, match_end - from) : content.length;
    const text = `${content.slice(0, start)}${styled(terminal, "red", content.slice(start, end))}${content.slice(end)}`;
    return [
      ...(at > 0 && before.length + after.length > 0 ? [dim(terminal, "--")] : []),
      ...before.map((each, index) => `${number(line - before.length + index)}- ${each}`),
      `${number(line)}: ${text}`,
      ...after.map((each, index) => `${number(line + 1 + index)}- ${each}`),
    ];
  });
}

export function printFound(terminal: Terminal, answer: Answer): string[] {
  const blocks = answer["blocks"] as readonly FoundBlock[];
  const lines = blocks.flatMap((block, at) => [
    ...(at > 0 ? [""] : []),
    foundIn(terminal, block),
    ...printMatches(terminal, block),
    ...(block["truncated"] === true ? [dim(terminal, "there are more in this block")] : []),
  ]);
  const unreadable = (answer["unreadable"] ?? []) as readonly {
    block_id: string;
    why: string;
  }[];
  const slow = answer["slow"] as readonly string[];
  return [
    ...(blocks.length === 0 ? [dim(terminal, "nothing found")] : lines),
    ...unreadable.map(({ block_id, why }) => `${block_id} could not be searched: ${why}`),
    ...slow.map(
      (block) => `${block} was not searched to its end: the expression took too long there`,
    ),
    ...searchNotes(terminal, answer),
  ];
}

/** A file without a block is called by its path. */
function foundIn(terminal: Terminal, block: FoundBlock): string {
  const { block_id, path = block_id, version } = block;
  const known = version === undefined ? [] : [`version ${version}`];
  const notes = dim(terminal, [...known, "lines counted from 1"].join(", "));
  return [bold(terminal, block_id), ...(path === block_id ? [] : [path]), notes].join("  ");
}

function searchNotes(
  terminal: Terminal,
  { matches, truncated, timed_out, indexing }: Answer,
): string[] {
  const { done, of } = (indexing ?? {}) as { done?: number; of?: number };
  return [
    ...(Array.isArray(matches) && matches.length === 0 ? ["nothing found"] : []),
    ...(truncated === true ? ["there is more than is shown"] : []),
    ...(timed_out === true
      ? ["the expression took too long: this is what was found until then"]
      : []),
    ...(of === undefined
      ? []
      : [`still being indexed: ${String(done)} of ${of} files were searched; ask again soon`]),
  ].map((note) => dim(terminal, note));
}

export function printFoundInBlock(terminal: Terminal, answer: Answer): string[] {
  return [...printMatches(terminal, answer), ...searchNotes(terminal, answer)];
}
