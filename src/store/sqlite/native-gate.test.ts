import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { NativeGate } from "./native-gate.ts";

/** Goes in and out of the gate for ever, and says in the second cell of its own when it is inside. */
const script = (gate: string): string => `
  import { workerData } from "node:worker_threads";
  import { NativeGate } from ${JSON.stringify(gate)};
  const gate = new NativeGate(workerData.gate);
  const inside = new Int32Array(workerData.inside);
  for (;;) {
    gate.run(() => {
      Atomics.store(inside, 0, 1);
      gate.run(() => Atomics.add(inside, 1, 1));
      for (let spin = 0; spin < 1000; spin++) Atomics.load(inside, 0);
      Atomics.store(inside, 0, 0);
    });
  }
`;

test("a thread that was stopped is not inside, and does not come in again", async () => {
  const gate = new NativeGate();
  const inside = new Int32Array(new SharedArrayBuffer(8));
  const url = new URL("./native-gate.ts", import.meta.url).href;
  const source = `data:text/javascript,${encodeURIComponent(script(url))}`;
  const worker = new Worker(new URL(source), {
    workerData: { gate: gate.shared, inside: inside.buffer },
  });
  while (Atomics.load(inside, 1) === 0) await new Promise((resolve) => setImmediate(resolve));
  await gate.stop();
  const entered = Atomics.load(inside, 1);
  for (let looks = 0; looks < 1000; looks++) expect(Atomics.load(inside, 0)).toBe(0);
  expect(Atomics.load(inside, 1)).toBe(entered);
  await worker.terminate();
});
