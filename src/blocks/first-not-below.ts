/** The first index, from one on, whose number is not below `value`, among numbers that never fall. */
export function firstNotBelow(sorted: Int32Array, value: number, from = 0): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
