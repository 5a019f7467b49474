/** Where a fault may strike: before anything is written, or when it is made durable. */
export interface WriteStep {
  /** Counts the steps of one store from 1. */
  readonly number: number;
  readonly at: "write" | "fsync";
  readonly what: string;
}

/**
 * - `fail`: the call is refused and nothing of it is kept.
 * - `crash`: the process is dead before anything was durable; every call throws from then on.
 * - `crash_after`: the same, but what was written is there when the disk is opened again.
 */
export type Fault = "pass" | "fail" | "crash" | "crash_after";

/** Asked at each step; a simulation may answer later and so decide when a write ends. */
export type FaultHook = (step: WriteStep) => Fault | Promise<Fault>;
