import { describe, expect, it } from "vitest";
import { LOOKS_PER_SLICE, ScanWatch } from "./scan-watch.ts";
import { TextMatcher } from "./text-matcher.ts";
import { WatchedScan } from "./watched-scan.ts";

const limits = { contextLines: 0, linesPerText: 1000, texts: 1000, shown: 0 };

interface Scanned {
  readonly scan: WatchedScan;
  readonly slow: string[];
  readonly watch: ScanWatch;
}

/** Every text is slow when `slice` is less than nothing. */
function scanner(query: string, slice: number, found: () => void = () => undefined): Scanned {
  const watch = new ScanWatch();
  const slow: string[] = [];
  const matcher = new TextMatcher({ query, literal: false, ignoreCase: false });
  const part = { slice, mayBeSlow: 2, milliseconds: 1e9, behind: undefined, watch: watch.shared };
  const scan = new WatchedScan(matcher, limits, part, {
    found,
    more: () => undefined,
    slow: (text) => void slow.push(text),
  });
  return { scan, slow, watch };
}

describe("a watched scan", () => {
  it("gives up a text whose time is up and goes on behind it, a few times", () => {
    const { scan, slow } = scanner("l.ne", -1);
    expect(scan.scan("first", "a line\n")).toBe(true);
    expect([slow, scan.timedOut]).toEqual([["first"], false]);
    expect(scan.scan("second", "a line\n")).toBe(false);
    expect([slow, scan.timedOut]).toEqual([["first", "second"], true]);
  });

  it("lets a literal take what it takes", () => {
    let lines = 0;
    const { scan, slow } = scanner("line", -1, () => void (lines += 1));
    expect(scan.scan("first", "a line\n".repeat(1000))).toBe(true);
    expect([slow, lines]).toEqual([[], 1000]);
  });

  it("gives a long text more time", () => {
    const million = 1024 * 1024;
    for (const [units, slices] of [
      [10, 1],
      [million, 1],
      [million + 1, 2],
      [10 * million, 10],
    ] as const) {
      let looks = 0;
      const { scan, watch } = scanner("l.ne", 1e6, () => {
        do looks += 1;
        while (watch.look() !== "long");
      });
      scan.scan("long", "a line\n".padEnd(units, "x"));
      // One look to see it, one more than it has time for.
      expect(looks).toBe(slices * LOOKS_PER_SLICE + 2);
    }
  });
});

describe("a watch", () => {
  it("names the text in which a thread stays, when its time is up and not before", () => {
    for (const slices of [1, 3]) {
      const watch = new ScanWatch();
      const thread = new ScanWatch(watch.shared);
      const looks = (count: number): (string | undefined)[] =>
        Array.from({ length: count }, () => watch.look());
      const nothing = (names: (string | undefined)[]): boolean => names.every((name) => !name);
      expect(nothing(looks(100))).toBe(true);
      thread.enter("main~ann~1", slices);
      // One look to see it, one more than it has time for.
      expect(nothing(looks(slices * LOOKS_PER_SLICE + 1))).toBe(true);
      thread.leave();
      thread.enter("main~ann~22", slices);
      expect(nothing(looks(slices * LOOKS_PER_SLICE + 1))).toBe(true);
      thread.enter("m~a~3", slices);
      expect(nothing(looks(slices * LOOKS_PER_SLICE + 1))).toBe(true);
      expect(watch.look()).toBe("m~a~3");
      thread.leave();
      expect(nothing(looks(100))).toBe(true);
    }
  });
});
