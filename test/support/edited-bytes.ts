import { statSync } from "node:fs";

/** Not inside a pair. */
export function boundary(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? "") ? at + 1 : at;
}

export function commonStart(left: Buffer, right: Buffer): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return length;
}

export function commonEnd(left: Buffer, right: Buffer): number {
  let length = 0;
  while (length < left.length && left.at(-1 - length) === right.at(-1 - length)) length += 1;
  return length;
}

/** Without that of the last access, which reading may move. */
export function timesOf(path: string): bigint[] {
  const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs];
}
