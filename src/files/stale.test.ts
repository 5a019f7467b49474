import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Content } from "./content.ts";
import { fcOptions } from "../../test/support/counts.ts";
import { whenBothChanged } from "../permission/index.ts";
import type { FileStat } from "./file-stat.ts";
import type { Synced } from "./ledger.ts";
import { mergeTexts } from "./merge.ts";
import { type Earlier, firstWritten, isRecent, madeFrom, mayBeRead, withEarlier } from "./stale.ts";

const LINES = 12;
const line = fc.nat(LINES - 1);
const start = Array.from({ length: LINES }, (_, at) => `line ${at}`);
const textOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

/** Versions that were on disk, the newest first. */
function saves(changes: readonly number[]): string[][] {
  const versions = [start];
  for (const [number, at] of changes.entries())
    versions.unshift(versions[0]!.with(at, `ours ${number}`));
  return versions;
}

function merged(disk: readonly string[], versions: readonly (readonly string[])[]) {
  const texts = versions.map(textOf);
  const past = texts.map((text) => () => text);
  const base = texts[madeFrom(textOf(disk), past)]!;
  return mergeTexts({ base, memory: texts[0]!, disk: textOf(disk) }, whenBothChanged("read_write"));
}

describe("a program that writes back an older text with its changes", () => {
  test("loses nothing of ours and nothing of its own in other lines", () => {
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 60 }),
        fc.nat(),
        fc.uniqueArray(line, { minLength: 1, maxLength: 4 }),
        (changes, wish, wanted) => {
          const versions = saves(changes);
          const read = versions[wish % versions.length]!;
          const [now] = versions;
          const theirs = wanted.filter((at) => read[at] === now![at]);
          const write = (lines: readonly string[]): readonly string[] =>
            theirs.reduce((all, at) => all.with(at, `theirs ${at}`), lines);
          fc.pre(theirs.length > 0);
          const { text, conflicts } = merged(write(read), versions);
          expect(conflicts).toEqual([]);
          expect(text).toBe(textOf(write(now!)));
        },
      ),
      fcOptions(2000),
    );
  });

  test("is in conflict where it changed the same lines, and what does not stand is kept", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(line, { minLength: 2, maxLength: 7 }),
        fc.nat(),
        (changes, wish) => {
          const versions = saves(changes);
          const since = changes.slice((wish % (changes.length - 1)) + 1);
          fc.pre(since.length > 1);
          const read = versions[since.length]!;
          const same = since.at(-1)!;
          const { text, conflicts } = merged(read.with(same, "theirs"), versions);
          expect(conflicts).toMatchObject([{ stood: "disk" }]);
          const ours = since.map((at) => versions[0]![at]!);
          // What touches the line goes with it.
          const kept = `${text}${conflicts[0]!.lost}`.split("\n");
          expect(kept).toEqual(expect.arrayContaining([...ours, "theirs"]));
          expect(conflicts[0]!.lost).toContain(ours.at(-1));
        },
      ),
      fcOptions(2000),
    );
  });

  test("is known also behind many that are farther; of long texts only the newest are looked at", () => {
    const own = saves([0, 1, 2, 3, 4]);
    const debug = Array.from({ length: 20 }, (_, count) => [
      ...own[0]!,
      ...Array.from({ length: count + 1 }, (__, number) => `debug ${number}`),
    ]);
    const versions = [own[0]!, ...debug, ...own];
    const { text, conflicts } = merged(start.with(8, "theirs"), versions);
    expect([text, conflicts]).toEqual([textOf(own[0]!.with(8, "theirs")), []]);
    const asked: number[] = [];
    const long = "long\n".repeat(2_000_000);
    const texts = versions.map((_, at) => () => {
      asked.push(at);
      return `${at}\n${long}`;
    });
    madeFrom(`theirs\n${long}`, texts);
    expect([...new Set(asked)]).toEqual([0, 1, 2]);
  });

  // Seen when the machine was busy: a text that was looked at too slowly was "far", and what agents had saved was lost.
  test("is known however long the process was not scheduled", () => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1000));
    const versions = saves([0, 1, 2, 3, 4]);
    const { text, conflicts } = merged(start.with(8, "theirs"), versions);
    clock.mockRestore();
    expect([text, conflicts]).toEqual([textOf(versions[0]!.with(8, "theirs")), []]);
  });

  // Seen with a formatter that runs behind every edit: it had read the agent's lines, and was told to be in conflict with them.
  test("has seen our lines when it put all of them right in its own way", () => {
    const code = Array.from({ length: LINES }, (_, at) => `call_${at}(first_${at},second_${at})`);
    const formatted = (lines: readonly string[], isWrapped: boolean): string[] =>
      lines.flatMap((each) =>
        isWrapped && each.includes("ours")
          ? each.replace(",", ",\n    ").split("\n")
          : [`  ${each.replace(",", ", ")};`],
      );
    const added = fc.record({ at: line, count: fc.nat(3), isReplaced: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(added, { minLength: 1, maxLength: 5 }),
        fc.nat(),
        fc.boolean(),
        (changes, wish, isWrapped) => {
          const versions = [code];
          for (const [number, { at, count, isReplaced }] of changes.entries()) {
            const ours = Array.from({ length: count + 1 }, (_, n) => `ours(n${number},m${n})`);
            versions.unshift(versions[0]!.toSpliced(at, isReplaced ? 1 : 0, ...ours));
          }
          const at = wish % versions.length;
          const disk = textOf(formatted(versions[at]!, isWrapped));
          const past = versions.map((version) => () => textOf(version));
          expect(madeFrom(disk, past)).toBe(at);
        },
      ),
      fcOptions(1000),
    );
  });

  test("put an older text back on purpose when it is exactly that", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(line, { minLength: 1, maxLength: 7 }),
        fc.nat(),
        (changes, wish) => {
          const versions = saves(changes);
          const old = versions[wish % versions.length]!;
          const { text, conflicts } = merged(old, versions);
          expect([text, conflicts]).toEqual([textOf(old), []]);
        },
      ),
      fcOptions(500),
    );
  });
});

