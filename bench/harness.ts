/**
 * What every measurement shares: the row it prints, fair timing of us and our peers in one run, and
 * the run itself with its two outputs.
 */

/** One measured goal. These six keys, in this order, are also the JSON form. */
export interface Row {
  readonly name: string;
  readonly ours: number;
  /** The peer's number, or null when the goal is absolute. */
  readonly peer: number | null;
  /** ours / peer, or ours / the goal's number when there is no peer. */
  readonly ratio: number;
  /** `<= 0.6` for a ratio against the peer, `< 5 ms` for an absolute goal. */
  readonly goal: string;
  readonly pass: boolean;
}

/** A bench file exports `measures`, which yields its rows one by one as they are known. */
export interface Bench {
  measures(): Iterable<Row> | AsyncIterable<Row>;
  /** What can be measured alone: `files:search`. */
  readonly parts?: { readonly [part: string]: () => Iterable<Row> | AsyncIterable<Row> };
}

const comparisons: Record<string, (value: number, limit: number) => boolean> = {
  "<=": (value, limit) => value <= limit,
  "<": (value, limit) => value < limit,
  ">=": (value, limit) => value >= limit,
  ">": (value, limit) => value > limit,
};

/** Makes a row; whether it passes follows from its goal and cannot be claimed. */
export function row(measured: {
  name: string;
  ours: number;
  peer?: number | null;
  goal: string;
}): Row {
  const { name, ours, peer = null, goal } = measured;
  const match = /^(<=|<|>=|>) (\d+(?:\.\d+)?)(?: (\S.*))?$/.exec(goal);
  const holds = comparisons[match?.[1] ?? ""];
  if (match === null || holds === undefined) {
    throw new Error(`The goal "${goal}" of "${name}" is not like "<= 0.6" or "< 5 ms".`);
  }
  if (peer !== null && match[3] !== undefined) {
    throw new Error(`"${name}" has a peer, so its goal is a ratio and has no unit: "${goal}".`);
  }
  if (!Number.isFinite(ours) || (peer !== null && !(Number.isFinite(peer) && peer > 0))) {
    throw new Error(`"${name}" measured ${ours} against ${peer}, which is no measurement.`);
  }
  const limit = Number(match[2]);
  return peer === null
    ? { name, ours, peer, ratio: ours / limit, goal, pass: holds(ours, limit) }
    : { name, ours, peer, ratio: ours / peer, goal, pass: holds(ours / peer, limit) };
}

/** The middle value; of an even count the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  const high = sorted[Math.floor(sorted.length / 2)];
  if (low === undefined || high === undefined) throw new Error("The median of nothing.");
  return (low + high) / 2;
}

/**
 * One contestant's turn. It is timed as a whole, unless it gives back milliseconds (or any other
 * number) that it measured itself, to leave its set-up out.
 */
type Turn = () => number | void | Promise<number | void>;

/**
 * Lets contestants take turns, so that a machine that grows slower or warmer does so for all of
 * them, and gives each one's median. Who begins changes with every round.
 */
export async function interleave<Name extends string>(
  rounds: number,
  contestants: Record<Name, Turn>,
): Promise<Record<Name, number>> {
  const all = (Object.entries(contestants) as [Name, Turn][]).map(([name, turn]) => ({
    name,
    turn,
    times: [] as number[],
  }));
  // The round before the first counts for nobody: engines compile what they run often.
  for (let round = -1; round < rounds; round += 1) {
    const first = Math.max(0, round) % all.length;
    for (const { turn, times } of [...all.slice(first), ...all.slice(0, first)]) {
      // One contestant's garbage must not be collected in the next one's time.
      globalThis.gc?.();
      const begun = performance.now();
      const measured = await turn();
      const milliseconds = measured ?? performance.now() - begun;
      if (round >= 0) times.push(milliseconds);
    }
  }
  const medians = all.map(({ name, times }) => [name, median(times)]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

/** Where a run writes: `out` is what was asked for, `note` is for the person who waits. */
export interface Output {
  out(text: string): void;
  note(text: string): void;
}

/**
 * Runs benches in the order given. A bench that throws is told and does not stop the others; its
 * name is then in `broken`.
 */
export async function runBenches(
  benches: ReadonlyMap<string, () => Promise<Bench>>,
  json: boolean,
  output: Output,
): Promise<{ rows: Row[]; broken: string[] }> {
  const rows: Row[] = [];
  const broken: string[] = [];
  for (const [name, load] of benches) {
    output.note(`${name} …\n`);
    try {
      const bench = await load();
      for await (const each of bench.measures()) {
        rows.push(each);
        if (json) output.out(`${jsonLine(each)}\n`);
        else output.note(`  ${each.pass ? "pass" : "MISS"}  ${each.name}\n`);
      }
    } catch (error) {
      broken.push(name);
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      output.note(`${name} broke off: ${reason}\n`);
    }
  }
  if (!json && rows.length > 0) output.out(table(rows));
  return { rows, broken };
}

function jsonLine({ name, ours, peer, ratio, goal, pass }: Row): string {
  return JSON.stringify({ name, ours, peer, ratio, goal, pass });
}

function table(rows: readonly Row[]): string {
  const lines = [
    ["name", "ours", "peer", "ratio", "goal", "pass"],
    ...rows.map((each) => [
      each.name,
      readable(each.ours),
      each.peer === null ? "-" : readable(each.peer),
      readable(each.ratio),
      each.goal,
      each.pass ? "yes" : "NO",
    ]),
  ];
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const aligned = lines.map((line) =>
    line
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column >= 1 && column <= 3 ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
  const passed = rows.filter((each) => each.pass).length;
  return `${aligned.join("\n")}\n\n${passed} of ${rows.length} goals met.\n`;
}

function readable(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 10 ? 1 : 3;
  return Math.abs(value) < 0.001 ? value.toExponential(2) : value.toFixed(digits);
}
