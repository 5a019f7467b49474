import { close } from "node:fs";

let waiting: number[] = [];

/**
 * Closes a file by another thread, when whoever waits for an answer has it: what a file had on disk is given back when it
 * is last closed, and that takes a while. Only for what a failure to close cannot lose.
 */
export function closeLater(descriptor: number): void {
  waiting.push(descriptor);
  if (waiting.length > 1) return;
  setImmediate(() => {
    const all = waiting;
    waiting = [];
    for (const each of all) close(each, () => undefined);
  });
}
