/**
 * How often a property or a random schedule is tried.
 *
 * A plain `npm test` tries a tenth of the full count; `npm run test:full` (KUMIKO_FULL=1) tries all
 * of it. The seed is fixed so that a red run is red again for everyone; KUMIKO_SEED chooses another
 * one and KUMIKO_RUNS multiplies the runs of properties, for hunting.
 */

const FIXED_SEED = 20_261_115;

/** The full count under `npm run test:full`, a tenth of it (at least 1) otherwise. */
export function scaled(full: number): number {
  return isFull() ? full : Math.max(1, Math.ceil(full / 10));
}

/** The seed for hand-written random tests: fixed unless KUMIKO_SEED is set. */
export function seed(): number {
  return numberFromEnv("KUMIKO_SEED", FIXED_SEED, Number.isSafeInteger, "an integer");
}

/** Options for `fc.assert`. */
export function fcOptions(fullRuns: number): { numRuns: number; seed: number } {
  const times = numberFromEnv("KUMIKO_RUNS", 1, (value) => value > 0, "a number above 0");
  return { numRuns: Math.max(1, Math.ceil(scaled(fullRuns) * times)), seed: seed() };
}

/** Whether everything is tried. */
export function isFull(): boolean {
  return process.env["KUMIKO_FULL"] === "1";
}

// A mistyped variable must not quietly mean the default: the hunt would run the same seed for ever.
function numberFromEnv(
  name: string,
  fallback: number,
  valid: (value: number) => boolean,
  wanted: string,
): number {
  const text = process.env[name];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!valid(value)) throw new Error(`${name} must be ${wanted}, but is "${text}".`);
  return value;
}
