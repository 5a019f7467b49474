/**
 * What every measurement shares: the row it prints, and the run itself with its two outputs. Fair turns of us and our
 * peers are in support/rounds.ts.
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
