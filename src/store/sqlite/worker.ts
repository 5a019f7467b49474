/** The writer's thread: fsync waits here and nowhere else. */

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { FromWriter, Numbered, ToWriter } from "./requests.ts";
import { refusalOf, Writer } from "./writer.ts";

/** More than this wait for the next group: one huge transaction would make everyone in it wait. */
const GROUP = 512;

const port = parentPort!;
const waiting: Numbered[] = [];
let closing = false;
let checkpointing = false;
let scheduled = false;

const send = (message: FromWriter) => port.postMessage(message);

try {
  const writer = new Writer(workerData as string);
  if (writer.owesVacuum()) writer.vacuum([]);
  port.on("message", (message: ToWriter) => {
    take(writer, message);
    work(writer);
  });
  send({ ready: true });
} catch (error) {
  send({ failed: refusalOf(error) });
  port.on("message", (message: ToWriter) => {
    if ("close" in message) port.close();
  });
}

function take(writer: Writer, message: ToWriter): void {
  if ("close" in message) closing = true;
  else if ("checkpoint" in message) checkpointing = true;
  else {
    writer.acknowledge(message.acknowledged);
    waiting.push(...message.requests);
  }
}

function work(writer: Writer): void {
  // Everything that came while the last group was written goes into this one.
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (received === undefined) break;
    take(writer, received.message as ToWriter);
  }
  if (waiting.length > 0) {
    const { results, again, vacuums } = writer.perform(waiting.splice(0, GROUP));
    if (results.length > 0) send({ results });
    waiting.push(...again);
    if (vacuums.length > 0) send({ results: writer.vacuum(vacuums).results });
  }
  if (writer.checkpointDue() || checkpointing) writer.checkpoint();
  if (checkpointing) send({ checkpointed: true });
  checkpointing = false;
  if (waiting.length > 0) {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      work(writer);
    });
  } else if (closing) {
    writer.close();
    port.close();
  }
}
