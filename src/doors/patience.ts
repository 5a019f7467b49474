import { KumikoError, type Timers } from "../base/index.ts";

/** Milliseconds between two looks. */
const AGAIN = 50;

interface Patience {
  readonly timers: Timers;
  /** Milliseconds in all. */
  readonly most: number;
  /** Whether it is still wanted. */
  readonly wanted: () => boolean;
}

/** Opens what another process may have for a moment; whoever still has it at the end is named. */
export async function patiently<Result>(
  { timers, most, wanted }: Patience,
  open: () => Promise<Result>,
): Promise<Result> {
  for (let waited = 0; ; waited += AGAIN) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "in_use" || !wanted()) throw error;
      if (waited >= most) throw most === 0 ? error : stillInUse(error, waited);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    timers.after(AGAIN, resolve);
    await promise;
  }
}

function stillInUse(error: KumikoError, waited: number): KumikoError {
  return new KumikoError(
    "in_use",
    `${error.message} It was waited for ${waited / 1000} s.`,
    { ...error.facts, waited },
    { cause: error },
  );
}
