/** Gives names that no other block or chunk has. */
export type IdSource = () => string;

// Trees of several processes are joined and stored together, so a count alone would clash.
const process = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) =>
  part.toString(36).padStart(7, "0"),
).join("");
let given = 0;

export function freshId(): string {
  given++;
  return `${process}${given.toString(36)}`;
}

/** Counts from 1: for tests, and wherever the same input must give the same ids. */
export function countedIds(prefix = "b"): IdSource {
  let count = 0;
  return () => {
    count++;
    return `${prefix}${count}`;
  };
}
