import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { median, row, runBenches, type Bench, type Row } from "../bench/harness.ts";
import { interleave, takeTurns } from "../bench/support/rounds.ts";
import {
  loadTraces,
  syntheticConcurrentTrace,
  syntheticTrace,
  type ConcurrentTrace,
  type Trace,
} from "../bench/traces.ts";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

function recorder() {
  const written = { out: "", note: "" };
  const output = {
    out: (text: string) => void (written.out += text),
    note: (text: string) => void (written.note += text),
  };
  return { written, output };
}

const tiny: Bench = {
  *measures() {
    yield row({ name: "tiny replay (ms)", ours: 30, peer: 60, goal: "<= 0.6" });
    yield row({ name: "tiny read", ours: 7.5, goal: "< 5 ms" });
  },
};

describe("a row", () => {
  const cases: [Parameters<typeof row>[0], Partial<Row>][] = [
    [
      { name: "a", ours: 6, peer: 10, goal: "<= 0.6" },
      { ratio: 0.6, pass: true },
    ],
    [
      { name: "a", ours: 7, peer: 10, goal: "<= 0.6" },
      { ratio: 0.7, pass: false },
    ],
    [
      { name: "a", ours: 30, peer: 10, goal: ">= 2" },
      { ratio: 3, pass: true },
    ],
    [
      { name: "a", ours: 5, goal: "< 5 ms" },
      { peer: null, ratio: 1, pass: false },
    ],
    [
      { name: "a", ours: 4, goal: "< 5 ms" },
      { peer: null, ratio: 0.8, pass: true },
    ],
  ];
  test.each(cases)("%j gives %j", (measured, expected) => {
    expect(row(measured)).toMatchObject(expected);
  });

  test.each([
    { name: "a", ours: 1, goal: "fast" },
    { name: "a", ours: 1, peer: 2, goal: "< 5 ms" },
    { name: "a", ours: Number.NaN, goal: "< 5 ms" },
    { name: "a", ours: 1, peer: 0, goal: "< 5" },
  ])("%j is refused", (measured) => {
    expect(() => row(measured)).toThrow(/"a"/);
  });
});

describe("the output of a run", () => {
  const benches = new Map([["tiny", () => Promise.resolve(tiny)]]);

  test("with --json is one object per line with exactly the six keys", async () => {
    const { written, output } = recorder();
    await runBenches(benches, true, output);
    const lines = written.out.split("\n");
    expect(lines.pop()).toBe("");
    const objects = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(objects).toEqual([
      { name: "tiny replay (ms)", ours: 30, peer: 60, ratio: 0.5, goal: "<= 0.6", pass: true },
      { name: "tiny read", ours: 7.5, peer: null, ratio: 1.5, goal: "< 5 ms", pass: false },
    ]);
    for (const each of objects) {
      expect(Object.keys(each)).toEqual(["name", "ours", "peer", "ratio", "goal", "pass"]);
    }
  });

  test("is otherwise an aligned table", async () => {
    const { written, output } = recorder();
    await runBenches(benches, false, output);
    expect(written.out.split("\n")).toEqual([
      "name               ours  peer  ratio  goal    pass",
      "tiny replay (ms)     30    60  0.500  <= 0.6  yes",
      "tiny read         7.500     -  1.500  < 5 ms  NO",
      "",
      "1 of 2 goals met.",
      "",
    ]);
  });

  test("tells of a bench that breaks off and goes on with the next", async () => {
    const { written, output } = recorder();
    const both = new Map([["bad", () => Promise.reject(new Error("no luck"))], ...benches]);
    const { rows, broken } = await runBenches(both, true, output);
    expect(broken).toEqual(["bad"]);
    expect(rows).toHaveLength(2);
    expect(written.note).toContain("bad broke off: Error: no luck");
  });
});

describe("the bench command", () => {
  const run = (...args: string[]) =>
    runProgram(process.execPath, [join(root, "bench", "run.ts"), ...args]);

  test("refuses a name that is not there and lists those that are", async () => {
    const ended = await run("nothing-of-this-name", "--json");
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toMatch(/^There is no bench named nothing-of-this-name\. There are/);
  });

  test("refuses an option that is not there", async () => {
    expect(await run("--jsno")).toMatchObject({ code: 2, stdout: "" });
  });

  test("explains itself", async () => {
    expect(await run("--help")).toMatchObject({ code: 0, stderr: "" });
  });
});

test("the median is the middle, or the mean of the middle two", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([9, 1, 5, 6])).toBe(5.5);
  expect(() => median([])).toThrow(/nothing/);
});

describe("rounds", () => {
  /** The host takes these shares, round by round, the one for warming up first; then nothing. */
  const taken = (...shares: number[]) => {
    return () => {
      const share = shares.shift() ?? 0;
      return () => share;
    };
  };
  const counting = () => {
    let made = 0;
    return () => made++;
  };

  test("that the host disturbed are made again, and do not count", async () => {
    const watch = taken(0, 0.4, 0, 0.02, 0);
    const { results, stolen } = await takeTurns(3, { ours: counting(), peer: counting() }, watch);
    // 0 is for warming up, 1 and 3 were disturbed.
    expect(results).toEqual({ ours: [2, 4, 5], peer: [2, 4, 5] });
    expect(stolen).toBe(0);
  });

  test("without end are not waited for: the quietest count, and it is known how quiet they were", async () => {
    const shares = [0.5, 0.9, 0.3, 0.8, 0.2, 0.7, 0.6, 0.5, 0.4];
    const { results, stolen } = await takeTurns(2, { ours: counting() }, taken(...shares));
    expect(results).toEqual({ ours: [4, 2] });
    expect(stolen).toBe(0.3);
  });
});

