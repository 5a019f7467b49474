import { BlockDocument, type RecordedCommit, type Splice } from "../../blocks/index.ts";

/** A splice that knows each unit it inserts by the number it was given when it was first typed. */
export interface UnitSplice {
  readonly at: number;
  readonly remove: number;
  readonly insert: readonly number[];
}

/** Every unit a text ever had, and what each version did with them. */
export interface UnitHistory {
  /** By number. */
  readonly units: string;
  /** By version, from 1 on. */
  readonly versions: readonly (readonly UnitSplice[])[];
}

/** Digits of a unit's number, written as characters that no rule of text treats specially. */
const BASE = 0x8000;
const FIRST = 0x100;
const ANY_PEER = "2";

/** What a flip brings back are units of before: they keep their numbers. */
export function unitHistory(commits: readonly RecordedCommit[]): UnitHistory {
  let units = "";
  const typed = commits.map(({ change }) => {
    const splices = "splices" in change && change.kind !== "flip" ? change.splices : [];
    return splices.map(({ at, remove, insert }): UnitSplice => {
      const first = units.length;
      units += insert;
      const numbers = Array.from({ length: insert.length }, (_, index) => first + index);
      return { at, remove, insert: numbers };
    });
  });
  if (commits.every(({ change }) => change.kind !== "flip")) return { units, versions: typed };
  const low = flipsIn(commits, typed, (unit) => unit % BASE);
  const high = flipsIn(commits, typed, (unit) => Math.floor(unit / BASE));
  const versions = typed.map((splices, index) => {
    const flip = low.get(index);
    return flip === undefined ? splices : numbered(flip, high.get(index)!);
  });
  return { units, versions };
}

/**
 * Makes the same history in a document whose text is one digit of each unit's number: what its flips then
 * insert says which units those are, by the same rules as ever.
 */
function flipsIn(
  commits: readonly RecordedCommit[],
  typed: readonly (readonly UnitSplice[])[],
  digit: (unit: number) => number,
): Map<number, readonly Splice[]> {
  const flips = new Map<number, readonly Splice[]>();
  const write = ({ at, remove, insert }: UnitSplice): Splice => ({
    at,
    remove,
    insert: textOf(insert.map(digit)),
  });
  const baseline = commits[0]?.change.kind === "baseline" ? commits[0] : undefined;
  using document =
    baseline === undefined
      ? BlockDocument.create({ peer: ANY_PEER })
      : BlockDocument.create({
          peer: ANY_PEER,
          baseline: {
            text: typed[0]!.map((each) => write(each).insert).join(""),
            stamp: baseline.stamp,
          },
        });
  const withText = new Set<string>();
  for (const [index, { change, stamp }] of commits.entries()) {
    if (index === 0 && baseline !== undefined) continue;
    const splices = typed[index]!.map(write);
    if (change.kind === "flip" && withText.has(change.edit)) {
      flips.set(index, document.flip(change, stamp).splices);
    } else if (splices.length > 0) {
      withText.add(stamp.edit);
      // As recorded: newlines, which decide it, are no newlines here.
      const { places = splices.map(() => 0) } = "places" in change ? change : {};
      document.commit(splices, stamp, { places });
    } else {
      document.touch(stamp);
    }
  }
  return flips;
}

function numbered(low: readonly Splice[], high: readonly Splice[]): UnitSplice[] {
  return low.map(({ at, remove, insert }, index) => {
    const above = high[index]!.insert;
    const units = digitsOf(insert).map((digit, i) => digit + BASE * (above.charCodeAt(i) - FIRST));
    return { at, remove, insert: units };
  });
}

function textOf(digits: readonly number[]): string {
  return digits.map((digit) => String.fromCharCode(FIRST + digit)).join("");
}

function digitsOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, index) => text.charCodeAt(index) - FIRST);
}
