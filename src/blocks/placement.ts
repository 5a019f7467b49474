import type { HiddenRun } from "./run-index.ts";
import { BITS, COUNTER, DEATH, DESCENDING, FLIPPED, LENGTH } from "./run-leaf.ts";
import { type IndexState, lastTouches, type Piece, piecesOf } from "./run-pieces.ts";

/**
 * Behind how many of the hidden units between two visible ones text belongs that takes nothing's place: at the beginning
 * of a line behind the hidden lines, else before everything. `before` is the counter of the visible unit before it. It is
 * decided once, by who commits, and recorded: whoever replays does not ask again.
 */
export function placeOf(state: IndexState, at: number, before: number | undefined): number {
  const { record, index } = state;
  if (before !== undefined && !record.inserted.isNewline(before)) return 0;
  let since = before === undefined ? 0 : record.versionOfCounter(before);
  let passed = 0;
  let found = 0;
  for (const run of index.gap(at)) {
    for (const { counter, length, newline } of newlines(state, run, since)) {
      const last = record.inserted.slice(counter, counter + length).lastIndexOf("\n");
      found = passed + counter - run.leaf.runs[run.at + COUNTER]! + last + 1;
      since = Math.min(since, record.versionOfCounter(newline));
    }
    passed += run.leaf.runs[run.at + LENGTH]!;
  }
  return found;
}

/** Units with successive counters, and the first newline among them that ends a hidden line; all behind it do as well. */
interface Lines {
  readonly counter: number;
  readonly length: number;
  readonly newline: number;
}

/**
 * The parts of a hidden run in which lines end. A line is one when it was hidden after the newline before it was written:
 * text that had gone from the end of the line before it is none.
 */
function* newlines(state: IndexState, run: HiddenRun, since: number): Generator<Lines> {
  const { runs } = run.leaf;
  const bits = runs[run.at + BITS]!;
  let from = since;
  if (bits & FLIPPED) {
    for (const piece of piecesOf(state, run.leaf, run.at)) {
      const newline = newlineOfPiece(state, piece, from);
      if (newline === undefined) continue;
      from = Math.min(from, state.record.versionOfCounter(newline));
      yield { counter: piece.counter, length: piece.length, newline };
    }
    return;
  }
  const { record } = state;
  const counter = runs[run.at + COUNTER]!;
  const length = runs[run.at + LENGTH]!;
  const death = runs[run.at + DEATH]!;
  const first = since === 0 ? 0 : record.deathEnd(since - 1);
  const descending = (bits & DESCENDING) !== 0;
  const low = descending ? 0 : Math.max(0, first - death);
  const high = descending ? Math.min(length, death - first + 1) : length;
  if (low >= high) return;
  const newline = record.inserted.slice(counter + low, counter + high).indexOf("\n");
  if (newline !== -1) yield { counter, length, newline: counter + low + newline };
}

function newlineOfPiece(state: IndexState, piece: Piece, since: number): number | undefined {
  const { record } = state;
  const text = record.inserted.slice(piece.counter, piece.counter + piece.length);
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    const newline = piece.counter + at;
    // What no version showed was hidden by the one that wrote it.
    const [hidden = record.versionOfCounter(newline)] = lastTouches(state, piece, at, at + 1);
    if (hidden >= since) return newline;
  }
  return undefined;
}