describe("what was on disk", () => {
  const at = (seconds: number, written = seconds): FileStat => ({
    inode: 1,
    device: 1,
    size: 1,
    nanoseconds: BigInt(written) * 1_000_000_000n,
    changed: BigInt(seconds) * 1_000_000_000n,
    mode: 0o644,
    links: 1,
    uid: 0,
    gid: 0,
  });
  const synced = (version: number, seconds: number): Synced => ({
    base: { version },
    content: Content.known(`h${version}`),
    identity: at(seconds),
    form: { encoding: "utf-8", bom: false, crlf: false },
  });

  test("is remembered for many versions, few texts, and for a moment", () => {
    let earlier: readonly Earlier[] = [];
    for (let version = 1; version < 300; version++)
      earlier = withEarlier(earlier, synced(version, 1), synced(version + 1, 2), true);
    expect(earlier.map(({ base }) => base)).toEqual(
      Array.from({ length: 256 }, (_, number) => ({ version: 299 - number })),
    );
    expect(earlier.filter((each) => isRecent(each, at(12)))).toEqual(earlier);
    expect(earlier.filter((each) => isRecent(each, at(13)))).toEqual([]);
    expect(earlier.filter((each) => mayBeRead(each, firstWritten(at(3), undefined)))).toEqual(
      earlier,
    );
    expect(earlier.filter((each) => mayBeRead(each, firstWritten(at(4), undefined)))).toEqual([]);
    expect(withEarlier(earlier, synced(300, 2), synced(301, 90), true)).toHaveLength(1);
    let texts: readonly Earlier[] = [];
    for (let version = 1; version < 20; version++) {
      const before = { ...synced(version, 1), base: { text: `text ${version}` } };
      texts = withEarlier(texts, before, synced(version + 1, 2), false);
      texts = withEarlier(texts, synced(version + 1, 2), synced(version + 2, 2), true);
    }
    expect(texts.filter(({ base }) => "text" in base)).toHaveLength(8);
    expect(texts.slice(0, 2).map(({ base }) => base)).toEqual([
      { version: 20 },
      { text: "text 19" },
    ]);
  });

  test("counts from when another file was put there, not from when that was written", () => {
    const earlier = withEarlier([], synced(1, 1), synced(2, 2), true);
    expect(earlier.filter((each) => mayBeRead(each, firstWritten(at(3, 1), undefined)))).toEqual(
      earlier,
    );
    expect(earlier.filter((each) => mayBeRead(each, firstWritten(at(4, 1), undefined)))).toEqual(
      [],
    );
    expect(earlier.filter((each) => isRecent(each, at(13, 1)))).toEqual([]);
    // Written by a clock that is ahead.
    expect(earlier.filter((each) => mayBeRead(each, firstWritten(at(3, 60), undefined)))).toEqual(
      [],
    );
    const moved = withEarlier([], synced(1, 1), { ...synced(2, 2), identity: at(20, 2) }, false);
    expect(moved.filter((each) => isRecent(each, at(21)))).toEqual(moved);
  });

  test("may have been read by who wrote first of several, before any of it was taken in", () => {
    const earlier = withEarlier([], synced(1, 1), synced(2, 2), true);
    const seconds = (count: number): bigint => BigInt(count) * 1_000_000_000n;
    const read = (now: FileStat, since: number): readonly Earlier[] =>
      earlier.filter((each) => mayBeRead(each, firstWritten(now, seconds(since))));
    expect(read(at(7), 3)).toEqual(earlier);
    expect(read(at(7), 4)).toEqual([]);
    // Of so long ago that it is about something else.
    expect(read(at(14), 3)).toEqual([]);
    expect(firstWritten(at(3), seconds(9))).toBe(seconds(3));
  });

  test("is not read by a program when another one wrote over it", () => {
    const earlier = withEarlier([], synced(1, 1), synced(2, 2), true);
    const both = withEarlier(earlier, synced(2, 2), synced(3, 2), false);
    expect(both).toHaveLength(2);
    expect(both.filter((each) => mayBeRead(each, firstWritten(at(2), undefined)))).toEqual(earlier);
  });

  test("is not what is there again with the same bytes", () => {
    expect(
      withEarlier([], synced(1, 1), { ...synced(2, 2), content: Content.known("h1") }, true),
    ).toEqual([]);
  });
});