test("interleave warms up, then lets contestants take turns and another begin each round", async () => {
  const turns: string[] = [];
  const times = { ours: [99, 3, 1, 2], peer: [99, 7, 9, 8] };
  const turn = (name: "ours" | "peer") => () => {
    turns.push(name);
    return times[name].shift() ?? 0;
  };
  const medians = await interleave(3, { ours: turn("ours"), peer: turn("peer") }, () => () => 0);
  expect(turns.splice(0, 2)).toEqual(["ours", "peer"]);
  expect(turns).toEqual(["ours", "peer", "peer", "ours", "ours", "peer"]);
  expect(medians).toEqual({ ours: 2, peer: 8 });
});

function replay(trace: Trace): string {
  let text = trace.startContent;
  for (const transaction of trace.transactions as Iterable<readonly (readonly unknown[])[]>) {
    for (const [position, deleted, inserted] of transaction as [number, number, string][]) {
      text = text.slice(0, position) + inserted + text.slice(position + deleted);
    }
  }
  return text;
}

describe("traces of a folder", () => {
  function load(content: object): Trace | undefined {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "odd.name.json.gz"), gzipSync(JSON.stringify(content)));
    folder.write("README.md", "no trace");
    return loadTraces(folder.path)[0];
  }

  test("sequential ones are given in UTF-16 units", () => {
    const trace = load({
      startContent: "a😀b",
      endContent: "a😃xb😀!",
      txns: [
        { patches: [[3, 0, "😀!"]] },
        {
          patches: [
            [1, 1, "😃"],
            [2, 0, "x"],
          ],
        },
      ],
    });
    expect(trace).toMatchObject({ kind: "sequential", name: "odd.name", unit: "utf16" });
    expect(trace?.transactions).toEqual([
      [[4, 0, "😀!"]],
      [
        [1, 2, "😃"],
        [3, 0, "x"],
      ],
    ]);
    expect(trace && replay(trace)).toBe(trace?.endContent);
  });

  test("concurrent ones keep parents and agents, and need no start", () => {
    const txns = [
      { parents: [], agent: 0, patches: [[0, 0, "a"]] },
      { parents: [0], agent: 1, patches: [[1, 0, "b"]] },
    ];
    const expected = { kind: "concurrent", startContent: "", agents: 2, transactions: txns };
    expect(load({ endContent: "ab", txns })).toMatchObject({ ...expected, unit: "utf16" });
  });

  test("concurrent ones with characters of two units say that they count code points", () => {
    const txns = [{ parents: [], agent: 0, patches: [[0, 0, "😀"]] }];
    expect(load({ endContent: "😀", txns })).toMatchObject({ unit: "codepoint" });
  });

  test("a folder without traces is an error", () => {
    using folder = temporaryFolder();
    expect(() => loadTraces(folder.path)).toThrow(/no \*\.json\.gz/);
  });
});

describe("synthetic traces", () => {
  test("stand in when no folder is named, and are the same every time", () => {
    const [first, second] = [loadTraces(""), loadTraces("")];
    expect(first.map(({ name }) => name)).toEqual(["synthetic", "synthetic-concurrent"]);
    expect(second.map(({ endContent }) => endContent)).toEqual(
      first.map(({ endContent }) => endContent),
    );
  });

  test("the sequential one replays to its end, with the deletions of a real one", () => {
    const trace = syntheticTrace(20_000);
    expect(replay(trace)).toBe(trace.endContent);
    expect(trace.transactions).toHaveLength(20_000);
    const deletions = trace.transactions.filter(([patch]) => (patch?.[1] ?? 0) > 0).length;
    expect(deletions / 20_000).toBeGreaterThan(0.2);
    expect(deletions / 20_000).toBeLessThan(0.4);
  });

  test("the concurrent one merges to its end and parts often", () => {
    const trace = syntheticConcurrentTrace(1_000);
    expect(mergedText(trace)).toBe(trace.endContent);
    const merges = trace.transactions.filter(({ parents }) => parents.length === 2).length;
    expect(merges).toBeGreaterThan(50);
  });
});

/** Merges by hand: characters have names, and an insert stands after the character it was typed at. */
function mergedText(trace: ConcurrentTrace): string {
  // For each transaction, what it saw: all its ancestors.
  const seen: Set<number>[] = [];
  interface Character {
    text: string;
    by: number;
    deletedBy: number[];
  }
  const characters: Character[] = [];
  for (const [index, { parents, patches }] of trace.transactions.entries()) {
    const ancestors = new Set(parents.flatMap((parent) => [parent, ...(seen[parent] ?? [])]));
    seen.push(ancestors);
    const known = (by: number) => by === index || ancestors.has(by);
    const visible = () =>
      characters.flatMap(({ by, deletedBy }, at) =>
        known(by) && !deletedBy.some(known) ? [at] : [],
      );
    for (const [position, deleted, inserted] of patches) {
      const places = visible();
      for (const at of places.slice(position, position + deleted)) {
        characters[at]?.deletedBy.push(index);
      }
      const after = position === 0 ? -1 : (places[position - 1] ?? Number.NaN);
      const fresh = Array.from(inserted, (text) => ({ text, by: index, deletedBy: [] }));
      characters.splice(after + 1, 0, ...fresh);
    }
  }
  return characters
    .flatMap(({ text, deletedBy }) => (deletedBy.length === 0 ? [text] : []))
    .join("");
}
