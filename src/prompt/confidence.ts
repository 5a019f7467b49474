import type { PromptBlock } from "./prompt-block.ts";

export interface Confidence {
  /** How many chunks had a logprob. */
  readonly tokens: number;
  readonly mean: number;
  readonly lowest: number;
  /** The probability of a token, on geometric average: 0 to 1. */
  readonly probability: number;
}

export interface UnsureSpan {
  /** Relative to the block that was asked. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly mean: number;
  readonly lowest: number;
}

/** Of the content of a block and all below it; tags do not count. Null where nothing has a logprob. */
export function confidenceOf(block: PromptBlock): Confidence | null {
  return measured(contentOf(block).flatMap(({ logprob }) => logprob ?? []));
}

/** Stretches of neighbouring tokens below a logprob; the default is a probability of one half. */
export function unsureSpans(block: PromptBlock, below: number = Math.log(0.5)): UnsureSpan[] {
  const spans: { start: number; end: number; text: string; logprobs: number[] }[] = [];
  for (const { text, logprob, start } of contentOf(block)) {
    if (logprob === null || logprob >= below) continue;
    const end = start + text.length;
    const last = spans.at(-1);
    if (last !== undefined && last.end === start) {
      last.end = end;
      last.text += text;
      last.logprobs.push(logprob);
    } else spans.push({ start, end, text, logprobs: [logprob] });
  }
  return spans.map(({ start, end, text, logprobs }) => {
    const { mean, lowest } = measured(logprobs)!;
    return { start, end, text, mean, lowest };
  });
}

const MARKS: ReadonlySet<string> = new Set(["prefix", "postfix", "separator", "comment", "markup"]);

interface Token {
  readonly text: string;
  readonly logprob: number | null;
  readonly start: number;
}

function contentOf(block: PromptBlock): Token[] {
  const tokens: Token[] = [];
  let start = 0;
  for (const item of block.walk()) {
    if (item.kind !== "chunk") continue;
    const { text, logprob, style } = item;
    if (!MARKS.has(style ?? "")) tokens.push({ text, logprob, start });
    start += text.length;
  }
  return tokens;
}

function measured(logprobs: readonly number[]): Confidence | null {
  if (logprobs.length === 0) return null;
  let sum = 0;
  let lowest = Infinity;
  for (const logprob of logprobs) {
    sum += logprob;
    lowest = Math.min(lowest, logprob);
  }
  const mean = sum / logprobs.length;
  return { tokens: logprobs.length, mean, lowest, probability: Math.exp(mean) };
}
