/** Lines as small integers: equal integers mean equal lines, on both sides. */
export interface Interned {
  readonly old: Int32Array;
  readonly new: Int32Array;
  /** Every integer lies in [0, distinct). */
  readonly distinct: number;
}

export function intern<Line extends string | number>(
  oldLines: readonly Line[],
  newLines: readonly Line[],
): Interned {
  const known = new Map<Line, number>();
  const number = (lines: readonly Line[]): Int32Array => {
    const ids = new Int32Array(lines.length);
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at]!;
      let id = known.get(line);
      if (id === undefined) {
        id = known.size;
        known.set(line, id);
      }
      ids[at] = id;
    }
    return ids;
  };
  const oldIds = number(oldLines);
  const newIds = number(newLines);
  return { old: oldIds, new: newIds, distinct: known.size };
}
