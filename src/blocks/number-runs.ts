import { type ByteReader, type ByteWriter, damaged } from "../base/index.ts";

/**
 * A column of whole numbers as differences, in runs: the same difference many times over (an odd
 * header), or different ones each written out (an even header). A column that never falls says so
 * first and saves the signs.
 */
export function writeNumbers(
  writer: ByteWriter,
  length: number,
  at: (index: number) => number,
): void {
  writer.count(length);
  const difference = (index: number): number => at(index) - (index === 0 ? 0 : at(index - 1));
  let rises = true;
  for (let i = 0; i < length && rises; i++) rises = difference(i) >= 0;
  writer.byte(rises ? 1 : 0);
  const write = (value: number): void => (rises ? writer.count(value) : writer.difference(value));
  let index = 0;
  while (index < length) {
    const first = difference(index);
    let same = 1;
    while (index + same < length && difference(index + same) === first) same++;
    if (same > 2) {
      writer.count(same * 2 + 1);
      write(first);
      index += same;
      continue;
    }
    let different = same;
    while (index + different < length && !repeats(difference, index + different, length))
      different++;
    writer.count(different * 2);
    for (let i = 0; i < different; i++) write(difference(index + i));
    index += different;
  }
}

function repeats(difference: (index: number) => number, index: number, length: number): boolean {
  return (
    index + 2 < length &&
    difference(index) === difference(index + 1) &&
    difference(index) === difference(index + 2)
  );
}

export function readNumbers(reader: ByteReader): number[] {
  const length = reader.count();
  const rises = reader.byte() === 1;
  const read = (): number => (rises ? reader.count() : reader.difference());
  const numbers: number[] = [];
  let value = 0;
  while (numbers.length < length) {
    const header = reader.count();
    const count = Math.floor(header / 2);
    const repeated = header % 2 === 1 ? read() : undefined;
    // A damaged count may not make us write without end.
    if (count === 0 || numbers.length + count > length)
      throw damaged("a column has a wrong length");
    for (let i = 0; i < count; i++) {
      value += repeated ?? read();
      numbers.push(value);
    }
  }
  return numbers;
}
