import type { HiddenRun } from "./run-index.ts";
import { BITS, COUNTER, DEATH, DESCENDING, FLIPPED, LENGTH } from "./run-leaf.ts";
import { type IndexState, lastTouches, type Piece, piecesOf } from "./run-pieces.ts";

/**
 * How many hidden units are looked through at most, from behind and then from the beginning. Text that is put in again and
 * again where much is hidden would each time cost all that is hidden there.
 */
const LOOKED_THROUGH = 16_384;

/**
 * Behind how many of the hidden units between two visible ones text belongs that takes nothing's place: at the beginning
 * of a line behind the hidden lines, else before everything. `before` is the counter of the visible unit before it. It is
 * decided once, by who commits, and recorded: whoever replays does not ask again.
 */
export function placeOf(state: IndexState, at: number, before: number | undefined): number {
  const { record } = state;
  if (before !== undefined && !record.inserted.isNewline(before)) return 0;
  const since = before === undefined ? 0 : record.versionOfCounter(before);
  const last = lastNewline(state, at);
  // Whatever other lines are hidden before it: they could only make an earlier hiding enough.
  if (last !== undefined && last.hidden() >= since)
    return state.index.hiddenUnits(at) - last.behind;
  return lastInChain(state, at, since);
}

interface LastNewline {
  /** How many hidden units stand behind it. */
  readonly behind: number;
  /** The version that hid it. */
  hidden(): number;
}

/** The last newline that is hidden at an offset, when it is not far from the end. */
function lastNewline(state: IndexState, at: number): LastNewline | undefined {
  let behind = 0;
  for (const run of state.index.gapFromBehind(at)) {
    const { runs } = run.leaf;
    const length = runs[run.at + LENGTH]!;
    const end = runs[run.at + COUNTER]! + length;
    const start = end - Math.min(length, LOOKED_THROUGH - behind);
    const newline = state.record.inserted.lastNewline(start, end);
    if (newline !== -1) {
      behind += end - newline - 1;
      return { behind, hidden: () => hiddenBy(state, run, newline) };
    }
    behind += end - start;
    if (behind === LOOKED_THROUGH) break;
  }
  return undefined;
}

function hiddenBy(state: IndexState, { leaf, at }: HiddenRun, newline: number): number {
  const { runs } = leaf;
  const unit = newline - runs[at + COUNTER]!;
  if (runs[at + BITS]! & FLIPPED) {
    const pieces = piecesOf(state, leaf, at);
    const piece = pieces.find(({ counter, length }) => newline < counter + length)!;
    return pieceHiddenBy(state, piece, newline);
  }
  const death = runs[at + DEATH]!;
  return state.record.versionOfDeath(runs[at + BITS]! & DESCENDING ? death - unit : death + unit);
}

/** Behind how many units the last line ends when whether it does depends on the lines before it. */
function lastInChain(state: IndexState, at: number, before: number): number {
  const { record, index } = state;
  let since = before;
  let passed = 0;
  let found = 0;
  for (const run of index.gap(at)) {
    const first = run.leaf.runs[run.at + COUNTER]!;
    const length = Math.min(run.leaf.runs[run.at + LENGTH]!, LOOKED_THROUGH - passed);
    for (const { counter, end, newline } of newlines(state, run, { length, since })) {
      found = passed + record.inserted.lastNewline(counter, end) + 1 - first;
      since = Math.min(since, record.versionOfCounter(newline));
    }
    passed += length;
    if (passed === LOOKED_THROUGH) break;
  }
  return found;
}

/** Units with successive counters, and the first newline among them that ends a hidden line; all behind it do as well. */
interface Lines {
  readonly counter: number;
  readonly end: number;
  readonly newline: number;
}

interface Part {
  /** How much of the run is looked at. */
  readonly length: number;
  readonly since: number;
}

/**
 * The parts of a hidden run in which lines end. A line is one when it was hidden after the newline before it was written:
 * text that had gone from the end of the line before it is none.
 */
function* newlines(state: IndexState, run: HiddenRun, { length, since }: Part): Generator<Lines> {
  const { record } = state;
  const { runs } = run.leaf;
  const bits = runs[run.at + BITS]!;
  const counter = runs[run.at + COUNTER]!;
  if (bits & FLIPPED) {
    let from = since;
    for (const piece of piecesOf(state, run.leaf, run.at)) {
      const end = Math.min(counter + length, piece.counter + piece.length);
      const newline = newlineOfPiece(state, piece, { end, since: from });
      if (newline === undefined) continue;
      from = Math.min(from, record.versionOfCounter(newline));
      yield { counter: piece.counter, end, newline };
    }
    return;
  }
  const death = runs[run.at + DEATH]!;
  const first = since === 0 ? 0 : record.deathEnd(since - 1);
  const descending = (bits & DESCENDING) !== 0;
  const low = descending ? 0 : Math.max(0, first - death);
  const high = descending ? Math.min(length, death - first + 1) : length;
  const newline = record.inserted.firstNewline(counter + low, counter + high);
  if (newline !== -1) yield { counter, end: counter + length, newline };
}

function newlineOfPiece(
  state: IndexState,
  piece: Piece,
  { end, since }: { readonly end: number; readonly since: number },
): number | undefined {
  const { inserted } = state.record;
  let newline = inserted.firstNewline(piece.counter, end);
  for (; newline !== -1; newline = inserted.firstNewline(newline + 1, end))
    if (pieceHiddenBy(state, piece, newline) >= since) return newline;
  return undefined;
}

function pieceHiddenBy(state: IndexState, piece: Piece, newline: number): number {
  const unit = newline - piece.counter;
  // What no version showed was hidden by the one that wrote it.
  const [hidden = state.record.versionOfCounter(newline)] = lastTouches(
    state,
    piece,
    unit,
    unit + 1,
  );
  return hidden;
}
