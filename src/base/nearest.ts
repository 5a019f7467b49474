/** Of the names there are, the one that was probably meant; undefined when none is like it. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const given = name.slice(0, LONGEST).toLowerCase();
  let best: string | undefined;
  let least = Math.max(2, Math.ceil(given.length / 2)) + 1;
  for (const candidate of known) {
    const changes = changesBetween(given, candidate.toLowerCase());
    if (changes < least) [best, least] = [candidate, changes];
  }
  return best;
}

/** What is longer is no slip of the keyboard, and comparing costs the product of both lengths. */
const LONGEST = 64;

/** How many letters must be added, dropped or changed; what is long is compared as far as it counts. */
export function changesBetween(long: string, right: string): number {
  const left = long.slice(0, LONGEST);
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same));
    }
    row = next;
  }
  return row[right.length]!;
}
