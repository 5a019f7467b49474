/** The thread of the index: it is built here and nowhere else. */

import { parentPort, workerData } from "node:worker_threads";
import { IndexBuilder } from "./index-builder.ts";
import type { FromIndexer, ToIndexer } from "./search-messages.ts";

const port = parentPort!;
const asked: number[] = [];
let scheduled = false;
let closing = false;

const send = (message: FromIndexer): void => port.postMessage(message);

try {
  const builder = new IndexBuilder((workerData as { file: string }).file);
  if (builder.dropped !== undefined) send({ dropped: builder.dropped });
  port.on("message", (message: ToIndexer) => {
    guarded(() => {
      if ("close" in message) closing = true;
      else {
        builder.look(message.index);
        asked.push(message.number);
      }
      schedule(builder);
    });
  });
} catch (error) {
  fail(error);
}

/** Between two batches messages are read, so that nobody waits for all of them. */
function schedule(builder: IndexBuilder): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(() => {
    scheduled = false;
    guarded(() => work(builder));
  });
}

function work(builder: IndexBuilder): void {
  if (closing) {
    builder[Symbol.dispose]();
    port.close();
  } else if (builder.step()) {
    schedule(builder);
  } else {
    for (const number of asked.splice(0)) send({ indexed: number });
  }
}

function guarded(task: () => void): void {
  try {
    task();
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): void {
  send({ failed: error instanceof Error ? error.message : String(error) });
  port.close();
}
