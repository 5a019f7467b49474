/**
 * `newAt` lists, in the order of the old side, where each anchor line stands on the new side.
 * Gives the longest rising choice of them; moved lines, which would cross, are left out.
 */
export function risingPairs(newAt: readonly number[]): number[] {
  const tails: number[] = [];
  const before = new Int32Array(newAt.length);
  for (let pair = 0; pair < newAt.length; pair++) {
    const value = newAt[pair]!;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (newAt[tails[middle]!]! < value) low = middle + 1;
      else high = middle;
    }
    before[pair] = low === 0 ? -1 : tails[low - 1]!;
    tails[low] = pair;
  }
  const chosen: number[] = [];
  for (
    let pair = tails.length === 0 ? -1 : tails[tails.length - 1]!;
    pair >= 0;
    pair = before[pair]!
  ) {
    chosen.push(pair);
  }
  return chosen.toReversed();
}
