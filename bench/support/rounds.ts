/** Fair turns: us and our peers in one run, in rounds in which the machine is our own. */
import { median } from "../harness.ts";
import { watchSteal } from "./steal.ts";

/** More of the processors' time than this, taken by the machine's host, makes a round count less than another. */
const QUIET = 0.01;
/** How many rounds are made, for each that is asked for, until there are enough quiet ones. */
const PATIENCE = 4;

/** One contestant's turn, and what it measured. */
type Turn<Result> = () => Result | Promise<Result>;

export interface Rounds<Name extends string, Result> {
  /** What each contestant measured, in the rounds that count. */
  readonly results: Record<Name, Result[]>;
  /** The largest share of the processors' time that the host took in a round that counts. */
  readonly stolen: number;
}

/**
 * Lets contestants take turns, so that a machine that grows slower or warmer does so for all of them. Who begins changes
 * with every round. What counts are the `count` rounds in which the host took least, whatever was measured in them: as many
 * are made as it takes to have so many quiet ones, within reason.
 */
export async function takeTurns<Name extends string, Result>(
  count: number,
  contestants: Record<Name, Turn<Result>>,
  watch: typeof watchSteal = watchSteal,
): Promise<Rounds<Name, Result>> {
  const all = Object.entries(contestants) as [Name, Turn<Result>][];
  const made: { stolen: number; measured: Map<Name, Result> }[] = [];
  const enough = (): boolean =>
    made.length >= count * PATIENCE || made.filter(({ stolen }) => stolen <= QUIET).length >= count;
  const round = async (first: number): Promise<(typeof made)[number]> => {
    const measured = new Map<Name, Result>();
    const stolen = watch();
    for (const [name, turn] of [...all.slice(first), ...all.slice(0, first)]) {
      // One contestant's garbage must not be collected in the next one's time.
      globalThis.gc?.();
      measured.set(name, await turn());
    }
    return { stolen: stolen(), measured };
  };
  // The round before the first counts for nobody: engines compile what they run often.
  await round(0);
  while (!enough()) made.push(await round(made.length % all.length));
  const counted = made.toSorted((a, b) => a.stolen - b.stolen).slice(0, count);
  const results = all.map(([name]) => [name, counted.map(({ measured }) => measured.get(name)!)]);
  const stolen = counted.at(-1)!.stolen;
  tell(stolen);
  return { results: Object.fromEntries(results) as Record<Name, Result[]>, stolen };
}

/**
 * The same, giving each one's median. A turn is timed as a whole, unless it gives back milliseconds (or any other number) that
 * it measured itself, to leave its set-up out.
 */
export async function interleave<Name extends string>(
  count: number,
  contestants: Record<Name, Turn<number | void>>,
  watch?: typeof watchSteal,
): Promise<Record<Name, number>> {
  const timed = (Object.entries(contestants) as [Name, Turn<number | void>][]).map(
    ([name, turn]) => {
      return [
        name,
        async () => {
          const begun = performance.now();
          return (await turn()) ?? performance.now() - begun;
        },
      ] as const;
    },
  );
  const turns = Object.fromEntries(timed) as Record<Name, Turn<number>>;
  const { results } = await takeTurns(count, turns, watch);
  const medians = timed.map(([name]) => [name, median(results[name])]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

/** Somebody should know that what was measured is not worth much. */
function tell(stolen: number): void {
  if (stolen <= QUIET) return;
  process.stderr.write(
    `  (the machine's host took up to ${Math.round(stolen * 100)} % of the processors' time: no quieter rounds could be had)\n`,
  );
}
