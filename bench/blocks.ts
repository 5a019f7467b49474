/** The goals of BlockDocument: replaying real editing, and what its index answers afterwards. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { KumikoError, lineAt, lineStart, Random, TextRope } from "../src/base/index.ts";
import {
  BlockDocument,
  parsePatch,
  translateEdit,
  translatePatch,
  unifiedDiff,
} from "../src/blocks/index.ts";
import { median, row, type Row } from "./harness.ts";
import { interleave } from "./support/rounds.ts";
import {
  beginningOf,
  keystrokes,
  replayAutomerge,
  replayLoro,
  replayOurs,
  replayYjs,
} from "./support/replay.ts";
import { loadTraces, type SequentialTrace } from "./traces.ts";

const ROUNDS = 5;
const WARM_UP = 30;
/** Automerge takes minutes for a whole trace. */
const AUTOMERGE_TRANSACTIONS = 5_000;

export async function* measures(): AsyncGenerator<Row> {
  const traces = loadTraces().filter((trace) => trace.kind === "sequential");
  for (const trace of traces) yield* replays(trace);
  const longest = traces.toSorted((a, b) => b.transactions.length - a.transactions.length)[0]!;
  yield* inOneDocument(longest);
  yield lineLookup();
  yield longPatch();
  yield halfChangedDiff();
  yield openedAndDisposed();
}

async function* replays(trace: SequentialTrace): AsyncGenerator<Row> {
  const typed = keystrokes(trace);
  const times = await interleave(ROUNDS, {
    ours: () => {
      const { document, milliseconds } = replayOurs(trace, typed);
      document[Symbol.dispose]();
      return milliseconds;
    },
    yjs: () => replayYjs(trace),
    loro: () => replayLoro(trace),
  });
  const name = `replay ${trace.name}, ms`;
  yield row({
    name: `${name}, peer Yjs with update events`,
    ours: times.ours,
    peer: times.yjs,
    goal: "<= 0.6",
  });
  yield row({
    name: `${name}, peer Loro with a subscriber`,
    ours: times.ours,
    peer: times.loro,
    goal: "<= 0.5",
  });
  const beginning = beginningOf(trace, AUTOMERGE_TRANSACTIONS);
  const typedBeginning = typed.slice(0, AUTOMERGE_TRANSACTIONS);
  const short = await interleave(ROUNDS, {
    ours: () => {
      const { document, milliseconds } = replayOurs(beginning, typedBeginning);
      document[Symbol.dispose]();
      return milliseconds;
    },
    automerge: () => replayAutomerge(beginning),
  });
  yield row({
    name: `replay the first ${beginning.transactions.length} of ${trace.name}, ms, peer Automerge`,
    ours: short.ours,
    peer: short.automerge,
    goal: "<= 0.1",
  });
}

/** What one long document answers. "Any" is the slowest of many, each tried five times. */
function* inOneDocument(trace: SequentialTrace): Generator<Row> {
  const typed = keystrokes(trace);
  using document = replayOurs(trace, typed).document;
  const { version } = document;
  const record = document.save().record.length;
  const random = new Random(11);
  const edits = [...new Set(typed.map(({ stamp }) => stamp.edit))];
  const name = (what: string): string => `${trace.name}: ${what}`;

  const versions = Array.from({ length: 100 }, () => random.below(version));
  yield row({
    name: name("read any version, ms"),
    ours: slowest([0, 1, ...versions], (at) => document.read(at)),
    goal: "< 5 ms",
  });
  yield row({
    name: name("blame of the whole document, ms"),
    ours: slowest([0, 1, 2], () => document.blame()),
    goal: "< 5 ms",
  });

  let stamps = 0;
  const stamp = (): { actor: string; edit: string; time: number } => {
    stamps++;
    return { actor: "claude", edit: `call-${stamps}`, time: 1_800_000_000_000 + stamps };
  };
  // Lines that every version of the last thousand has.
  const fewest = Array.from({ length: 1001 }, (_, back) => document.read(version - back))
    .map((text) => text.split("\n").length - 1)
    .reduce((least, count) => Math.min(least, count));
  const lines = Array.from({ length: 100 }, () => random.below(fewest));
  yield row({
    name: name("edit of a line, base 1,000 versions back, ms"),
    ours: slowest(lines, (line) => {
      const base = document.version - 1000;
      try {
        const edit = {
          op: "replace",
          start_line: line,
          end_line: line + 1,
          content: `line ${line}`,
        } as const;
        document.commit(translateEdit(document, [edit], base), stamp());
      } catch (error) {
        // The line was changed within the last thousand versions: finding that out is the work.
        if (!(error instanceof KumikoError) || error.code !== "conflict") throw error;
      }
    }),
    goal: "< 1 ms",
  });

  const some = [edits[0]!, ...Array.from({ length: 60 }, () => random.pick(edits)), edits.at(-1)!];
  yield row({
    name: name("undo of any one edit, the oldest included, ms"),
    ours: slowest([...new Set(some)], (edit) => {
      document.flip({ edit, active: false }, stamp());
      return () => document.flip({ edit, active: true }, stamp());
    }),
    goal: "< 5 ms",
  });
  yield row({
    name: name("recorded bytes per version, all metadata"),
    ours: record / version,
    goal: "<= 3 bytes",
  });
}

/** The slowest of all cases, each case's time being its median of five; an answer undoes the case. */
function slowest<Case>(cases: readonly Case[], run: (each: Case) => unknown): number {
  // Until the engine has compiled what is measured.
  for (let count = 0; count < WARM_UP; count++) restore(run(cases[count % cases.length]!));
  return Math.max(
    ...cases.map((each) =>
      median(
        [0, 1, 2, 3, 4].map(() => {
          const begun = performance.now();
          const undo = run(each);
          const milliseconds = performance.now() - begun;
          restore(undo);
          return milliseconds;
        }),
      ),
    ),
  );
}

function restore(undo: unknown): void {
  if (typeof undo === "function") undo();
}

function lineLookup(): Row {
  const line = "A line of ordinary length, with an umlaut (ä) and an emoji (🪵) in it.\n";
  const rope = new TextRope(line.repeat(Math.ceil(10_000_000 / line.length)));
  const random = new Random(3);
  const lines = rope.total("line");
  const cases = Array.from({ length: 2_000 }, () => random.below(lines));
  const milliseconds = slowest(cases, (wanted) => {
    const start = lineStart(rope, wanted);
    if (lineAt(rope, start) !== wanted) throw new Error("looked up the wrong line");
    return () => rope.splice(start, 0, "typed ");
  });
  return row({
    name: "line lookup in 10 MB, there and back, µs",
    ours: milliseconds * 1000,
    goal: "< 50 µs",
  });
}

function longPatch(): Row {
  const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index} of the text`);
  const changed = lines.map((line, index) => (index % 200 === 100 ? `${line}, changed` : line));
  const text = `${lines.join("\n")}\n`;
  const patch = unifiedDiff(text, `${changed.join("\n")}\n`, {
    oldName: "a/text",
    newName: "b/text",
  });
  const tries = [0, 1, 2].map(() => {
    using document = BlockDocument.create({
      peer: "7",
      baseline: { text, stamp: { actor: "disk", edit: "load", time: 0 } },
    });
    const begun = performance.now();
    const parsed = parsePatch(patch).files[0]!;
    if (parsed.hunks.length !== 500) throw new Error(`${parsed.hunks.length} hunks instead of 500`);
    const { splices } = translatePatch(document, parsed);
    document.commit(splices, { actor: "claude", edit: "patch", time: 1 });
    const milliseconds = performance.now() - begun;
    if (document.read() !== `${changed.join("\n")}\n`) throw new Error("patched to another text");
    return milliseconds;
  });
  return row({
    name: "apply a 500-hunk patch to 100k lines, ms",
    ours: median(tries),
    goal: "< 200 ms",
  });
}

function halfChangedDiff(): Row {
  const random = new Random(5);
  const before = Array.from({ length: 10_000 }, (_, index) => `line ${index} ${random.below(50)}`);
  const after = before.map((line) =>
    random.next() < 0.5 ? `${line} changed ${random.below(9)}` : line,
  );
  const tries = [0, 1, 2].map(() => {
    const begun = performance.now();
    unifiedDiff(`${before.join("\n")}\n`, `${after.join("\n")}\n`, { oldName: "a", newName: "b" });
    return performance.now() - begun;
  });
  return row({
    name: "diff of 10k lines, half changed, ms",
    ours: median(tries),
    goal: "< 1000 ms",
  });
}

function openedAndDisposed(): Row {
  const script = join(import.meta.dirname, "support", "open-documents.ts");
  const bytes = Number(
    execFileSync(process.execPath, ["--expose-gc", script], { encoding: "utf8" }),
  );
  return row({
    name: "10,000 documents opened and disposed leave, MB",
    ours: bytes / 1e6,
    goal: "< 20 MB",
  });
}
